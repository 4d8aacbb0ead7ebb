// Where a part may be found: in its own tensor, in rows of a pack, in a tensor for each matrix.
#include <algorithm>

#include "circuit/part_binder.h"

namespace etch {

bool PartBinder::from_own_tensor(const PartDeclaration& d, int64_t layer, BoundPart& p) {
  for (const std::string& name : tensor_names(d, layer)) {
    const Weight* w = model_.find(name);
    if (w == nullptr) continue;
    take(*w);
    p.tensor = w->name;
    p.data.weight = w;
    p.data.dtype = w->dtype;
    if (fits(*w, d, layer, p.data.shape)) set_offsets(p.data, *w, 0, w->bytes);
    return true;
  }
  return false;
}

// One byte offset, or one for each matrix of a stack. `skip` bytes stand before the part in each.
void PartBinder::set_offsets(PartData& data, const Weight& w, int64_t skip, int64_t bytes) {
  const bool stack = data.shape.size() == 3;
  const int64_t n = stack ? data.shape[0] : 1;
  for (int64_t i = 0; i < n; ++i)
    data.offsets.push_back(w.offset + i * (bytes / std::max<int64_t>(n, 1)) + skip);
}

bool PartBinder::fits(const Weight& w, const PartDeclaration& d, int64_t layer,
                      const std::vector<int64_t>& wanted) {
  const std::vector<ExprPtr>& lengths = d.part->stored.empty() ? d.part->shape : d.part->stored;
  std::vector<int64_t> in_file;
  if (!lengths_at(lengths, d, layer, in_file)) return broken_ = true, false;
  int64_t a = 0, b = 0;
  const bool sane = product(in_file, a) && product(wanted, b) && a == b && a > 0;
  if (!sane || !same_shape(w.shape, in_file)) return !wrong_shape(w, in_file, source_text(lengths));
  if (!readable(w)) return false;
  const int64_t last = wanted.empty() ? 1 : wanted.back();
  if (info(w.dtype).block_elements > 1 && (w.shape.empty() ? 1 : w.shape.back()) != last) {
    return !broken(ErrorKind::unsupported,
                   fmt::format("'{}' is {} {}, its rows of {} cannot be cut out of blocks", w.name,
                               name(w.dtype), print_shape(w.shape), last));
  }
  return true;
}

bool PartBinder::readable(const Weight& w) {
  const bool integers = w.dtype == DType::i8 || w.dtype == DType::i16 || w.dtype == DType::i32 ||
                        w.dtype == DType::i64;
  if (integers || (info(w.dtype).state != DTypeState::listed && info(w.dtype).decode != nullptr))
    return true;
  return !broken(ErrorKind::unsupported,
                 fmt::format("'{}' is {}, a type that etch cannot read", w.name, name(w.dtype)));
}

// The rows of a pack's tensor that belong to one of its parts: those of the parts before it come
// first.
bool PartBinder::from_pack(const PartDeclaration& d, int64_t layer, BoundPart& p) {
  if (d.pack == nullptr) return false;
  const Weight* w = model_.find(pack_name(d, layer));
  if (w == nullptr) return false;
  // The tensor may be a part of its own that is called like the pack, for layers of another kind;
  // or some part of the pack may stand in the file by itself, and then all must.
  for (const PartDeclaration* other : pack_of(d))
    if (declared_at(dims_, *other, layer).is_true())
      for (const std::string& name : tensor_names(*other, layer))
        if (model_.find(name) != nullptr) return false;
  for (const bool with_optional : {true, false}) {
    int64_t before = 0, all = 0;
    bool own = false;
    if (!rows_of_pack(d, layer, with_optional, before, all, own)) return true;
    if (!own) return false;  // an optional part that this pack does not have
    const std::vector<int64_t>& shape = p.data.shape;
    std::vector<int64_t> wanted = shape;
    wanted[shape.size() - 2] = all;
    if (!same_shape(w->shape, wanted)) {
      if (with_optional && has_optional(d)) continue;
      take(*w);
      return wrong_shape(*w, wanted);
    }
    take(*w);
    if (!readable(*w)) return true;
    const int64_t row = row_bytes(w->dtype, shape.back());
    p.data.weight = w;
    p.data.dtype = w->dtype;
    p.tensor = fmt::format("{}[{}:{}]", w->name, before, before + shape[shape.size() - 2]);
    set_offsets(p.data, *w, before * row, w->bytes);
    packed_rows_ = {before, all};
    return true;
  }
  return false;
}

std::vector<const PartDeclaration*> PartBinder::pack_of(const PartDeclaration& d) const {
  std::vector<const PartDeclaration*> out;
  for (const PartDeclaration& other : declarations_)
    if (other.pack == d.pack) out.push_back(&other);
  return out;
}

bool PartBinder::has_optional(const PartDeclaration& d) const {
  const auto all = pack_of(d);
  return std::any_of(all.begin(), all.end(),
                     [](const PartDeclaration* o) { return o->part->optional; });
}

bool PartBinder::rows_of_pack(const PartDeclaration& d, int64_t layer, bool with_optional,
                              int64_t& before, int64_t& all, bool& own) {
  for (const PartDeclaration* other : pack_of(d)) {
    if (other->part->optional && !with_optional) continue;
    std::vector<Polynomial> shape;
    if (!shape_at(dims_, other->part->shape, other->variable(), layer, shape) || shape.size() < 2) {
      return !broken(ErrorKind::usage,
                     fmt::format("part '{}' of pack '{}' is no matrix (line {})",
                                 other->part->name.text, d.pack->name.text, other->part->at.line));
    }
    if (other == &d) {
      before = all;
      own = true;
    }
    const int64_t rows = shape[shape.size() - 2].constant();
    if (rows < 0 || __builtin_add_overflow(all, rows, &all)) {
      return !broken(ErrorKind::damaged,
                     fmt::format("pack '{}' has {} rows", d.pack->name.text, rows));
    }
  }
  return true;
}

// One tensor for each matrix of a stack.
bool PartBinder::from_each(const PartDeclaration& d, int64_t layer, BoundPart& p) {
  if (!d.part->or_each || p.data.shape.empty()) return false;
  const auto name_of = [&](int64_t e) {
    return with_indices(*d.part->or_each, d.variable(), layer, e);
  };
  const int64_t n = p.data.shape[0];
  if (model_.find(name_of(0)) == nullptr) return false;
  const std::vector<int64_t> wanted(p.data.shape.begin() + 1, p.data.shape.end());
  for (int64_t e = 0; e < n; ++e) {
    const Weight* w = model_.find(name_of(e));
    if (w == nullptr) {
      miss(name_of(e), "");
      return broken_ = true;
    }
    take(*w);
    if (!same_shape(w->shape, wanted)) return wrong_shape(*w, wanted);
    if (!readable(*w)) return true;
    if (e == 0) {
      p.data.weight = w;
      p.data.dtype = w->dtype;
      p.tensor = fmt::format("{} and {} more", w->name, n - 1);
    } else if (w->dtype != p.data.dtype) {
      return broken(ErrorKind::unsupported,
                    fmt::format("'{}' is {}, '{}' is {}: the matrices of a stack have one type",
                                w->name, name(w->dtype), p.data.weight->name, name(p.data.dtype)));
    }
    p.data.offsets.push_back(w->offset);
  }
  return true;
}

// What does not fit is told, and the part is not bound. True: it was found.
bool PartBinder::broken(ErrorKind kind, std::string message) {
  findings_.add(kind, std::move(message));
  broken_ = true;
  return true;
}

// Lengths of axes at a layer; false if an error was reported.
bool PartBinder::lengths_at(const std::vector<ExprPtr>& lengths, const PartDeclaration& d,
                            int64_t layer, std::vector<int64_t>& out) {
  std::vector<Polynomial> evaluated;
  if (!shape_at(dims_, lengths, d.variable(), layer, evaluated)) return false;
  for (const Polynomial& l : evaluated) out.push_back(l.constant());
  return true;
}

bool PartBinder::wrong_shape(const Weight& w, const std::vector<int64_t>& wanted,
                             const std::string& written) {
  return broken(ErrorKind::damaged,
                fmt::format("'{}' is {}, the circuit wants {}{}", w.name, print_shape(w.shape),
                            written.empty() ? "" : written + " = ", print_shape(wanted)));
}

std::string PartBinder::source_text(const std::vector<ExprPtr>& lengths) const {
  std::string s;
  for (const ExprPtr& e : lengths)
    s += (s.empty() ? "" : ", ") +
         circuit_.text.substr(static_cast<size_t>(e->at.begin),
                              static_cast<size_t>(e->at.end - e->at.begin));
  return "[" + s + "]";
}

}  // namespace etch

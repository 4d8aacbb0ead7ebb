#include "circuit/bind_parts.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "circuit/check.h"

namespace etch {
namespace {

constexpr int64_t kMostLayers = 100000;
constexpr size_t kMostListed = 20;

std::string print_shape(const std::vector<int64_t>& shape) {
  std::string s;
  for (const int64_t n : shape) s += (s.empty() ? "" : ", ") + fmt::format("{}", n);
  return "[" + s + "]";
}

// Axes of length 1 do not count.
bool same_shape(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto squeezed = [](const std::vector<int64_t>& s) {
    std::vector<int64_t> out;
    std::copy_if(s.begin(), s.end(), std::back_inserter(out), [](int64_t n) { return n != 1; });
    return out;
  };
  return squeezed(a) == squeezed(b);
}

// Lengths multiplied; false if they are negative or the product does not fit.
bool product(const std::vector<int64_t>& shape, int64_t& out) {
  out = 1;
  for (const int64_t n : shape)
    if (n < 0 || __builtin_mul_overflow(out, n, &out)) return false;
  return true;
}

// "blk.3.attn_q.weight" -> "blk.*.attn_q.weight"
std::string starred(std::string_view name) {
  std::string s;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    const bool number = digit && i > 0 && (name[i - 1] == '.' || s.back() == '*');
    if (!number)
      s += name[i];
    else if (s.back() != '*')
      s += '*';
  }
  return s;
}

class PartBinder {
 public:
  PartBinder(Dims& dims, const Circuit& circuit, const Model& model, std::vector<BoundPart>& parts,
             std::set<std::string_view>& consumed, BindFindings& findings)
      : dims_(dims),
        circuit_(circuit),
        model_(model),
        parts_(parts),
        consumed_(consumed),
        findings_(findings),
        declarations_(declarations(circuit)) {}

  void run() {
    for (const PartDeclaration& d : declarations_) {
      if (d.each == nullptr) {
        if (declared_at(dims_, d, 0).is_true()) place(d, -1);
        continue;
      }
      Polynomial first, last;
      if (!dims_.range(d.each->range, first, last)) return;
      if (last.constant() - first.constant() > kMostLayers) {
        findings_.add(ErrorKind::damaged,
                      fmt::format("{} layers of part '{}'", last.constant() - first.constant(),
                                  d.part->name.text));
        return;
      }
      for (int64_t l = first.constant(); l < last.constant(); ++l)
        if (declared_at(dims_, d, l).is_true()) place(d, l);
    }
    for (const Waiting& w : waiting_) settle(w);
    tell_missing();
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const BoundPart& a, const BoundPart& b) { return a.layer < b.layer; });
  }

 private:
  struct Waiting {  // absent, with something to take instead
    const PartDeclaration* declaration;
    int64_t layer;
  };
  struct Missing {
    std::string pattern, first, nor;
    int64_t count = 1;
  };

  void place(const PartDeclaration& d, int64_t layer) {
    const std::string& name = d.part->name.text;
    if (!placed_.insert({name, layer}).second) {
      findings_.add(ErrorKind::usage,
                    fmt::format("part '{}' is declared twice for layer {} (line {})", name, layer,
                                d.part->at.line));
      return;
    }
    BoundPart p;
    p.name = name;
    p.layer = static_cast<int>(layer);
    p.role = d.part->role;
    std::vector<Polynomial> lengths;
    if (!shape_at(dims_, d.part->shape, d.variable(), layer, lengths)) return;
    for (const Polynomial& l : lengths) p.data.shape.push_back(l.constant());
    const bool found =
        from_own_tensor(d, layer, p) || from_pack(d, layer, p) || from_each(d, layer, p);
    if (found) {
      if (!broken_) add_bias(d, layer, p);
      if (!broken_) add_scale(p);
      if (!std::exchange(broken_, false)) add(std::move(p));
      return;
    }
    if (d.part->otherwise) {
      waiting_.push_back({&d, layer});
      return;
    }
    if (d.part->optional || group_is_absent(d, layer)) return;
    miss(tensor_names(d, layer)[0], or_instead(d, layer));
  }

  void add(BoundPart p) {
    placed_parts_[{p.name, p.layer}] = parts_.size();
    parts_.push_back(std::move(p));
  }

  std::string or_instead(const PartDeclaration& d, int64_t layer) const {
    std::string s;
    const auto add = [&](const std::string& name) { s += (s.empty() ? "" : ", ") + name; };
    const std::vector<std::string> names = tensor_names(d, layer);
    for (size_t i = 1; i < names.size(); ++i) add(names[i]);
    if (d.pack != nullptr) add(pack_name(d, layer));
    if (d.part->or_each) add(with_indices(*d.part->or_each, d.variable(), layer, 0));
    return s;
  }

  void miss(const std::string& tensor, const std::string& nor) {
    const std::string pattern = starred(tensor);
    for (Missing& m : missing_)
      if (m.pattern == pattern) {
        ++m.count;
        return;
      }
    missing_.push_back({pattern, tensor, nor});
  }

  void tell_missing() {
    for (const Missing& m : missing_) {
      std::string line = fmt::format("tensor '{}' is missing{}", m.first,
                                     m.nor.empty() ? "" : fmt::format(" (nor {})", m.nor));
      if (m.count > 1)
        line += fmt::format(", and in {} more layer{}", m.count - 1, m.count == 2 ? "" : "s");
      findings_.add(ErrorKind::damaged, std::move(line));
    }
  }

  // ---- where a part may be found ----

  bool from_own_tensor(const PartDeclaration& d, int64_t layer, BoundPart& p) {
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
  void set_offsets(PartData& data, const Weight& w, int64_t skip, int64_t bytes) {
    const bool stack = data.shape.size() == 3;
    const int64_t n = stack ? data.shape[0] : 1;
    for (int64_t i = 0; i < n; ++i)
      data.offsets.push_back(w.offset + i * (bytes / std::max<int64_t>(n, 1)) + skip);
  }

  bool fits(const Weight& w, const PartDeclaration& d, int64_t layer,
            const std::vector<int64_t>& wanted) {
    const std::vector<ExprPtr>& lengths = d.part->stored.empty() ? d.part->shape : d.part->stored;
    std::vector<int64_t> in_file;
    std::vector<Polynomial> evaluated;
    if (!shape_at(dims_, lengths, d.variable(), layer, evaluated)) return broken_ = true, false;
    for (const Polynomial& l : evaluated) in_file.push_back(l.constant());
    int64_t a = 0, b = 0;
    const bool sane = product(in_file, a) && product(wanted, b) && a == b && a > 0;
    if (!sane || !same_shape(w.shape, in_file)) return wrong_shape(w, lengths, in_file), false;
    if (!readable(w)) return false;
    const int64_t last = wanted.empty() ? 1 : wanted.back();
    if (info(w.dtype).block_elements > 1 && (w.shape.empty() ? 1 : w.shape.back()) != last) {
      findings_.add(ErrorKind::unsupported,
                    fmt::format("'{}' is {} {}, its rows of {} cannot be cut out of blocks", w.name,
                                name(w.dtype), print_shape(w.shape), last));
      return broken_ = true, false;
    }
    return true;
  }

  bool readable(const Weight& w) {
    const bool integers = w.dtype == DType::i8 || w.dtype == DType::i16 || w.dtype == DType::i32 ||
                          w.dtype == DType::i64;
    if (integers || (info(w.dtype).state != DTypeState::listed && info(w.dtype).decode != nullptr))
      return true;
    findings_.add(ErrorKind::unsupported,
                  fmt::format("'{}' is {}, a type that etch cannot read", w.name, name(w.dtype)));
    return !(broken_ = true);
  }

  std::string source_text(const std::vector<ExprPtr>& lengths) const {
    std::string s;
    for (const ExprPtr& e : lengths)
      s += (s.empty() ? "" : ", ") +
           circuit_.text.substr(static_cast<size_t>(e->at.begin),
                                static_cast<size_t>(e->at.end - e->at.begin));
    return "[" + s + "]";
  }

  void wrong_shape(const Weight& w, const std::vector<ExprPtr>& lengths,
                   const std::vector<int64_t>& wanted) {
    broken_ = true;
    findings_.add(ErrorKind::damaged,
                  fmt::format("'{}' is {}, the circuit wants {} = {}", w.name, print_shape(w.shape),
                              source_text(lengths), print_shape(wanted)));
  }

  // The rows of a pack's tensor that belong to one of its parts: those of the parts before it come
  // first.
  bool from_pack(const PartDeclaration& d, int64_t layer, BoundPart& p) {
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
        broken_ = true;
        findings_.add(ErrorKind::damaged, fmt::format("'{}' is {}, the circuit wants {}", w->name,
                                                      print_shape(w->shape), print_shape(wanted)));
        return true;
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

  std::vector<const PartDeclaration*> pack_of(const PartDeclaration& d) const {
    std::vector<const PartDeclaration*> out;
    for (const PartDeclaration& other : declarations_)
      if (other.pack == d.pack) out.push_back(&other);
    return out;
  }
  bool has_optional(const PartDeclaration& d) const {
    const auto all = pack_of(d);
    return std::any_of(all.begin(), all.end(),
                       [](const PartDeclaration* o) { return o->part->optional; });
  }

  bool rows_of_pack(const PartDeclaration& d, int64_t layer, bool with_optional, int64_t& before,
                    int64_t& all, bool& own) {
    for (const PartDeclaration* other : pack_of(d)) {
      if (other->part->optional && !with_optional) continue;
      std::vector<Polynomial> shape;
      if (!shape_at(dims_, other->part->shape, other->variable(), layer, shape) ||
          shape.size() < 2) {
        findings_.add(ErrorKind::usage,
                      fmt::format("part '{}' of pack '{}' is no matrix (line {})",
                                  other->part->name.text, d.pack->name.text, other->part->at.line));
        broken_ = true;
        return false;
      }
      if (other == &d) {
        before = all;
        own = true;
      }
      const int64_t rows = shape[shape.size() - 2].constant();
      if (rows < 0 || __builtin_add_overflow(all, rows, &all)) {
        findings_.add(ErrorKind::damaged,
                      fmt::format("pack '{}' has {} rows", d.pack->name.text, rows));
        broken_ = true;
        return false;
      }
    }
    return true;
  }

  // One tensor for each matrix of a stack.
  bool from_each(const PartDeclaration& d, int64_t layer, BoundPart& p) {
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
      if (!same_shape(w->shape, wanted)) {
        broken_ = true;
        findings_.add(ErrorKind::damaged, fmt::format("'{}' is {}, the circuit wants {}", w->name,
                                                      print_shape(w->shape), print_shape(wanted)));
        return true;
      }
      if (!readable(*w)) return true;
      if (e == 0) {
        p.data.weight = w;
        p.data.dtype = w->dtype;
        p.tensor = fmt::format("{} and {} more", w->name, n - 1);
      } else if (w->dtype != p.data.dtype) {
        broken_ = true;
        findings_.add(
            ErrorKind::unsupported,
            fmt::format("'{}' is {}, '{}' is {}: the matrices of a stack have one type", w->name,
                        name(w->dtype), p.data.weight->name, name(p.data.dtype)));
        return true;
      }
      p.data.offsets.push_back(w->offset);
    }
    return true;
  }

  // ---- biases ----

  // X.bias beside X.weight: the part's shape without its last axis; of norm weights the same shape.
  void add_bias(const PartDeclaration& d, int64_t layer, BoundPart& p) {
    const std::pair<int64_t, int64_t> rows = std::exchange(packed_rows_, {0, 0});
    if (d.part->bias == BiasRule::none) return;
    const bool packed = rows.second > 0;
    const std::string own = bias_name(tensor_names(d, layer)[0]);
    const Weight* w = model_.find(own);
    const bool from_pack = w == nullptr && packed;
    if (from_pack) w = model_.find(bias_name(pack_name(d, layer)));
    if (w == nullptr) {
      if (d.part->bias == BiasRule::present)
        miss(own, packed ? bias_name(pack_name(d, layer)) : "");
      return;
    }
    take(*w);
    const std::vector<int64_t>& shape = p.data.shape;
    std::vector<int64_t> wanted(shape.begin(), shape.end() - (shape.size() > 1 ? 1 : 0));
    int64_t here = 0, all = 0;
    if (!product(w->shape, here)) return;
    // A norm over heads: as many as weights. Where that tells nothing, how the circuit uses the
    // part does.
    const bool as_many = !from_pack && shape.size() == 2 && product(shape, all) && here == all;
    if (as_many && (shape[1] != 1 || is_norm(p.name))) wanted = shape;
    std::vector<int64_t> in_file = wanted;
    if (from_pack) in_file.back() = rows.second;
    if (!product(in_file, all) || here != all ||
        (info(w->dtype).block_elements > 1 && wanted.size() != 1)) {
      broken_ = true;
      findings_.add(ErrorKind::damaged, fmt::format("'{}' is {}, the circuit wants {}", w->name,
                                                    print_shape(w->shape), print_shape(in_file)));
      return;
    }
    if (!readable(*w)) return;
    p.bias = std::make_unique<PartData>();
    p.bias->weight = w;
    p.bias->dtype = w->dtype;
    p.bias->shape = wanted;
    // Of a stack one offset per matrix, as its weights have.
    const int64_t n = shape.size() == 3 ? shape[0] : 1;
    const int64_t skip = from_pack ? row_bytes(w->dtype, rows.first) : 0;
    if (from_pack && rows.first % info(w->dtype).block_elements != 0) {
      broken_ = true;
      findings_.add(
          ErrorKind::unsupported,
          fmt::format("'{}' is {}: its rows cannot be cut out of blocks", w->name, name(w->dtype)));
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      p.bias->offsets.push_back(w->offset + i * (w->bytes / n) + skip);
  }

  bool is_norm(const std::string& part) {
    if (!norm_parts_) norm_parts_ = use_of(circuit_).norm_parts;
    return norm_parts_->contains(part);
  }

  // ---- what is absent ----

  // `each ... optional`: present or absent as a whole.
  bool group_is_absent(const PartDeclaration& d, int64_t layer) {
    const PartItem* group = d.optional_group();
    if (group == nullptr) return false;
    for (const PartDeclaration& other : declarations_) {
      if (other.optional_group() != group || other.part->optional ||
          !declared_at(dims_, other, layer).is_true())
        continue;
      for (const std::string& name : tensor_names(other, layer))
        if (model_.find(name) != nullptr) return false;
      if (other.pack != nullptr && model_.find(pack_name(other, layer)) != nullptr) return false;
    }
    return true;
  }

  // `else OTHER`: OTHER's tensor under this name.
  void settle(const Waiting& w) {
    const PartDeclaration& d = *w.declaration;
    std::string nor = or_instead(d, w.layer);
    const PartDeclaration* at = &d;
    int64_t layer = w.layer;
    for (int hops = 0; hops < 8 && at != nullptr && at->part->otherwise; ++hops) {
      const Part& p = *at->part;
      const std::string& other = p.otherwise->text;
      const PartDeclaration* next = nullptr;
      for (const PartDeclaration& o : declarations_)
        if (o.part->name.text == other) next = &o;
      if (next == nullptr)
        return findings_.add(ErrorKind::usage, fmt::format("nothing here is called '{}' (line {})",
                                                           other, p.otherwise->at.line));
      if (p.otherwise_index != nullptr) {
        const DimValue l = DimValue::of(layer);
        const std::string_view variable = at->variable();
        const Dims::Lookup scope = Dims::only(variable, l);
        Polynomial index;
        if (!dims_.integer(dims_.evaluate(*p.otherwise_index, scope), p.otherwise_index->at, index))
          return;
        layer = index.constant();
      } else if (next->each == nullptr) {
        layer = -1;
      }
      const auto found = placed_parts_.find({other, static_cast<int>(layer)});
      if (found != placed_parts_.end()) {
        const BoundPart& source = parts_[found->second];
        BoundPart copy;
        copy.name = d.part->name.text;
        copy.layer = static_cast<int>(w.layer);
        copy.tensor = source.tensor;
        copy.data = source.data;
        copy.role = d.part->role;
        if (source.scale != nullptr) copy.scale = std::make_unique<PartData>(*source.scale);
        if (source.bias != nullptr) copy.bias = std::make_unique<PartData>(*source.bias);
        std::vector<Polynomial> lengths;
        std::vector<int64_t> shape;
        if (!shape_at(dims_, d.part->shape, d.variable(), w.layer, lengths)) return;
        for (const Polynomial& l : lengths) shape.push_back(l.constant());
        if (!same_shape(shape, source.data.shape))
          return findings_.add(
              ErrorKind::damaged,
              fmt::format("'{}' stands for part '{}' and is {}, the circuit wants {} = {}",
                          source.tensor, copy.name, print_shape(source.data.shape),
                          source_text(d.part->shape), print_shape(shape)));
        add(std::move(copy));
        return;
      }
      nor += (nor.empty() ? "" : ", ") + tensor_names(*next, layer)[0];
      if (next == at && layer == w.layer) break;
      at = next;
    }
    if (d.part->optional || group_is_absent(d, w.layer)) return;
    miss(tensor_names(d, w.layer)[0], nor);
  }

  // A tensor is spoken for, with the input scale that its number format carries beside it (kernels
  // do not want it).
  void take(const Weight& w) {
    consumed_.insert(w.name);
    const Weight* s = beside(w, ".input_scale");
    if (s != nullptr) consumed_.insert(s->name);
  }

  const Weight* beside(const Weight& w, std::string_view ending) {
    constexpr std::string_view kEnd = ".weight";
    if (w.name.size() <= kEnd.size() || w.name.substr(w.name.size() - kEnd.size()) != kEnd)
      return nullptr;
    const Weight* s =
        model_.find(w.name.substr(0, w.name.size() - kEnd.size()) + std::string(ending));
    return s == nullptr || is_named(s->name) ? nullptr : s;
  }

  // X.scale beside X.weight.
  void add_scale(BoundPart& p) {
    const Weight* s = beside(*p.data.weight, ".scale");
    if (s == nullptr) return;
    consumed_.insert(s->name);
    const int64_t n = p.data.shape.size() == 3 ? p.data.shape[0] : 1;
    const bool one = same_shape(s->shape, {1});
    if (s->dtype != DType::f32 || !(one || same_shape(s->shape, {n})) || p.data.shape.size() < 2) {
      broken_ = true;
      findings_.add(ErrorKind::unsupported,
                    fmt::format("'{}' is {} {}: a scale beside a matrix is F32 [1]{}", s->name,
                                name(s->dtype), print_shape(s->shape),
                                n > 1 ? fmt::format(" or [{}]", n) : ""));
      return;
    }
    p.scale = std::make_unique<PartData>();
    p.scale->weight = s;
    p.scale->dtype = s->dtype;
    p.scale->shape = {one ? 1 : n};
    p.scale->offsets = {s->offset};
  }

  // Does a part of the circuit name this tensor itself?
  bool is_named(std::string_view tensor) {
    if (named_.empty())
      for (const PartDeclaration& d : declarations_)
        for (const std::string& as : d.part->as)
          named_.insert(starred(with_indices(as, d.variable(), 0)));
    return named_.contains(starred(tensor));
  }

  Dims& dims_;
  const Circuit& circuit_;
  const Model& model_;
  std::vector<BoundPart>& parts_;
  std::set<std::string_view>& consumed_;
  BindFindings& findings_;
  std::vector<PartDeclaration> declarations_;
  std::set<std::pair<std::string, int64_t>> placed_;
  std::map<std::pair<std::string, int>, size_t> placed_parts_;
  std::vector<Waiting> waiting_;
  std::vector<Missing> missing_;
  std::set<std::string> named_;
  std::optional<std::set<std::string>> norm_parts_;
  std::pair<int64_t, int64_t> packed_rows_{
      0, 0};             // rows before the part just found, and of the whole pack
  bool broken_ = false;  // the part just found does not fit; it was told
};

}  // namespace

void BindFindings::add(ErrorKind kind, std::string message) {
  for (const Line& l : lines)
    if (l.message == message) return;
  lines.push_back({kind, std::move(message)});
}

Status BindFindings::status() const {
  if (lines.empty()) return {};
  ErrorKind kind = ErrorKind::usage;
  for (const Line& l : lines)
    if (l.kind == ErrorKind::damaged ||
        (l.kind == ErrorKind::unsupported && kind == ErrorKind::usage))
      kind = l.kind;
  std::string all;
  for (size_t i = 0; i < lines.size() && i < kMostListed; ++i)
    all += (i == 0 ? "" : "\n") + lines[i].message;
  if (lines.size() > kMostListed) all += fmt::format("\nand {} more", lines.size() - kMostListed);
  return fail(kind, "{}", all);
}

ModelParts::ModelParts(const Circuit& circuit, const Model& model)
    : model_(model), declarations_(declarations(circuit)) {
  for (const PartDeclaration& d : declarations_) by_name_.emplace(d.part->name.text, &d);
}

bool ModelParts::has(std::string_view part, int64_t layer) {
  const auto [first, last] = by_name_.equal_range(part);
  for (auto i = first; i != last; ++i) {
    const PartDeclaration& d = *i->second;
    for (const std::string& name : tensor_names(d, layer))
      if (model_.find(name) != nullptr) return true;
    if (d.pack != nullptr && !d.part->optional && model_.find(pack_name(d, layer)) != nullptr)
      return true;
    if (d.part->or_each &&
        model_.find(with_indices(*d.part->or_each, d.variable(), layer, 0)) != nullptr)
      return true;
  }
  return false;
}

int64_t ModelParts::rows(std::string_view part, int64_t layer) {
  const auto [first, last] = by_name_.equal_range(part);
  for (auto i = first; i != last; ++i)
    for (const std::string& name : tensor_names(*i->second, layer))
      if (const Weight* w = model_.find(name)) return w->shape.empty() ? 1 : w->shape[0];
  return 0;
}

void bind_parts(Dims& dims, const Circuit& circuit, const Model& model,
                std::vector<BoundPart>& parts, std::set<std::string_view>& consumed,
                BindFindings& findings) {
  PartBinder(dims, circuit, model, parts, consumed, findings).run();
}

}  // namespace etch

// What stands beside a weight: biases, scales.
#include "circuit/check.h"
#include "circuit/part_binder.h"

namespace etch {

// X.bias beside X.weight: the part's shape without its last axis; of norm weights the same shape.
void PartBinder::add_bias(const PartDeclaration& d, int64_t layer, BoundPart& p) {
  const std::pair<int64_t, int64_t> rows = std::exchange(packed_rows_, {0, 0});
  if (d.part->bias == BiasRule::none) return;
  const bool packed = rows.second > 0;
  const std::string own = bias_name(tensor_names(d, layer)[0]);
  const Weight* w = model_.find(own);
  const bool from_pack = w == nullptr && packed;
  if (from_pack) w = model_.find(bias_name(pack_name(d, layer)));
  if (w == nullptr) {
    if (d.part->bias == BiasRule::present) miss(own, packed ? bias_name(pack_name(d, layer)) : "");
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
    wrong_shape(*w, in_file);
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
    broken(ErrorKind::unsupported, fmt::format("'{}' is {}: its rows cannot be cut out of blocks",
                                               w->name, name(w->dtype)));
    return;
  }
  for (int64_t i = 0; i < n; ++i) p.bias->offsets.push_back(w->offset + i * (w->bytes / n) + skip);
}

bool PartBinder::is_norm(const std::string& part) {
  if (!norm_parts_) norm_parts_ = use_of(circuit_).norm_parts;
  return norm_parts_->contains(part);
}

// X.scale beside X.weight.
void PartBinder::add_scale(BoundPart& p) {
  const Weight* s = beside(*p.data.weight, ".scale");
  if (s == nullptr) return;
  consumed_.insert(s->name);
  const int64_t n = p.data.shape.size() == 3 ? p.data.shape[0] : 1;
  const bool one = same_shape(s->shape, {1});
  if (s->dtype != DType::f32 || !(one || same_shape(s->shape, {n})) || p.data.shape.size() < 2) {
    broken(
        ErrorKind::unsupported,
        fmt::format("'{}' is {} {}: a scale beside a matrix is F32 [1]{}", s->name, name(s->dtype),
                    print_shape(s->shape), n > 1 ? fmt::format(" or [{}]", n) : ""));
    return;
  }
  p.scale = std::make_unique<PartData>();
  p.scale->weight = s;
  p.scale->dtype = s->dtype;
  p.scale->shape = {one ? 1 : n};
  p.scale->offsets = {s->offset};
}

// A tensor is spoken for, with the input scale that its number format carries beside it (kernels
// do not want it).
void PartBinder::take(const Weight& w) {
  consumed_.insert(w.name);
  const Weight* s = beside(w, ".input_scale");
  if (s != nullptr) consumed_.insert(s->name);
}

const Weight* PartBinder::beside(const Weight& w, std::string_view ending) {
  constexpr std::string_view kEnd = ".weight";
  if (w.name.size() <= kEnd.size() || w.name.substr(w.name.size() - kEnd.size()) != kEnd)
    return nullptr;
  const Weight* s =
      model_.find(w.name.substr(0, w.name.size() - kEnd.size()) + std::string(ending));
  return s == nullptr || is_named(s->name) ? nullptr : s;
}

// Does a part of the circuit name this tensor itself?
bool PartBinder::is_named(std::string_view tensor) {
  if (named_.empty())
    for (const PartDeclaration& d : declarations_)
      for (const std::string& as : d.part->as)
        named_.insert(starred(with_indices(as, d.variable(), 0)));
  return named_.contains(starred(tensor));
}

}  // namespace etch

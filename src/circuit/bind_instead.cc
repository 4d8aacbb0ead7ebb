// Parts that are absent: optional ones, and those with another in their place.
#include "circuit/part_binder.h"

namespace etch {

// `each ... optional`: present or absent as a whole.
bool PartBinder::group_is_absent(const PartDeclaration& d, int64_t layer) {
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
void PartBinder::settle(const Waiting& w) {
  const PartDeclaration& d = *w.declaration;
  std::string nor = or_instead(d, w.layer);
  const PartDeclaration* at = &d;
  int64_t layer = w.layer;
  for (int hops = 0; hops < 8 && at != nullptr && at->part->otherwise; ++hops) {
    const Name& other = *at->part->otherwise;
    const PartDeclaration* next = nullptr;
    for (const PartDeclaration& o : declarations_)
      if (o.part->name.text == other.text) next = &o;
    if (next == nullptr)
      return findings_.add(ErrorKind::usage, fmt::format("nothing here is called '{}' (line {})",
                                                         other.text, other.at.line));
    if (!layer_of_other(*at, *next, layer)) return;
    const auto found = placed_parts_.find({other.text, static_cast<int>(layer)});
    if (found != placed_parts_.end()) return stand_in(parts_[found->second], w);
    nor += (nor.empty() ? "" : ", ") + tensor_names(*next, layer)[0];
    if (next == at && layer == w.layer) break;
    at = next;
  }
  if (d.part->optional || group_is_absent(d, w.layer)) return;
  miss(tensor_names(d, w.layer)[0], nor);
}

// In: the layer of `d`. Out: that of the part it names behind `else`.
bool PartBinder::layer_of_other(const PartDeclaration& d, const PartDeclaration& other,
                                int64_t& layer) {
  const ExprPtr& written = d.part->otherwise_index;
  if (written == nullptr) {
    if (other.each == nullptr) layer = -1;
    return true;
  }
  const DimValue l = DimValue::of(layer);
  Polynomial index;
  if (!dims_.integer(dims_.evaluate(*written, Dims::only(d.variable(), l)), written->at, index))
    return false;
  layer = index.constant();
  return true;
}

void PartBinder::stand_in(const BoundPart& source, const Waiting& w) {
  const PartDeclaration& d = *w.declaration;
  BoundPart copy;
  copy.name = d.part->name.text;
  copy.layer = static_cast<int>(w.layer);
  copy.tensor = source.tensor;
  copy.data = source.data;
  copy.role = d.part->role;
  if (source.scale != nullptr) copy.scale = std::make_unique<PartData>(*source.scale);
  if (source.bias != nullptr) copy.bias = std::make_unique<PartData>(*source.bias);
  std::vector<int64_t> shape;
  if (!lengths_at(d.part->shape, d, w.layer, shape)) return;
  if (!same_shape(shape, source.data.shape))
    return findings_.add(
        ErrorKind::damaged,
        fmt::format("'{}' stands for part '{}' and is {}, the circuit wants {} = {}", source.tensor,
                    copy.name, print_shape(source.data.shape), source_text(d.part->shape),
                    print_shape(shape)));
  add(std::move(copy));
}

}  // namespace etch

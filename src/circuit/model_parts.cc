// Parts by the names of tensors alone.
#include "circuit/bind_parts.h"

namespace etch {

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

}  // namespace etch

// kernels.json: for every tensor of the file that a part is bound to, the calls that read it and
// why they have the kernel they have. A call reads a tensor if one of its arguments points into it,
// or if it says so (experts are found through tables of offsets).
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "study/sidecar_parts.h"

namespace etch {
namespace {

using nlohmann::ordered_json;

struct Use {
  bool prefill = false;
  int32_t call = 0;
  const Call* of = nullptr;
};

class TensorUses {
 public:
  explicit TensorUses(const Compiled& compiled) : model_(*compiled.model) {
    for (const Weight& w : model_.weights) by_offset_[w.offset] = &w;
    for (const bool prefill : {false, true}) {
      const CallList& list = prefill ? compiled.lowered->prefill : compiled.lowered->decode;
      for (size_t i = 0; i < list.calls.size(); ++i) {
        const Use use = {prefill, static_cast<int32_t>(i), &list.calls[i]};
        for (const Arg& arg : list.calls[i].args)
          if (const Place* p = std::get_if<Place>(&arg); p && p->space == Space::file)
            add(tensor_at(p->offset), use);
        if (list.calls[i].kernel->weight) add_named(list.calls[i].origin.tensor, use);
      }
    }
  }

  const std::vector<Use>& of(const Weight* w) const {
    static const std::vector<Use> none;
    const auto at = uses_.find(w);
    return at == uses_.end() ? none : at->second;
  }

 private:
  const Weight* tensor_at(int64_t offset) const {
    auto at = by_offset_.upper_bound(offset);
    if (at == by_offset_.begin()) return nullptr;
    --at;
    return offset < at->first + at->second->bytes ? at->second : nullptr;
  }
  void add(const Weight* w, const Use& use) {
    if (!w) return;
    std::vector<Use>& uses = uses_[w];
    if (uses.empty() || uses.back().of != use.of) uses.push_back(use);
  }
  // "blk.0.ffn_gate.weight & blk.0.ffn_up.weight"
  void add_named(std::string_view names, const Use& use) {
    while (!names.empty()) {
      const size_t end = std::min(names.find(" & "), names.size());
      add(model_.find(names.substr(0, end)), use);
      names.remove_prefix(std::min(end + 3, names.size()));
    }
  }

  const Model& model_;
  std::map<int64_t, const Weight*> by_offset_;
  std::map<const Weight*, std::vector<Use>> uses_;
};

ordered_json use_json(const Lowered& lowered, const Use& use) {
  ordered_json j = {{"list", use.prefill ? "prefill" : "decode"},
                    {"call", use.call},
                    {"node", use.of->origin.node},
                    {"kernel", use.of->kernel->name},
                    {"others", ordered_json::array()}};
  for (const Choice& c : lowered.choices) {
    if (c.node != use.of->origin.node || c.prefill != use.prefill) continue;
    for (const Candidate& k : c.candidates) {
      if (k.kernel == use.of->kernel->name) {
        j["cost"] = k.cost;
        continue;
      }
      j["others"].push_back(
          {{"kernel", k.kernel}, {"legal", k.legal}, {"cost", k.cost}, {"reason", k.reason}});
    }
  }
  return j;
}

}  // namespace

std::string print_kernels_json(const Compiled& compiled) {
  const TensorUses uses(compiled);
  ordered_json tensors = ordered_json::array();
  std::map<std::string_view, bool> told;
  const auto tell = [&](const std::string& part, int layer, const PartData& data) {
    if (!data.weight || told[data.weight->name]) return;
    told[data.weight->name] = true;
    ordered_json j = {{"tensor", exact_text(data.weight->name)},
                      {"part", part},
                      {"layer", layer},
                      {"type", name(data.weight->dtype)},
                      {"shape", data.weight->shape},
                      {"uses", ordered_json::array()}};
    for (const Use& use : uses.of(data.weight))
      j["uses"].push_back(use_json(*compiled.lowered, use));
    if (j["uses"].empty())
      j["note"] = "no call reads it where it lies: it is among the constants of the plan";
    tensors.push_back(std::move(j));
  };
  for (const BoundPart& p : compiled.binding->parts) {
    tell(p.name, p.layer, p.data);
    if (p.bias) tell(p.name + " bias", p.layer, *p.bias);
    if (p.scale) tell(p.name + " scale", p.layer, *p.scale);
  }
  return file_text({{"schema", "etch.kernels/1"}, {"tensors", std::move(tensors)}});
}

}  // namespace etch

#include "lowered/kinds.h"

#include <fmt/core.h>

#include <algorithm>

namespace etch {
namespace {

std::string print_open(const Call& call) {
  std::string text = fmt::format("{}", call.kernel->name);
  if (call.split == Split::every_thread) text += " every_thread";
  if (call.split == Split::one) text += " one";
  const ArgsInfo& args = info(call.kernel->args);
  for (size_t i = 0; i < call.args.size(); ++i) {
    const std::string_view field = args.fields[i].name;
    if (const Place* p = std::get_if<Place>(&call.args[i])) {
      if (p->space == Space::none) continue;
      const bool open = p->space == Space::file || p->space == Space::constants;
      text += open ? fmt::format(" {}={}", field, name(p->space))
                   : fmt::format(" {}={}:{}", field, name(p->space), p->offset);
    } else if (const auto* l = std::get_if<int64_t>(&call.args[i])) {
      if (*l != 0) text += fmt::format(" {}={}", field, *l);
    } else if (const auto* n = std::get_if<int32_t>(&call.args[i])) {
      if (field == "state")
        text += " state";
      else if (*n != 0)
        text += fmt::format(" {}={}", field, *n);
    } else if (const auto* f = std::get_if<float>(&call.args[i])) {
      if (*f != 0) text += fmt::format(" {}={}", field, *f);
    }
  }
  if (call.barrier_after) text += " | barrier";
  return text;
}

}  // namespace

std::vector<LayerKind> layer_kinds(const CallList& list) {
  std::vector<std::pair<int32_t, LayerKind>> layers;  // in order of appearance
  for (const Call& call : list.calls) {
    if (call.origin.layer < 0) continue;
    auto it = std::find_if(layers.begin(), layers.end(),
                           [&](const auto& l) { return l.first == call.origin.layer; });
    if (it == layers.end()) it = layers.insert(layers.end(), {call.origin.layer, {}});
    it->second.n_calls += 1;
    it->second.n_barriers += call.barrier_after ? 1 : 0;
    it->second.text += print_open(call) + "\n";
  }
  std::vector<LayerKind> kinds;
  for (auto& [layer, kind] : layers) {
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const LayerKind& k) { return k.text == kind.text; });
    if (same != kinds.end()) {
      same->layers.push_back(layer);
    } else {
      kind.layers.push_back(layer);
      kinds.push_back(std::move(kind));
    }
  }
  return kinds;
}

}  // namespace etch

#include "circuit/nearest.h"

#include <algorithm>
#include <set>
#include <vector>

#include "circuit/parts.h"
#include "circuit/patterns.h"

namespace etch {

namespace {

// Names a part may have in a file, as patterns.
std::vector<std::string> names_of(const PartDeclaration& d) {
  std::vector<std::string> names = tensor_names(d, 0);
  if (d.pack != nullptr) names.push_back(pack_name(d, 0));
  if (d.part->or_each) names.push_back(with_indices(*d.part->or_each, d.variable(), 0, 0));
  if (d.part->bias != BiasRule::none) {
    names.push_back(bias_name(names[0]));
    if (d.pack != nullptr) names.push_back(bias_name(pack_name(d, 0)));
  }
  for (std::string& n : names) n = starred(n);
  return names;
}

Nearest distance(const Circuit& circuit, const Model& model) {
  std::set<std::string> in_file, in_circuit;
  for (const Weight& w : model.weights) in_file.insert(starred(w.name));
  Nearest d;
  for (const PartDeclaration& p : declarations(circuit)) {
    bool found = false;
    for (const std::string& n : names_of(p)) {
      found = found || in_file.contains(n);
      in_circuit.insert(n);
    }
    const bool conditional = std::any_of(p.guards.begin(), p.guards.end(), [](const auto& g) {
      return g.item->kind == PartItem::Kind::branch;
    });
    if (!found && !p.may_be_absent() && !p.part->otherwise && !conditional) ++d.absent;
  }
  std::vector<std::string> ignored;
  for (const Ignore& i : circuit.ignores)
    if (!i.is_key && !i.variable) ignored.push_back(i.pattern);
  for (const Weight& w : model.weights) {
    const std::string pattern = starred(w.name);
    if (in_circuit.contains(pattern) ||
        std::any_of(ignored.begin(), ignored.end(),
                    [&](const std::string& i) { return matches(i, w.name); }))
      ++d.known;
    else
      ++d.unknown[pattern];
  }
  return d;
}

}  // namespace

Nearest nearest_circuit(const CircuitLibrary& library, const Model& model) {
  Nearest best;
  for (const CircuitLibrary::Place& p : library.places)
    for (const auto& c : p.circuits) {
      Nearest d = distance(*c, model);
      if (d.known == 0 || (best.circuit != nullptr && d.far() >= best.far())) continue;
      best = std::move(d);
      best.circuit = c;
    }
  return best;
}

}  // namespace etch

// Which circuit a file wants: the first place with one whose `match` holds.
#include <algorithm>
#include <map>
#include <set>

#include "circuit/bind_parts.h"
#include "circuit/dims.h"
#include "circuit/library.h"
#include "circuit/patterns.h"

namespace etch {
namespace {

bool fits(const Circuit& circuit, const Model& model) {
  bool wrong = false;
  ModelParts parts(circuit, model);
  Dims dims(circuit, &model, &parts,
            [&](const Location&, ErrorKind, const std::string&) { wrong = true; });
  const DimValue v = dims.evaluate(*circuit.match);
  return !wrong && v.kind == DimValue::Kind::truth && v.truth.is_true();
}

// Names of tensors with numbers between dots as stars: "blk.*.attn_q.weight".
std::string starred(std::string_view name) {
  std::string s;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    const bool number =
        end > i && (i == 0 || name[i - 1] == '.') && (end == name.size() || name[end] == '.');
    if (number) {
      s += '*';
      i = end;
    } else {
      s += name[i++];
    }
  }
  return s;
}

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

struct Distance {
  size_t known = 0;                    // tensors of the file that the circuit has names for
  std::map<std::string, int> unknown;  // pattern -> tensors
  size_t absent = 0;                   // parts that must be there and are not
  size_t far() const { return unknown.size() + absent; }
};

Distance distance(const Circuit& circuit, const Model& model) {
  std::set<std::string> in_file, in_circuit;
  for (const Weight& w : model.weights) in_file.insert(starred(w.name));
  Distance d;
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

std::string nearest_circuit(const CircuitLibrary& library, const Model& model) {
  std::shared_ptr<const Circuit> best;
  Distance best_distance;
  for (const CircuitLibrary::Place& p : library.places)
    for (const auto& c : p.circuits) {
      Distance d = distance(*c, model);
      if (d.known == 0 || (best != nullptr && d.far() >= best_distance.far())) continue;
      best = c;
      best_distance = std::move(d);
    }
  if (best == nullptr) return "";
  std::string s = fmt::format(" (nearest: {}, {} of {} tensors match", best->name.text,
                              best_distance.known, model.weights.size());
  int shown = 0;
  for (const auto& [pattern, n] : best_distance.unknown) {
    if (shown == 6) {
      s += fmt::format(" and {} more", best_distance.unknown.size() - 6);
      break;
    }
    s += fmt::format("{}{} ({})", shown == 0 ? "; not matched: " : ", ", pattern, n);
    ++shown;
  }
  return s + ")";
}

}  // namespace

Result<std::shared_ptr<const Circuit>> find_circuit(const CircuitLibrary& library,
                                                    const Model& model) {
  for (const CircuitLibrary::Place& p : library.places) {
    std::vector<std::shared_ptr<const Circuit>> found;
    for (const auto& c : p.circuits)
      if (fits(*c, model)) found.push_back(c);
    if (found.size() == 1) return found[0];
    if (found.empty()) continue;
    std::string names;
    for (const auto& c : found) names += (names.empty() ? "" : ", ") + c->name.text;
    return fail(ErrorKind::usage, "{} circuits match: {} (in {})",
                found.size() == 2 ? "two" : fmt::format("{}", found.size()), names, p.name);
  }
  const std::string_view arch = model.architecture();
  if (arch.empty())
    return fail(ErrorKind::damaged,
                "the file names no architecture: key 'general.architecture' is missing");
  return fail(ErrorKind::unsupported, "no circuit knows architecture '{}'{}", arch,
              nearest_circuit(library, model));
}

}  // namespace etch

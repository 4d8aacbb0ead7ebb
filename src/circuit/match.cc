// Which circuit a file wants: the first place with one whose `match` holds.
#include "circuit/bind_parts.h"
#include "circuit/dims.h"
#include "circuit/library.h"
#include "circuit/nearest.h"

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

std::string in_words(const Nearest& nearest, const Model& model) {
  if (nearest.circuit == nullptr) return "";
  std::string s = fmt::format(" (nearest: {}, {} of {} tensors match", nearest.circuit->name.text,
                              nearest.known, model.weights.size());
  int shown = 0;
  for (const auto& [pattern, n] : nearest.unknown) {
    if (shown == 6) {
      s += fmt::format(" and {} more", nearest.unknown.size() - 6);
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
              in_words(nearest_circuit(library, model), model));
}

}  // namespace etch

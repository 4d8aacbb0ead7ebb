#include "lower/explain.h"

#include <fmt/core.h>

#include <algorithm>

namespace etch {

std::string explain(const Lowered& lowered, int32_t node) {
  std::string text;
  for (const Choice& choice : lowered.choices) {
    if (choice.node != node) continue;
    text += fmt::format("{}: {}\n", choice.prefill ? "prefill" : "decode", choice.chosen);
    std::vector<Candidate> candidates = choice.candidates;
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::pair(!a.legal, a.cost) < std::pair(!b.legal, b.cost);
                     });
    for (const Candidate& c : candidates) {
      const bool chosen = c.kernel == choice.chosen;
      text += fmt::format("  {:<28} {}\n", c.kernel,
                          chosen ? fmt::format("chosen: about {:.3g} cycles", c.cost) : c.reason);
    }
  }
  return text;
}

}  // namespace etch

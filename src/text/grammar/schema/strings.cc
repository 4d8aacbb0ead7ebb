// Strings: what a pattern, a length and a format allow at once is the product of their machines.
#include <algorithm>

#include "base/utf8.h"
#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {

struct Format {
  std::string_view name, pattern;
};
constexpr Format kFormats[] = {
#define FORMAT(name, pattern) {name, pattern},
#include "text/grammar/schema/formats.def"
};

std::string known_formats() {
  std::string names;
  for (const Format& f : kFormats) names += (names.empty() ? "" : ", ") + std::string(f.name);
  return names;
}

}  // namespace

Result<CharMachine> Compiler::pattern_machine(std::string_view pattern, NodeId node,
                                              bool is_search) {
  const std::pair key(std::string(pattern), is_search);
  const auto known = machines_.find(key);
  if (known != machines_.end()) return known->second;
  Grammar own;
  const std::string where = document_.pointer(node) + (is_search ? "/pattern" : "/format");
  const ExpressionId e = ETCH_TRY(add_regex(own, pattern, is_search).context(where));
  return machines_[key] = ETCH_TRY(machine_of_expression(own, e).context(where));
}

Result<CharMachine> Compiler::string_machine(const Facets& f) {
  CharMachine machine = machine_of_length(0, -1);
  if (f.min_length > 0 || f.max_length >= 0) {
    if (std::max(f.min_length, f.max_length) > kMaxMachineStates) {
      return refuse(f.nodes.front(), "", "lengths above {} cannot be joined with patterns",
                    kMaxMachineStates);
    }
    machine = machine_of_length(f.min_length, f.max_length);
  }
  const auto restrict = [&](const CharMachine& more, NodeId node) -> Status {
    machine = ETCH_TRY(both(machine, more).context(document_.pointer(node)));
    return {};
  };
  for (const auto& [pattern, node] : f.patterns)
    ETCH_TRY(restrict(ETCH_TRY(pattern_machine(pattern, node, true)), node));
  for (const auto& [pattern, node] : f.excluded_patterns)
    ETCH_TRY(restrict(complement(ETCH_TRY(pattern_machine(pattern, node, true))), node));
  for (const auto& [name, node] : f.formats) {
    const auto format =
        std::find_if(std::begin(kFormats), std::end(kFormats),
                     [&, n = std::string_view(name)](const Format& k) { return k.name == n; });
    if (format == std::end(kFormats)) {
      return refuse(node, "format", "{} is not known; {} are", quote(name), known_formats());
    }
    ETCH_TRY(restrict(ETCH_TRY(pattern_machine(format->pattern, node, false)), node));
  }
  std::vector<std::string> texts;
  for (const Json& value : f.excluded) {
    if (value.is_string()) texts.push_back(value.get<std::string>());
  }
  if (!texts.empty()) ETCH_TRY(restrict(complement(machine_of_texts(texts)), f.nodes.front()));
  if (f.values) {
    std::vector<std::string> own;
    for (const Json& value : *f.values) {
      if (value.is_string()) own.push_back(value.get<std::string>());
    }
    ETCH_TRY(restrict(machine_of_texts(own), f.nodes.front()));
  }
  return machine;
}

Result<ExpressionId> Compiler::string_expression(const Facets& f) {
  const bool has_texts = std::any_of(f.excluded.begin(), f.excluded.end(),
                                     [](const Json& v) { return v.is_string(); });
  const bool needs_machine =
      !f.patterns.empty() || !f.excluded_patterns.empty() || !f.formats.empty() || has_texts;
  const ExpressionId quote_mark = grammar_.text("\"");
  if (needs_machine) {
    return grammar_.sequence(
        {quote_mark, grammar_.machine(ETCH_TRY(string_machine(f)), true), quote_mark});
  }
  if (f.min_length == 0 && f.max_length < 0) return any_string();
  if (f.max_length >= 0 && f.max_length < f.min_length) return grammar_.choice({});
  return grammar_.sequence(
      {quote_mark, grammar_.repeat(string_char(), f.min_length, f.max_length), quote_mark});
}

// The names that a conjunction of schemas allows: its strings.
Result<CharMachine> Compiler::names_machine(const Conjunction& all) {
  CharMachine names;  // none
  for (const Conjunction& branch : ETCH_TRY(expand(all))) {
    const Facets f = ETCH_TRY(facets_of(branch));
    if (!(f.types & Type::string)) continue;
    const CharMachine own = ETCH_TRY(string_machine(f));
    names = complement(ETCH_TRY(both(complement(names), complement(own))));
  }
  return names;
}

}  // namespace etch::schema

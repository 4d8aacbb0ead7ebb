// Proofs that no value made for one schema fits another. What is not proved counts as not so.
#include <algorithm>

#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {
constexpr int kMaxDepth = 4;
}

Result<bool> Compiler::are_disjoint(const Conjunction& a, const Conjunction& b, int depth) {
  if (depth > kMaxDepth) return false;
  for (const Conjunction& x : ETCH_TRY(expand(a))) {
    const Facets f = ETCH_TRY(facets_of(x));
    for (const Conjunction& y : ETCH_TRY(expand(b))) {
      if (!ETCH_TRY(are_disjoint(f, ETCH_TRY(facets_of(y)), depth))) return false;
    }
  }
  return true;
}

// Values for `a` have the types a text is generated with; `b` accepts all types it does not
// exclude.
Result<bool> Compiler::are_disjoint(const Facets& a, const Facets& b, int depth) {
  for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    if (!one->values) continue;
    for (const Json& value : *one->values) {
      bool fits = true;
      for (const NodeId node : other->nodes) fits = fits && ETCH_TRY(is_valid(value, node));
      for (const NodeId node : one->nodes) fits = fits && ETCH_TRY(is_valid(value, node));
      if (fits) return false;
    }
    return true;
  }
  const uint8_t types = a.generated_types() & b.types;
  if (types & (Type::null | Type::boolean)) return false;
  if (types & Type::number) {
    const auto apart = [](const std::optional<Bound>& high, const std::optional<Bound>& low) {
      if (!high || !low) return false;
      const int order = compare(high->value, low->value);
      return order < 0 || (order == 0 && (high->exclusive || low->exclusive));
    };
    if (!apart(a.high, b.low) && !apart(b.high, a.low)) return false;
  }
  if (types & Type::string) {
    const CharMachine common =
        ETCH_TRY(both(ETCH_TRY(string_machine(a)), ETCH_TRY(string_machine(b))));
    if (!common.is_empty()) return false;
  }
  if (types & Type::array) {
    const auto apart = [](const Facets& x, const Facets& y) {
      return x.max_items >= 0 && x.max_items < y.min_items;
    };
    bool differs = apart(a, b) || apart(b, a);
    for (int64_t i = 0; !differs && i < std::min<int64_t>({a.min_items, b.min_items, 16}); ++i)
      differs = ETCH_TRY(are_disjoint(item_schema(a, i), item_schema(b, i), depth + 1));
    if (!differs) return false;
  }
  if (types & Type::object) {
    bool differs = false;
    for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      for (const std::string& name : one->required) {
        if (differs) break;
        const auto own = ETCH_TRY(property_schema(*one, name));
        const auto theirs = ETCH_TRY(property_schema(*other, name));
        if (!own || !theirs) {  // one must have it, the other must not
          differs = true;
          continue;
        }
        const bool both_have = std::find(other->required.begin(), other->required.end(), name) !=
                               other->required.end();
        if (!both_have && ETCH_TRY(expand(*theirs)).empty()) differs = true;
        if (!both_have) {
          // A present one that does not fit excludes the other as well.
          differs = differs || ETCH_TRY(are_disjoint(*own, *theirs, depth + 1));
          continue;
        }
        differs = ETCH_TRY(
            are_disjoint(one == &a ? *own : *theirs, one == &a ? *theirs : *own, depth + 1));
      }
    }
    if (!differs) return false;
  }
  return true;
}

}  // namespace etch::schema

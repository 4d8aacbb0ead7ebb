// Filters on lists, dicts and their items.
#include <algorithm>

#include "text/jinja/functions.h"
#include "text/jinja/print.h"
#include "text/jinja/text_functions.h"
#include "text/utf8.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

Result<Value> filter_length(Interpreter& in, const Value& v, Call&) {
  switch (v.type()) {
    case Type::undefined:
      return Value::integer(0);
    case Type::text:
      return Value::integer(count_characters(v.str()));
    case Type::list:
    case Type::tuple:
    case Type::range:
    case Type::view:
      return Value::integer(static_cast<int64_t>(v.items().size()));
    case Type::dict:
      return Value::integer(static_cast<int64_t>(v.as_dict().entries.size()));
    default:
      return in.type_error("object of type '{}' has no len()", python_name(v.type()));
  }
}

Result<Value> filter_list(Interpreter& in, const Value& v, Call&) {
  return in.make_list(ETCH_TRY(in.iterate(v)));
}

Result<Value> filter_first(Interpreter& in, const Value& v, Call&) {
  const std::vector<Value> items = ETCH_TRY(in.iterate(v));
  return items.empty() ? Value::undefined("no first item, sequence was empty") : items.front();
}

Result<Value> filter_last(Interpreter& in, const Value& v, Call&) {
  if (v.is(Type::lazy)) return in.type_error("'generator' object is not reversible");
  const std::vector<Value> items = ETCH_TRY(in.iterate(v));
  return items.empty() ? Value::undefined("no last item, sequence was empty") : items.back();
}

Result<Value> filter_reverse(Interpreter& in, const Value& v, Call&) {
  if (v.is(Type::text)) return in.slice(v, Value::none(), Value::none(), Value::integer(-1));
  std::vector<Value> items = ETCH_TRY(in.iterate(v));
  std::reverse(items.begin(), items.end());
  return in.make_list(std::move(items), Type::lazy);
}

Result<Value> filter_items(Interpreter& in, const Value& v, Call&) {
  std::vector<Value> pairs;
  if (v.is(Type::undefined)) return in.make_list(std::move(pairs), Type::lazy);
  if (!v.is(Type::dict)) return in.type_error("Can only get item pairs from a mapping.");
  for (const auto& [key, item] : v.as_dict().entries)
    pairs.push_back(Value::list({key, item}, Type::tuple));
  return in.make_list(std::move(pairs), Type::lazy);
}

Result<Value> filter_join(Interpreter& in, const Value& v, Call& call) {
  const MarkedText between = call.has(0) ? print_str(call[0]) : MarkedText();
  const std::vector<Value> items = ETCH_TRY(in.iterate(v));
  MarkedText out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(between);
    out.append(print_str(call.has(1) ? ETCH_TRY(walk_attribute(in, items[i], call[1])) : items[i]));
    if (static_cast<int64_t>(out.text.size()) > in.options().limits.bytes)
      break;  // make_text says so
  }
  return in.make_text(std::move(out));
}

Result<Value> filter_attr(Interpreter& in, const Value& v, Call& call) {
  if (v.is(Type::undefined)) return in.undefined_error(v);
  // The attribute and never the key.
  const std::string name = ETCH_TRY(text_argument(in, call, 0, ""));
  if (v.is(Type::dict) && !find_method(Type::dict, name)) {
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", name));
  }
  return in.attribute(v, name);
}

namespace {

// The function that select, reject and their like ask: a test with arguments, or truth itself.
Result<bool> ask(Interpreter& in, const Value& v, const Call& call, size_t first) {
  const auto& given = call.rest.positional;
  if (given.size() <= first) return v.truth();
  if (!given[first].is(Type::text)) return in.type_error("the name of a test must be a text");
  Arguments arguments;
  arguments.positional.assign(given.begin() + static_cast<int64_t>(first) + 1, given.end());
  arguments.named = call.rest.named;
  return in.apply_test(given[first].str(), v, std::move(arguments));
}

Result<Value> select(Interpreter& in, const Value& v, const Call& call, bool by_attribute,
                     bool wanted) {
  if (by_attribute && call.rest.positional.empty())
    return in.type_error("the name of an attribute is missing");
  std::vector<Value> kept;
  if (!v.truth())
    return in.make_list(std::move(kept), Type::lazy);  // none, too: Jinja does not loop over it
  for (Value& item : ETCH_TRY(in.iterate(v))) {
    ETCH_TRY(in.step());
    const Value asked =
        by_attribute ? ETCH_TRY(walk_attribute(in, item, call.rest.positional[0])) : item;
    if (ETCH_TRY(ask(in, asked, call, by_attribute ? 1 : 0)) == wanted)
      kept.push_back(std::move(item));
  }
  return in.make_list(std::move(kept), Type::lazy);
}

const Value* find_named(const Call& call, std::string_view name) {
  for (const auto& [own, value] : call.rest.named) {
    if (own == name) return &value;
  }
  return nullptr;
}

// Items with the values of their attribute in front; several attributes, joined by commas, give a
// list of them.
Result<std::vector<std::pair<Value, Value>>> keyed_items(Interpreter& in, const Value& v,
                                                         const Value& attribute,
                                                         bool case_sensitive,
                                                         bool several = false) {
  std::vector<Value> paths;
  if (several && attribute.is(Type::text)) {
    const std::string comma = ",";
    for (MarkedText& path : split(attribute.marked(), &comma, -1, false))
      paths.push_back(Value::text(std::move(path)));
  } else {
    paths.push_back(attribute);
  }
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : ETCH_TRY(in.iterate(v))) {
    ETCH_TRY(in.step());
    std::vector<Value> keys;
    for (const Value& path : paths) {
      keys.push_back(fold_case(ETCH_TRY(walk_attribute(in, item, path)), case_sensitive));
    }
    // Lists of keys are equal where Python finds the same object in both: none sorts beside none.
    keyed.emplace_back(several ? Value::list(std::move(keys)) : keys[0], std::move(item));
  }
  return keyed;
}

Result<Value> extreme(Interpreter& in, const Value& v, const Call& call, std::string_view better) {
  auto keyed = ETCH_TRY(keyed_items(in, v, call[1], truth_argument(call, 0, false)));
  if (keyed.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  for (size_t i = 1; i < keyed.size(); ++i) {
    if (ETCH_TRY(in.compare(better, keyed[i].first, keyed[best].first))) best = i;
  }
  return keyed[best].second;
}

}  // namespace

Result<Value> filter_select(Interpreter& in, const Value& v, Call& call) {
  return select(in, v, call, false, true);
}
Result<Value> filter_reject(Interpreter& in, const Value& v, Call& call) {
  return select(in, v, call, false, false);
}
Result<Value> filter_selectattr(Interpreter& in, const Value& v, Call& call) {
  return select(in, v, call, true, true);
}
Result<Value> filter_rejectattr(Interpreter& in, const Value& v, Call& call) {
  return select(in, v, call, true, false);
}
Result<Value> filter_max(Interpreter& in, const Value& v, Call& call) {
  return extreme(in, v, call, ">");
}
Result<Value> filter_min(Interpreter& in, const Value& v, Call& call) {
  return extreme(in, v, call, "<");
}

Result<Value> filter_map(Interpreter& in, const Value& v, Call& call) {
  const Value* attribute = find_named(call, "attribute");
  const Value* missing = find_named(call, "default");
  auto& given = call.rest.positional;
  if (!attribute && (given.empty() || !given[0].is(Type::text)))
    return in.type_error("map requires a filter argument");
  std::vector<Value> mapped;
  if (!v.truth()) return in.make_list(std::move(mapped), Type::lazy);
  for (const Value& item : ETCH_TRY(in.iterate(v))) {
    ETCH_TRY(in.step());
    if (attribute) {
      Value found = ETCH_TRY(walk_attribute(in, item, *attribute));
      if (found.is(Type::undefined) && missing) found = *missing;
      mapped.push_back(std::move(found));
    } else {
      Arguments arguments;
      arguments.positional.assign(given.begin() + 1, given.end());
      arguments.named = call.rest.named;
      mapped.push_back(ETCH_TRY(in.apply_filter(given[0].str(), item, std::move(arguments))));
    }
  }
  return in.make_list(std::move(mapped), Type::lazy);
}

Result<Value> filter_sort(Interpreter& in, const Value& v, Call& call) {
  auto keyed = ETCH_TRY(keyed_items(in, v, call[2], truth_argument(call, 1, false), true));
  ETCH_TRY(sort_values(in, keyed, truth_argument(call, 0, false)));
  std::vector<Value> items;
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return in.make_list(std::move(items));
}

Result<Value> filter_unique(Interpreter& in, const Value& v, Call& call) {
  const auto keyed = ETCH_TRY(keyed_items(in, v, call[1], truth_argument(call, 0, false)));
  Dict seen;
  std::vector<Value> items;
  for (const auto& [key, item] : keyed) {
    ETCH_TRY(in.step(key.is(Type::text) ? 1 : static_cast<int64_t>(seen.entries.size())));
    if (seen.find(key)) continue;
    seen.set(key, Value::none());
    items.push_back(item);
  }
  return in.make_list(std::move(items), Type::lazy);
}

Result<Value> filter_sum(Interpreter& in, const Value& v, Call& call) {
  Value sum = call.has(1) ? call[1] : Value::integer(0);
  for (const Value& item : ETCH_TRY(in.iterate(v))) {
    sum = ETCH_TRY(in.binary("+", sum, ETCH_TRY(walk_attribute(in, item, call[0]))));
  }
  return sum;
}

Result<Value> filter_groupby(Interpreter& in, const Value& v, Call& call) {
  const bool case_sensitive = truth_argument(call, 2, false);
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : ETCH_TRY(in.iterate(v))) {
    Value key = ETCH_TRY(walk_attribute(in, item, call[0]));
    if (key.is(Type::undefined) && call.has(1)) key = call[1];
    keyed.emplace_back(fold_case(key, case_sensitive), Value::list({key, item}, Type::tuple));
  }
  ETCH_TRY(sort_values(in, keyed, false));
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<Value> members;
    const size_t first = i;
    for (; i < keyed.size() && keyed[i].first.equals(keyed[first].first); ++i) {
      members.push_back(keyed[i].second.items()[1]);
    }
    groups.push_back(Value::list({keyed[first].second.items()[0], Value::list(std::move(members))},
                                 Type::tuple));
  }
  return in.make_list(std::move(groups));
}

Result<Value> filter_dictsort(Interpreter& in, const Value& v, Call& call) {
  if (!v.is(Type::dict))
    return in.type_error("dictsort needs a mapping, not {}", python_name(v.type()));
  const std::string by = ETCH_TRY(text_argument(in, call, 1, "key"));
  if (by != "key" && by != "value")
    return in.fail(Kind::runtime, "You can only sort by either \"key\" or \"value\"");
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, item] : v.as_dict().entries) {
    keyed.emplace_back(fold_case(by == "key" ? key : item, truth_argument(call, 0, false)),
                       Value::list({key, item}, Type::tuple));
  }
  ETCH_TRY(sort_values(in, keyed, truth_argument(call, 2, false)));
  std::vector<Value> pairs;
  for (auto& [key, pair] : keyed) pairs.push_back(std::move(pair));
  return in.make_list(std::move(pairs));
}

Result<Value> filter_batch(Interpreter& in, const Value& v, Call& call) {
  const int64_t size = ETCH_TRY(integer_argument(in, call, 0, 0));
  if (size <= 0 || size > 1 << 20) return in.fail(Kind::runtime, "batch: a size of {}", size);
  std::vector<Value> batches, batch;
  for (Value& item : ETCH_TRY(in.iterate(v))) {
    batch.push_back(std::move(item));
    if (static_cast<int64_t>(batch.size()) == size)
      batches.push_back(Value::list(std::exchange(batch, {})));
  }
  if (!batch.empty()) {
    if (is_given(call, 1)) batch.resize(static_cast<size_t>(size), call[1]);
    batches.push_back(ETCH_TRY(in.make_list(std::move(batch))));
  }
  return in.make_list(std::move(batches), Type::lazy);
}

// n columns; the first ones are longer by one where it does not come out even.
Result<Value> filter_slice(Interpreter& in, const Value& v, Call& call) {
  const int64_t n = ETCH_TRY(integer_argument(in, call, 0, 0));
  if (n <= 0 || n > 1 << 20) return in.fail(Kind::runtime, "slice: {} slices", n);
  const std::vector<Value> items = ETCH_TRY(in.iterate(v));
  const int64_t each = static_cast<int64_t>(items.size()) / n,
                longer = static_cast<int64_t>(items.size()) % n;
  std::vector<Value> slices;
  auto at = items.begin();
  for (int64_t i = 0; i < n; ++i) {
    std::vector<Value> part(at, at + each + (i < longer));
    at += each + (i < longer);
    if (is_given(call, 1) && i >= longer) part.push_back(call[1]);
    slices.push_back(Value::list(std::move(part)));
  }
  return in.make_list(std::move(slices), Type::lazy);
}

}  // namespace etch::jinja

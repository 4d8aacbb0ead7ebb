#include "text/jinja/functions.h"

#include <algorithm>

#include "text/jinja/print.h"
#include "text/jinja/text_functions.h"

namespace etch::jinja {

bool is_given(const Call& call, size_t i) { return call.has(i) && !call[i].is(Type::none); }

Result<int64_t> integer_argument(Interpreter& in, const Call& call, size_t i, int64_t missing) {
  if (!is_given(call, i)) return missing;
  if (call[i].is(Type::undefined)) return in.undefined_error(call[i]);
  if (!call[i].is_integral())
    return in.type_error("expected an int, got '{}'", python_name(call[i].type()));
  return call[i].as_integer();
}

Result<std::string> text_argument(Interpreter& in, const Call& call, size_t i,
                                  std::string_view missing) {
  if (!is_given(call, i)) return std::string(missing);
  if (call[i].is(Type::undefined)) return in.undefined_error(call[i]);
  if (!call[i].is(Type::text))
    return in.type_error("expected a str, got '{}'", python_name(call[i].type()));
  return call[i].str();
}

bool truth_argument(const Call& call, size_t i, bool missing) {
  return call.has(i) ? call[i].truth() : missing;
}

Result<Value> walk_attribute(Interpreter& in, const Value& value, const Value& path) {
  if (path.is(Type::none) || path.is(Type::absent)) return value;
  if (!path.is(Type::text)) return in.item(value, path);
  Value at = value;
  const std::string& names = path.str();
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find('.', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const bool number = !name.empty() && name.size() < 18 &&
                        name.find_first_not_of("0123456789") == std::string::npos;
    at = ETCH_TRY(in.item(at, number ? Value::integer(std::stoll(name)) : Value::text(name)));
    begin = end + 1;
  }
  return at;
}

Value fold_case(const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is(Type::text)) return value;
  return Value::text(lower(value.str()));
}

Status sort_values(Interpreter& in, std::vector<std::pair<Value, Value>>& keyed, bool reverse) {
  ETCH_TRY(in.step(static_cast<int64_t>(keyed.size()) * 8));
  // The order is checked pair by pair with the first: values without an order among them are an
  // error, and a sort with an inconsistent comparison is never begun.
  for (size_t i = 1; i < keyed.size(); ++i)
    ETCH_TRY(in.compare("<", keyed[i].first, keyed[0].first));
  Status status;
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    auto less = reverse ? in.compare("<", b.first, a.first) : in.compare("<", a.first, b.first);
    if (!less) {
      status = tl::unexpected(less.error());
      return false;
    }
    return *less;
  });
  return status;
}

}  // namespace etch::jinja

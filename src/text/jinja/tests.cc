// Tests: `x is NAME`.
#include <utf8proc.h>

#include "text/jinja/functions.h"
#include "text/jinja/text_functions.h"
#include "text/utf8.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

namespace {

Result<Value> compare_with(Interpreter& in, std::string_view op, const Value& v, const Call& call) {
  if (!call.has(0)) return in.type_error("the test needs an argument");
  return Value::boolean(ETCH_TRY(in.compare(op, v, call[0])));
}

Result<Value> is_type(const Value& v, Type type) { return Value::boolean(v.is(type)); }

Result<Value> remainder_is(Interpreter& in, const Value& v, int64_t divisor, int64_t remainder) {
  return Value::boolean(
      ETCH_TRY(in.binary("%", v, Value::integer(divisor))).equals(Value::integer(remainder)));
}

}  // namespace

Result<Value> test_eq(Interpreter& in, const Value& v, Call& call) {
  return compare_with(in, "==", v, call);
}
Result<Value> test_ne(Interpreter& in, const Value& v, Call& call) {
  return compare_with(in, "!=", v, call);
}
Result<Value> test_lt(Interpreter& in, const Value& v, Call& call) {
  return compare_with(in, "<", v, call);
}
Result<Value> test_le(Interpreter& in, const Value& v, Call& call) {
  return compare_with(in, "<=", v, call);
}
Result<Value> test_gt(Interpreter& in, const Value& v, Call& call) {
  return compare_with(in, ">", v, call);
}
Result<Value> test_ge(Interpreter& in, const Value& v, Call& call) {
  return compare_with(in, ">=", v, call);
}
Result<Value> test_in(Interpreter& in, const Value& v, Call& call) {
  return compare_with(in, "in", v, call);
}

Result<Value> test_boolean(Interpreter&, const Value& v, Call&) {
  return is_type(v, Type::boolean);
}
Result<Value> test_integer(Interpreter&, const Value& v, Call&) {
  return is_type(v, Type::integer);
}
Result<Value> test_float(Interpreter&, const Value& v, Call&) { return is_type(v, Type::real); }
Result<Value> test_none(Interpreter&, const Value& v, Call&) { return is_type(v, Type::none); }
Result<Value> test_string(Interpreter&, const Value& v, Call&) { return is_type(v, Type::text); }
Result<Value> test_mapping(Interpreter&, const Value& v, Call&) { return is_type(v, Type::dict); }
Result<Value> test_undefined(Interpreter&, const Value& v, Call&) {
  return is_type(v, Type::undefined);
}
Result<Value> test_defined(Interpreter&, const Value& v, Call&) {
  return Value::boolean(!v.is(Type::undefined));
}
Result<Value> test_number(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is_number());
}

Result<Value> test_true(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::boolean) && v.as_boolean());
}
Result<Value> test_false(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::boolean) && !v.as_boolean());
}
Result<Value> test_callable(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::callable) || v.is(Type::undefined));
}
Result<Value> test_iterable(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.holds_items() || v.is(Type::text) || v.is(Type::dict) ||
                        v.is(Type::undefined));
}
Result<Value> test_sequence(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is_sequence() || v.is(Type::text) || v.is(Type::dict) ||
                        v.is(Type::undefined));
}

Result<Value> test_even(Interpreter& in, const Value& v, Call&) {
  return remainder_is(in, v, 2, 0);
}
Result<Value> test_odd(Interpreter& in, const Value& v, Call&) { return remainder_is(in, v, 2, 1); }
Result<Value> test_divisibleby(Interpreter& in, const Value& v, Call& call) {
  if (!call.has(0)) return in.type_error("divisibleby needs a number");
  return Value::boolean(ETCH_TRY(in.binary("%", v, call[0])).equals(Value::integer(0)));
}

Result<Value> test_escaped(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::text) && v.is_escaped());
}

Result<Value> test_sameas(Interpreter& in, const Value& v, Call& call) {
  if (!call.has(0)) return in.type_error("sameas needs an argument");
  const Value& other = call[0];
  const bool small =
      v.is(Type::none) || v.is(Type::boolean) || v.is(Type::integer) || v.is(Type::text);
  return Value::boolean(v.type() == other.type() &&
                        (small ? v.equals(other) : v.identity() == other.identity()));
}

Result<Value> test_filter(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::text) && find_filter(v.str()) != nullptr);
}
Result<Value> test_test(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::text) && find_test(v.str()) != nullptr);
}

namespace {

// Has the text letters of one case only?
bool has_only_case(std::string_view text, bool wants_upper) {
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.code));
    if (category == (wants_upper ? UTF8PROC_CATEGORY_LL : UTF8PROC_CATEGORY_LU)) return false;
    found |= category == (wants_upper ? UTF8PROC_CATEGORY_LU : UTF8PROC_CATEGORY_LL);
    at += c.bytes;
  }
  return found;
}

template <class Has>
bool every_character(std::string_view text, const Has& has) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!has(c.code, utf8proc_category(static_cast<utf8proc_int32_t>(c.code)))) return false;
    at += c.bytes;
  }
  return !text.empty();
}

bool is_letter(utf8proc_category_t c) {
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}
bool is_numeric(utf8proc_category_t c) {
  return c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO;
}

}  // namespace

Result<Value> test_lower(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::text) && has_only_case(v.str(), false));
}
Result<Value> test_upper(Interpreter&, const Value& v, Call&) {
  return Value::boolean(v.is(Type::text) && has_only_case(v.str(), true));
}
Result<Value> method_islower(Interpreter&, const Value& v, Call&) {
  return Value::boolean(has_only_case(v.str(), false));
}
Result<Value> method_isupper(Interpreter&, const Value& v, Call&) {
  return Value::boolean(has_only_case(v.str(), true));
}
Result<Value> method_isalpha(Interpreter&, const Value& v, Call&) {
  return Value::boolean(every_character(v.str(), [](uint32_t, auto c) { return is_letter(c); }));
}
Result<Value> method_isdigit(Interpreter&, const Value& v, Call&) {
  return Value::boolean(
      every_character(v.str(), [](uint32_t, auto c) { return c == UTF8PROC_CATEGORY_ND; }));
}
Result<Value> method_isalnum(Interpreter&, const Value& v, Call&) {
  return Value::boolean(
      every_character(v.str(), [](uint32_t, auto c) { return is_letter(c) || is_numeric(c); }));
}
Result<Value> method_isspace(Interpreter&, const Value& v, Call&) {
  return Value::boolean(
      every_character(v.str(), [](uint32_t code, auto) { return is_python_space(code); }));
}

}  // namespace etch::jinja

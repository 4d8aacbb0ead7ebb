// Filters on texts and numbers.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/functions.h"
#include "text/jinja/json_value.h"
#include "text/jinja/print.h"
#include "text/jinja/text_functions.h"
#include "text/utf8.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

Result<Value> filter_string(Interpreter& in, const Value& v, Call&) {
  return in.make_text(print_str(v));
}

Result<Value> filter_safe(Interpreter&, const Value& v, Call&) {
  return Value::escaped(print_str(v));
}

Result<Value> filter_upper(Interpreter& in, const Value& v, Call&) {
  const MarkedText text = print_str(v);
  return in.make_text(rewritten(text, upper(text.text)));
}

Result<Value> filter_lower(Interpreter& in, const Value& v, Call&) {
  const MarkedText text = print_str(v);
  return in.make_text(rewritten(text, lower(text.text)));
}

Result<Value> filter_capitalize(Interpreter& in, const Value& v, Call&) {
  const MarkedText text = print_str(v);
  return in.make_text(rewritten(text, capitalize(text.text)));
}

Result<Value> filter_title(Interpreter& in, const Value& v, Call&) {
  const MarkedText text = print_str(v);
  return in.make_text(rewritten(text, title_filter(text.text)));
}

Result<Value> filter_trim(Interpreter& in, const Value& v, Call& call) {
  const std::string chars = ETCH_TRY(text_argument(in, call, 0, ""));
  return in.make_text(strip(print_str(v), is_given(call, 0) ? &chars : nullptr, true, true));
}

Result<Value> filter_replace(Interpreter& in, const Value& v, Call& call) {
  if (!call.has(0) || !call.has(1)) return in.type_error("replace() needs two texts");
  const MarkedText text = print_str(v);
  const std::string old = print_str(call[0]).text;
  const MarkedText with = print_str(call[1]);
  ETCH_TRY(in.charge(static_cast<int64_t>(text.text.size())));
  if (with.text.size() > 1 &&
      text.text.size() > static_cast<size_t>(in.options().limits.bytes) / with.text.size()) {
    const int64_t places = old.empty() ? count_characters(text.text)
                                       : static_cast<int64_t>(text.text.size() / old.size());
    if (places > in.options().limits.bytes / static_cast<int64_t>(with.text.size())) {
      return in.fail(Kind::limit, "a replacement of more than {} bytes", in.options().limits.bytes);
    }
  }
  return in.make_text(replace(text, old, with, ETCH_TRY(integer_argument(in, call, 2, -1))));
}

Result<Value> filter_indent(Interpreter& in, const Value& v, Call& call) {
  std::string by;
  if (call.has(0) && call[0].is(Type::text)) {
    by = call[0].str();
  } else {
    const int64_t width = ETCH_TRY(integer_argument(in, call, 0, 4));
    by.assign(static_cast<size_t>(std::clamp<int64_t>(width, 0, 4096)), ' ');
  }
  const MarkedText text = print_str(v);
  const auto lines = std::count(text.text.begin(), text.text.end(), '\n');
  if (static_cast<int64_t>(by.size()) * (lines + 1) > in.options().limits.bytes) {
    return in.fail(Kind::limit, "an indentation of more than {} bytes", in.options().limits.bytes);
  }
  return in.make_text(
      indent(text, by, truth_argument(call, 1, false), truth_argument(call, 2, false)));
}

Result<Value> filter_center(Interpreter& in, const Value& v, Call& call) {
  const int64_t width = std::min<int64_t>(ETCH_TRY(integer_argument(in, call, 0, 80)), 1 << 20);
  const MarkedText text = print_str(v);
  const int64_t pad = std::max<int64_t>(width - count_characters(text.text), 0);
  const int64_t left = pad / 2 + (pad & width & 1);
  MarkedText out;
  out.append(std::string(static_cast<size_t>(left), ' '), false);
  out.append(text);
  out.append(std::string(static_cast<size_t>(pad - left), ' '), false);
  return in.make_text(std::move(out));
}

Result<Value> filter_truncate(Interpreter& in, const Value& v, Call& call) {
  const int64_t length = ETCH_TRY(integer_argument(in, call, 0, 255));
  const std::string end = ETCH_TRY(text_argument(in, call, 2, "..."));
  const int64_t leeway = ETCH_TRY(integer_argument(in, call, 3, 5));
  const Value text = Value::text(print_str(v));
  const int64_t end_length = count_characters(end);
  if (length < end_length)
    return in.fail(Kind::runtime, "truncate(): expected a length of at least {}, got {}",
                   end_length, length);
  if (leeway < 0)
    return in.fail(Kind::runtime, "truncate(): expected a leeway of at least 0, got {}", leeway);
  if (count_characters(text.str()) <= length + leeway) return text;
  MarkedText cut =
      ETCH_TRY(in.slice(text, Value::none(), Value::integer(length - end_length), Value::none()))
          .marked();
  if (!truth_argument(call, 1, false)) {
    const size_t space = cut.text.rfind(' ');
    if (space != std::string::npos) cut = cut.slice(0, static_cast<int64_t>(space));
  }
  cut.append(end, false);
  return in.make_text(std::move(cut));
}

Result<Value> filter_wordcount(Interpreter&, const Value& v, Call&) {
  int64_t words = 0;
  bool inside = false;
  for (const char c : print_str(v).text) {
    const bool part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '_' || static_cast<uint8_t>(c) >= 0x80;
    words += part && !inside;
    inside = part;
  }
  return Value::integer(words);
}

Result<Value> filter_escape(Interpreter& in, const Value& v, Call&) {
  if (v.is_escaped()) return v;
  const MarkedText text = print_str(v);
  ETCH_TRY(in.charge(static_cast<int64_t>(text.text.size()) * 4));
  return Value::escaped(escape_html(text));
}

Result<Value> filter_format(Interpreter& in, const Value& v, Call& call) {
  return in.binary("%", Value::text(print_str(v)), Value::list(call.rest.positional, Type::tuple));
}

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || (text.front() >= '\t' && text.front() <= '\r')))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || (text.back() >= '\t' && text.back() <= '\r')))
    text.remove_suffix(1);
  return text;
}

bool read_real(std::string_view text, double& value) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Result<Value> filter_int(Interpreter& in, const Value& v, Call& call) {
  const int64_t base = ETCH_TRY(integer_argument(in, call, 1, 10));
  if (v.is_integral()) return Value::integer(v.as_integer());
  const Value missing = call.has(0) ? call[0] : Value::integer(0);
  double real = 0;
  if (v.is(Type::text)) {
    std::string_view text = trimmed(v.str());
    if (text.starts_with('+')) text.remove_prefix(1);
    if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
    int64_t value = 0;
    const bool known_base = base >= 2 && base <= 36;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value,
                                              known_base ? static_cast<int>(base) : 10);
    if (known_base && error == std::errc() && end == text.data() + text.size())
      return Value::integer(value);
    if (!read_real(text, real)) return missing;
  } else if (v.is(Type::real)) {
    real = v.as_real();
  } else if (v.is(Type::undefined)) {
    return in.undefined_error(v);
  } else {
    return missing;
  }
  if (!(std::fabs(real) < 9.2e18)) return missing;
  return Value::integer(static_cast<int64_t>(real));
}

Result<Value> filter_float(Interpreter& in, const Value& v, Call& call) {
  if (v.is_number()) return Value::real(v.as_real());
  if (v.is(Type::undefined)) return in.undefined_error(v);
  double value = 0;
  if (v.is(Type::text) && read_real(v.str(), value)) return Value::real(value);
  return call.has(0) ? call[0] : Value::real(0);
}

Result<Value> filter_abs(Interpreter& in, const Value& v, Call&) {
  if (v.is(Type::undefined)) return in.undefined_error(v);
  if (v.is(Type::real)) return Value::real(std::fabs(v.as_real()));
  if (!v.is_integral())
    return in.type_error("bad operand type for abs(): '{}'", python_name(v.type()));
  return v.as_integer() < 0 ? in.binary("-", Value::integer(0), v) : Value::integer(v.as_integer());
}

Result<Value> filter_round(Interpreter& in, const Value& v, Call& call) {
  const int64_t precision =
      std::clamp<int64_t>(ETCH_TRY(integer_argument(in, call, 0, 0)), -300, 300);
  const std::string method = ETCH_TRY(text_argument(in, call, 1, "common"));
  if (v.is(Type::undefined)) return in.undefined_error(v);
  if (!v.is_number())
    return in.type_error("type {} doesn't define __round__ method", python_name(v.type()));
  const double value = v.as_real(), scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return Value::real(std::ceil(value * scale) / scale);
  if (method == "floor") return Value::real(std::floor(value * scale) / scale);
  if (method != "common") return in.fail(Kind::runtime, "method must be common, ceil or floor");
  if (v.is_integral() && precision >= 0) return Value::integer(v.as_integer());
  if (precision > 0) {  // the decimal digits decide, not the rounded product
    double rounded = 0;
    const std::string digits = fmt::format("{:.{}f}", value, precision);
    std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
    return Value::real(rounded);
  }
  return Value::real(std::nearbyint(value * scale) / scale);
}

Result<Value> filter_default(Interpreter&, const Value& v, Call& call) {
  const bool missing = v.is(Type::undefined) || (truth_argument(call, 1, false) && !v.truth());
  if (!missing) return v;
  return call.has(0) ? call[0] : Value::text("");
}

Result<Value> filter_tojson(Interpreter& in, const Value& v, Call& call) {
  JsonStyle style;
  style.ensure_ascii = truth_argument(call, 0, false);
  style.sort_keys = truth_argument(call, 3, false);
  if (is_given(call, 1)) {
    style.has_indent = true;
    style.item_separator = ",";
    if (call[1].is(Type::text)) {
      style.indent = call[1].str();
    } else {
      const int64_t width = ETCH_TRY(integer_argument(in, call, 1, 0));
      style.indent.assign(static_cast<size_t>(std::clamp<int64_t>(width, 0, 256)), ' ');
    }
  }
  if (is_given(call, 2)) {
    const std::vector<Value> separators = ETCH_TRY(in.iterate(call[2]));
    if (separators.size() != 2 || !separators[0].is(Type::text) || !separators[1].is(Type::text)) {
      return in.type_error("separators: expected two texts");
    }
    style.item_separator = separators[0].str();
    style.key_separator = separators[1].str();
  }
  auto text = print_json(v, style);
  if (!text)
    return in.type_error("Object of type {} is not JSON serializable", text.error().message);
  return in.make_text(std::move(*text));
}

Result<Value> filter_from_json(Interpreter& in, const Value& v, Call&) {
  if (!v.is(Type::text))
    return in.type_error("the JSON object must be str, not {}", python_name(v.type()));
  ETCH_TRY(in.charge(static_cast<int64_t>(v.str().size()) * 8));
  const auto json = nlohmann::ordered_json::parse(v.str(), nullptr, false);
  if (json.is_discarded()) return in.fail(Kind::runtime, "from_json: the text is no JSON");
  auto value = value_of_json(json, !v.marked().outside.empty());
  if (!value) return in.fail_text(Kind::runtime, value.error().message);
  return value;
}

}  // namespace etch::jinja

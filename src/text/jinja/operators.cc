// Operators on two values: arithmetic, order, membership.
#include <algorithm>
#include <cmath>

#include "text/jinja/interpreter.h"
#include "text/jinja/print.h"
#include "text/jinja/text_functions.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

namespace {

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

Result<Value> integers(Interpreter& in, std::string_view op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool over = false;
  if (op == "+") {
    over = __builtin_add_overflow(a, b, &r);
  } else if (op == "-") {
    over = __builtin_sub_overflow(a, b, &r);
  } else if (op == "*") {
    over = __builtin_mul_overflow(a, b, &r);
  } else if (op == "//" || op == "%") {
    if (b == 0) return in.fail(Kind::runtime, "integer division or modulo by zero");
    if (b == -1) {
      over = op == "//" && __builtin_sub_overflow(0, a, &r);
    } else {
      r = op == "//" ? floor_divide(a, b) : a - floor_divide(a, b) * b;
    }
  } else if (op == "**") {
    if (b < 0) return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
    r = 1;
    for (int64_t base = a; b > 0 && !over; b >>= 1) {
      if (b & 1) over = __builtin_mul_overflow(r, base, &r);
      if (b > 1 && !over) over = __builtin_mul_overflow(base, base, &base);
    }
  }
  if (over) return in.fail(Kind::limit, "the result of {} {} {} does not fit 64 bits", a, op, b);
  return Value::integer(r);
}

Result<Value> reals(Interpreter& in, std::string_view op, double a, double b) {
  if (op == "+") return Value::real(a + b);
  if (op == "-") return Value::real(a - b);
  if (op == "*") return Value::real(a * b);
  if (op == "**") return Value::real(std::pow(a, b));
  if (b == 0) return in.fail(Kind::runtime, "division by zero");
  if (op == "/") return Value::real(a / b);
  const double q = std::floor(a / b);
  if (op == "//") return Value::real(q);
  double r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return Value::real(r);
}

Result<Value> repeat(Interpreter& in, const Value& what, int64_t times) {
  times = std::max<int64_t>(times, 0);
  const int64_t unit = what.is(Type::text) ? static_cast<int64_t>(what.str().size())
                                           : static_cast<int64_t>(what.items().size()) * 64;
  if (unit > 0 && times > in.options().limits.bytes / unit) {
    return in.fail(Kind::limit, "a repetition of more than {} bytes", in.options().limits.bytes);
  }
  if (unit == 0) times = 0;
  if (what.is(Type::text)) {
    MarkedText text;
    for (int64_t i = 0; i < times; ++i) text.append(what.marked());
    return in.make_text(std::move(text));
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < times; ++i)
    items.insert(items.end(), what.items().begin(), what.items().end());
  return in.make_list(std::move(items), what.type());
}

// '%s and %d' % (a, b)
Result<Value> format(Interpreter& in, const Value& pattern, const Value& values) {
  std::vector<Value> items = values.is(Type::tuple) ? values.items() : std::vector<Value>{values};
  const MarkedText& p = pattern.marked();
  MarkedText out;
  size_t used = 0;
  for (size_t at = 0; at < p.text.size();) {
    const size_t percent = std::min(p.text.find('%', at), p.text.size());
    out.append(p.slice(static_cast<int64_t>(at), static_cast<int64_t>(percent)));
    if (percent == p.text.size()) break;
    size_t end = percent + 1;
    std::string spec;
    while (end < p.text.size() &&
           std::string_view("-+ #0123456789.").find(p.text[end]) != std::string_view::npos) {
      spec += p.text[end++];
    }
    if (end == p.text.size() || spec.size() > 8) return in.fail(Kind::runtime, "incomplete format");
    const char type = p.text[end];
    at = end + 1;
    if (type == '%') {
      out.append("%", false);
      continue;
    }
    Value value;
    if (type != '(') {
      if (used == items.size()) return in.type_error("not enough arguments for format string");
      value = items[used++];
    }
    if (type == 's' || type == 'r') {
      const MarkedText text = type == 's' ? print_str(value) : print_repr(value);
      int64_t width = 0;
      for (const char c : spec) width = c >= '0' && c <= '9' ? width * 10 + (c - '0') : width;
      const std::string pad(static_cast<size_t>(std::clamp<int64_t>(
                                width - static_cast<int64_t>(text.text.size()), 0, 4096)),
                            ' ');
      const bool left = spec.find('-') != std::string::npos;
      if (!left) out.append(pad, false);
      out.append(text);
      if (left) out.append(pad, false);
    } else if (std::string_view("dixXo").find(type) != std::string_view::npos) {
      if (!value.is_number())
        return in.type_error("%{} format: a number is required, not {}", type,
                             python_name(value.type()));
      const int64_t i =
          value.is(Type::real)
              ? static_cast<int64_t>(std::trunc(std::clamp(value.as_real(), -9e18, 9e18)))
              : value.as_integer();
      char buffer[512];
      const std::string c_format = "%" + spec + "l" + "l" + (type == 'i' ? 'd' : type);
      std::snprintf(buffer, sizeof(buffer), c_format.c_str(), static_cast<long long>(i));
      out.append(buffer, false);
    } else if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      if (!value.is_number())
        return in.type_error("must be real number, not {}", python_name(value.type()));
      char buffer[1024];
      const std::string c_format = "%" + spec + type;
      std::snprintf(buffer, sizeof(buffer), c_format.c_str(), value.as_real());
      out.append(buffer, false);
    } else {
      return in.fail(Kind::runtime, "unsupported format character '{}'", type);
    }
  }
  if (used < items.size() && !values.is(Type::dict)) {
    return in.type_error("not all arguments converted during string formatting");
  }
  return in.make_text(std::move(out));
}

// -1, 0, 1; fails where Python has no order.
Result<int> order(Interpreter& in, std::string_view op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral())
      return (a.as_integer() > b.as_integer()) - (a.as_integer() < b.as_integer());
    return (a.as_real() > b.as_real()) - (a.as_real() < b.as_real());
  }
  if (a.is(Type::text) && b.is(Type::text)) {
    const int c = a.str().compare(b.str());  // UTF-8 keeps the order of code points
    return (c > 0) - (c < 0);
  }
  if (a.type() == b.type() && (a.is(Type::list) || a.is(Type::tuple))) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!x[i].equals(y[i])) return order(in, op, x[i], y[i]);
    }
    return (x.size() > y.size()) - (x.size() < y.size());
  }
  for (const Value* v : {&a, &b}) {
    if (v->is(Type::undefined)) return in.undefined_error(*v);
  }
  return in.type_error("'{}' not supported between instances of '{}' and '{}'", op,
                       python_name(a.type()), python_name(b.type()));
}

Result<bool> is_in(Interpreter& in, const Value& a, const Value& b) {
  if (b.is(Type::text)) {
    if (!a.is(Type::text)) {
      return in.type_error("'in <string>' requires string as left operand, not {}",
                           python_name(a.type()));
    }
    return b.str().find(a.str()) != std::string::npos;
  }
  if (b.is(Type::dict)) return b.as_dict().find(a) != nullptr;
  if (b.is(Type::undefined)) return false;
  if (!b.holds_items())
    return in.type_error("argument of type '{}' is not iterable", python_name(b.type()));
  ETCH_TRY(in.step(static_cast<int64_t>(b.items().size())));
  for (const Value& item : b.items()) {
    if (item.equals(a)) return true;
  }
  return false;
}

}  // namespace

Result<Value> Interpreter::binary(std::string_view op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b}) {
    const bool formats = op == "%" && a.is(Type::text) && v == &b;  // prints as nothing there
    if (v->is(Type::undefined) && !formats) return undefined_error(*v);
  }
  if (a.is_number() && b.is_number()) {
    if (op == "/" || a.is(Type::real) || b.is(Type::real))
      return reals(*this, op, a.as_real(), b.as_real());
    return integers(*this, op, a.as_integer(), b.as_integer());
  }
  if (op == "+") {
    if (a.is(Type::text) && b.is(Type::text)) {
      // What is escaped stays so: the other part is escaped as well.
      const bool escaped = a.is_escaped() || b.is_escaped();
      MarkedText text = escaped && !a.is_escaped() ? escape_html(a.marked()) : a.marked();
      text.append(escaped && !b.is_escaped() ? escape_html(b.marked()) : b.marked());
      ETCH_TRY(
          charge(static_cast<int64_t>(text.text.size() + text.outside.size() * sizeof(TextRange))));
      return escaped ? Value::escaped(std::move(text)) : Value::text(std::move(text));
    }
    if (a.type() == b.type() && (a.is(Type::list) || a.is(Type::tuple))) {
      std::vector<Value> items = a.items();
      items.insert(items.end(), b.items().begin(), b.items().end());
      return make_list(std::move(items), a.type());
    }
    if (a.is(Type::text) || a.is(Type::list) || a.is(Type::tuple)) {
      return type_error("can only concatenate {0} (not \"{1}\") to {0}", python_name(a.type()),
                        python_name(b.type()));
    }
  }
  if (op == "*") {
    const auto repeats = [](const Value& v) {
      return v.is(Type::text) || v.is(Type::list) || v.is(Type::tuple);
    };
    if (repeats(a) && b.is_integral()) return repeat(*this, a, b.as_integer());
    if (a.is_integral() && repeats(b)) return repeat(*this, b, a.as_integer());
  }
  if (op == "%" && a.is(Type::text)) return format(*this, a, b);
  return type_error("unsupported operand type(s) for {}: '{}' and '{}'", op, python_name(a.type()),
                    python_name(b.type()));
}

Result<bool> Interpreter::compare(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return a.equals(b);
  if (op == "!=") return !a.equals(b);
  if (op == "in") return is_in(*this, a, b);
  if (op == "not in") return !ETCH_TRY(is_in(*this, a, b));
  const int c = ETCH_TRY(order(*this, op, a, b));
  if (op == "<") return c < 0;
  if (op == "<=") return c <= 0;
  if (op == ">") return c > 0;
  return c >= 0;
}

}  // namespace etch::jinja

// Expressions: names, literals, calls, attributes, items, slices.
#include <algorithm>

#include "text/jinja/interpreter.h"
#include "text/jinja/print.h"
#include "text/utf8.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

Value Interpreter::look_up(const std::string& name) {
  for (Scope* scope = scope_.get(); scope; scope = scope->outer.get()) {
    if (const Value* found = scope->find(name)) return *found;
  }
  if (const Native* global = find_global(name)) {
    return Value::callable(std::make_shared<NativeCallable>(*global, Value()));
  }
  return Value::undefined(fmt::format("'{}' is undefined", name));
}

Result<Value> Interpreter::evaluate(const Expression& e) {
  if (e.kind == ExpressionKind::constant) return e.value;
  ++depth_;
  if (depth_ > options_.limits.depth) {
    return fail(Kind::limit, "nested deeper than {}", options_.limits.depth);
  }
  ETCH_TRY(step());
  place_ = e.place;
  auto value = evaluate_at(e);
  --depth_;
  return value;
}

Result<Value> Interpreter::evaluate_at(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::constant:
      return e.value;
    case ExpressionKind::name:
      return look_up(e.text);
    case ExpressionKind::list:
    case ExpressionKind::tuple: {
      std::vector<Value> items;
      for (const auto& part : e.parts) items.push_back(ETCH_TRY(evaluate(*part)));
      return make_list(std::move(items), e.kind == ExpressionKind::list ? Type::list : Type::tuple);
    }
    case ExpressionKind::dict: {
      Dict dict;
      for (size_t i = 0; i < e.parts.size(); i += 2) {
        const Value key = ETCH_TRY(evaluate(*e.parts[i]));
        if (key.is(Type::list) || key.is(Type::dict)) {
          return type_error("unhashable type: '{}'", python_name(key.type()));
        }
        dict.set(key, ETCH_TRY(evaluate(*e.parts[i + 1])));
      }
      return make_dict(std::move(dict));
    }
    case ExpressionKind::attribute: {
      const Value base = ETCH_TRY(evaluate(*e.parts[0]));
      place_ = e.place;
      return attribute(base, e.text);
    }
    case ExpressionKind::item:
      return evaluate_item(e);
    case ExpressionKind::call:
      return evaluate_call(e);
    case ExpressionKind::filter: {
      const Value value = ETCH_TRY(evaluate(*e.parts[0]));
      Arguments arguments = ETCH_TRY(evaluate_arguments(*e.arguments));
      place_ = e.place;
      return apply_filter(e.text, value, std::move(arguments));
    }
    case ExpressionKind::test: {
      const Value value = ETCH_TRY(evaluate(*e.parts[0]));
      Arguments arguments = ETCH_TRY(evaluate_arguments(*e.arguments));
      place_ = e.place;
      return Value::boolean(ETCH_TRY(apply_test(e.text, value, std::move(arguments))));
    }
    case ExpressionKind::unary:
      return evaluate_unary(e);
    case ExpressionKind::binary: {
      Value left = ETCH_TRY(evaluate(*e.parts[0]));
      if (e.text == "and")
        return left.truth() ? evaluate(*e.parts[1]) : Result<Value>(std::move(left));
      if (e.text == "or")
        return left.truth() ? Result<Value>(std::move(left)) : evaluate(*e.parts[1]);
      const Value right = ETCH_TRY(evaluate(*e.parts[1]));
      place_ = e.place;
      return binary(e.text, left, right);
    }
    case ExpressionKind::concat:
      return evaluate_concat(e);
    case ExpressionKind::compare:
      return evaluate_compare(e);
    case ExpressionKind::condition: {
      if (ETCH_TRY(evaluate(*e.parts[1])).truth()) return evaluate(*e.parts[0]);
      if (e.parts[2]) return evaluate(*e.parts[2]);
      return Value::undefined(
          "the inline if-expression evaluated to false and no else section was defined");
    }
    case ExpressionKind::slice:
      break;
  }
  return fail(Kind::syntax, "a slice stands only in brackets");
}

Result<Value> Interpreter::evaluate_unary(const Expression& e) {
  const Value value = ETCH_TRY(evaluate(*e.parts[0]));
  place_ = e.place;
  if (e.text == "not") return Value::boolean(!value.truth());
  if (value.is(Type::undefined)) return undefined_error(value);
  if (!value.is_number()) {
    return type_error("bad operand type for unary {}: '{}'", e.text, python_name(value.type()));
  }
  if (e.text == "+") return value.is(Type::real) ? value : Value::integer(value.as_integer());
  if (value.is(Type::real)) return Value::real(-value.as_real());
  return binary("-", Value::integer(0), value);
}

Result<Value> Interpreter::evaluate_concat(const Expression& e) {
  MarkedText text;
  for (const auto& part : e.parts) text.append(ETCH_TRY(print(ETCH_TRY(evaluate(*part)))));
  return make_text(std::move(text));
}

Result<Value> Interpreter::evaluate_compare(const Expression& e) {
  Value left = ETCH_TRY(evaluate(*e.parts[0]));
  for (size_t i = 0; i < e.operators.size(); ++i) {
    Value right = ETCH_TRY(evaluate(*e.parts[i + 1]));
    place_ = e.place;
    if (!ETCH_TRY(compare(e.operators[i], left, right))) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate_item(const Expression& e) {
  const Value base = ETCH_TRY(evaluate(*e.parts[0]));
  const Expression& key = *e.parts[1];
  if (key.kind != ExpressionKind::slice) {
    const Value value = ETCH_TRY(evaluate(key));
    place_ = e.place;
    return item(base, value);
  }
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i)
    bounds[i] = key.parts[i] ? ETCH_TRY(evaluate(*key.parts[i])) : Value::none();
  place_ = e.place;
  return slice(base, bounds[0], bounds[1], bounds[2]);
}

Result<Arguments> Interpreter::evaluate_arguments(const CallArguments& written) {
  Arguments arguments;
  for (const auto& part : written.positional)
    arguments.positional.push_back(ETCH_TRY(evaluate(*part)));
  if (written.star) {
    for (Value& v : ETCH_TRY(iterate(ETCH_TRY(evaluate(*written.star)))))
      arguments.positional.push_back(std::move(v));
  }
  for (const auto& [name, part] : written.named)
    arguments.named.emplace_back(name, ETCH_TRY(evaluate(*part)));
  if (written.star_star) {
    const Value others = ETCH_TRY(evaluate(*written.star_star));
    if (!others.is(Type::dict))
      return type_error("argument after ** must be a mapping, not {}", python_name(others.type()));
    for (const auto& [key, value] : others.as_dict().entries) {
      if (!key.is(Type::text)) return type_error("keywords must be strings");
      arguments.named.emplace_back(key.str(), value);
    }
  }
  return arguments;
}

Result<Value> Interpreter::evaluate_call(const Expression& e, Arguments first) {
  const Value callee = ETCH_TRY(evaluate(*e.parts[0]));
  Arguments arguments = ETCH_TRY(evaluate_arguments(*e.arguments));
  for (auto& named : first.named) arguments.named.push_back(std::move(named));
  place_ = e.place;
  return call(callee, std::move(arguments));
}

Result<Value> Interpreter::call(const Value& callee, Arguments arguments) {
  if (callee.is(Type::undefined)) return undefined_error(callee);
  if (!callee.is(Type::callable))
    return type_error("'{}' object is not callable", python_name(callee.type()));
  const std::shared_ptr<Callable> keep = callee.shared_callable();
  return keep->call(*this, std::move(arguments));
}

Result<MarkedText> Interpreter::print(const Value& value) { return print_str(value); }

// The method first, then the key: so `d.items` is the method even if there is a key of that name.
Result<Value> Interpreter::attribute(const Value& base, std::string_view name) {
  if (base.is(Type::undefined)) return undefined_error(base);
  const auto missing = [&] {
    return Value::undefined(
        fmt::format("'{} object' has no attribute '{}'", python_name(base.type()), name));
  };
  if (base.is(Type::callable)) {
    Value value = base.as_callable().attribute(*this, name);
    return value.is(Type::undefined) && value.weak().expired() ? missing() : value;
  }
  if (base.is(Type::space)) {
    const Value* found = base.as_space().find(name);
    return found ? *found : missing();
  }
  if (const Native* method = find_method(base.type(), name)) {
    return Value::callable(std::make_shared<NativeCallable>(*method, base));
  }
  if (is_mutating_method(base.type(), name)) {
    return fail(Kind::sandbox,
                "access to attribute '{}' of '{}' object is unsafe: values cannot be changed", name,
                python_name(base.type()));
  }
  if (base.is(Type::dict)) {
    if (const Value* found = base.as_dict().find(name)) return *found;
  }
  return missing();
}

Result<Value> Interpreter::item(const Value& base, const Value& key) {
  if (base.is(Type::undefined)) return undefined_error(base);
  if (base.is(Type::dict)) {
    if (const Value* found = base.as_dict().find(key)) return *found;
  } else if ((base.is_sequence() || base.is(Type::text)) && key.is_integral()) {
    const int64_t n = base.is(Type::text) ? -1 : static_cast<int64_t>(base.items().size());
    int64_t i = key.as_integer();
    if (n >= 0) {
      if (i < 0) i += n;
      if (i >= 0 && i < n) return base.items()[static_cast<size_t>(i)];
    } else {
      const Value stop = i == -1 ? Value::none() : Value::integer(i + 1);
      const Value one = ETCH_TRY(slice(base, key, stop, Value::none()));
      if (!one.str().empty()) return one;
    }
  }
  if (key.is(Type::text)) {
    // Not there as a key: methods can be had so too.
    if (!base.is(Type::dict) || find_method(base.type(), key.str()))
      return attribute(base, key.str());
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", key.str()));
  }
  return Value::undefined(
      fmt::format("{} object has no element {}", python_name(base.type()), print_repr(key).text));
}

namespace {

// Python's rule for a[start:stop:step] on n items: the places taken, in order.
std::vector<int64_t> slice_places(int64_t n, const Value& start, const Value& stop, int64_t step) {
  const auto bound = [&](const Value& v, int64_t missing) {
    if (v.is(Type::none)) return missing;
    int64_t i = v.as_integer();
    if (i < 0) i = i < -n ? -1 : i + n;
    return step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
  };
  std::vector<int64_t> places;
  if (step > 0) {
    const int64_t last = bound(stop, n);
    for (int64_t i = bound(start, 0); i<last; i = step> n ? last : i + step) places.push_back(i);
  } else {
    const int64_t last = bound(stop, -1);
    for (int64_t i = bound(start, n - 1); i > last; i = step < -n ? last : i + step)
      places.push_back(i);
  }
  return places;
}

}  // namespace

Result<Value> Interpreter::slice(const Value& base, const Value& start, const Value& stop,
                                 const Value& step_value) {
  if (base.is(Type::undefined)) return undefined_error(base);
  for (const Value* v : {&start, &stop, &step_value}) {
    if (v->is(Type::undefined)) return undefined_error(*v);
    if (!v->is(Type::none) && !v->is_integral()) {
      return type_error("slice indices must be integers or None, not {}", python_name(v->type()));
    }
  }
  const int64_t by = step_value.is(Type::none) ? 1 : step_value.as_integer();
  if (by == 0) return fail(Kind::runtime, "slice step cannot be zero");
  if (base.is_sequence()) {
    const auto& items = base.items();
    std::vector<Value> taken;
    for (const int64_t i : slice_places(static_cast<int64_t>(items.size()), start, stop, by)) {
      taken.push_back(items[static_cast<size_t>(i)]);
    }
    ETCH_TRY(step(static_cast<int64_t>(taken.size())));
    return make_list(std::move(taken), base.type());
  }
  if (!base.is(Type::text))
    return type_error("'{}' object is not subscriptable", python_name(base.type()));
  const MarkedText& text = base.marked();
  std::vector<int64_t> starts;  // of each character, and the end
  for (size_t at = 0; at < text.text.size(); at += decode_utf8(text.text, at).bytes)
    starts.push_back(static_cast<int64_t>(at));
  const int64_t n = static_cast<int64_t>(starts.size());
  starts.push_back(static_cast<int64_t>(text.text.size()));
  ETCH_TRY(step(n / 16 + 1));
  const std::vector<int64_t> places = slice_places(n, start, stop, by);
  if (by == 1) {
    return make_text(places.empty()
                         ? MarkedText()
                         : text.slice(starts[places.front()], starts[places.back() + 1]));
  }
  MarkedText taken;
  for (const int64_t i : places) taken.append(text.slice(starts[i], starts[i + 1]));
  return make_text(std::move(taken));
}

Result<std::vector<Value>> Interpreter::iterate(const Value& value) {
  if (value.is(Type::lazy)) return value.take_items();
  if (value.holds_items()) {
    ETCH_TRY(charge(static_cast<int64_t>(value.items().size() * sizeof(Value))));
    return value.items();
  }
  std::vector<Value> items;
  if (value.is(Type::undefined)) return items;
  if (value.is(Type::dict)) {
    for (const auto& [key, item] : value.as_dict().entries) items.push_back(key);
    return items;
  }
  if (value.is(Type::text)) {
    const MarkedText& text = value.marked();
    ETCH_TRY(step(static_cast<int64_t>(text.text.size())));
    for (size_t at = 0; at < text.text.size();) {
      const int32_t bytes = decode_utf8(text.text, at).bytes;
      items.push_back(ETCH_TRY(
          make_text(text.slice(static_cast<int64_t>(at), static_cast<int64_t>(at) + bytes))));
      at += bytes;
    }
    return items;
  }
  return type_error("'{}' object is not iterable", python_name(value.type()));
}

Result<Value> call_native(Interpreter& interpreter, const Native& native, const Value& self,
                          Arguments arguments) {
  Call call;
  std::string_view parameters = native.parameters;
  std::vector<std::string_view> names;
  bool takes_others = false;
  while (!parameters.empty()) {
    const size_t space = std::min(parameters.find(' '), parameters.size());
    const std::string_view word = parameters.substr(0, space);
    parameters.remove_prefix(std::min(space + 1, parameters.size()));
    if (word == "*") {
      takes_others = true;
    } else {
      names.push_back(word);
    }
  }
  call.values.assign(names.size(), Value::absent());
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < names.size()) {
      call.values[i] = std::move(arguments.positional[i]);
    } else if (takes_others) {
      call.rest.positional.push_back(std::move(arguments.positional[i]));
    } else {
      return interpreter.type_error("{}() takes not more than {} arguments, got {}", native.name,
                                    names.size(), arguments.positional.size());
    }
  }
  for (auto& [name, value] : arguments.named) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end() &&
        call.values[static_cast<size_t>(found - names.begin())].is(Type::absent)) {
      call.values[static_cast<size_t>(found - names.begin())] = std::move(value);
    } else if (takes_others && found == names.end()) {
      call.rest.named.emplace_back(name, std::move(value));
    } else {
      return interpreter.type_error("{}() takes no argument '{}'", native.name, name);
    }
  }
  return native.function(interpreter, self, call);
}

Result<Value> Interpreter::apply_filter(std::string_view name, const Value& value,
                                        Arguments arguments) {
  const Native* filter = find_filter(name);
  if (!filter || (options_.only_python && name == "from_json")) {
    return fail(Kind::runtime, "no filter named '{}'", name);
  }
  return call_native(*this, *filter, value, std::move(arguments));
}

Result<bool> Interpreter::apply_test(std::string_view name, const Value& value,
                                     Arguments arguments) {
  const Native* test = find_test(name);
  if (!test) return fail(Kind::runtime, "no test named '{}'", name);
  return ETCH_TRY(call_native(*this, *test, value, std::move(arguments))).truth();
}

}  // namespace etch::jinja

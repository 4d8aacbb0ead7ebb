// Expressions: names, literals, operators, calls.
#include "text/jinja/interpreter.h"
#include "text/jinja/print.h"

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
  ETCH_TRY(check_depth());
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

Result<MarkedText> Interpreter::print(const Value& value) { return print_str(value); }

}  // namespace etch::jinja

// Statements.
#include "text/jinja/interpreter.h"
#include "text/jinja/scope.h"

namespace etch::jinja {

Result<Interpreter::Flow> Interpreter::execute(const Body& body) {
  for (const auto& statement : body) {
    const Flow flow = ETCH_TRY(execute(*statement));
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Result<Interpreter::Flow> Interpreter::execute(const Statement& s) {
  const Nesting nesting(depth_);
  place_ = s.place;
  ETCH_TRY(step());
  ETCH_TRY(check_depth());
  switch (s.kind) {
    case StatementKind::data: {
      MarkedText own;
      own.text = s.text;
      ETCH_TRY(put(own));
      return Flow::next;
    }
    case StatementKind::print: {
      const Value value = ETCH_TRY(evaluate(*s.expression));
      ETCH_TRY(put(ETCH_TRY(print(value))));
      return Flow::next;
    }
    case StatementKind::if_: {
      const Value condition = ETCH_TRY(evaluate(*s.expression));
      return execute(condition.truth() ? s.body : s.otherwise);
    }
    case StatementKind::for_:
      return execute_for(s);
    case StatementKind::set:
      ETCH_TRY(assign(*s.target, ETCH_TRY(evaluate(*s.expression))));
      return Flow::next;
    case StatementKind::set_block:
      ETCH_TRY(execute_set_block(s));
      return Flow::next;
    case StatementKind::macro:
      scope_->set(s.text, make_macro(s));
      return Flow::next;
    case StatementKind::call_block:
      ETCH_TRY(execute_call_block(s));
      return Flow::next;
    case StatementKind::filter_block:
      ETCH_TRY(execute_filter_block(s));
      return Flow::next;
    case StatementKind::with:
      return execute_with(s);
    case StatementKind::scope: {
      const ScopeGuard guard(scope_, inner_scope(scope_));
      return execute(s.body);
    }
    case StatementKind::break_:
      return Flow::break_;
    case StatementKind::continue_:
      return Flow::continue_;
    case StatementKind::unsupported:
      return fail(TemplateProblem::Kind::type, "'{}' needs other templates, and there are none",
                  s.text);
  }
  return Flow::next;
}

Status Interpreter::put(const MarkedText& text) {
  if (static_cast<int64_t>(out_->text.size() + text.text.size()) > options_.limits.bytes) {
    return fail(TemplateProblem::Kind::limit, "the output is longer than {} bytes",
                options_.limits.bytes);
  }
  out_->append(text);
  return {};
}

Status Interpreter::assign(const Expression& target, Value value) {
  if (target.kind == ExpressionKind::name) {
    scope_->set(target.text, std::move(value));
    return {};
  }
  if (target.kind == ExpressionKind::attribute) {
    const Value base = ETCH_TRY(evaluate(*target.parts[0]));
    if (!base.is(Type::space)) {
      return fail(TemplateProblem::Kind::runtime,
                  "cannot set an attribute of '{}': it is no namespace", target.parts[0]->text);
    }
    ETCH_TRY(check_nesting(value, 1));
    base.as_space().set(Value::text(target.text), std::move(value));
    return {};
  }
  const std::vector<Value> items = ETCH_TRY(iterate(value));
  if (items.size() != target.parts.size()) {
    return fail(TemplateProblem::Kind::runtime, "{} values for {} names", items.size(),
                target.parts.size());
  }
  for (size_t i = 0; i < items.size(); ++i) ETCH_TRY(assign(*target.parts[i], items[i]));
  return {};
}

Result<MarkedText> Interpreter::capture(const Body& body) {
  const ScopeGuard guard(scope_, inner_scope(scope_));
  return captured([&] { return execute(body); });
}

// The chain hangs with its last filter at the top; the first one has no value before it.
Result<Value> Interpreter::apply_filter_chain(const Expression* filters, Value value) {
  if (!filters) return value;
  value = ETCH_TRY(apply_filter_chain(filters->parts[0].get(), std::move(value)));
  place_ = filters->place;
  return apply_filter(filters->text, value, ETCH_TRY(evaluate_arguments(*filters->arguments)));
}

Status Interpreter::execute_set_block(const Statement& s) {
  Value text = ETCH_TRY(make_text(ETCH_TRY(capture(s.body))));
  return assign(*s.target, ETCH_TRY(apply_filter_chain(s.expression.get(), std::move(text))));
}

Status Interpreter::execute_filter_block(const Statement& s) {
  const Value text = ETCH_TRY(make_text(ETCH_TRY(capture(s.body))));
  return put(ETCH_TRY(print(ETCH_TRY(apply_filter_chain(s.expression.get(), text)))));
}

Result<Interpreter::Flow> Interpreter::execute_with(const Statement& s) {
  auto inner = inner_scope(scope_);
  for (size_t i = 0; i < s.targets.size(); ++i)
    inner->set(s.targets[i]->text, ETCH_TRY(evaluate(*s.values[i])));
  const ScopeGuard guard(scope_, std::move(inner));
  return execute(s.body);
}

}  // namespace etch::jinja

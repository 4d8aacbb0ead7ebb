// Statements.
#include <algorithm>

#include "text/jinja/interpreter.h"
#include "text/jinja/print.h"

namespace etch::jinja {

namespace {

constexpr int64_t kValueBytes = 64;  // charged for one item of a list or dict
constexpr int32_t kDeepest = 200;    // nesting of values

class MacroCallable : public Callable {
 public:
  MacroCallable(const Statement& macro, std::shared_ptr<Scope> scope)
      : macro_(macro), scope_(scope) {}
  Result<Value> call(Interpreter& interpreter, Arguments arguments) override {
    const auto scope = scope_.lock();
    if (!scope)
      return interpreter.fail(TemplateProblem::Kind::runtime, "the scope of macro '{}' is gone",
                              macro_.text);
    return interpreter.call_macro(macro_, scope, std::move(arguments));
  }
  Value attribute(Interpreter&, std::string_view name) override {
    return name == "name" ? Value::text(macro_.text) : Value();
  }
  std::string_view python_name() const override { return "Macro"; }

 private:
  const Statement& macro_;
  std::weak_ptr<Scope> scope_;  // which may hold this
};

}  // namespace

// The variable `loop`.
class LoopCallable : public Callable {
 public:
  LoopCallable(const Statement& statement, const std::vector<Value>& items, int32_t depth)
      : statement_(statement), items_(items), depth_(depth) {}

  Result<Value> call(Interpreter& interpreter, Arguments arguments) override {
    if (!statement_.recursive || arguments.positional.size() != 1) {
      return interpreter.type_error(
          "'loop' can only be called with one argument in a recursive loop");
    }
    MarkedText text;
    MarkedText* before = std::exchange(interpreter.out_, &text);
    auto flow = interpreter.run_loop(statement_, arguments.positional[0], depth_ + 1);
    interpreter.out_ = before;
    if (!flow) return tl::unexpected(flow.error());
    return interpreter.make_text(std::move(text));
  }

  Value attribute(Interpreter&, std::string_view name) override {
    const int64_t n = static_cast<int64_t>(items_.size());
    if (name == "index") return Value::integer(at + 1);
    if (name == "index0") return Value::integer(at);
    if (name == "revindex") return Value::integer(n - at);
    if (name == "revindex0") return Value::integer(n - at - 1);
    if (name == "first") return Value::boolean(at == 0);
    if (name == "last") return Value::boolean(at == n - 1);
    if (name == "length") return Value::integer(n);
    if (name == "depth") return Value::integer(depth_);
    if (name == "depth0") return Value::integer(depth_ - 1);
    if (name == "previtem")
      return at > 0 ? items_[at - 1] : Value::undefined("there is no previous item");
    if (name == "nextitem")
      return at + 1 < n ? items_[at + 1] : Value::undefined("there is no next item");
    if (name == "cycle") return Value::callable(std::make_shared<Cycle>(at));
    if (name == "changed") return Value::callable(changed_);
    return Value();
  }
  std::string_view python_name() const override { return "LoopContext"; }

  int64_t at = 0;

 private:
  // loop.cycle(a, b): a, b, a, ... by the round
  class Cycle : public Callable {
   public:
    explicit Cycle(int64_t at) : at_(at) {}
    Result<Value> call(Interpreter& interpreter, Arguments arguments) override {
      const auto& values = arguments.positional;
      if (values.empty()) return interpreter.type_error("no items for cycling given");
      return values[static_cast<size_t>(at_) % values.size()];
    }

   private:
    int64_t at_;
  };
  // loop.changed(a): is it another value than the last time
  class Changed : public Callable {
   public:
    Result<Value> call(Interpreter&, Arguments arguments) override {
      Value now = Value::list(std::move(arguments.positional));
      const bool changed = !called_ || !last_.equals(now);
      last_ = std::move(now);
      called_ = true;
      return Value::boolean(changed);
    }

   private:
    Value last_;
    bool called_ = false;
  };

  const Statement& statement_;
  const std::vector<Value> items_;
  int32_t depth_;
  std::shared_ptr<Changed> changed_ = std::make_shared<Changed>();
};

Value* Scope::find(std::string_view name) {
  for (auto& [own, value] : variables) {
    if (own == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  if (Value* found = find(name)) {
    *found = std::move(value);
  } else {
    variables.emplace_back(name, std::move(value));
  }
}

Interpreter::Interpreter(const Template& source, const RenderOptions& options,
                         TemplateProblem& problem)
    : source_(source), options_(options), problem_(problem) {}

Interpreter::~Interpreter() {
  for (const auto& weak : spaces_) {
    if (const auto space = std::static_pointer_cast<Dict>(weak.lock())) *space = {};
  }
  for (const auto& weak : macro_scopes_) {
    if (const auto scope = weak.lock()) scope->variables.clear();
  }
}

tl::unexpected<Error> Interpreter::fail_text(TemplateProblem::Kind kind, std::string text) {
  problem_ = {kind, std::move(text), place_.line, place_.column};
  const ErrorKind error =
      kind == TemplateProblem::Kind::limit ? ErrorKind::resources : ErrorKind::damaged;
  return tl::unexpected<Error>(Error{error, problem_.text});
}

Status Interpreter::step(int64_t n) {
  steps_ += n;
  if (steps_ <= options_.limits.steps) return {};
  return fail(TemplateProblem::Kind::limit, "the template takes more than {} steps",
              options_.limits.steps);
}

// Bytes are counted as they are made, not as they live: a text that grows in a loop counts again
// each time. That bounds time as well, and 16 times the limit is far more than any chat needs.
Status Interpreter::charge(int64_t bytes) {
  bytes_ += bytes;
  if (bytes <= options_.limits.bytes && bytes_ <= options_.limits.bytes * 16) return {};
  return fail(TemplateProblem::Kind::limit,
              "the template makes texts or lists of more than {} bytes",
              bytes > options_.limits.bytes ? options_.limits.bytes : options_.limits.bytes * 16);
}

Result<Value> Interpreter::make_text(MarkedText text) {
  ETCH_TRY(
      charge(static_cast<int64_t>(text.text.size() + text.outside.size() * sizeof(TextRange))));
  return Value::text(std::move(text));
}

Result<Value> Interpreter::make_list(std::vector<Value> items, Type type) {
  ETCH_TRY(charge(static_cast<int64_t>(items.size()) * kValueBytes));
  Value value = Value::list(std::move(items), type);
  if (value.depth() > kDeepest)
    return fail(TemplateProblem::Kind::limit, "values nested deeper than {}", kDeepest);
  return value;
}

Result<Value> Interpreter::make_dict(Dict dict) {
  ETCH_TRY(charge(static_cast<int64_t>(dict.entries.size()) * 2 * kValueBytes));
  Value value = Value::dict(std::move(dict));
  if (value.depth() > kDeepest)
    return fail(TemplateProblem::Kind::limit, "values nested deeper than {}", kDeepest);
  return value;
}

Result<Value> Interpreter::make_space(Dict attributes) {
  Value value = Value::space(std::move(attributes));
  spaces_.push_back(value.weak());
  ETCH_TRY(charge(kValueBytes * 4));
  return value;
}

Status Interpreter::put(const MarkedText& text) {
  if (static_cast<int64_t>(out_->text.size() + text.text.size()) > options_.limits.bytes) {
    return fail(TemplateProblem::Kind::limit, "the output is longer than {} bytes",
                options_.limits.bytes);
  }
  out_->append(text);
  return {};
}

Result<MarkedText> Interpreter::run(Scope variables) {
  scope_ = std::make_shared<Scope>(std::move(variables));
  MarkedText text;
  out_ = &text;
  auto flow = execute(source_.body);
  out_ = nullptr;
  if (!flow) return tl::unexpected(std::move(flow).error());
  return text;
}

Result<Interpreter::Flow> Interpreter::execute(const Body& body) {
  for (const auto& statement : body) {
    const Flow flow = ETCH_TRY(execute(*statement));
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

namespace {

struct Nesting {
  explicit Nesting(int64_t& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  int64_t& depth_;
};

// Puts a scope back when it is left, however that happens.
struct ScopeGuard {
  ScopeGuard(std::shared_ptr<Scope>& scope, std::shared_ptr<Scope> inner)
      : scope_(scope), before_(std::exchange(scope, std::move(inner))) {}
  ~ScopeGuard() { scope_ = std::move(before_); }
  std::shared_ptr<Scope>& scope_;
  std::shared_ptr<Scope> before_;
};

std::shared_ptr<Scope> inner_scope(const std::shared_ptr<Scope>& outer) {
  auto scope = std::make_shared<Scope>();
  scope->outer = outer;
  return scope;
}

}  // namespace

Result<Interpreter::Flow> Interpreter::execute(const Statement& s) {
  const Nesting nesting(depth_);
  place_ = s.place;
  ETCH_TRY(step());
  if (depth_ > options_.limits.depth) {
    return fail(TemplateProblem::Kind::limit, "nested deeper than {}", options_.limits.depth);
  }
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
      macro_scopes_.push_back(scope_);
      scope_->set(s.text, Value::callable(std::make_shared<MacroCallable>(s, scope_)));
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

Result<Interpreter::Flow> Interpreter::execute_for(const Statement& s) {
  const Value over = ETCH_TRY(evaluate(*s.expression));
  return run_loop(s, over, 1);
}

// A condition is asked before the loop counts: loop.index numbers what is left.
Result<Interpreter::Flow> Interpreter::run_loop(const Statement& s, const Value& over,
                                                int32_t depth) {
  const Nesting nesting(depth_);
  if (depth_ > options_.limits.depth) {
    return fail(TemplateProblem::Kind::limit, "nested deeper than {}", options_.limits.depth);
  }
  std::vector<Value> items = ETCH_TRY(iterate(over));
  if (s.condition) {
    std::vector<Value> kept;
    for (Value& item : items) {
      ETCH_TRY(step());
      const ScopeGuard guard(scope_, inner_scope(scope_));
      ETCH_TRY(assign(*s.target, item));
      if (ETCH_TRY(evaluate(*s.condition)).truth()) kept.push_back(std::move(item));
    }
    items = std::move(kept);
  }
  const auto loop = std::make_shared<LoopCallable>(s, items, depth);
  const size_t n = items.size();
  for (size_t i = 0; i < n; ++i) {
    ETCH_TRY(step());
    loop->at = static_cast<int64_t>(i);
    const ScopeGuard guard(scope_, inner_scope(scope_));
    scope_->set("loop", Value::callable(loop));
    ETCH_TRY(assign(*s.target, items[i]));
    if (ETCH_TRY(execute(s.body)) == Flow::break_) break;
  }
  if (n > 0 || s.otherwise.empty()) return Flow::next;
  const ScopeGuard guard(scope_, inner_scope(scope_));
  return execute(s.otherwise);
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
    if (value.depth() >= kDeepest)
      return fail(TemplateProblem::Kind::limit, "values nested deeper than {}", kDeepest);
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
  MarkedText text;
  MarkedText* before = std::exchange(out_, &text);
  const ScopeGuard guard(scope_, inner_scope(scope_));
  auto flow = execute(body);
  out_ = before;
  if (!flow) return tl::unexpected(std::move(flow).error());
  return text;
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

Status Interpreter::execute_call_block(const Statement& s) {
  macro_scopes_.push_back(scope_);
  Arguments caller;
  caller.named.emplace_back("caller", Value::callable(std::make_shared<MacroCallable>(s, scope_)));
  const Value result = ETCH_TRY(evaluate_call(*s.expression, std::move(caller)));
  return put(ETCH_TRY(print(result)));
}

Result<Interpreter::Flow> Interpreter::execute_with(const Statement& s) {
  auto inner = inner_scope(scope_);
  for (size_t i = 0; i < s.targets.size(); ++i)
    inner->set(s.targets[i]->text, ETCH_TRY(evaluate(*s.values[i])));
  const ScopeGuard guard(scope_, std::move(inner));
  return execute(s.body);
}

Result<Value> Interpreter::call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope,
                                      Arguments arguments) {
  const ScopeGuard guard(scope_, inner_scope(scope));
  const size_t n = macro.parameters.size();
  std::vector<bool> given(n);
  size_t used = std::min(n, arguments.positional.size());
  for (size_t i = 0; i < used; ++i) {
    scope_->set(macro.parameters[i], std::move(arguments.positional[i]));
    given[i] = true;
  }
  Dict others;
  Value caller;
  for (auto& [name, value] : arguments.named) {
    const auto found = std::find(macro.parameters.begin(), macro.parameters.end(), name);
    const size_t i = static_cast<size_t>(found - macro.parameters.begin());
    if (i < n && !given[i]) {
      scope_->set(macro.parameters[i], std::move(value));
      given[i] = true;
    } else if (name == "caller" && i == n) {
      if (!macro.uses_caller) return type_error("macro '{}' takes no call block", macro.text);
      caller = std::move(value);
    } else if (macro.uses_kwargs && i == n) {
      others.set(Value::text(name), std::move(value));
    } else {
      return type_error("macro '{}' {} '{}'", macro.text,
                        i < n ? "got two values for" : "takes no argument named", name);
    }
  }
  std::vector<Value> extra(
      std::make_move_iterator(arguments.positional.begin() + static_cast<int64_t>(used)),
      std::make_move_iterator(arguments.positional.end()));
  if (!extra.empty() && !macro.uses_varargs) {
    return type_error("macro '{}' takes not more than {} arguments", macro.text, n);
  }
  if (macro.uses_varargs)
    scope_->set("varargs", ETCH_TRY(make_list(std::move(extra), Type::tuple)));
  if (macro.uses_kwargs) scope_->set("kwargs", ETCH_TRY(make_dict(std::move(others))));
  if (macro.uses_caller) {
    scope_->set("caller", caller.is(Type::undefined) ? Value::undefined("no caller defined")
                                                     : std::move(caller));
  }
  const size_t first_default = n - macro.defaults.size();
  for (size_t i = 0; i < n; ++i) {
    if (given[i]) continue;
    scope_->set(macro.parameters[i],
                i >= first_default ? ETCH_TRY(evaluate(*macro.defaults[i - first_default]))
                                   : Value::undefined(fmt::format("parameter '{}' was not provided",
                                                                  macro.parameters[i])));
  }
  MarkedText text;
  MarkedText* before = std::exchange(out_, &text);
  auto flow = execute(macro.body);
  out_ = before;
  if (!flow) return tl::unexpected(std::move(flow).error());
  return make_text(std::move(text));
}

}  // namespace etch::jinja

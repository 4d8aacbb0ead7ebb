// Macros and call blocks: a body with parameters, in the scope it was defined in.
#include <algorithm>
#include <iterator>

#include "text/jinja/interpreter.h"
#include "text/jinja/scope.h"

namespace etch::jinja {
namespace {

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

Value Interpreter::make_macro(const Statement& macro) {
  macro_scopes_.push_back(scope_);
  return Value::callable(std::make_shared<MacroCallable>(macro, scope_));
}

Status Interpreter::execute_call_block(const Statement& s) {
  Arguments caller;
  caller.named.emplace_back("caller", make_macro(s));
  const Value result = ETCH_TRY(evaluate_call(*s.expression, std::move(caller)));
  return put(ETCH_TRY(print(result)));
}

Result<Value> Interpreter::call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope,
                                      Arguments arguments) {
  const ScopeGuard guard(scope_, inner_scope(scope));
  std::vector<bool> given(macro.parameters.size());
  ETCH_TRY(set_parameters(macro, std::move(arguments), given));
  ETCH_TRY(set_defaults(macro, given));
  return make_text(ETCH_TRY(captured([&] { return execute(macro.body); })));
}

Status Interpreter::set_parameters(const Statement& macro, Arguments arguments,
                                   std::vector<bool>& given) {
  const size_t n = macro.parameters.size();
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
  return {};
}

Status Interpreter::set_defaults(const Statement& macro, const std::vector<bool>& given) {
  const size_t n = macro.parameters.size();
  const size_t first_default = n - macro.defaults.size();
  for (size_t i = 0; i < n; ++i) {
    if (given[i]) continue;
    scope_->set(macro.parameters[i],
                i >= first_default ? ETCH_TRY(evaluate(*macro.defaults[i - first_default]))
                                   : Value::undefined(fmt::format("parameter '{}' was not provided",
                                                                  macro.parameters[i])));
  }
  return {};
}

}  // namespace etch::jinja

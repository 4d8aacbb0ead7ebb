// Calls: functions of the tables, their arguments sorted to their parameters.
#include <algorithm>

#include "text/jinja/interpreter.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

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

Result<Value> Interpreter::call(const Value& callee, Arguments arguments) {
  if (callee.is(Type::undefined)) return undefined_error(callee);
  if (!callee.is(Type::callable))
    return type_error("'{}' object is not callable", python_name(callee.type()));
  const std::shared_ptr<Callable> keep = callee.shared_callable();
  return keep->call(*this, std::move(arguments));
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

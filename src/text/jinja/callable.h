// What can be called in a template: macros, functions, methods of values, the loop variable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/value.h"

namespace etch::jinja {

class Interpreter;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Callable {
 public:
  virtual ~Callable() = default;
  virtual Result<Value> call(Interpreter& interpreter, Arguments arguments) = 0;
  // Attributes and items, for `loop.index`, `cycler.next`; undefined where there are none.
  virtual Value attribute(Interpreter&, std::string_view) { return Value(); }
  virtual std::string_view python_name() const { return "function"; }
};

// A function of a table: its parameters by name, in order, then "*" if it takes any number of
// others.
using NativeFunction = Result<Value> (*)(Interpreter& interpreter, const Value& self,
                                         struct Call& call);

struct Native {
  std::string_view name;
  std::string_view parameters;  // "length killwords end"
  NativeFunction function;
};

// The arguments of one call, sorted to the parameters; those not given are absent.
struct Call {
  std::vector<Value> values;
  Arguments rest;  // where the function takes others ("*")

  const Value& operator[](size_t i) const { return values[i]; }
  bool has(size_t i) const { return !values[i].is(Type::absent); }
};

Result<Value> call_native(Interpreter& interpreter, const Native& native, const Value& self,
                          Arguments arguments);

// A method bound to its value, or a global function (self undefined).
class NativeCallable : public Callable {
 public:
  NativeCallable(const Native& native, Value self) : native_(native), self_(std::move(self)) {}
  Result<Value> call(Interpreter& interpreter, Arguments arguments) override {
    return call_native(interpreter, native_, self_, std::move(arguments));
  }

 private:
  const Native& native_;
  Value self_;
};

}  // namespace etch::jinja

// for, and its variable `loop`.
#include "text/jinja/interpreter.h"
#include "text/jinja/scope.h"

namespace etch::jinja {

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
    return interpreter.make_text(ETCH_TRY(interpreter.captured(
        [&] { return interpreter.run_loop(statement_, arguments.positional[0], depth_ + 1); })));
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

Result<Interpreter::Flow> Interpreter::execute_for(const Statement& s) {
  const Value over = ETCH_TRY(evaluate(*s.expression));
  return run_loop(s, over, 1);
}

// A condition is asked before the loop counts: loop.index numbers what is left.
Result<Interpreter::Flow> Interpreter::run_loop(const Statement& s, const Value& over,
                                                int32_t depth) {
  const Nesting nesting(depth_);
  ETCH_TRY(check_depth());
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

}  // namespace etch::jinja

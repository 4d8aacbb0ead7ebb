// Functions every template can call.
#include "text/jinja/functions.h"
#include "text/jinja/print.h"
#include "text/jinja/text_functions.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

namespace {

constexpr int64_t kLongestRange = 100'000;  // Jinja's sandbox has the same

// dict(mapping, a=1): of the mapping, then the names
Result<Dict> dict_of(Interpreter& in, const Call& call) {
  Dict dict;
  if (is_given(call, 0)) {
    if (call[0].is(Type::dict)) {
      dict = call[0].as_dict();
    } else {
      for (const Value& pair : ETCH_TRY(in.iterate(call[0]))) {
        const std::vector<Value> two = ETCH_TRY(in.iterate(pair));
        if (two.size() != 2)
          return in.fail(Kind::runtime,
                         "dictionary update sequence element has length {}; 2 is required",
                         two.size());
        dict.set(two[0], two[1]);
      }
    }
  }
  if (!call.rest.positional.empty()) return in.type_error("dict expected at most 1 argument");
  for (const auto& [name, value] : call.rest.named) dict.set(Value::text(name), value);
  return dict;
}

class Joiner : public Callable {
 public:
  explicit Joiner(MarkedText separator) : separator_(std::move(separator)) {}
  Result<Value> call(Interpreter&, Arguments) override {
    return std::exchange(used_, true) ? Value::text(separator_) : Value::text("");
  }

 private:
  MarkedText separator_;
  bool used_ = false;
};

class Cycler : public Callable, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  Result<Value> call(Interpreter& in, Arguments) override {
    return in.type_error("'Cycler' object is not callable");
  }
  Value attribute(Interpreter&, std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name == "next") return Value::callable(std::make_shared<Move>(shared_from_this(), false));
    if (name == "reset") return Value::callable(std::make_shared<Move>(shared_from_this(), true));
    return Value();
  }

 private:
  class Move : public Callable {
   public:
    Move(std::shared_ptr<Cycler> cycler, bool resets)
        : cycler_(std::move(cycler)), resets_(resets) {}
    Result<Value> call(Interpreter&, Arguments) override {
      size_t& at = cycler_->at_;
      if (resets_) {
        at = 0;
        return Value::none();
      }
      const Value now = cycler_->items_[at];
      at = (at + 1) % cycler_->items_.size();
      return now;
    }

   private:
    std::shared_ptr<Cycler> cycler_;
    bool resets_;
  };
  std::vector<Value> items_;
  size_t at_ = 0;
};

}  // namespace

Result<Value> global_dict(Interpreter& in, const Value&, Call& call) {
  return in.make_dict(ETCH_TRY(dict_of(in, call)));
}
Result<Value> global_namespace(Interpreter& in, const Value&, Call& call) {
  return in.make_space(ETCH_TRY(dict_of(in, call)));
}

Result<Value> global_raise_exception(Interpreter& in, const Value&, Call& call) {
  return in.fail_text(Kind::raised, call.has(0) ? print_str(call[0]).text : std::string());
}

Result<Value> global_strftime_now(Interpreter& in, const Value&, Call& call) {
  MarkedText text;
  text.text = format_time(ETCH_TRY(text_argument(in, call, 0, "%Y-%m-%d")), in.options().now);
  return in.make_text(std::move(text));
}

Result<Value> global_range(Interpreter& in, const Value&, Call& call) {
  if (!call.has(0)) return in.type_error("range expected at least 1 argument, got 0");
  for (const Value& v : call.values) {
    if (v.is(Type::undefined)) return in.undefined_error(v);
    if (!v.is(Type::absent) && !v.is_integral()) {
      return in.type_error("'{}' object cannot be interpreted as an integer",
                           python_name(v.type()));
    }
  }
  const int64_t start = call.has(1) ? call[0].as_integer() : 0;
  const int64_t stop = call.has(1) ? call[1].as_integer() : call[0].as_integer();
  const int64_t step = call.has(2) ? call[2].as_integer() : 1;
  if (step == 0) return in.fail(Kind::runtime, "range() arg 3 must not be zero");
  std::vector<Value> items;
  for (__int128 i = start; step > 0 ? i < stop : i > stop; i += step) {
    items.push_back(Value::integer(static_cast<int64_t>(i)));
    if (static_cast<int64_t>(items.size()) > kLongestRange) {
      return in.fail(Kind::runtime, "a range of more than {} numbers", kLongestRange);
    }
  }
  return in.make_list(std::move(items), Type::range);
}

Result<Value> global_joiner(Interpreter&, const Value&, Call& call) {
  MarkedText comma;
  comma.text = ", ";
  return Value::callable(std::make_shared<Joiner>(call.has(0) ? print_str(call[0]) : comma));
}

Result<Value> global_cycler(Interpreter& in, const Value&, Call& call) {
  if (call.rest.positional.empty()) return in.type_error("at least one item has to be provided");
  return Value::callable(std::make_shared<Cycler>(std::move(call.rest.positional)));
}

}  // namespace etch::jinja

// Interpreter: walks the syntax tree of a template over its variables. Everything a template could
// use to take too much is counted here: steps, bytes, nesting.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/chat_template.h"
#include "text/jinja/ast.h"
#include "text/jinja/callable.h"
#include "text/jinja/value.h"

namespace etch::jinja {

// The variables of one scope. Names are looked up outwards; `set` writes the innermost.
struct Scope {
  std::shared_ptr<Scope> outer;
  std::vector<std::pair<std::string_view, Value>> variables;

  Value* find(std::string_view name);
  void set(std::string_view name, Value value);
};

class Interpreter {
 public:
  Interpreter(const Template& source, const RenderOptions& options, TemplateProblem& problem);
  ~Interpreter();
  Result<MarkedText> run(Scope variables);

  // What evaluation gives. The place of the expression being evaluated goes into the problem.
  template <class... Args>
  tl::unexpected<Error> fail(TemplateProblem::Kind kind, fmt::format_string<Args...> format,
                             Args&&... args) {
    return fail_text(kind, fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> fail_text(TemplateProblem::Kind kind, std::string text);
  template <class... Args>
  tl::unexpected<Error> type_error(fmt::format_string<Args...> format, Args&&... args) {
    return fail_text(TemplateProblem::Kind::type, fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> undefined_error(const Value& value) {
    return fail_text(TemplateProblem::Kind::undefined, value.why());
  }

  Status check_depth();
  Status check_nesting(const Value& value, int32_t within = 0);  // of lists in lists
  Status step(int64_t n = 1);                                    // counts work
  Status charge(int64_t bytes);                                  // counts memory that values take
  Result<Value> make_text(MarkedText text);
  Result<Value> make_list(std::vector<Value> items, Type type = Type::list);
  Result<Value> make_dict(Dict dict);
  const RenderOptions& options() const { return options_; }

  Result<Value> call(const Value& callee, Arguments arguments);
  Result<Value> apply_filter(std::string_view name, const Value& value, Arguments arguments);
  Result<bool> apply_test(std::string_view name, const Value& value, Arguments arguments);
  Result<Value> attribute(const Value& base, std::string_view name);  // base.name
  Result<Value> item(const Value& base, const Value& key);            // base[key]
  Result<Value> slice(const Value& base, const Value& start, const Value& stop, const Value& step);
  Result<std::vector<Value>> iterate(const Value& value);  // what a loop over it sees
  Result<MarkedText> print(const Value& value);            // {{ value }}
  Result<Value> binary(std::string_view op, const Value& a, const Value& b);
  Result<bool> compare(std::string_view op, const Value& a, const Value& b);
  Result<Value> make_space(Dict attributes);

  // Macros: a body with parameters, in the scope it was defined in.
  Result<Value> call_macro(const Statement& macro, const std::shared_ptr<Scope>& scope,
                           Arguments arguments);

 private:
  friend class LoopCallable;
  enum class Flow { next, break_, continue_ };

  Result<Flow> execute(const Body& body);
  Result<Flow> execute(const Statement& statement);
  Result<Flow> execute_for(const Statement& statement);
  Result<Flow> run_loop(const Statement& statement, const Value& over, int32_t depth);
  Status execute_set_block(const Statement& statement);
  Status execute_call_block(const Statement& statement);
  Status execute_filter_block(const Statement& statement);
  Result<Flow> execute_with(const Statement& statement);
  Status assign(const Expression& target, Value value);
  Result<MarkedText> capture(const Body& body);  // its output, in a scope of its own
  // What `run` prints.
  template <class Run>
  Result<MarkedText> captured(const Run& run) {
    MarkedText text;
    MarkedText* before = std::exchange(out_, &text);
    auto flow = run();
    out_ = before;
    if (!flow) return tl::unexpected(std::move(flow).error());
    return text;
  }
  Value make_macro(const Statement& macro);
  Status set_parameters(const Statement& macro, Arguments arguments, std::vector<bool>& given);
  Status set_defaults(const Statement& macro, const std::vector<bool>& given);
  Status put(const MarkedText& text);
  Result<Value> apply_filter_chain(const Expression* filters, Value value);

  Result<Value> evaluate(const Expression& e);
  Result<Value> evaluate_at(const Expression& e);
  Result<Value> evaluate_call(const Expression& e, Arguments first = {});
  Result<Value> evaluate_unary(const Expression& e);
  Result<Value> evaluate_compare(const Expression& e);
  Result<Value> evaluate_concat(const Expression& e);
  Result<Value> evaluate_item(const Expression& e);
  Result<Arguments> evaluate_arguments(const CallArguments& arguments);
  Value look_up(const std::string& name);

  const Template& source_;
  const RenderOptions& options_;
  TemplateProblem& problem_;
  std::shared_ptr<Scope> scope_;
  MarkedText* out_ = nullptr;  // where statements print to
  // Namespaces made: emptied at the end, they may hold themselves.
  std::vector<std::weak_ptr<void>> spaces_;
  std::vector<std::weak_ptr<Scope>> macro_scopes_;
  int64_t steps_ = 0, bytes_ = 0, depth_ = 0;
  Place place_;
};

// Tables of functions by name; null if there is none.
const Native* find_filter(std::string_view name);
const Native* find_test(std::string_view name);
const Native* find_global(std::string_view name);
const Native* find_method(Type type, std::string_view name);
bool is_mutating_method(Type type, std::string_view name);  // those the sandbox forbids

}  // namespace etch::jinja

// What a template takes is counted here: steps, bytes, nesting.
#include "text/jinja/interpreter.h"

namespace etch::jinja {
namespace {

constexpr int64_t kValueBytes = 64;  // charged for one item of a list or dict
constexpr int32_t kDeepest = 200;    // nesting of values

}  // namespace

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

Result<MarkedText> Interpreter::run(Scope variables) {
  scope_ = std::make_shared<Scope>(std::move(variables));
  return captured([&] { return execute(source_.body); });
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

Status Interpreter::check_depth() {
  if (depth_ <= options_.limits.depth) return {};
  return fail(TemplateProblem::Kind::limit, "nested deeper than {}", options_.limits.depth);
}

Status Interpreter::check_nesting(const Value& value, int32_t within) {
  if (value.depth() + within <= kDeepest) return {};
  return fail(TemplateProblem::Kind::limit, "values nested deeper than {}", kDeepest);
}

Result<Value> Interpreter::make_text(MarkedText text) {
  ETCH_TRY(
      charge(static_cast<int64_t>(text.text.size() + text.outside.size() * sizeof(TextRange))));
  return Value::text(std::move(text));
}

Result<Value> Interpreter::make_list(std::vector<Value> items, Type type) {
  ETCH_TRY(charge(static_cast<int64_t>(items.size()) * kValueBytes));
  Value value = Value::list(std::move(items), type);
  ETCH_TRY(check_nesting(value));
  return value;
}

Result<Value> Interpreter::make_dict(Dict dict) {
  ETCH_TRY(charge(static_cast<int64_t>(dict.entries.size()) * 2 * kValueBytes));
  Value value = Value::dict(std::move(dict));
  ETCH_TRY(check_nesting(value));
  return value;
}

Result<Value> Interpreter::make_space(Dict attributes) {
  Value value = Value::space(std::move(attributes));
  spaces_.push_back(value.weak());
  ETCH_TRY(charge(kValueBytes * 4));
  return value;
}

}  // namespace etch::jinja

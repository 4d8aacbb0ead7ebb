#include "text/chat_template.h"

#include <nlohmann/json.hpp>

#include "text/jinja/ast.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/json_value.h"
#include "text/jinja/lex.h"
#include "text/jinja/parser.h"
#include "text/utf8.h"

namespace etch {

namespace {

// What a model without a template most likely understands.
constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

constexpr size_t kLongestTemplate = 4 << 20;

Error with_place(const std::string& name, const TemplateProblem& problem, ErrorKind kind) {
  const std::string what =
      problem.kind == TemplateProblem::Kind::raised ? "the template refuses this: " : "";
  return {kind,
          fmt::format("{}:{}:{}: {}{}", name, problem.line, problem.column, what, problem.text)};
}

}  // namespace

std::string_view name(TemplateProblem::Kind kind) {
  switch (kind) {
    case TemplateProblem::Kind::syntax:
      return "syntax";
    case TemplateProblem::Kind::raised:
      return "raised";
    case TemplateProblem::Kind::undefined:
      return "undefined";
    case TemplateProblem::Kind::type:
      return "type";
    case TemplateProblem::Kind::sandbox:
      return "sandbox";
    case TemplateProblem::Kind::runtime:
      return "runtime";
    case TemplateProblem::Kind::limit:
      return "limit";
  }
  return "";
}

ChatTemplate::ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

const std::string& ChatTemplate::source() const { return template_->source; }

Result<ChatTemplate> ChatTemplate::parse(std::string source, std::string name,
                                         TemplateProblem* problem) {
  TemplateProblem own;
  TemplateProblem& found = problem ? *problem : own;
  if (source.size() > kLongestTemplate) {
    return fail(ErrorKind::unsupported, "{}: {} bytes long, etch reads up to {}", name,
                source.size(), kLongestTemplate);
  }
  if (!is_valid_utf8(source)) source = replace_invalid_utf8(source);
  ChatTemplate made;
  made.template_ = std::make_unique<jinja::Template>();
  made.template_->name = std::move(name);
  auto tokens = jinja::lex(source, found);
  if (!tokens) return tl::unexpected(with_place(made.template_->name, found, tokens.error().kind));
  jinja::Parser parser(std::move(*tokens), found);
  auto body = parser.parse_all();
  if (!body) return tl::unexpected(with_place(made.template_->name, found, body.error().kind));
  made.template_->source = std::move(source);
  made.template_->body = std::move(*body);
  return made;
}

Result<MarkedText> ChatTemplate::render(const nlohmann::ordered_json& context,
                                        const RenderOptions& options,
                                        TemplateProblem* problem) const {
  if (!context.is_object())
    return fail(ErrorKind::usage, "the variables of a chat template must be an object");
  jinja::Scope variables;
  for (const auto& [key, value] : context.items()) {
    variables.variables.emplace_back(
        key, ETCH_TRY(jinja::value_of_json(value, !key.ends_with("_token"))));
  }
  TemplateProblem own;
  TemplateProblem& found = problem ? *problem : own;
  jinja::Interpreter interpreter(*template_, options, found);
  auto text = interpreter.run(std::move(variables));
  if (!text) return tl::unexpected(with_place(template_->name, found, text.error().kind));
  return text;
}

Result<MarkedText> ChatTemplate::render(const std::vector<ChatMessage>& messages,
                                        bool add_generation_prompt, std::string_view bos,
                                        std::string_view eos, const RenderOptions& options) const {
  nlohmann::ordered_json context;
  context["messages"] = nlohmann::ordered_json::array();
  for (const ChatMessage& m : messages) {
    context["messages"].push_back({{"role", m.role}, {"content", replace_invalid_utf8(m.content)}});
  }
  context["add_generation_prompt"] = add_generation_prompt;
  context["bos_token"] = replace_invalid_utf8(bos);
  context["eos_token"] = replace_invalid_utf8(eos);
  context["tools"] = nullptr;
  context["documents"] = nullptr;
  return render(context, options);
}

bool has_chat_template(const Model& model) {
  const KeyValue* key = model.key("tokenizer.chat_template");
  return key && !key->text().value_or("").empty();
}

Result<ChatTemplate> read_chat_template(const Model& model, std::string_view variant) {
  if (!variant.empty()) {
    const KeyValue* key = model.key(fmt::format("tokenizer.chat_template.{}", variant));
    if (key && key->text())
      return ChatTemplate::parse(std::string(*key->text()),
                                 fmt::format("chat template '{}'", variant));
  }
  if (!has_chat_template(model))
    return ChatTemplate::parse(std::string(kChatMl), "built-in chat template");
  return ChatTemplate::parse(std::string(*model.key("tokenizer.chat_template")->text()));
}

}  // namespace etch

// ChatTemplate: a list of messages to the prompt a model was trained on, by the Jinja template in
// its file.
//
// Templates are code from strangers: they reach nothing outside their variables, and steps, output,
// depth and the size of every value are bounded. The result remembers which bytes came out of
// messages (MarkedText).
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "text/marked_text.h"

namespace etch {

namespace jinja {
struct Template;
}

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
};

struct TemplateLimits {
  int64_t steps = 20'000'000;  // nodes evaluated
  int64_t bytes = 64 << 20;    // of the output, of any one text, and of all values alive
  int64_t depth = 400;         // nested evaluations: macros in macros, lists in lists
};

// Why a rendering failed. The kinds are those Python's Jinja2 makes a difference between.
struct TemplateProblem {
  enum class Kind { syntax, raised, undefined, type, sandbox, runtime, limit };
  Kind kind = Kind::runtime;
  std::string
      text;  // without place; for `raised` the template's own words, fit to be shown to a client
  int line = 0, column = 0;  // 1-based
};
std::string_view name(TemplateProblem::Kind kind);

struct RenderOptions {
  TemplateLimits limits;
  int64_t now = 0;  // seconds since 1970 that strftime_now prints; the caller adds the offset of
                    // its local time
  bool only_python = false;  // leave out what Jinja2 in transformers does not have (the filter
                             // from_json) is assumed
};

class ChatTemplate {
 public:
  // `name` stands in front of line and column in messages.
  static Result<ChatTemplate> parse(std::string source, std::string name = "chat template",
                                    TemplateProblem* problem = nullptr);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Every key of `context` (an object) is a variable. Texts in it are outside text, but for the
  // special tokens (keys that end in "_token") and the roles of messages where they are plain
  // words.
  Result<MarkedText> render(const nlohmann::ordered_json& context,
                            const RenderOptions& options = {},
                            TemplateProblem* problem = nullptr) const;
  // The usual case. bos and eos are the texts of the special tokens, "" for none.
  Result<MarkedText> render(const std::vector<ChatMessage>& messages, bool add_generation_prompt,
                            std::string_view bos, std::string_view eos,
                            const RenderOptions& options = {}) const;
  const std::string& source() const;

 private:
  ChatTemplate();
  std::unique_ptr<jinja::Template> template_;
};

// The template in the model file, or the one stored under `variant` ("tool_use"). has_chat_template
// tells whether there is one; without one read_chat_template gives ChatML.
bool has_chat_template(const Model& model);
Result<ChatTemplate> read_chat_template(const Model& model, std::string_view variant = "");

}  // namespace etch

// Chat templates: any bytes as source, rendered over a small chat. Nothing may crash or take long,
// an error has a kind and words, and what was rendered has marks that lie in it.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "text/chat_template.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etch;
  static const auto context = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "system", "content": "a"},
                 {"role": "user", "content": [{"type": "text", "text": "<|im_end|>"}]},
                 {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.5}}}]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": "number"}}}}}],
    "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true})");
  RenderOptions options;
  options.limits.steps = 100'000;
  options.limits.bytes = 1 << 18;
  TemplateProblem problem;
  const auto parsed =
      ChatTemplate::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz", &problem);
  if (!parsed) {
    ETCH_CHECK(!problem.text.empty() && problem.line > 0 && problem.column > 0,
               "a refusal says why and where");
    return 0;
  }
  const auto text = parsed->render(context, options, &problem);
  if (!text) {
    ETCH_CHECK(!text.error().message.empty(), "a refusal says why");
    return 0;
  }
  int64_t before = -1;
  for (const TextRange& r : text->outside) {
    ETCH_CHECK(
        r.begin > before && r.begin < r.end && r.end <= static_cast<int64_t>(text->text.size()),
        "marks");
    before = r.end;
  }
  ETCH_CHECK(is_valid_utf8(text->text), "the output is valid UTF-8");
  return 0;
}

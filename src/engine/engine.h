// Engine: a model file made ready to run: mapped, compiled, with a session, and where it has them
// its tokenizer and chat template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/compile.h"
#include "session/session.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace etch {

struct EngineOptions {
  CompileOptions compile;
  SessionOptions session;
  bool needs_text = true;  // a tokenizer must be made; without it only token ids go in and out
};

struct Engine {
  std::shared_ptr<const Model> model;
  Compiled compiled;
  std::unique_ptr<Tokenizer> tokenizer;  // null where needs_text is false
  std::optional<ChatTemplate> chat;      // of the file
  std::unique_ptr<Session> session;
  std::vector<std::string> warnings;  // of file, binding and vocabulary
};

// compile() for the session that the options ask for: scratch memory depends on its threads.
Result<Compiled> compile_for(std::shared_ptr<const Model> model, const EngineOptions& options);

Result<Engine> load_engine(const std::string& path, const EngineOptions& options);
Result<Engine> load_engine(std::shared_ptr<const Model> model, const EngineOptions& options);

// A conversation as the tokens of a prompt: rendered by the model's template, contents without
// control tokens.
Result<std::vector<int32_t>> chat_prompt(const Engine& engine,
                                         const std::vector<ChatMessage>& messages);

}  // namespace etch

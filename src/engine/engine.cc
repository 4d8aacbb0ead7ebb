#include "engine/engine.h"

#include <algorithm>
#include <ctime>

#include "session/library.h"

namespace etch {

Result<Compiled> compile_for(std::shared_ptr<const Model> model, const EngineOptions& options) {
  CompileOptions how = options.compile;
  // A library's plan is made again as it was; its threads are a limit.
  how.limits.n_threads = options.session.library ? options.session.library->limits().n_threads
                                                 : planned_threads(options.session);
  return compile(std::move(model), how);
}

Result<Engine> load_engine(const std::string& path, const EngineOptions& options) {
  return load_engine(std::make_shared<const Model>(ETCH_TRY(read_model(path))), options);
}

Result<Engine> load_engine(std::shared_ptr<const Model> model, const EngineOptions& options) {
  Engine engine;
  engine.model = std::move(model);
  engine.compiled = ETCH_TRY(compile_for(engine.model, options));
  engine.warnings = engine.compiled.warnings;
  if (options.needs_text) {
    engine.tokenizer = ETCH_TRY(make_tokenizer(*engine.model));
    for (const std::string& w : engine.tokenizer->warnings()) engine.warnings.push_back(w);
    if (has_chat_template(*engine.model)) engine.chat = ETCH_TRY(read_chat_template(*engine.model));
  }
  SessionOptions how = options.session;
  if (how.library) {
    const auto most = static_cast<int32_t>(how.library->limits().n_threads);
    how.n_threads = std::min(planned_threads(how), most);
  }
  engine.session = ETCH_TRY(Session::create(engine.compiled.lowered, engine.model->bytes(), how));
  return engine;
}

Result<std::vector<int32_t>> chat_prompt(const Engine& engine,
                                         const std::vector<ChatMessage>& messages) {
  if (!engine.chat || !engine.tokenizer) {
    return fail(ErrorKind::unsupported,
                "the model has no chat template\n  --raw takes the text as it is");
  }
  const Tokenizer& t = *engine.tokenizer;
  const auto text_of = [&](int32_t id) { return id < 0 ? std::string_view() : t.token_text(id); };
  const MarkedText rendered = ETCH_TRY(
      engine.chat->render(messages, true, text_of(t.special().bos), text_of(t.special().eos),
                          {.now = static_cast<int64_t>(std::time(nullptr))}));
  return t.encode_chat(rendered);
}

}  // namespace etch

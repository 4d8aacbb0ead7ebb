// The program that `etch compile --exe` makes: this, the printed model, and its GGUF file in a
// section, so that one file answers by itself. No graph, circuit or kernel choice is in it; the
// printed C is all that knows the model.
//
//   [ this | model.c | kernels | .gguf: the whole file, on pages of its own, mapped as it is ]
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <iterator>
#include <optional>

#include "base/elf_section.h"
#include "base/team.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "etch/model_abi.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/sampler.h"
#include "text/tokenizer.h"

extern "C" const etch_model* model_description(void);  // of the printed model

namespace etch::cli {
namespace {

constexpr int64_t kRawTokens = 256;  // of an answer without a chat template, which has no end

struct Flags {
  std::string prompt, system, isa;
  SamplingOptions sampling;
  int64_t n = -1, threads = 0, seed = 0, ctx = 0;
  bool raw = false;
};

volatile std::sig_atomic_t g_interrupted = 0;

Status check(int32_t status) {
  if (status == ETCH_OK) return {};
  const ErrorKind kind = status == ETCH_NO_THREADS ? ErrorKind::resources
                         : status == ETCH_NO_ISA   ? ErrorKind::unsupported
                         : status == ETCH_FULL     ? ErrorKind::resources
                                                   : ErrorKind::damaged;
  return fail(kind, "{}", etch_status_text(status));
}

// Anonymous pages: zeroed, and taken as they are touched.
Result<void*> pages(int64_t bytes, std::string_view what) {
  void* const at = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return fail(ErrorKind::resources, "no {} bytes for {}", bytes, what);
  return at;
}

// The model's file, mapped where it stands in the program's own.
Result<std::span<const uint8_t>> own_file() {
  const std::string self = "/proc/self/exe";
  const SectionPlace place = ETCH_TRY(find_section(self, ".gguf"));
  const int fd = ::open(self.c_str(), O_RDONLY | O_CLOEXEC);
  const auto bytes = static_cast<size_t>(place.bytes);
  void* const at =
      fd < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, place.offset);
  if (fd >= 0) ::close(fd);
  if (at == MAP_FAILED)
    return fail(ErrorKind::resources, "the {} bytes of the model cannot be mapped", bytes);
  return std::span(static_cast<const uint8_t*>(at), bytes);
}

Result<std::vector<int32_t>> prompt_tokens(const Model& model, const Tokenizer& tokenizer,
                                           const Flags& flags, std::string text, bool chat) {
  if (!chat) return tokenizer.encode(text, {.parse_special = true});
  if (text.ends_with('\n')) text.pop_back();
  std::vector<ChatMessage> messages;
  if (!flags.system.empty()) messages.push_back({"system", flags.system});
  messages.push_back({"user", std::move(text)});
  const ChatTemplate chat_template = ETCH_TRY(read_chat_template(model));
  const auto text_of = [&](int32_t id) {
    return id < 0 ? std::string_view() : tokenizer.token_text(id);
  };
  return tokenizer.encode_chat(ETCH_TRY(chat_template.render(
      messages, true, text_of(tokenizer.special().bos), text_of(tokenizer.special().eos),
      {.now = static_cast<int64_t>(std::time(nullptr))})));
}

Result<int> answer(const Flags& flags, std::string text) {
  const etch_model& compiled = *model_description();
  const std::span<const uint8_t> file = ETCH_TRY(own_file());
  const Model model = ETCH_TRY(read_model(
      ETCH_TRY(read_gguf(std::make_shared<Mapping>(Mapping::of_memory(file, compiled.name))))));
  const auto tokenizer = ETCH_TRY(make_tokenizer(model));
  const bool chat = !flags.raw && has_chat_template(model);
  const std::vector<int32_t> prompt =
      ETCH_TRY(prompt_tokens(model, *tokenizer, flags, std::move(text), chat));
  SamplingOptions sampling = flags.sampling;
  sampling.seed = static_cast<uint64_t>(flags.seed);
  Sampler sampler = ETCH_TRY(make_sampler(sampling));

  const int64_t wanted = flags.threads > 0 ? flags.threads : usable_threads();
  const auto n_threads = static_cast<int32_t>(std::min(wanted, compiled.n_threads));
  const int64_t n_ctx = flags.ctx > 0 ? std::min(flags.ctx, compiled.n_ctx) : compiled.n_ctx;
  etch_engine* engine = nullptr;
  ETCH_TRY(check(etch_engine_start(
      &compiled, &engine, ETCH_TRY(pages(etch_engine_bytes(&compiled, n_threads), "scratch")),
      file.data(), std::ssize(file), n_threads, flags.isa.empty() ? nullptr : flags.isa.c_str())));
  etch_text* sequence = nullptr;
  ETCH_TRY(check(etch_text_begin(
      engine, &sequence, ETCH_TRY(pages(etch_text_bytes(&compiled, n_ctx), "keys and values")),
      n_ctx)));

  const float* logits = nullptr;
  const auto n_prompt = static_cast<int32_t>(prompt.size());
  ETCH_TRY(check(etch_text_append(engine, sequence, prompt.data(), n_prompt, &logits)));
  for (const int32_t id : prompt) sampler.accept(id);
  TextStream stream(*tokenizer);
  int64_t left = flags.n >= 0 ? flags.n : chat ? INT64_MAX : kRawTokens;
  for (; left > 0 && !g_interrupted; --left) {
    const std::span<const float> row(logits, static_cast<size_t>(compiled.n_vocab));
    const int32_t id = ETCH_TRY(sampler.sample(row));
    if (tokenizer->is_end_of_generation(id)) break;
    sampler.accept(id);
    ETCH_TRY(put(stream.push(id)));
    if (left == 1) break;
    if (etch_text_length(sequence) == n_ctx) {
      ETCH_TRY(put(stream.finish()));
      return fail(ErrorKind::resources,
                  "the context of {} positions is full; the answer is cut off", n_ctx);
    }
    ETCH_TRY(check(etch_text_append(engine, sequence, &id, 1, &logits)));
  }
  ETCH_TRY(put(stream.finish()));
  if (is_terminal(stdout)) ETCH_TRY(put("\n"));
  etch_engine_stop(engine);
  return g_interrupted ? static_cast<int>(ErrorKind::cancelled) : 0;
}

int finish(const Result<int>& result) {
  if (result) return *result;
  print_error(result.error());
  return static_cast<int>(result.error().kind);
}

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, [](int) {
    if (g_interrupted) std::_Exit(static_cast<int>(ErrorKind::cancelled));
    g_interrupted = 1;
  });
  Flags flags;
  Parser parser(model_description()->name);
  parser.describe(
      "Answers a prompt, from -p or standard input. Everything it needs is in this file.",
      "  -p \"Why is the sky blue?\"\n  -p \"Once upon a time\" --raw -n 100 --temp 0");
  parser.text("-p,--prompt", flags.prompt, "TEXT", "the prompt");
  parser.text("--system", flags.system, "TEXT", "system message of the chat");
  parser.flag("--raw", flags.raw, "the text as it is, without the chat template");
  parser.number("-n,--max-tokens", flags.n, "tokens of the answer (default: to its end; raw: 256)",
                0);
  parser.number("-t,--threads", flags.threads, "threads (default: the cores it may use)", 1, 256);
  parser.number("-c,--ctx", flags.ctx, "positions of the context (default: all that was compiled)",
                1);
  parser.text("--isa", flags.isa, "NAME", "scalar avx2 avx512 avx512_vnni (default: the best)");
  parser.real("--temp", flags.sampling.temperature, "temperature (default 0.8); 0: the likeliest");
  parser.number("--seed", flags.seed, "same seed, same answer (default 0)", 0, INT64_MAX);
  const Result<bool> parsed = parser.parse(argc, argv);
  if (!parsed) return finish(tl::unexpected(parsed.error()));
  if (!*parsed) return finish(put(parser.help()).map([] { return 0; }));
  std::string text = flags.prompt;
  if (!parser.given("--prompt")) text.assign(std::istreambuf_iterator<char>(std::cin), {});
  return finish(answer(flags, std::move(text)));
}

}  // namespace
}  // namespace etch::cli

int main(int argc, char** argv) { return etch::cli::main(argc, argv); }

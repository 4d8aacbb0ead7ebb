#include <fmt/format.h>

#include "code/layout.h"
#include "code/print_c.h"

namespace etch {
namespace {

constexpr std::string_view kBody = R"(
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The model at work: its file, threads, scratch. It runs one step at a time.
typedef struct etch_engine model;
// One text: how many positions are filled, their keys and values. Any number of texts share a
// model.
typedef struct etch_text model_text;

// What every function that can fail returns; model_error() has the sentence for it.
enum model_status {
  MODEL_OK,
  MODEL_USAGE,       // an argument is out of its range
  MODEL_NO_FILE,     // the file cannot be opened or mapped
  MODEL_OTHER_FILE,  // it is not the file that the model was compiled from
  MODEL_NO_THREADS,  // they cannot be started
  MODEL_NO_ISA,      // there is no such instruction set, or this processor lacks it
  MODEL_NO_TOKEN,    // the model has no such token
  MODEL_FULL,        // the text has no room for so many tokens
  MODEL_NOT_FINITE,  // a value became infinite or not a number; the text is as before the step
};
const char* model_error(int32_t status);

// Memory is yours: as many bytes as these say, aligned to 64, kept until model_stop() or the text's
// end. Pages of mmap() or calloc() suit best: most of a text's are touched only as it grows.
// Nothing else is allocated but the threads.
int64_t model_bytes(int32_t n_threads);         // 0: that is no number of threads
int64_t model_text_bytes(int64_t n_positions);  // 0: the context is smaller

// Starts a model on its GGUF file, given by its path or as it lies in memory. isa forces an
// instruction set ("scalar", "avx2", "avx512", "avx512_vnni"); null takes the best there is. The
// results are the same bits for any of them, and for any number of threads.
int32_t model_open(model** m, void* memory, const char* path, int32_t n_threads, const char* isa);
int32_t model_start(model** m, void* memory, const void* file, int64_t bytes, int32_t n_threads,
                    const char* isa);
void model_stop(model* m);

// A text of up to n_positions tokens.
int32_t model_text_begin(model* m, model_text** text, void* memory, int64_t n_positions);
// Appends tokens. *logits, if asked for, are the MODEL_N_VOCAB numbers behind the last of them;
// they are good until the next step of the model.
int32_t model_text_append(model* m, model_text* text, const int32_t* tokens, int32_t n_tokens,
                          const float** logits);
int64_t model_text_length(const model_text* text);
// Goes back to the first n_positions tokens. MODEL_USAGE: a window has let go of what they would
// see.
int32_t model_text_truncate(model_text* text, int64_t n_positions);

// For who keeps keys and values in pages of their own, or runs several texts in one step: the steps
// and the description that etch itself uses. etch/model_abi.h explains them.
struct etch_step;
struct etch_model;
const struct etch_model* model_description(void);
int32_t model_run(model* m, const struct etch_step* step);
const float* model_logits(const model* m);

#ifdef __cplusplus
}
#endif

#endif
)";

}  // namespace

Result<std::string> print_h(const Lowered& lowered, const CodeOptions& options) {
  std::string out = lay_out_comment(fmt::format("{} as a library, from {} by etch {}.",
                                                options.model, options.file, options.etch_version),
                                    0);
  out += "//\n";
  out += lay_out_comment(
      "Link with libmodel.so, or load it. Start a model on the GGUF file, begin a text, append "
      "tokens "
      "and read the logits. There is no global state; a model is used by one thread at a time.",
      0);
  int64_t n_vocab = 0;
  for (const Output& o : lowered.outputs) {
    if (o.name != "logits") continue;
    n_vocab = 1;
    for (const int64_t d : o.shape) n_vocab *= d;
  }
  std::string sizes =
      "enum {\n" +
      lay_out_lines({{fmt::format("MODEL_N_VOCAB = {},", n_vocab), "logits of a token"},
                     {fmt::format("MODEL_N_CTX = {},", lowered.limits.n_ctx),
                      "positions of the longest text"},
                     {fmt::format("MODEL_MAX_THREADS = {},", lowered.limits.n_threads),
                      "threads of a model"}},
                    2) +
      "};\n\n";
  std::string body(kBody.substr(1));
  body.insert(body.find("// The model at work"), sizes);
  return out + body;
}

}  // namespace etch

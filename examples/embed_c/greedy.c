// Continues a text of token ids with the likeliest tokens, through the library of a compiled model:
//
//   etch compile model.gguf -o smollm2
//   cc -std=c99 -O2 -I smollm2 greedy.c smollm2/libmodel.so -Wl,-rpath,$PWD/smollm2 -o greedy
//   ./greedy model.gguf 20 504 3575 282 4649 314
#define _POSIX_C_SOURCE 200112L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

// Memory aligned to 64 bytes, as the library wants it. The system gives pages as they are touched.
static void* memory_of(int64_t bytes) {
  void* memory;
  if (bytes <= 0 || posix_memalign(&memory, 64, (size_t)bytes) != 0) {
    fprintf(stderr, "no memory of %lld bytes\n", (long long)bytes);
    exit(1);
  }
  return memory;
}

static void check(int32_t status) {
  if (status == MODEL_OK) return;
  fprintf(stderr, "%s\n", model_error(status));
  exit(1);
}

static int32_t likeliest(const float* logits) {
  int32_t best = 0;
  for (int32_t i = 1; i < MODEL_N_VOCAB; ++i)
    if (logits[i] > logits[best]) best = i;
  return best;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: greedy MODEL.gguf COUNT TOKEN...\n");
    return 2;
  }
  const int32_t n_threads = 1;
  void* const model_memory = memory_of(model_bytes(n_threads));
  model* m;
  check(model_open(&m, model_memory, argv[1], n_threads, NULL));
  void* const text_memory = memory_of(model_text_bytes(MODEL_N_CTX));
  model_text* text;
  check(model_text_begin(m, &text, text_memory, MODEL_N_CTX));

  // The prompt in one go; then token by token.
  const int32_t n_prompt = argc - 3;
  int32_t* prompt = calloc((size_t)n_prompt, sizeof *prompt);
  if (prompt == NULL) return 1;
  for (int32_t i = 0; i < n_prompt; ++i) prompt[i] = (int32_t)strtol(argv[3 + i], NULL, 10);
  const float* logits;
  check(model_text_append(m, text, prompt, n_prompt, &logits));
  for (long left = strtol(argv[2], NULL, 10); left > 0; --left) {
    const int32_t next = likeliest(logits);
    printf("%d\n", next);
    check(model_text_append(m, text, &next, 1, &logits));
  }
  free(prompt);
  free(text_memory);
  model_stop(m);
  free(model_memory);
  return 0;
}

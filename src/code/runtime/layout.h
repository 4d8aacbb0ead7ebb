/* What the memory of an engine and of a text is cut into. */
#ifndef ETCH_CODE_RUNTIME_LAYOUT_H
#define ETCH_CODE_RUNTIME_LAYOUT_H

#include "etch/model_abi.h"

enum { ETCH_ALIGNMENT = 64 };

static inline int64_t etch_round_up(int64_t bytes) {
  return (bytes + ETCH_ALIGNMENT - 1) / ETCH_ALIGNMENT * ETCH_ALIGNMENT;
}

/*   [ engine | outputs | tokens .. failed | tables of states | arena | thread 0 | thread 1 | ... ]
 */
struct etch_engine {
  const etch_model* model;
  const uint8_t* file;
  void* mapping; /* that the engine made; null: the file is the caller's */
  int64_t file_bytes;
  etch_team* team;
  enum etch_isa isa;
  int32_t n_threads;
  uint8_t* outputs;
  uint8_t* arena;
  uint8_t* own;
  int64_t own_stride;
  /* Of a step of one text. */
  int32_t *tokens, *positions, *run_of_row, *failed;
  uint8_t* const** states;
  const etch_step* step; /* at work */
};

/*   [ text | tables of pages | pages of state 0 | pages of state 1 | ... ]
 * A state with a window has as many pages as a window and a step can span; page b of it stands in
 * slot b mod that many. A memory has two pieces: the one that stands, and what it was before the
 * step at work. */
typedef struct etch_text_state {
  const etch_states* what;
  uint8_t* pages;
  uint8_t** table; /* [pages of n_positions] */
  int64_t n_slots;
} etch_text_state;

struct etch_text {
  const etch_model* model;
  int64_t n_positions, length;
  etch_text_state states[];
};

#endif

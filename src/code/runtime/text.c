/* A text: the keys and values of one sequence, in pages of the caller's memory. */
#include <string.h>

#include "code/runtime/layout.h"

static int64_t pages_of(int64_t n_positions) {
  return (n_positions + ETCH_PAGE_POSITIONS - 1) / ETCH_PAGE_POSITIONS;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Pages that a state needs at once: all, or what a window and the rows of a step span wherever they
 * begin. */
static int64_t slots_of(const etch_model* m, const etch_states* s, int64_t n_positions) {
  if (s->kind == ETCH_MEMORY) return 2;
  const int64_t all = pages_of(n_positions);
  if (s->window <= 0 || s->window >= n_positions) return all;
  const int64_t span = s->window - 1 + most(m->n_rows, ETCH_DECODE_ROWS);
  return least(all, (most(span, 2) - 2) / ETCH_PAGE_POSITIONS + 2);
}

/* Lays a text out from `at` on; t null: only how far it would be. */
static uint8_t* lay_out(const etch_model* m, etch_text* t, int64_t n_positions, uint8_t* at) {
  const int64_t table_bytes = etch_round_up(pages_of(n_positions) * (int64_t)sizeof(uint8_t*));
  at += etch_round_up((int64_t)(sizeof(etch_text) + (size_t)m->n_states * sizeof(etch_text_state)));
  uint8_t* table = at;
  at += table_bytes * m->n_states;
  int32_t i = 0;
  for (const etch_states* s = m->states; i < m->n_states; ++s) {
    const int64_t n_slots = slots_of(m, s, n_positions);
    for (int32_t k = 0; k < s->count; ++k, ++i) {
      if (t != 0) {
        t->states[i] = (etch_text_state){s, at, (uint8_t**)(void*)table, n_slots};
        memset(table, 0, (size_t)table_bytes);
        if (s->kind == ETCH_MEMORY) memset(at, 0, (size_t)etch_round_up(s->bytes));
      }
      at += etch_round_up(s->bytes) * n_slots;
      table += table_bytes;
    }
  }
  return at;
}

int64_t etch_text_bytes(const etch_model* model, int64_t n_positions) {
  static uint8_t base[ETCH_ALIGNMENT];
  if (n_positions < 1 || n_positions > model->n_ctx) return 0;
  return (int64_t)((uintptr_t)lay_out(model, 0, n_positions, base) - (uintptr_t)base);
}

int32_t etch_text_begin(const etch_engine* engine, etch_text** text, void* memory,
                        int64_t n_positions) {
  const etch_model* const m = engine->model;
  *text = 0;
  if (n_positions < 1 || n_positions > m->n_ctx) return ETCH_USAGE;
  if (memory == 0 || (uintptr_t)memory % ETCH_ALIGNMENT != 0) return ETCH_USAGE;
  etch_text* const t = memory;
  lay_out(m, t, n_positions, memory);
  t->model = m;
  t->n_positions = n_positions;
  t->length = 0;
  *text = t;
  return ETCH_OK;
}

/* The first page that the row at position `length` still sees. */
static int64_t first_page(const etch_states* s, int64_t length) {
  return s->window <= 0 ? 0 : most(0, length - s->window + 1) / ETCH_PAGE_POSITIONS;
}

/* Tables as they must be for a step on positions length .. length + n - 1. */
static void set_tables(etch_text* t, int64_t n) {
  for (int32_t i = 0; i < t->model->n_states; ++i) {
    etch_text_state* const s = &t->states[i];
    const int64_t bytes = etch_round_up(s->what->bytes);
    if (s->what->kind == ETCH_MEMORY) {
      memcpy(s->pages + bytes, s->pages, (size_t)bytes);
      s->table[0] = s->pages;
      continue;
    }
    const int64_t first = first_page(s->what, t->length);
    const int64_t end = pages_of(t->length + n);
    for (int64_t b = first; b-- > 0 && s->table[b] != 0;) s->table[b] = 0;
    for (int64_t b = first; b < end; ++b) s->table[b] = s->pages + bytes * (b % s->n_slots);
  }
}

/* What a step that failed has done to memories is undone; rows of caches beyond the length are
 * nobody's. */
static void undo(etch_text* t) {
  for (int32_t i = 0; i < t->model->n_states; ++i) {
    const etch_text_state* const s = &t->states[i];
    const int64_t bytes = etch_round_up(s->what->bytes);
    if (s->what->kind == ETCH_MEMORY) memcpy(s->pages, s->pages + bytes, (size_t)bytes);
  }
}

/* One step of at most n_rows tokens. */
static int32_t step(etch_engine* e, etch_text* t, const int32_t* tokens, int32_t n,
                    int32_t n_outputs) {
  const etch_run run = {0, n, (int32_t)t->length, 0};
  const int32_t output_row = n - 1;
  for (int32_t r = 0; r < n; ++r) {
    e->tokens[r] = tokens[r];
    e->positions[r] = (int32_t)t->length + r;
    e->run_of_row[r] = 0;
  }
  set_tables(t, n);
  for (int32_t s = 0; s < e->model->n_states; ++s) e->states[s] = t->states[s].table;
  const etch_step step = {.n_rows = n,
                          .n_outputs = n_outputs,
                          .n_runs = 1,
                          .n_states = e->model->n_states,
                          .tokens = e->tokens,
                          .positions = e->positions,
                          .run_of_row = e->run_of_row,
                          .output_rows = &output_row,
                          .runs = &run,
                          .states = e->states,
                          .failed = e->failed};
  const int32_t status = etch_engine_run(e, &step);
  if (status == ETCH_OK) {
    t->length += n;
  } else {
    undo(t);
  }
  return status;
}

int32_t etch_text_append(etch_engine* engine, etch_text* text, const int32_t* tokens,
                         int32_t n_tokens, const float** logits) {
  const etch_model* const m = engine->model;
  if (text->model != m || n_tokens < 1) return ETCH_USAGE;
  if (n_tokens > text->n_positions - text->length) return ETCH_FULL;
  for (int32_t i = 0; i < n_tokens; ++i)
    if (tokens[i] < 0 || (m->n_tokens > 0 && tokens[i] >= m->n_tokens)) return ETCH_NO_TOKEN;
  for (int32_t done = 0; done < n_tokens;) {
    const int32_t n = (int32_t)least(m->n_rows, n_tokens - done);
    const int32_t status =
        step(engine, text, tokens + done, n, logits != 0 && done + n == n_tokens);
    if (status != ETCH_OK) return status;
    done += n;
  }
  if (logits != 0) *logits = etch_engine_logits(engine);
  return ETCH_OK;
}

int64_t etch_text_length(const etch_text* text) { return text->length; }

int32_t etch_text_truncate(etch_text* text, int64_t n_positions) {
  if (n_positions < 0 || n_positions > text->length) return ETCH_USAGE;
  for (int32_t i = 0; n_positions < text->length && i < text->model->n_states; ++i) {
    etch_text_state* const s = &text->states[i];
    if (s->what->kind == ETCH_MEMORY) {
      if (n_positions > 0) return ETCH_USAGE;
      memset(s->pages, 0, (size_t)etch_round_up(s->what->bytes));
      continue;
    }
    /* Every page that is seen from there must still be its own: not let go of, not in a slot used
     * again. */
    const int64_t end = pages_of(text->length);
    if (n_positions > 0 && first_page(s->what, n_positions) < end - s->n_slots) return ETCH_USAGE;
    if (n_positions > 0 && s->table[first_page(s->what, n_positions)] == 0) return ETCH_USAGE;
  }
  text->length = n_positions;
  return ETCH_OK;
}

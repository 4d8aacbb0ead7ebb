/* An engine: a printed model with its file, threads and scratch. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/runtime/layout.h"

const char* etch_status_text(int32_t status) {
  static const char* const texts[ETCH_STATUS_COUNT] = {
      [ETCH_OK] = "it worked",
      [ETCH_USAGE] = "an argument is out of its range",
      [ETCH_NO_FILE] = "the model's file cannot be opened or mapped",
      [ETCH_OTHER_FILE] = "the file is not the one that the model was compiled from",
      [ETCH_NO_THREADS] = "the threads cannot be started",
      [ETCH_NO_ISA] = "there is no such instruction set, or this processor does not have it",
      [ETCH_NO_TOKEN] = "the model has no such token",
      [ETCH_FULL] = "the text has no room for so many tokens",
      [ETCH_NOT_FINITE] = "a value became infinite or not a number",
  };
  return status >= 0 && status < ETCH_STATUS_COUNT ? texts[status] : "there is no such status";
}

/* Lays the parts of an engine out from `at` on and gives the end; at null: only how far it would
 * be. */
static uint8_t* lay_out(const etch_model* m, etch_engine* e, int32_t n_threads, uint8_t* at) {
  etch_engine parts;
  const int64_t rows = etch_round_up(m->n_rows * (int64_t)sizeof(int32_t));
  at += etch_round_up((int64_t)sizeof(etch_engine));
  parts.outputs = at;
  at += etch_round_up(m->output_bytes);
  parts.tokens = (int32_t*)(void*)at;
  at += rows;
  parts.positions = (int32_t*)(void*)at;
  at += rows;
  parts.run_of_row = (int32_t*)(void*)at;
  at += rows;
  parts.failed = (int32_t*)(void*)at;
  at += rows;
  parts.states = (uint8_t* const**)(void*)at;
  at += etch_round_up(m->n_states * (int64_t)sizeof(uint8_t* const*));
  parts.arena = at;
  at += etch_round_up(m->arena_bytes);
  parts.own = at;
  parts.own_stride = etch_round_up(m->own_bytes);
  at += parts.own_stride * n_threads;
  if (e != 0) {
    memset(e, 0, sizeof *e);
    e->outputs = parts.outputs;
    e->tokens = parts.tokens;
    e->positions = parts.positions;
    e->run_of_row = parts.run_of_row;
    e->failed = parts.failed;
    e->states = parts.states;
    e->arena = parts.arena;
    e->own = parts.own;
    e->own_stride = parts.own_stride;
  }
  return at;
}

int64_t etch_engine_bytes(const etch_model* model, int32_t n_threads) {
  static uint8_t base[ETCH_ALIGNMENT];
  if (n_threads < 1 || n_threads > model->n_threads) return 0;
  return (int64_t)((uintptr_t)lay_out(model, 0, n_threads, base) - (uintptr_t)base);
}

static int32_t find_isa(const char* name, enum etch_isa* isa) {
  if (name == 0) {
    *isa = etch_best_isa();
    return ETCH_OK;
  }
  for (int32_t i = 0; i < ETCH_ISA_COUNT; ++i) {
    *isa = (enum etch_isa)i;
    if (strcmp(name, etch_isa_name(*isa)) == 0) return etch_has_isa(*isa) ? ETCH_OK : ETCH_NO_ISA;
  }
  return ETCH_NO_ISA;
}

int32_t etch_engine_start(const etch_model* model, etch_engine** engine, void* memory,
                          const void* file, int64_t bytes, int32_t n_threads, const char* isa) {
  enum etch_isa set;
  *engine = 0;
  if (memory == 0 || (uintptr_t)memory % ETCH_ALIGNMENT != 0) return ETCH_USAGE;
  if (n_threads < 1 || n_threads > model->n_threads) return ETCH_USAGE;
  const int32_t found = find_isa(isa, &set);
  if (found != ETCH_OK) return found;
  if (bytes != model->file_bytes) return ETCH_OTHER_FILE;
  if (etch_sample(file, bytes, model->header_bytes) != model->file_sample) return ETCH_OTHER_FILE;

  etch_engine* const e = memory;
  lay_out(model, e, n_threads, memory);
  e->model = model;
  e->file = file;
  e->file_bytes = bytes;
  e->isa = set;
  e->n_threads = n_threads;
  e->team = etch_team_create(n_threads);
  if (e->team == 0) return ETCH_NO_THREADS;
  *engine = e;
  return ETCH_OK;
}

int32_t etch_engine_open(const etch_model* model, etch_engine** engine, void* memory,
                         const char* path, int32_t n_threads, const char* isa) {
  *engine = 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ETCH_NO_FILE;
  struct stat about;
  void* mapping = MAP_FAILED;
  if (fstat(fd, &about) == 0 && about.st_size > 0)
    mapping = mmap(0, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (mapping == MAP_FAILED) return ETCH_NO_FILE;
  const int32_t status =
      etch_engine_start(model, engine, memory, mapping, (int64_t)about.st_size, n_threads, isa);
  if (status != ETCH_OK) {
    munmap(mapping, (size_t)about.st_size);
    return status;
  }
  (*engine)->mapping = mapping;
  return ETCH_OK;
}

void etch_engine_stop(etch_engine* engine) {
  if (engine == 0) return;
  etch_team_destroy(engine->team);
  if (engine->mapping != 0) munmap(engine->mapping, (size_t)engine->file_bytes);
}

static void walk(void* context, int32_t thread) {
  etch_engine* const e = context;
  const etch_model* const m = e->model;
  etch_worker worker = {
      .file = e->file,
      .constants = m->constants,
      .outputs = e->outputs,
      .arena = e->arena,
      .own = e->own + e->own_stride * thread,
      .isa = e->isa,
      .thread = {.step = e->step, .team = e->team, .index = thread, .count = e->n_threads}};
  if (m->prefill != 0 && e->step->n_rows > m->n_decode_rows) {
    m->prefill(&worker);
  } else {
    m->decode(&worker);
  }
}

int32_t etch_engine_run(etch_engine* engine, const etch_step* step) {
  const etch_model* const m = engine->model;
  if (step->n_rows < 1 || step->n_rows > m->n_rows) return ETCH_USAGE;
  if (step->n_outputs < 0 || step->n_outputs > m->n_outputs || step->n_outputs > step->n_rows)
    return ETCH_USAGE;
  if (step->n_states != m->n_states) return ETCH_USAGE;
  for (int32_t r = 0; r < step->n_rows; ++r) {
    if (step->tokens[r] < 0 || (m->n_tokens > 0 && step->tokens[r] >= m->n_tokens))
      return ETCH_NO_TOKEN;
    if (step->positions[r] < 0 || step->positions[r] >= m->n_ctx) return ETCH_FULL;
    step->failed[r] = 0;
  }
  engine->step = step;
  etch_team_run(engine->team, walk, engine);
  for (int32_t r = 0; r < step->n_rows; ++r)
    if (step->failed[r] != 0) return ETCH_NOT_FINITE;
  return ETCH_OK;
}

const float* etch_engine_logits(const etch_engine* engine) {
  const etch_model* const m = engine->model;
  return m->logits < 0 ? 0 : (const float*)(const void*)(engine->outputs + m->logits);
}

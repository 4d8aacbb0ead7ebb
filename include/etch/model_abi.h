/* model_abi.h: the contract between what runs a model (the executor, or a printed and compiled model.c) and the
 * kernels. Plain C99; nothing here allocates. Executor and printed C call the same kernels with the same structs, so
 * they give the same bits.
 *
 * Words:  a *step* is one forward pass over N rows (one row = one token of one sequence). Rows of one sequence stand
 * together and form a *run*. R of the rows want outputs. A *call* is one kernel call of the plan; its *items* (tiles
 * of weight rows, batch rows, heads, ...) are shared out among the threads of a team. All strides are in bytes.
 */
#ifndef ETCH_MODEL_ABI_H
#define ETCH_MODEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ETCH_MODEL_ABI_VERSION 1

enum {
  ETCH_PARTIAL_SUMS = 16,    /* float reductions: element k goes to partial k mod 16 (arithmetic.md section 3) */
  ETCH_PAGE_POSITIONS = 128, /* positions of a KV page = positions of an attention block (section 5) */
  ETCH_PANEL_COLUMNS = 6,    /* columns of one block of packed activations */
  ETCH_DECODE_ROWS = 16      /* steps of at most so many rows take the decode list */
};

/* ---- a step ------------------------------------------------------------------------------------------------- */

typedef struct etch_run {
  int32_t first_row;
  int32_t count;
  int32_t first_position; /* rows of a run have ascending, gapless positions */
  int32_t sequence;       /* whose it is: an index the session gave, for messages */
} etch_run;

typedef struct etch_step {
  int32_t n_rows;    /* N */
  int32_t n_outputs; /* R */
  int32_t n_runs;
  int32_t n_states;
  const int32_t* tokens;      /* [N] */
  const int32_t* positions;   /* [N] */
  const int32_t* run_of_row;  /* [N] */
  const int32_t* output_rows; /* [R] ascending row indices */
  const etch_run* runs;       /* [n_runs] */
  /* states[s * n_runs + r]: for a cache, the page table of state s for run r (entry b = the page of positions
   * 128 b .. 128 b + 127, null where a window has let go of it); for a recurrent state, one entry: its memory. */
  uint8_t* const* const* states;
  int32_t* failed;              /* [N] 0, or 1 + the number of the call that met a value that is not finite */
  const volatile int32_t* stop; /* not zero: finish quickly, the result is thrown away; null: never; atomic on both sides */
} etch_step;

/* ---- threads ------------------------------------------------------------------------------------------------ */

typedef struct etch_team etch_team; /* a fixed number of threads; base/team.h */

etch_team* etch_team_create(int32_t n_threads); /* n_threads >= 1; null when threads cannot be had */
void etch_team_destroy(etch_team* team);
int32_t etch_team_threads(const etch_team* team);
/* Runs f on every thread of the team at once (the caller is thread 0) and returns when all are done. The
 * floating-point mode is set for the run (nearest, subnormals kept) and restored afterwards. */
void etch_team_run(etch_team* team, void (*f)(void* context, int32_t thread), void* context);
/* Inside a run: waits until every thread of the team has come here. */
void etch_team_barrier(etch_team* team, int32_t thread);

typedef struct etch_thread {
  const etch_step* step;
  etch_team* team;
  int32_t index; /* 0 .. count - 1 */
  int32_t count;
  int32_t call; /* number of the call at work, for `failed` */
} etch_thread;

/* ---- kernels ------------------------------------------------------------------------------------------------ */

/* Works on items first .. last - 1 of the call that `args` describes. */
typedef void (*etch_kernel_fn)(const void* args, const etch_thread* thread, int64_t first, int64_t last);
typedef struct etch_kernel etch_kernel; /* one entry of the registry; kernels/kernel.h */

/* Instruction sets in ascending order. */
enum etch_isa { ETCH_SCALAR, ETCH_AVX2, ETCH_AVX512, ETCH_AVX512_VNNI, ETCH_ISA_COUNT };

/* Calls a kernel for this thread's share of its items, in pieces of about 64 KiB of weights between which `stop` is
 * looked at. Which items a thread gets depends on the call and the number of threads alone. */
void etch_call(const etch_kernel* kernel, enum etch_isa isa, const void* args, etch_thread* thread);

/* ---- arguments ---------------------------------------------------------------------------------------------- */

/* How many rows a call works on: per x (1 | N | R). Row r of an operand stands at
 * at + (r / per) * row_stride + (r % per) * inner_stride. */
enum etch_rows_of { ETCH_ONCE, ETCH_TOKENS, ETCH_OUTPUTS };
typedef struct etch_rows {
  int32_t of;  /* enum etch_rows_of */
  int32_t per; /* >= 1: heads, leading axes */
} etch_rows;
typedef struct etch_view { /* rows of float32, the last axis contiguous */
  uint8_t* at;
  int64_t row_stride;
  int64_t inner_stride;
} etch_view;

/* Rows of a table, dequantised, times a factor (1: exact). */
typedef struct etch_embed {
  const uint8_t* table; /* [n_table, d] of the kernel's type */
  const int32_t* ids;   /* [rows], or null: the step's tokens */
  etch_view y;          /* [rows, d] */
  int64_t d, n_table;   /* an id outside 0 .. n_table - 1 gives zeros and marks the row */
  float factor;
  etch_rows rows;
} etch_embed;

/* rmsnorm, layernorm, l2norm, softmax, sum over the last axis; and rmsnorm + quantise. */
typedef struct etch_norm {
  etch_view x;             /* [rows, d] */
  const float* weight;     /* [d] or null; with weight_stride, one per inner row */
  const float* bias;       /* [d] or null */
  etch_view y;             /* [rows, d] (sum: [rows, 1]) */
  uint8_t* packed;         /* norm_quantize: the quantised rows (layout of the kernel's representation) */
  int64_t d;
  int64_t weight_stride;   /* bytes between the weights of neighbouring inner rows; 0: the same for all */
  float eps;
  etch_rows rows;
} etch_norm;

/* float32 rows to int8 (arithmetic.md section 1). */
typedef struct etch_quantize {
  etch_view x;     /* [rows, d] */
  uint8_t* packed; /* layout of the kernel's representation: kernels/activations.h */
  int64_t d;
  etch_rows rows;
} etch_quantize;

/* What happens to a product before it is stored. */
enum etch_activation { ETCH_ACT_NONE, ETCH_ACT_SILU, ETCH_ACT_GELU, ETCH_ACT_GELU_TANH, ETCH_ACT_RELU };

/* y = activation(gate x + gate_bias) * (weight x + bias), or without gate y = weight x + bias + residual.
 * Quantised weights: x is quantised rows or packed columns as the kernel says; float weights: x is float32 rows. */
typedef struct etch_matmul {
  const uint8_t* weight;   /* [n_out, n_in] */
  const uint8_t* gate;     /* the same type and shape, or null */
  const uint8_t* x;        /* rows of x_stride bytes, or packed */
  const float* bias;       /* [n_out] or null */
  const float* gate_bias;  /* [n_out] or null */
  const uint8_t* residual; /* rows of float32 [n_out], residual_stride apart, or null; may be y itself */
  uint8_t* y;              /* rows of float32 [n_out], y_stride apart */
  uint8_t* scratch;        /* of this thread: the kernel's scratch_bytes */
  int64_t n_in, n_out;
  int64_t row_bytes; /* of weight and gate */
  int64_t x_stride, y_stride, residual_stride;
  int32_t activation; /* enum etch_activation, applied to the gate's product (or to the only one) */
  etch_rows rows;
  const struct etch_matmul* next; /* the next matmul of the plan, whose first tile of this thread is prefetched; or null */
} etch_matmul;

/* The same for chosen experts: row r, slot s multiplies by matrix experts[r, s] / divisor. */
typedef struct etch_expert_matmul {
  const uint8_t* base;     /* what the offsets count from */
  const int64_t* weights;  /* [n_experts] offsets of matrices [n_out, n_in] */
  const int64_t* gates;    /* the same for the gate, or null */
  const float* bias;       /* [n_experts, n_out] or null */
  const float* gate_bias;  /* or null */
  const int32_t* experts;  /* [rows, n_used] */
  const int32_t* order;    /* expert_order's result */
  const uint8_t* x;        /* quantised rows: [rows] (shared by the slots) or [rows, n_used] */
  uint8_t* y;              /* float32 [rows, n_used, n_out] */
  uint8_t* scratch;
  int64_t n_in, n_out, row_bytes, x_stride;
  int32_t x_per_slot; /* 0: x has one row per token, 1: one per slot */
  int32_t n_used, n_experts, divisor;
  int32_t activation;
  etch_rows rows;
} etch_expert_matmul;

/* Sorts (row, slot) pairs by expert: order[0 .. n_experts] = first place of each expert, then the pairs r * n_used + s. */
typedef struct etch_expert_order {
  const int32_t* experts; /* [rows, n_used] */
  int32_t* order;         /* [n_experts + 1 + rows * n_used] */
  int32_t n_used, n_experts;
  etch_rows rows;
} etch_expert_order;

/* y[r] = sum over slots in order of weights[r, s] * x[r, s] by fma; weights null: plain sum. */
typedef struct etch_mix {
  const float* weights; /* [rows, n_used] or null */
  etch_view x;          /* [rows, n_used, d], inner_stride between slots */
  etch_view y;          /* [rows, d] */
  int64_t d;
  int32_t n_used;
  etch_rows rows;
} etch_mix;

/* Scores to chosen experts and their weights (circuit-language.md section 10). */
typedef struct etch_route {
  etch_view scores;      /* [rows, n_experts] */
  const float* bias;     /* [n_experts] or null */
  const int32_t* chosen; /* [rows, top] or null */
  int32_t* experts;      /* [rows, top] */
  float* weights;        /* [rows, top] */
  int32_t n_experts, top, score; /* score: 0 none, 1 softmax, 2 sigmoid, 3 sqrt_softplus */
  int32_t groups, top_groups, renorm;
  float scale;
  etch_rows rows;
} etch_route;

/* cos and sin of a rotary encoding for each row: y = [rows][2][pairs]. */
typedef struct etch_rotary {
  const float* frequencies; /* [pairs] f_i */
  float* y;
  int64_t pairs;
  float magnitude;
  etch_rows rows;
} etch_rotary;

enum etch_rope_layout { ETCH_ROPE_PAIRS, ETCH_ROPE_HALVES };

typedef struct etch_rope {
  etch_view x, y;     /* [rows, d]; y may be x */
  const float* table; /* etch_rotary's result for the same tokens */
  int64_t d, pairs;   /* the first 2 * pairs entries turn, the rest is copied */
  int32_t layout, inverse;
  etch_rows rows;     /* of tokens; per = heads */
} etch_rope;

/* Rows into a cache; with a table, k is turned first. One row per token. */
typedef struct etch_append {
  etch_view k, v;     /* [rows, n, d_k], [rows, n, d_v]; inner_stride between heads */
  const float* table; /* or null */
  int64_t n, d_k, d_v, pairs;
  int32_t layout, state;
} etch_append;

typedef struct etch_attend {
  etch_view q;           /* [rows, n_q, d_k] */
  etch_view k, v;        /* without a cache: [rows, n_kv, d]; else k.at is null */
  etch_view y;           /* [rows, n_q, d_v] */
  const float* table;    /* q is turned first, or null */
  const float* sinks;    /* [n_q] or null */
  const float* slopes;   /* ALiBi: [n_q] or null */
  const float* relative; /* [buckets, n_q] or null */
  float* partials;       /* attend: results of blocks that several threads share out; partial_floats() */
  uint8_t* scratch;      /* of this thread */
  int64_t n_q, n_kv, d_k, d_v, pairs;
  int64_t window, chunk; /* 0: without */
  int64_t buckets, reach;
  float scale, softcap; /* softcap 0: without */
  int32_t full;         /* 0: causal */
  int32_t layout, state;
} etch_attend;

/* Elementwise over up to four axes; sizes[0] is multiplied by the rows of `rows.of`. A stride of 0 repeats. */
enum etch_elementwise_op {
  ETCH_EW_ADD, ETCH_EW_SUB, ETCH_EW_MUL, ETCH_EW_DIV, ETCH_EW_MOD, /* a, b */
  ETCH_EW_SILU_MUL, ETCH_EW_GELU_MUL, ETCH_EW_GELU_TANH_MUL, ETCH_EW_RELU_MUL, /* act(a) * b */
  ETCH_EW_SILU, ETCH_EW_GELU, ETCH_EW_GELU_TANH, ETCH_EW_RELU, ETCH_EW_SIGMOID, ETCH_EW_TANH, ETCH_EW_EXP, ETCH_EW_LN,
  ETCH_EW_SQRT, ETCH_EW_FLOOR, ETCH_EW_SQUARE, ETCH_EW_SOFTPLUS, /* a */
  ETCH_EW_CLAMP,   /* a, between lo and hi */
  ETCH_EW_SOFTCAP, /* lo * tanh(a / lo) */
  ETCH_EW_COPY,    /* a */
  ETCH_EW_COUNT
};
typedef struct etch_elementwise {
  const uint8_t* a;
  const uint8_t* b; /* null: the constant `constant` (also for a when a is null) */
  uint8_t* y;
  int64_t sizes[4]; /* outermost first */
  int64_t a_strides[4], b_strides[4], y_strides[4];
  float constant, lo, hi;
  int32_t op;
  int32_t rows_of; /* enum etch_rows_of: sizes[0] counts per row of these */
} etch_elementwise;

/* The rows that want outputs, together. */
typedef struct etch_gather {
  etch_view x; /* [N, d] */
  etch_view y; /* [R, d] */
  int64_t d;
} etch_gather;

/* Products of two wires, per row: y [m, n] = a [m, k] b [k, n]. */
typedef struct etch_wire_matmul {
  etch_view a, b, y; /* inner_stride: between rows of the little matrices; row_stride: between tokens */
  int64_t m, k, n;
  int64_t b_column_stride; /* between neighbours of a row of b */
  int32_t rows_of;
} etch_wire_matmul;

#ifdef __cplusplus
}
#endif

/* ---- printed models -----------------------------------------------------------------------------------------
 * Kernels see nothing of what follows, so that they need not be compiled again when it changes. */
#ifndef ETCH_KERNEL_CODE

#ifdef __cplusplus
extern "C" {
#endif

enum etch_isa etch_best_isa(void);         /* the best of this processor */
int32_t etch_has_isa(enum etch_isa isa);   /* 0: this processor does not have it */
const char* etch_isa_name(enum etch_isa isa);

/* Declares a kernel of the archive, and with it the struct of its arguments. */
#define ETCH_KERNEL(name, args)            \
  extern const etch_kernel etch_kernel_##name; \
  typedef args etch_args_##name

/* One thread on its way through a step: where the memory is, and how far it has come. */
typedef struct etch_worker {
  const uint8_t* file;      /* the mapping of the model's file; weights are read where they lie */
  const uint8_t* constants; /* what was computed when the model was compiled */
  uint8_t* outputs;         /* what a step leaves for the caller */
  uint8_t* arena;           /* scratch, shared by the threads */
  uint8_t* own;             /* scratch of this thread */
  enum etch_isa isa;
  etch_thread thread;
} etch_worker;

/* A call of a kernel; the arguments follow by name. ETCH_SHARE: its items are shared out among the threads.
 * ETCH_REPEAT: every thread does all of them, in memory of its own. ETCH_ALONE: thread 0 does all of them. */
#define ETCH_SHARE(worker, kernel, ...) \
  etch_share(worker, &etch_kernel_##kernel, &(const etch_args_##kernel){__VA_ARGS__})
#define ETCH_REPEAT(worker, kernel, ...) \
  etch_repeat(worker, &etch_kernel_##kernel, &(const etch_args_##kernel){__VA_ARGS__})
#define ETCH_ALONE(worker, kernel, ...) \
  etch_alone(worker, &etch_kernel_##kernel, &(const etch_args_##kernel){__VA_ARGS__})
void etch_share(etch_worker* worker, const etch_kernel* kernel, const void* args);
void etch_repeat(etch_worker* worker, const etch_kernel* kernel, const void* args);
void etch_alone(etch_worker* worker, const etch_kernel* kernel, const void* args);
/* Waits for the other threads: what they wrote may be read, what they read may be written. */
void etch_meet(etch_worker* worker);

/* Names the matrix that is multiplied by next: its first rows are fetched meanwhile. */
#define ETCH_NEXT(name, ...) const struct etch_matmul name = {__VA_ARGS__}

/* What a model keeps of a text between steps. A cache has a page for every 128 positions; a memory is one piece. */
enum etch_state_kind { ETCH_CACHE, ETCH_MEMORY };
typedef struct etch_states {
  int32_t count; /* so many states, one after the other, are */
  int32_t kind;  /* enum etch_state_kind */
  int64_t bytes; /* of a page, or of the memory */
  int64_t window; /* positions that can still be seen; 0: all */
} etch_states;

/* What a printed model says of itself: `model_description()`. */
typedef struct etch_model {
  int32_t abi; /* ETCH_MODEL_ABI_VERSION */
  int32_t kv;  /* type of cached keys and values: 0 f16, 1 f32, 2 bf16, 3 q8_0 */
  const char* etch;
  const char* name;
  uint64_t plan; /* a hash of all calls and their memory */
  /* The largest step that memory is planned for. */
  int64_t n_ctx, n_rows, n_outputs, n_threads;
  int64_t n_vocab, n_tokens; /* logits of a row; ids below n_tokens are tokens */
  int64_t logits;            /* where they begin in the outputs; -1: there are none */
  int64_t arena_bytes, own_bytes, output_bytes, constant_bytes;
  const void* constants;
  /* The file it was printed from. */
  int64_t file_bytes, header_bytes;
  uint64_t file_sample; /* etch_sample() of it */
  int32_t n_states, n_decode_rows; /* states in all; steps of so many rows decode, larger ones prefill */
  const etch_states* states;
  void (*decode)(etch_worker* worker);
  void (*prefill)(etch_worker* worker);
} etch_model;

/* A hash of a file's header and of 64 pieces of 4 KiB spread evenly over all of it. */
uint64_t etch_sample(const uint8_t* file, int64_t bytes, int64_t header_bytes);

/* A printed model at work: what the functions of model.h do. An engine has a model's file, threads and scratch and runs one
 * step at a time; a text has the keys and values of one sequence. Their memory is the caller's: so many bytes, aligned to
 * 64, anonymous pages at best (most of a text's are touched only as it grows). Nothing else is allocated but the threads. */
typedef struct etch_engine etch_engine;
typedef struct etch_text etch_text;

enum etch_status {
  ETCH_OK,
  ETCH_USAGE,      /* an argument is out of its range */
  ETCH_NO_FILE,    /* the file cannot be opened or mapped */
  ETCH_OTHER_FILE, /* it is not the file that the model was printed from */
  ETCH_NO_THREADS, /* they cannot be started */
  ETCH_NO_ISA,     /* there is no such instruction set, or this processor lacks it */
  ETCH_NO_TOKEN,   /* the model has no such token */
  ETCH_FULL,       /* the text has no room for so many tokens */
  ETCH_NOT_FINITE, /* a value was infinite or not a number; the text is as before the step */
  ETCH_STATUS_COUNT
};
const char* etch_status_text(int32_t status);

int64_t etch_engine_bytes(const etch_model* model, int32_t n_threads); /* 0: that is no number of threads */
/* isa: "avx2" ...; null: the best there is. Either way of giving the file keeps it unchanged. */
int32_t etch_engine_open(const etch_model* model, etch_engine** engine, void* memory, const char* path,
                         int32_t n_threads, const char* isa);
int32_t etch_engine_start(const etch_model* model, etch_engine** engine, void* memory, const void* file,
                          int64_t bytes, int32_t n_threads, const char* isa);
void etch_engine_stop(etch_engine* engine);
/* A step of any rows of any sequences, whose states are the caller's own. */
int32_t etch_engine_run(etch_engine* engine, const etch_step* step);
const float* etch_engine_logits(const etch_engine* engine); /* [n_outputs, n_vocab] of the last step, or null */

int64_t etch_text_bytes(const etch_model* model, int64_t n_positions); /* 0: the context is smaller */
int32_t etch_text_begin(const etch_engine* engine, etch_text** text, void* memory, int64_t n_positions);
/* Appends tokens; *logits (if asked for) are those behind the last one, good until the engine's next step. */
int32_t etch_text_append(etch_engine* engine, etch_text* text, const int32_t* tokens, int32_t n_tokens,
                         const float** logits);
int64_t etch_text_length(const etch_text* text);
/* Goes back to its first n positions; ETCH_USAGE where what a window has let go of would be seen again. */
int32_t etch_text_truncate(etch_text* text, int64_t n_positions);

#ifdef __cplusplus
}
#endif

#endif
#endif

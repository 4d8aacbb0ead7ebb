#include "session/session.h"

#include <algorithm>
#include <utility>

#include "base/team.h"
#include "session/arena.h"
#include "session/batch.h"
#include "session/executor.h"
#include "session/kv_pool.h"
#include "session/library.h"
#include "session/non_finite.h"
#include "session/sequence.h"

namespace etch {
namespace {

struct TeamDeleter {
  void operator()(etch_team* team) const { etch_team_destroy(team); }
};

Result<etch_isa> isa_of(const SessionOptions& options) {
  if (!options.isa) return best_isa();
  if (!cpu_has(*options.isa)) {
    return fail(ErrorKind::unsupported, "this machine does not have {}\n  its best is {}",
                isa_name(*options.isa), isa_name(best_isa()));
  }
  return *options.isa;
}

// What threads share out among each other is planned for so many and no more.
Status check_threads(const Limits& limits, int32_t n_threads) {
  if (n_threads <= limits.n_threads) return {};
  return fail(ErrorKind::usage,
              "the session has {} threads, its plan is for at most {}\n  plan for as many "
              "(Limits::n_threads), or ask for fewer",
              n_threads, limits.n_threads);
}

const Output* find_output(const Lowered& lowered, std::string_view name) {
  for (const Output& o : lowered.outputs) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

}  // namespace

struct Session::Impl {
  std::shared_ptr<const Lowered> lowered;
  MemoryPlan memory;
  etch_isa isa = ETCH_SCALAR;
  std::unique_ptr<etch_team, TeamDeleter> team;
  Arena arena;
  KvPool pool;
  std::vector<std::unique_ptr<Sequence>> sequences;  // by id; null: removed
  std::optional<Batch> batch;
  std::shared_ptr<const Library> library;  // where the program's code is
  std::unique_ptr<Program> program;
  int32_t stop = 0;  // not zero: cancelled; read and written atomically (etch_step)
  const OnCall* on_call = nullptr;
  const OnResult* on_result = nullptr;

  Result<Sequence*> sequence(SequenceId id) const {
    if (id < 0 || id >= static_cast<SequenceId>(sequences.size()) ||
        !sequences[static_cast<size_t>(id)]) {
      return fail(ErrorKind::usage, "there is no sequence {}", id);
    }
    return sequences[static_cast<size_t>(id)].get();
  }
  bool is_cancelled() const { return __atomic_load_n(&stop, __ATOMIC_RELAXED) != 0; }
  Status run(bool prefill);
  Status check_finite(bool prefill) const;
  Status describe_failure(int64_t row, int32_t call, bool prefill) const;
  std::span<const float> floats_of(const Output& output) const;
  SequenceId add(std::unique_ptr<Sequence> sequence);
};

int32_t planned_threads(const SessionOptions& options) {
  return options.n_threads > 0 ? options.n_threads : usable_threads();
}

MemoryPlan plan_memory(const Lowered& lowered, const SessionOptions& options) {
  MemoryPlan plan;
  plan.kv = lay_out_kv(lowered, options.kv_budget_bytes, options.guard).bytes;
  plan.arena = lay_out_arena(lowered, planned_threads(options), options.guard).bytes;
  plan.total = plan.kv + plan.arena;
  return plan;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->on_call = &on_call;
  impl_->on_result = &on_result;
}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Lowered> lowered,
                                                 std::span<const uint8_t> file,
                                                 const SessionOptions& options) {
  auto impl = std::make_unique<Impl>();
  const int32_t n_threads = planned_threads(options);
  impl->lowered = std::move(lowered);
  ETCH_TRY(check_threads(impl->lowered->limits, n_threads));
  impl->isa = ETCH_TRY(isa_of(options));
  impl->library = options.library;
  if (impl->library) ETCH_TRY(impl->library->check(*impl->lowered));
  if (impl->library && options.guard)
    return fail(ErrorKind::usage, "--guard is for the executor; a library's buffers lie close");
  impl->memory = plan_memory(*impl->lowered, options);
  impl->arena = ETCH_TRY(Arena::create(*impl->lowered, file, n_threads, options.guard));
  impl->pool = ETCH_TRY(KvPool::create(*impl->lowered, options.kv_budget_bytes, options.guard));
  impl->batch.emplace(*impl->lowered);
  impl->team.reset(etch_team_create(n_threads));
  if (!impl->team) return fail(ErrorKind::resources, "cannot start {} threads", n_threads);
  std::unique_ptr<Session> session(new Session(std::move(impl)));
  Impl& self = *session->impl_;
  if (self.library) {
    self.program = make_program(*self.library, self.arena, file.data(), self.team.get(), self.isa);
  } else {
    self.program = std::make_unique<Executor>(*self.lowered, self.arena, self.team.get(), self.isa,
                                              options.guard, self.on_call, self.on_result);
  }
  return session;
}

// --- sequences

SequenceId Session::Impl::add(std::unique_ptr<Sequence> sequence) {
  const auto free = std::find(sequences.begin(), sequences.end(), nullptr);
  const auto id = static_cast<SequenceId>(free - sequences.begin());
  if (free == sequences.end()) {
    sequences.push_back(std::move(sequence));
  } else {
    *free = std::move(sequence);
  }
  return id;
}

Result<SequenceId> Session::create_sequence() {
  if (!impl_->lowered->has_tokens)
    return fail(ErrorKind::usage, "this graph has no tokens, so it has no sequences");
  return impl_->add(std::make_unique<Sequence>(*impl_->lowered, impl_->pool));
}

Result<SequenceId> Session::fork(SequenceId from, int64_t n_positions) {
  const Sequence* source = ETCH_TRY(impl_->sequence(from));
  if (!source->can_truncate(n_positions)) {
    return fail(ErrorKind::usage, "sequence {} of {} positions cannot be forked at {}", from,
                source->length(), n_positions);
  }
  auto copy = std::make_unique<Sequence>(*impl_->lowered, impl_->pool);
  copy->share(*source, n_positions);
  return impl_->add(std::move(copy));
}

Status Session::truncate(SequenceId id, int64_t n_positions) {
  Sequence* s = ETCH_TRY(impl_->sequence(id));
  if (!s->can_truncate(n_positions)) {
    return fail(
        ErrorKind::usage,
        "sequence {} of {} positions cannot go back to {}: what a window or a recurrent state has "
        "let go of is gone",
        id, s->length(), n_positions);
  }
  s->truncate(n_positions);
  return {};
}

void Session::remove(SequenceId id) {
  if (impl_->sequence(id)) impl_->sequences[static_cast<size_t>(id)].reset();
}

int64_t Session::length(SequenceId id) const {
  const auto s = impl_->sequence(id);
  return s ? (*s)->length() : -1;
}

std::span<const int32_t> Session::tokens(SequenceId id) const {
  const auto s = impl_->sequence(id);
  return s ? (*s)->tokens() : std::span<const int32_t>{};
}

Result<std::vector<uint8_t>> Session::save(SequenceId id) const {
  const Sequence* s = ETCH_TRY(impl_->sequence(id));
  std::vector<uint8_t> out;
  s->save(out);
  return out;
}

Status Session::restore(SequenceId id, std::span<const uint8_t> saved) {
  Sequence* s = ETCH_TRY(impl_->sequence(id));
  return s->restore(saved).context("restore");
}

// --- steps

Result<StepResult> Session::step(std::span<const BatchRow> rows) {
  Impl& self = *impl_;
  Batch& batch = *self.batch;
  if (!self.lowered->has_tokens)
    return fail(ErrorKind::usage, "this graph has no tokens; run() runs it");
  ETCH_TRY(batch.fill(rows, [this](SequenceId id) { return length(id); }));

  const auto runs = batch.runs();
  const auto sequence_of = [&](const etch_run& run) -> Sequence& {
    return *self.sequences[static_cast<size_t>(run.sequence)];
  };
  const auto roll_back = [&](size_t n) {
    for (size_t r = 0; r < n; ++r) sequence_of(runs[r]).roll_back();
  };
  for (size_t r = 0; r < runs.size(); ++r) {
    if (Status made = sequence_of(runs[r]).prepare(runs[r].count); !made) {
      roll_back(r);
      return tl::unexpected(std::move(made).error());
    }
  }
  const auto n_states = static_cast<int64_t>(self.lowered->states.size());
  for (int64_t s = 0; s < n_states; ++s) {
    for (size_t r = 0; r < runs.size(); ++r) {
      batch.set_state(s, static_cast<int64_t>(r),
                      sequence_of(runs[r]).table(static_cast<int32_t>(s)));
    }
  }
  const bool prefill =
      !self.lowered->prefill.calls.empty() && batch.n_rows() > self.lowered->decode.max_rows;
  if (Status ran = self.run(prefill); !ran) {
    roll_back(runs.size());
    return tl::unexpected(std::move(ran).error());
  }
  for (const etch_run& run : runs) sequence_of(run).commit(batch.tokens(run));

  StepResult result;
  result.n_outputs = batch.n_outputs();
  if (const Output* o = find_output(*self.lowered, "logits")) result.logits = self.floats_of(*o);
  if (const Output* o = find_output(*self.lowered, "hidden")) result.hidden = self.floats_of(*o);
  return result;
}

Status Session::run() {
  if (impl_->lowered->has_tokens)
    return fail(ErrorKind::usage, "this graph has tokens; step() runs it");
  impl_->batch->fill_without_tokens();
  return impl_->run(false);
}

// Runs the batch, and says what went wrong.
Status Session::Impl::run(bool prefill) {
  if (is_cancelled()) return fail(ErrorKind::cancelled, "cancelled");
  const etch_step& step = batch->step(&stop);
  program->run(step, prefill);
  if (is_cancelled()) return fail(ErrorKind::cancelled, "cancelled");
  if (program->finding()) return fail(ErrorKind::internal, "{}", *program->finding());
  return check_finite(prefill);
}

// Rows that a kernel marked, then outputs. The outputs of a hand-made graph may hold anything.
Status Session::Impl::check_finite(bool prefill) const {
  const etch_step& step = batch->step_at_work();
  const auto failed = batch->failed();
  const auto marked = std::find_if(failed.begin(), failed.end(), [](int32_t f) { return f != 0; });
  const bool is_marked = marked != failed.end();
  if (!is_marked && !lowered->has_tokens) return {};
  const int64_t row =
      is_marked ? marked - failed.begin() : row_with_bad_output(*lowered, arena, step);
  if (row < 0) return {};
  const int32_t call = is_marked ? *marked - 1 : -1;
  const int32_t origin = program->first_non_finite(step, prefill);
  if (is_cancelled()) return fail(ErrorKind::cancelled, "cancelled");
  return describe_failure(row, origin >= 0 && (call < 0 || origin < call) ? origin : call, prefill);
}

Status Session::Impl::describe_failure(int64_t row, int32_t call, bool prefill) const {
  const etch_step& step = batch->step_at_work();
  std::string where = "a value that is not finite";
  if (lowered->has_tokens) {
    const auto& run = batch->runs()[static_cast<size_t>(step.run_of_row[row])];
    where += fmt::format(" at position {} of sequence {} (token {})", step.positions[row],
                         run.sequence, step.tokens[row]);
  }
  if (call < 0) return fail(ErrorKind::damaged, "{}", where);
  const Call& c =
      (prefill ? lowered->prefill : lowered->decode).calls.at(static_cast<size_t>(call));
  return fail(ErrorKind::damaged, "{}\n  met by node n{}{}: {}\n  {}\n  {}", where, c.origin.node,
              c.origin.tensor.empty() ? "" : " with " + c.origin.tensor, c.origin.what,
              c.origin.location,
              lowered->has_tokens ? "the weights, or a cache type with too small a range (--kv "
                                    "f32), may be the cause"
                                  : "inputs or weights may be the cause");
}

std::span<const float> Session::Impl::floats_of(const Output& output) const {
  const int64_t rows = output.rows_of == ETCH_OUTPUTS  ? batch->n_outputs()
                       : output.rows_of == ETCH_TOKENS ? batch->n_rows()
                                                       : 1;
  return {reinterpret_cast<const float*>(arena.buffer(output.buffer)),
          static_cast<size_t>(rows * elements(output.shape))};
}

Result<std::span<float>> Session::input(std::string_view name) {
  for (const Input& i : impl_->lowered->inputs) {
    if (i.name == name && !i.ids) {
      return std::span<float>(reinterpret_cast<float*>(impl_->arena.buffer(i.buffer)),
                              static_cast<size_t>(elements(i.shape)));
    }
  }
  return fail(ErrorKind::usage, "there is no input '{}' of numbers", name);
}

Result<std::span<int32_t>> Session::input_ids(std::string_view name) {
  for (const Input& i : impl_->lowered->inputs) {
    if (i.name == name && i.ids) {
      return std::span<int32_t>(reinterpret_cast<int32_t*>(impl_->arena.buffer(i.buffer)),
                                static_cast<size_t>(elements(i.shape)));
    }
  }
  return fail(ErrorKind::usage, "there is no input '{}' of ids", name);
}

Result<std::span<const float>> Session::output(std::string_view name) const {
  if (const Output* o = find_output(*impl_->lowered, name)) return impl_->floats_of(*o);
  return fail(ErrorKind::usage, "there is no output '{}'", name);
}

void Session::cancel() { __atomic_store_n(&impl_->stop, 1, __ATOMIC_RELAXED); }
void Session::clear_cancel() { __atomic_store_n(&impl_->stop, 0, __ATOMIC_RELAXED); }

const Lowered& Session::lowered() const { return *impl_->lowered; }
const MemoryPlan& Session::memory() const { return impl_->memory; }
int64_t Session::n_vocab() const {
  const Output* o = find_output(*impl_->lowered, "logits");
  return o ? elements(o->shape) : 0;
}
int64_t Session::max_rows() const { return batch_limits(*impl_->lowered).n_rows; }
int64_t Session::max_outputs() const { return impl_->lowered->limits.n_outputs; }
int32_t Session::n_threads() const { return etch_team_threads(impl_->team.get()); }
etch_isa Session::isa() const { return impl_->isa; }

}  // namespace etch

#include "session/executor.h"

#include <chrono>
#include <cstring>

#include "base/check.h"
#include "session/non_finite.h"

namespace etch {
namespace {

int64_t struct_words(const Call& call) {
  const int64_t word = sizeof(std::max_align_t);
  return (info(call.kernel->args).bytes + word - 1) / word;
}

template <class T>
void put(uint8_t* out, const ArgField& field, T value) {
  std::memcpy(out + field.offset, &value, sizeof value);
}

}  // namespace

void resolve_args(const Call& call, const Arena& arena, int32_t thread,
                  const std::function<const void*(int32_t)>& struct_of, uint8_t* out) {
  const ArgsInfo& args = info(call.kernel->args);
  ETCH_CHECK(call.args.size() == args.fields.size(), "{} has {} arguments, {} takes {}",
             call.kernel->name, call.args.size(), args.name, args.fields.size());
  for (size_t i = 0; i < args.fields.size(); ++i) {
    const ArgField& field = args.fields[i];
    const Arg& arg = call.args[i];
    switch (field.type) {
      case ArgField::Type::pointer:
        put(out, field, arena.resolve(std::get<Place>(arg), thread));
        break;
      case ArgField::Type::i64:
        put(out, field, std::get<int64_t>(arg));
        break;
      case ArgField::Type::i32:
      case ArgField::Type::rows_of:
        put(out, field, std::get<int32_t>(arg));
        break;
      case ArgField::Type::f32:
        put(out, field, std::get<float>(arg));
        break;
      case ArgField::Type::call: {
        const int32_t other = std::get<CallRef>(arg).call;
        put(out, field, other < 0 ? nullptr : struct_of(other));
        break;
      }
    }
  }
}

Executor::Executor(const Lowered& lowered, const Arena& arena, etch_team* team, etch_isa isa,
                   bool guard, const OnCall* on_call, const OnResult* on_result)
    : lowered_(&lowered),
      arena_(&arena),
      team_(team),
      isa_(isa),
      on_call_(on_call),
      on_result_(on_result) {
  if (guard) guard_.emplace(lowered, arena);
  decode_.source = &lowered.decode;
  prefill_.source = &lowered.prefill;
  for (Lists* lists : {&decode_, &prefill_}) {
    for (int32_t t = 0; t < etch_team_threads(team); ++t) {
      lists->threads.push_back(resolve(*lists->source, t));
    }
  }
}

Executor::ThreadList Executor::resolve(const CallList& list, int32_t thread) const {
  ThreadList resolved;
  std::vector<int64_t> at;  // of each call's struct, in words
  int64_t words = 0;
  for (const Call& call : list.calls) {
    at.push_back(words);
    words += struct_words(call);
  }
  resolved.structs.resize(static_cast<size_t>(words));
  const auto struct_of = [&](int32_t call) -> uint8_t* {
    return reinterpret_cast<uint8_t*>(resolved.structs.data() + at.at(static_cast<size_t>(call)));
  };
  for (size_t i = 0; i < list.calls.size(); ++i) {
    const Call& call = list.calls[i];
    ETCH_CHECK(call.kernel->fn[isa_] != nullptr, "{} has no {} form", call.kernel->name,
               isa_name(isa_));
    resolve_args(call, *arena_, thread, struct_of, struct_of(static_cast<int32_t>(i)));
    resolved.calls.push_back({.kernel = call.kernel,
                              .args = struct_of(static_cast<int32_t>(i)),
                              .split = call.split,
                              .barrier_after = call.barrier_after});
  }
  return resolved;
}

const std::optional<std::string>& Executor::finding() const {
  return guard_ ? guard_->finding() : no_finding_;
}

void Executor::run(const etch_step& step, bool prefill) {
  if (guard_) guard_->begin(prefill, step);
  start(step, prefill);
  if (guard_) guard_->after_step();
}

int32_t Executor::first_non_finite(const etch_step& step, bool prefill) {
  // A recurrent state has gone on by a step: running again would not be the same.
  for (const State& s : lowered_->states) {
    if (s.kind == State::Kind::memory) return -1;
  }
  looks_for_non_finite_ = true;
  non_finite_ = -1;
  run(step, prefill);
  looks_for_non_finite_ = false;
  return non_finite_;
}

void Executor::start(const etch_step& step, bool prefill) {
  step_ = &step;
  lists_ = prefill ? &prefill_ : &decode_;
  const bool watched = guard_.has_value() || looks_for_non_finite_ || (on_call_ && *on_call_) ||
                       (on_result_ && *on_result_);
  const auto body =
      watched ? [](void* self, int32_t t) { static_cast<Executor*>(self)->walk_watched(t); }
              : [](void* self, int32_t t) { static_cast<Executor*>(self)->walk(t); };
  etch_team_run(team_, body, this);
}

namespace {

// A call that is not shared out is, to its kernel, a call on a team of one.
void do_call(const etch_kernel* kernel, etch_isa isa, const void* args, Split split,
             etch_thread& thread) {
  if (split == Split::items) return etch_call(kernel, isa, args, &thread);
  if (split == Split::one && thread.index != 0) return;
  etch_thread alone = thread;
  alone.index = 0;
  alone.count = 1;
  etch_call(kernel, isa, args, &alone);
}

}  // namespace

void Executor::walk(int32_t thread) {
  etch_thread self = {
      .step = step_, .team = team_, .index = thread, .count = etch_team_threads(team_), .call = 0};
  for (const ResolvedCall& call : lists_->threads[static_cast<size_t>(thread)].calls) {
    do_call(call.kernel, isa_, call.args, call.split, self);
    if (call.barrier_after) etch_team_barrier(team_, thread);
    ++self.call;
  }
}

void Executor::tell(int32_t call) const {
  const auto at = [this](const Place& p) -> const uint8_t* { return arena_->resolve(p, 0); };
  (*on_result_)(
      {lists_->source->calls[static_cast<size_t>(call)], call, lists_ == &prefill_, *step_, at});
}

void Executor::walk_watched(int32_t thread) {
  using Clock = std::chrono::steady_clock;
  const bool telling = on_result_ && *on_result_ && !looks_for_non_finite_;
  etch_thread self = {
      .step = step_, .team = team_, .index = thread, .count = etch_team_threads(team_), .call = 0};
  for (const ResolvedCall& call : lists_->threads[static_cast<size_t>(thread)].calls) {
    const auto start = Clock::now();
    do_call(call.kernel, isa_, call.args, call.split, self);
    const bool stops = guard_ || looks_for_non_finite_ || telling;
    if (call.barrier_after || stops) etch_team_barrier(team_, thread);
    if (thread == 0 && on_call_ && *on_call_ && !looks_for_non_finite_) {
      (*on_call_)(lists_->source->calls[static_cast<size_t>(self.call)],
                  std::chrono::duration<double>(Clock::now() - start).count());
    }
    if (stops) {
      if (thread == 0 && telling) tell(self.call);
      if (thread == 0 && looks_for_non_finite_ && non_finite_ < 0 &&
          wrote_non_finite(*lowered_, *arena_, *lists_->source, self.call, *step_)) {
        non_finite_ = self.call;
      }
      if (thread == 0 && guard_) guard_->after_call(self.call);
      etch_team_barrier(team_, thread);
    }
    ++self.call;
  }
}

}  // namespace etch

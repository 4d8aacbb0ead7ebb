// Executor: the program that walks the calls of a Lowered. When it is made, the arguments of every
// call are resolved once per thread into the structs of model_abi.h, so that a step is a walk over
// a flat list: kernel, arguments, barrier.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/arena.h"
#include "session/guard.h"
#include "session/program.h"

namespace etch {

class Executor : public Program {
 public:
  // All must outlive it. `on_call` and `on_result` may be set and cleared between steps.
  Executor(const Lowered& lowered, const Arena& arena, etch_team* team, etch_isa isa, bool guard,
           const OnCall* on_call, const OnResult* on_result);
  void run(const etch_step& step, bool prefill) override;
  const std::optional<std::string>& finding() const override;
  int32_t first_non_finite(const etch_step& step, bool prefill) override;

 private:
  struct ResolvedCall {
    const etch_kernel* kernel;
    const void* args;
    Split split;
    bool barrier_after;
  };
  struct ThreadList {
    std::vector<ResolvedCall> calls;
    std::vector<std::max_align_t> structs;  // the memory behind `args`
  };
  struct Lists {
    const CallList* source;
    std::vector<ThreadList> threads;
  };
  ThreadList resolve(const CallList& list, int32_t thread) const;
  void walk(int32_t thread);
  // With a guard, on_call or on_result, or looking for what is not finite.
  void walk_watched(int32_t thread);
  void tell(int32_t call) const;
  void start(const etch_step& step, bool prefill);

  const Lowered* lowered_;
  const Arena* arena_;
  etch_team* team_;
  etch_isa isa_;
  const OnCall* on_call_;
  const OnResult* on_result_;
  std::optional<Guard> guard_;
  std::optional<std::string> no_finding_;
  Lists decode_, prefill_;
  // The step at work.
  const etch_step* step_ = nullptr;
  const Lists* lists_ = nullptr;
  bool looks_for_non_finite_ = false;
  int32_t non_finite_ = -1;  // the call it was found behind
};

// Writes the arguments of a call into its struct. `struct_of` gives the structs of other calls of
// the same thread.
void resolve_args(const Call& call, const Arena& arena, int32_t thread,
                  const std::function<const void*(int32_t call)>& struct_of, uint8_t* out);

}  // namespace etch

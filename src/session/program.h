// Program: what runs the calls of a step. The executor walks the lists of a Lowered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "etch/model_abi.h"
#include "lowered/lowered.h"

namespace etch {

class Program {
 public:
  virtual ~Program() = default;
  // Runs one step on the team. What went wrong stands in step.failed; with a guard also in
  // finding().
  virtual void run(const etch_step& step, bool prefill) = 0;
  virtual const std::optional<std::string>& finding() const = 0;
  // Runs the step once more to see which call first writes a float that is not finite; -1: none
  // does, or this program cannot tell.
  virtual int32_t first_non_finite(const etch_step&, bool) { return -1; }
};

using OnCall = std::function<void(const Call&, double seconds)>;

// What a call has just left behind, told by thread 0 while the others wait: for comparing runs.
struct CallResult {
  const Call& call;
  int32_t number = 0;  // in its list
  bool prefill = false;
  const etch_step& step;
  std::function<const uint8_t*(const Place&)> at;  // of shared memory, and of thread 0's own
};
using OnResult = std::function<void(const CallResult&)>;

}  // namespace etch

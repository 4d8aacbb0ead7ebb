// What a sequence can keep when its text continues differently.
#include <algorithm>

#include "session/session.h"

namespace etch {

Result<int64_t> Session::reuse_prefix(SequenceId sequence, std::span<const int32_t> wanted) {
  if (length(sequence) < 0) return fail(ErrorKind::usage, "there is no sequence {}", sequence);
  const auto have = tokens(sequence);
  const auto common =
      std::mismatch(have.begin(), have.end(), wanted.begin(), wanted.end()).first - have.begin();
  const auto n =
      std::min<int64_t>(common, std::max<int64_t>(0, static_cast<int64_t>(wanted.size()) - 1));
  // Where a window has let go of what position n would see again, everything runs anew.
  if (truncate(sequence, n)) return n;
  ETCH_TRY(truncate(sequence, 0));
  return 0;
}

}  // namespace etch

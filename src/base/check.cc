#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace etch {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  fmt::print(
      stderr,
      "{}:{}: internal error: {} does not hold {}\nthis is a bug in etch; please report it\n", file,
      line, condition, message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace etch

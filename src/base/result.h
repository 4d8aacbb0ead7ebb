// Results: what a function that can fail because of its input returns.
//
// An Error says what happened, where, what was expected and what to do; its kind is the exit code
// of the command line (docs: design, section 9). Nothing in etch throws. Mistakes of etch itself
// are ETCH_CHECKs (check.h).
#pragma once

#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace etch {

enum class ErrorKind : int {
  answer_is_no =
      1,  // ran correctly and the answer is no: files differ, parity failed, hash mismatch
  usage = 2,
  damaged = 3,      // the input is not what it claims to be
  unsupported = 4,  // valid, but etch cannot do it (architecture, tensor type, feature)
  resources = 5,    // I/O, permission, memory, disk, port
  internal = 6,
  cancelled = 130,  // the caller asked to stop
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;  // UTF-8, lines separated by '\n', no trailing newline
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(tl::expected<T, Error> e) : tl::expected<T, Error>(std::move(e)) {}

  // Says what was being done: "CONTEXT: message".
  Result context(std::string_view what) && {
    if (!this->has_value())
      this->error().message = fmt::format("{}: {}", what, this->error().message);
    return std::move(*this);
  }
};

using Status = Result<void>;

template <class... Args>
tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

// The value of a Result, or leaves the function with its error:  auto x = ETCH_TRY(read_u32());
#define ETCH_TRY(...)                                                                            \
  ({                                                                                             \
    auto etch_try_result = (__VA_ARGS__);                                                        \
    if (!etch_try_result.has_value()) return tl::unexpected(std::move(etch_try_result).error()); \
    ::etch::detail::take(std::move(etch_try_result));                                            \
  })

namespace detail {
template <class T>
T take(Result<T>&& r) {
  return std::move(*r);
}
inline void take(Status&&) {}
}  // namespace detail

}  // namespace etch

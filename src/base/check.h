// ETCH_CHECK: what can only fail because of a mistake in etch. No input may reach one.
#pragma once

#include <fmt/core.h>

namespace etch {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace etch

#define ETCH_CHECK(condition, ...)                                                       \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::etch::check_failed(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)); \
  } while (false)

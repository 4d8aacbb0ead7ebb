#include "lowered/lowered.h"

namespace etch {

std::string_view name(Space s) {
  constexpr std::string_view kNames[] = {"none",   "file",  "constants", "arena",
                                         "thread", "input", "output"};
  return kNames[static_cast<size_t>(s)];
}

bool is_per_list(Space s) { return s == Space::arena || s == Space::thread; }

}  // namespace etch

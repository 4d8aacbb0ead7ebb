// A file inside a program: as a section of its ELF file, on pages of its own, so that it can be
// mapped where it stands. Nothing of it is loaded when the program starts.
//
//   [ the program as it was | .name: the file, from a page on | names of sections | sections ]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace etch {

// Puts `file` at the end of `program`, as its section `name`. In place: the program is useless if
// this fails.
Status append_section(const std::string& program, std::string_view name, const std::string& file);

struct SectionPlace {
  int64_t offset = 0;  // in the program's file
  int64_t bytes = 0;
};
Result<SectionPlace> find_section(const std::string& program, std::string_view name);

}  // namespace etch

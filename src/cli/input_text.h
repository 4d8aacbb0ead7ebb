// Texts that verbs are given: -p TEXT, -f FILE, or standard input to its end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace etch::cli {

class Parser;

struct TextFlags {
  std::string prompt, file;
};
void add_text_options(Parser& parser, TextFlags& flags);

// The text given by -p or -f ("-": standard input); none without either.
Result<std::optional<std::string>> given_text(const Parser& parser, const TextFlags& flags);
Result<std::string> standard_input();

// "1,2, 3" or "1 2 3".
Result<std::vector<int32_t>> parse_ids(std::string_view text);

}  // namespace etch::cli

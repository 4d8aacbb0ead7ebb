// The artefacts of a sidecar one by one: each from what was compiled, as the bytes of its file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "study/sidecar.h"

namespace etch {

std::string print_binding_json(const Binding& binding);
std::string print_kernels_json(const Compiled& compiled);
std::string print_plan(const Compiled& compiled);
std::string print_tokenizer_json(const Model& model, const Vocabulary& vocabulary);
std::string rope_bytes(const Binding& binding);  // float32, little-endian, one rotary after another
std::string print_report(const Compiled& compiled);

// JSON as it stands in the files: one element a line, so that line tools work on it. Bytes that are
// no UTF-8 become U+FFFD; where they matter, they are written in hexadecimal before.
std::string file_text(const nlohmann::ordered_json& json);
// A text, or {"hex": "c3"} if it is not UTF-8.
nlohmann::ordered_json exact_text(std::string_view text);

}  // namespace etch

// Split sets: PREFIX-00001-of-00003.gguf and so on. Each part is a GGUF file of its own; split.no
// (from 0), split.count and split.tensors.count stand in every part, the other keys in the first.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/gguf_file.h"
#include "gguf/read_part.h"

namespace etch {

// The files of the set that `file`, read from one path, is a part of: in order; empty for a file
// that stands alone. They are there, or the error names all that are missing.
Result<std::vector<std::string>> paths_of_split_set(const GgufFile& file);

// Each part is the one its place says, of one set; together they have the tensors the set claims.
// The first part's keys are the set's.
Status check_split_set(std::vector<PartContents>& parts);

}  // namespace etch

// Unicode normalisation form C, for the vocabularies whose own tokenizers begin with it.
#pragma once

#include <string>
#include <string_view>

namespace etch {

// `text` is valid UTF-8. Runs of more than 512 combining marks stay as they are: sorting those is
// quadratic in the library, and no text has them.
std::string to_nfc(std::string_view text);

}  // namespace etch

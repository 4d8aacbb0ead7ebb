#include "kernels/activations.h"

#include "base/check.h"
#include "kernels/kernel.h"

namespace etch {

int64_t activation_row_bytes(Representation r, int64_t d) {
  const auto padded = [](int64_t bytes) {
    return (bytes + activations::kPadding - 1) / activations::kPadding * activations::kPadding;
  };
  switch (r) {
    case Representation::f32:
    case Representation::i32:
      return 4 * d;
    case Representation::q8_32:
      return padded(d + d / 32 * int64_t{sizeof(activations::Group32)});
    case Representation::q8_256:
      return padded(d + d / 256 * int64_t{sizeof(activations::Group256)});
    case Representation::q8_32_packed:
      return padded(ETCH_PANEL_COLUMNS * (d + d / 32 * int64_t{sizeof(activations::Group32)}));
    case Representation::q8_256_packed:
      return padded(ETCH_PANEL_COLUMNS * (d + d / 256 * int64_t{sizeof(activations::Group256)}));
  }
  ETCH_CHECK(false, "representation {}", static_cast<int>(r));
}

int64_t activation_bytes(Representation r, int64_t d, int64_t rows) {
  const bool packed = r == Representation::q8_32_packed || r == Representation::q8_256_packed;
  return activation_row_bytes(r, d) *
         (packed ? (rows + ETCH_PANEL_COLUMNS - 1) / ETCH_PANEL_COLUMNS : rows);
}

}  // namespace etch

#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_iq4_xs(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::iq4_xs, 256>(bytes, out, n, [](const blocks::iq4_xs& b, float* x) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 256; ++i) {
      const int g = i / 32;
      const int low = b.scales_l[g / 2] >> (g % 2 * 4) & 15;
      const int high = b.scales_h >> (2 * g) & 3;
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      x[i] = scale * static_cast<float>(blocks::kIq4Values[split_nibble(b.qs + 16 * g, i % 32)]);
    }
  });
}

}  // namespace etch

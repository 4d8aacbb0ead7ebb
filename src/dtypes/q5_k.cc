#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_q5_k(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::q5_k, 256>(bytes, out, n, [](const blocks::q5_k& b, float* x) {
    const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
    for (int i = 0; i < 256; ++i) {
      const auto [scale, minimum] = scale_and_minimum(b.scales, i / 32);
      const int q = (b.qs[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15) +
                    16 * (b.qh[i % 32] >> (i / 32) & 1);
      x[i] = d * static_cast<float>(scale) * static_cast<float>(q) -
             dmin * static_cast<float>(minimum);
    }
  });
}

}  // namespace etch

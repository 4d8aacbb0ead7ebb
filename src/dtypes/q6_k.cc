#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_q6_k(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::q6_k, 256>(bytes, out, n, [](const blocks::q6_k& b, float* x) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 256; ++i) {
      const int half = i / 128, g = i % 128 / 32, l = i % 32;
      const int low = b.ql[64 * half + g % 2 * 32 + l] >> (g / 2 * 4) & 15;
      const int high = b.qh[32 * half + l] >> (2 * g) & 3;
      const float scale = d * static_cast<float>(b.scales[i / 16]);
      x[i] = scale * static_cast<float>((low | high << 4) - 32);
    }
  });
}

}  // namespace etch

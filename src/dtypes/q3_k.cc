#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_q3_k(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::q3_k, 256>(bytes, out, n, [](const blocks::q3_k& b, float* x) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 256; ++i) {
      const int j = i / 16;
      const int low = j < 8 ? b.scales[j] & 15 : b.scales[j - 8] >> 4;
      const int high = b.scales[8 + j % 4] >> (j / 4 * 2) & 3;
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      const int q = two_bit_code(b.qs, i) + 4 * (b.hmask[i % 32] >> (i / 32) & 1);
      x[i] = scale * static_cast<float>(q - 4);
    }
  });
}

}  // namespace etch

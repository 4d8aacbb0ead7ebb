#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_q2_k(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::q2_k, 256>(bytes, out, n, [](const blocks::q2_k& b, float* x) {
    const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
    for (int i = 0; i < 256; ++i) {
      const uint8_t packed = b.scales[i / 16];
      const float scale = d * static_cast<float>(packed & 15);
      const float minimum = dmin * static_cast<float>(packed >> 4);
      x[i] = scale * static_cast<float>(two_bit_code(b.qs, i)) - minimum;
    }
  });
}

}  // namespace etch

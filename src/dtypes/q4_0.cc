#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_q4_0(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::q4_0, 32>(bytes, out, n, [](const blocks::q4_0& b, float* x) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(split_nibble(b.qs, i) - 8);
  });
}

}  // namespace etch

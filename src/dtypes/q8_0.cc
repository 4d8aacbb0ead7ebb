#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_q8_0(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::q8_0, 32>(bytes, out, n, [](const blocks::q8_0& b, float* x) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(b.qs[i]);
  });
}

}  // namespace etch

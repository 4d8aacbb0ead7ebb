#include "dtypes/blocks.h"
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {

void decode_iq4_nl(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<blocks::iq4_nl, 32>(bytes, out, n, [](const blocks::iq4_nl& b, float* x) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 32; ++i) {
      x[i] = d * static_cast<float>(blocks::kIq4Values[split_nibble(b.qs, i)]);
    }
  });
}

}  // namespace etch

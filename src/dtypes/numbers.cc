// The plain types. Integers and doubles are rounded to nearest where float32 cannot hold them.
#include "dtypes/decode.h"
#include "dtypes/float16.h"

namespace etch {
namespace {

template <class Number>
void decode_numbers(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<Number, 1>(bytes, out, n, [](Number v, float* x) { *x = static_cast<float>(v); });
}

}  // namespace

void decode_f32(const uint8_t* bytes, float* out, int64_t n) {
  if (n > 0) std::memcpy(out, bytes, static_cast<size_t>(n) * sizeof(float));
}
void decode_f16(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<uint16_t, 1>(bytes, out, n, [](uint16_t v, float* x) { *x = f16_to_f32(v); });
}
void decode_bf16(const uint8_t* bytes, float* out, int64_t n) {
  decode_blocks<uint16_t, 1>(bytes, out, n, [](uint16_t v, float* x) { *x = bf16_to_f32(v); });
}
void decode_f64(const uint8_t* bytes, float* out, int64_t n) {
  decode_numbers<double>(bytes, out, n);
}
void decode_i8(const uint8_t* bytes, float* out, int64_t n) {
  decode_numbers<int8_t>(bytes, out, n);
}
void decode_i16(const uint8_t* bytes, float* out, int64_t n) {
  decode_numbers<int16_t>(bytes, out, n);
}
void decode_i32(const uint8_t* bytes, float* out, int64_t n) {
  decode_numbers<int32_t>(bytes, out, n);
}
void decode_i64(const uint8_t* bytes, float* out, int64_t n) {
  decode_numbers<int64_t>(bytes, out, n);
}

}  // namespace etch

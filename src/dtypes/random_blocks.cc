#include "dtypes/random_blocks.h"

#include <cstring>
#include <iterator>

#include "base/check.h"
#include "dtypes/float16.h"

namespace etch {
namespace {

// Where a block has its half-float scales, and how many times the scale its largest value is. A
// minimum's share is chosen so that values are centred on zero.
struct Scale {
  int offset;
  float reach;
};
struct BlockScales {
  DType dtype;
  Scale scale;
  Scale minimum;  // reach 0: none
};
constexpr BlockScales kScales[] = {
    {DType::q4_0, {0, 8}, {}},
    {DType::q4_1, {0, 7.5f}, {2, -1}},  // d * 0..15 + m
    {DType::q5_0, {0, 16}, {}},
    {DType::q5_1, {0, 15.5f}, {2, -1}},  // d * 0..31 + m
    {DType::q8_0, {0, 128}, {}},
    {DType::iq4_nl, {0, 127}, {}},
    {DType::q2_k, {80, 15 * 3}, {82, 15 * 2}},  // mean of sc * q is 7.5 * 1.5, of mn 7.5
    {DType::q3_k, {108, 32 * 4}, {}},
    {DType::q4_k, {0, 63 * 15}, {2, 63 * 2}},  // mean of sc * q is 31.5 * 7.5, of mn 31.5
    {DType::q5_k, {0, 63 * 31}, {2, 63 * 2}},
    {DType::q6_k, {208, 128 * 32}, {}},
    {DType::iq4_xs, {0, 32 * 127}, {}},
};

void store_f16(uint8_t* at, float x) {
  const uint16_t h = f32_to_f16(x);
  std::memcpy(at, &h, sizeof(h));
}

void fill_codes(const BlockScales& s, Random& random, float magnitude, uint8_t* block,
                int64_t block_bytes) {
  for (int64_t i = 0; i < block_bytes; ++i) block[i] = static_cast<uint8_t>(random.next());
  float share = random.between(0.5f, 1.0f);  // blocks differ in scale
  // Codes like -8 .. 7 are not centred; scales of both signs, as encoders make them too, are.
  if (s.minimum.reach == 0 && (random.next() & 1) != 0) share = -share;
  store_f16(block + s.scale.offset, share * magnitude / s.scale.reach);
  if (s.minimum.reach != 0)
    store_f16(block + s.minimum.offset, share * magnitude / s.minimum.reach);
}

template <class Number, class Make>
void fill_numbers(uint8_t* out, int64_t n, Make make) {
  for (int64_t i = 0; i < n; ++i) {
    const Number v = make();
    std::memcpy(out + i * static_cast<int64_t>(sizeof(Number)), &v, sizeof(Number));
  }
}

}  // namespace

void fill_random_blocks(DType dtype, Random& random, float magnitude, uint8_t* blocks, int64_t n) {
  const DTypeInfo& type = info(dtype);
  for (const BlockScales& s : kScales) {
    if (s.dtype != dtype) continue;
    for (int64_t i = 0; i < n; i += type.block_elements, blocks += type.block_bytes) {
      fill_codes(s, random, magnitude, blocks, type.block_bytes);
    }
    return;
  }
  const auto real = [&] { return random.between(-magnitude, magnitude); };
  const auto whole = [&] { return static_cast<int8_t>(random.next()); };  // fits every integer type
  switch (dtype) {
    case DType::f32:
      return fill_numbers<float>(blocks, n, real);
    case DType::f64:
      return fill_numbers<double>(blocks, n, real);
    case DType::f16:
      return fill_numbers<uint16_t>(blocks, n, [&] { return f32_to_f16(real()); });
    case DType::bf16:
      return fill_numbers<uint16_t>(blocks, n, [&] { return f32_to_bf16(real()); });
    case DType::i8:
      return fill_numbers<int8_t>(blocks, n, whole);
    case DType::i16:
      return fill_numbers<int16_t>(blocks, n, whole);
    case DType::i32:
      return fill_numbers<int32_t>(blocks, n, whole);
    case DType::i64:
      return fill_numbers<int64_t>(blocks, n, whole);
    default:
      ETCH_CHECK(false, "no random blocks of {}", type.name);
  }
}

std::vector<uint8_t> random_blocks(DType dtype, Random& random, float magnitude, int64_t n) {
  std::vector<uint8_t> blocks(static_cast<size_t>(row_bytes(dtype, n)));
  fill_random_blocks(dtype, random, magnitude, blocks.data(), n);
  return blocks;
}

}  // namespace etch

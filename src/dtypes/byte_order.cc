#include "dtypes/byte_order.h"

#include <algorithm>

namespace etch {
namespace {

struct Field {
  int64_t offset = 0;
  int64_t width = 0;  // bytes of one number
  int64_t count = 0;
};
struct BlockOrder {
  DType dtype;
  bool proven;
  Field fields[2];
};

// What has more than one byte in each block. Fields declared as bytes keep their order, even where
// decoders read them as words (q5_0's qh, the packed scales of q3_k, all of iq1_m), so types that
// are not here have nothing to turn.
constexpr BlockOrder kOrders[] = {
    {DType::f32, true, {{0, 4, 1}}},
    {DType::f64, false, {{0, 8, 1}}},
    {DType::f16, true, {{0, 2, 1}}},
    {DType::bf16, true, {{0, 2, 1}}},
    {DType::i8, true, {}},
    {DType::i16, false, {{0, 2, 1}}},
    {DType::i32, false, {{0, 4, 1}}},
    {DType::i64, false, {{0, 8, 1}}},
    {DType::q1_0, false, {{0, 2, 1}}},
    {DType::q2_0, false, {{0, 2, 1}}},
    {DType::q4_0, true, {{0, 2, 1}}},
    {DType::q4_1, false, {{0, 2, 2}}},
    {DType::q5_0, false, {{0, 2, 1}}},
    {DType::q5_1, false, {{0, 2, 2}}},
    {DType::q8_0, true, {{0, 2, 1}}},
    {DType::q8_1, false, {{0, 2, 2}}},
    {DType::iq4_nl, false, {{0, 2, 1}}},
    {DType::q2_k, false, {{80, 2, 2}}},
    {DType::q3_k, false, {{108, 2, 1}}},
    {DType::q4_k, true, {{0, 2, 2}}},
    {DType::q5_k, false, {{0, 2, 2}}},
    {DType::q6_k, true, {{208, 2, 1}}},
    {DType::q8_k, false, {{0, 4, 1}, {260, 2, 16}}},
    {DType::tq1_0, false, {{52, 2, 1}}},
    {DType::tq2_0, false, {{64, 2, 1}}},
    {DType::iq2_xxs, false, {{0, 2, 33}}},
    {DType::iq2_xs, false, {{0, 2, 33}}},
    {DType::iq2_s, false, {{0, 2, 1}}},
    {DType::iq3_xxs, false, {{0, 2, 1}}},
    {DType::iq3_s, false, {{0, 2, 1}}},
    {DType::iq1_s, false, {{0, 2, 1}, {34, 2, 8}}},
    {DType::iq4_xs, false, {{0, 2, 2}}},
    {DType::mxfp4, true, {}},
};

const BlockOrder* order_of(DType dtype) {
  const auto* at = std::find_if(std::begin(kOrders), std::end(kOrders),
                                [&](const BlockOrder& o) { return o.dtype == dtype; });
  return at == std::end(kOrders) ? nullptr : at;
}

}  // namespace

void swap_block_bytes(DType dtype, uint8_t* blocks, int64_t bytes) {
  const BlockOrder* order = order_of(dtype);
  if (order == nullptr) return;
  const int64_t block_bytes = info(dtype).block_bytes;
  for (const Field& field : order->fields) {
    if (field.count == 0) continue;
    for (int64_t at = 0; at < bytes; at += block_bytes) {
      uint8_t* number = blocks + at + field.offset;
      for (int64_t i = 0; i < field.count; ++i, number += field.width)
        std::reverse(number, number + field.width);
    }
  }
}

bool is_big_endian_proven(DType dtype) {
  const BlockOrder* order = order_of(dtype);
  return order != nullptr && order->proven;
}

}  // namespace etch

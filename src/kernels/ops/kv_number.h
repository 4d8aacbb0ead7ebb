// The numbers of a KV cache: how each type is read 16 at a time, and rounded when it is written.
#pragma once

#include "kernels/kv_page.h"
#include "kernels/ops/words.h"

namespace etch::ETCH_ISA {

// kLargest: the bits of the largest float32 the type takes; append fails above.
struct kv_f32 {
  using Number = float;
  static constexpr int32_t kLargest = 0x7f7fffff;
  ETCH_INLINE Word load(const Number* p) { return W::load(p); }
  ETCH_INLINE void store(Number* p, Word a) { W::store(p, a); }
};
struct kv_f16 {
  using Number = uint16_t;
  static constexpr int32_t kLargest = 0x477fe000;  // 65504
  ETCH_INLINE Word load(const Number* p) { return W::load_f16(p); }
  ETCH_INLINE void store(Number* p, Word a) { W::store_f16(p, a); }
};
struct kv_bf16 {
  using Number = uint16_t;
  static constexpr int32_t kLargest = 0x7f7f0000;
  ETCH_INLINE Word load(const Number* p) { return W::load_bf16(p); }
  ETCH_INLINE void store(Number* p, Word a) { W::store_bf16(p, a); }
};
struct kv_q8_0 {
  using Number = int8_t;
  static constexpr int32_t kLargest = 0x4afde040;  // 127 * 65504
  ETCH_INLINE Word load(const Number* p) { return W::load_i8(p); }
};

// Where K and V of a head begin in its page.
template <class Kv>
ETCH_INLINE uint8_t* head_of_page(uint8_t* page, int64_t head, int64_t d_k, int64_t d_v) {
  return page + head * kv::head_bytes(sizeof(typename Kv::Number), d_k, d_v);
}
template <class Kv>
ETCH_INLINE uint8_t* values_of_head(uint8_t* head, int64_t d_k) {
  return head + kv::part_bytes(sizeof(typename Kv::Number), d_k);
}

}  // namespace etch::ETCH_ISA

// Element types: the table of dtypes.def, row sizes, and the plain decoder of each type.
// A row is shape.back() elements; blocks never cross rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace etch {

enum class DType : uint8_t {
#define X(enumerator, id, name, elements, bytes, state) enumerator,
#include "dtypes/dtypes.def"
#undef X
};

enum class DTypeState : uint8_t { plain, quantised, listed };

struct DTypeInfo {
  DType dtype;
  uint32_t id;            // in a GGUF file
  std::string_view name;  // as the outside world spells it: "Q4_K"
  int64_t block_elements;
  int64_t block_bytes;
  DTypeState state;
  // n elements (whole blocks) to float32, rounded as formats/tensor-types.md says; null where state
  // is `listed`.
  void (*decode)(const uint8_t* blocks, float* out, int64_t n);
};

std::span<const DTypeInfo> all_dtypes();
const DTypeInfo& info(DType dtype);
inline std::string_view name(DType dtype) { return info(dtype).name; }

std::optional<DType> dtype_of_id(uint32_t id);
std::optional<DType> dtype_of_name(std::string_view name);  // any case
// What an id that is no DType means, for messages: "Q4_2 (removed in May 2023)", "IQ4_K (of a
// fork)", or "unknown".
std::string_view describe_foreign_id(uint32_t id);

// Bytes of a row of n elements. n must be a multiple of the block and >= 0 (checked by whoever read
// the file).
inline int64_t row_bytes(DType dtype, int64_t n) {
  const DTypeInfo& i = info(dtype);
  return n / i.block_elements * i.block_bytes;
}

}  // namespace etch

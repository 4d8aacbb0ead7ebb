#include "dtypes/dtype.h"

#include <algorithm>
#include <iterator>

#include "dtypes/blocks.h"
#include "dtypes/decode.h"

namespace etch {
namespace {

#define ETCH_DECODER_plain(enumerator) decode_##enumerator
#define ETCH_DECODER_quantised(enumerator) decode_##enumerator
#define ETCH_DECODER_listed(enumerator) nullptr
constexpr DTypeInfo kDTypes[] = {
#define X(enumerator, id, name, elements, bytes, state) \
  {DType::enumerator,                                   \
   id,                                                  \
   name,                                                \
   elements,                                            \
   bytes,                                               \
   DTypeState::state,                                   \
   ETCH_DECODER_##state(enumerator)},
#include "dtypes/dtypes.def"
#undef X
};

// The drawings and the table must agree.
#define ETCH_SIZED_plain(enumerator, bytes)
#define ETCH_SIZED_listed(enumerator, bytes)
#define ETCH_SIZED_quantised(enumerator, bytes) static_assert(sizeof(blocks::enumerator) == bytes);
#define X(enumerator, id, name, elements, bytes, state) ETCH_SIZED_##state(enumerator, bytes)
#include "dtypes/dtypes.def"
#undef X

struct ForeignId {
  uint32_t first, last;
  std::string_view what;
};

// Ids that files carry and no DType stands for.
constexpr ForeignId kForeignIds[] = {
    {4, 4, "Q4_2 (removed in May 2023)"},
    {5, 5, "Q4_3 (removed in April 2023)"},
    {31, 31, "Q4_0_4_4 (rows interleaved; removed at the end of 2024)"},
    {32, 32, "Q4_0_4_8 (rows interleaved; removed at the end of 2024)"},
    {33, 33, "Q4_0_8_8 (rows interleaved; removed at the end of 2024)"},
    {36, 36, "IQ4_NL_4_4 (removed), or I2_S of a fork"},
    {37, 37, "IQ4_NL_4_8 (removed)"},
    {38, 38, "IQ4_NL_8_8 (removed)"},
    {97, 99, "an intermediate type of a fork"},
    {136, 136, "an intermediate type of a fork"},
    {142, 143, "a withdrawn type of a fork"},
    {147, 150, "an intermediate type of a fork"},
    {397, 399, "an intermediate type of a fork"},
    {133, 133, "Q6_0 (of a fork)"},
    {134, 134, "IQ1_BN (of a fork)"},
    {135, 135, "IQ2_BN (of a fork)"},
    {137, 137, "IQ2_K (of a fork)"},
    {138, 138, "IQ3_K (of a fork)"},
    {139, 139, "IQ4_K (of a fork)"},
    {140, 140, "IQ5_K (of a fork)"},
    {141, 141, "IQ6_K (of a fork)"},
    {144, 144, "IQ4_KS (of a fork)"},
    {145, 145, "IQ2_KS (of a fork)"},
    {146, 146, "IQ4_KSS (of a fork)"},
    {151, 151, "Q8_KV (of a fork)"},
    {152, 152, "IQ5_KS (of a fork)"},
    {153, 153, "IQ2_KT (of a fork)"},
    {154, 154, "IQ3_KT (of a fork)"},
    {155, 155, "IQ4_KT (of a fork)"},
    {156, 156, "IQ3_KS (of a fork)"},
    {157, 157, "IQ2_KL (of a fork)"},
    {158, 158, "IQ1_KT (of a fork)"},
    {202, 202, "Q4_0_R8 (of a fork)"},
    {206, 206, "Q5_0_R4 (of a fork)"},
    {208, 208, "Q8_0_R8 (of a fork)"},
    {210, 210, "Q2_K_R4 (of a fork)"},
    {211, 211, "Q3_K_R4 (of a fork)"},
    {212, 212, "Q4_K_R4 (of a fork)"},
    {213, 213, "Q5_K_R4 (of a fork)"},
    {214, 214, "Q6_K_R4 (of a fork)"},
    {216, 216, "IQ2_XXS_R4 (of a fork)"},
    {217, 217, "IQ2_XS_R4 (of a fork)"},
    {218, 218, "IQ3_XXS_R4 (of a fork)"},
    {219, 219, "IQ1_S_R4 (of a fork)"},
    {220, 220, "IQ4_NL_R4 (of a fork)"},
    {221, 221, "IQ3_S_R4 (of a fork)"},
    {222, 222, "IQ2_S_R4 (of a fork)"},
    {223, 223, "IQ4_XS_R8 (of a fork)"},
    {229, 229, "IQ1_M_R4 (of a fork)"},
    {230, 230, "BF16_R16 (of a fork)"},
    {233, 233, "Q6_0_R4 (of a fork)"},
    {335, 335, "IQ2_BN_R4 (of a fork)"},
    {337, 337, "IQ2_K_R4 (of a fork)"},
    {338, 338, "IQ3_K_R4 (of a fork)"},
    {339, 339, "IQ4_K_R4 (of a fork)"},
    {340, 340, "IQ5_K_R4 (of a fork)"},
    {344, 344, "IQ4_KS_R4 (of a fork)"},
    {352, 352, "IQ5_KS_R4 (of a fork)"},
    {353, 353, "MXFP4_R8 (of a fork)"},
};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::span<const DTypeInfo> all_dtypes() { return kDTypes; }

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_of_id(uint32_t id) {
  for (const DTypeInfo& i : kDTypes) {
    if (i.id == id) return i.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_of_name(std::string_view name) {
  for (const DTypeInfo& i : kDTypes) {
    if (equal_ignoring_case(i.name, name)) return i.dtype;
  }
  return std::nullopt;
}

std::string_view describe_foreign_id(uint32_t id) {
  for (const ForeignId& f : kForeignIds) {
    if (id >= f.first && id <= f.last) return f.what;
  }
  return "unknown";
}

}  // namespace etch

#include "dtypes/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "support/hex.h"
#include "support/shared_dir.h"

namespace etch {
namespace {

TEST(DTypes, EveryRowOfTheTableIsFoundByIdAndName) {
  std::set<uint32_t> ids;
  for (const DTypeInfo& i : all_dtypes()) {
    EXPECT_EQ(info(i.dtype).name, i.name);
    EXPECT_EQ(dtype_of_id(i.id), i.dtype);
    EXPECT_EQ(dtype_of_name(i.name), i.dtype);
    EXPECT_TRUE(ids.insert(i.id).second) << i.name;
    EXPECT_EQ(i.decode == nullptr, i.state == DTypeState::listed) << i.name;
  }
}

TEST(DTypes, NamesAreFoundInAnyCaseAndWhole) {
  EXPECT_EQ(dtype_of_name("q4_k"), DType::q4_k);
  EXPECT_EQ(dtype_of_name("IQ4_nl"), DType::iq4_nl);
  EXPECT_EQ(dtype_of_name("q4"), std::nullopt);
  EXPECT_EQ(dtype_of_name(""), std::nullopt);
}

TEST(DTypes, ForeignIdsAreNamed) {
  EXPECT_EQ(dtype_of_id(4), std::nullopt);
  EXPECT_THAT(describe_foreign_id(4), testing::HasSubstr("removed"));
  EXPECT_THAT(describe_foreign_id(139), testing::HasSubstr("IQ4_K"));
  EXPECT_EQ(describe_foreign_id(43), "unknown");
  EXPECT_EQ(describe_foreign_id(0xffffffff), "unknown");
}

TEST(DTypes, RowsAreWholeBlocks) {
  EXPECT_EQ(row_bytes(DType::f32, 3), 12);
  EXPECT_EQ(row_bytes(DType::q4_0, 4096), 128 * 18);
  EXPECT_EQ(row_bytes(DType::q6_k, 512), 420);
  EXPECT_EQ(row_bytes(DType::q6_k, 0), 0);
}

std::vector<float> decode(const DTypeInfo& type, const std::vector<uint8_t>& bytes) {
  const auto blocks = static_cast<int64_t>(bytes.size()) / type.block_bytes;
  std::vector<float> x(static_cast<size_t>(blocks * type.block_elements));
  type.decode(bytes.data(), x.data(), static_cast<int64_t>(x.size()));
  return x;
}

// Blocks of the reference with the values its decoders give: the same bits.
TEST(DTypes, DecodersGiveTheReferencesBits) {
  const auto vectors = nlohmann::json::parse(test::read_text(test::vectors_file("decode.json")));
  int checked = 0;
  for (const auto& [name, cases] : vectors["types"].items()) {
    const DTypeInfo& type = info(dtype_of_name(name).value());
    if (type.decode == nullptr) continue;
    for (const auto& c : cases) {
      const auto x = decode(type, test::bytes_of_hex(c["block"].get<std::string>()));
      const auto bytes = test::bytes_of_hex(c["f32"].get<std::string>());
      ASSERT_EQ(bytes.size(), x.size() * sizeof(float)) << name;
      for (size_t i = 0; i < x.size(); ++i) {
        float expected;
        std::memcpy(&expected, bytes.data() + i * sizeof(float), sizeof(float));
        ASSERT_EQ(std::bit_cast<uint32_t>(x[i]), std::bit_cast<uint32_t>(expected))
            << name << " element " << i << ": " << x[i] << " instead of " << expected;
      }
      ++checked;
    }
  }
  EXPECT_GE(checked, 12);
}

// One block of each kind small enough to read: a scale of 2 (0x4000), a minimum of 0.5 (0x3800).
TEST(DTypes, DecodersFollowTheDrawings) {
  const auto q4_0 =
      decode(info(DType::q4_0), test::bytes_of_hex("0040"
                                                   "f8000000000000000000000000000000"));
  EXPECT_EQ(q4_0[0], 0.0f);    // low nibble of byte 0: 8
  EXPECT_EQ(q4_0[16], 14.0f);  // high nibble of byte 0: 15
  EXPECT_EQ(q4_0[1], -16.0f);
  const auto q5_1 =
      decode(info(DType::q5_1), test::bytes_of_hex("00400038"
                                                   "01000080"
                                                   "00000000000000000000000000000030"));
  EXPECT_EQ(q5_1[0], 32.5f);           // bit 0 of qh
  EXPECT_EQ(q5_1[31], 2 * 19 + 0.5f);  // bit 31 of qh, nibble 3
  EXPECT_EQ(q5_1[1], 0.5f);
}

TEST(DTypes, NumbersBecomeTheNearestFloat) {
  const auto one = [](DType t, const char* hex) {
    return decode(info(t), test::bytes_of_hex(hex)).at(0);
  };
  EXPECT_EQ(one(DType::i8, "80"), -128.0f);
  EXPECT_EQ(one(DType::i16, "ff7f"), 32767.0f);
  EXPECT_EQ(one(DType::i32, "01000001"), 16777216.0f);
  EXPECT_EQ(one(DType::i64, "ffffffffffffff7f"), 0x1p63f);
  EXPECT_EQ(one(DType::f64, "000000000000f03f"), 1.0f);
  EXPECT_EQ(one(DType::f16, "0100"), 0x1p-24f);
  EXPECT_EQ(one(DType::bf16, "803f"), 1.0f);
  EXPECT_EQ(one(DType::f32, "0000c03f"), 1.5f);
}

}  // namespace
}  // namespace etch

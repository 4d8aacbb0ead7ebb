#include "base/bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace etch {
namespace {

TEST(ByteReader, ReadsFieldsInOrder) {
  const std::vector<uint8_t> bytes = {1, 2, 0, 'h', 'i', 0, 0, 0x80, 0x3f};
  ByteReader r(bytes);
  EXPECT_EQ(r.read<uint8_t>(), 1);
  EXPECT_EQ(r.read<uint16_t>(), 2);
  EXPECT_EQ(r.text(2), "hi");
  EXPECT_EQ(r.read<float>(), 1.0f);
  EXPECT_TRUE(r.ok());
  EXPECT_EQ(r.left(), 0u);
}

TEST(ByteReader, TurnsTheOtherByteOrder) {
  const std::vector<uint8_t> bytes = {0, 0, 1, 2, 0x3f, 0x80, 0, 0};
  ByteReader r(bytes, true);
  EXPECT_EQ(r.read<uint32_t>(), 258u);
  EXPECT_EQ(r.read<float>(), 1.0f);
}

TEST(ByteReader, RemembersTheFirstFailureAndGivesZerosAfterIt) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  ByteReader r(bytes);
  EXPECT_EQ(r.read<uint16_t>(), 0x0201);
  EXPECT_EQ(r.read<uint32_t>(), 0u);
  EXPECT_EQ(r.read<uint8_t>(), 0);  // would fit, but comes after the failure
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.failed_at(), 2u);
  EXPECT_EQ(r.failed_need(), 4u);
}

TEST(ByteReader, LengthsNearTheLimitDoNotWrap) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  for (const uint64_t n : {uint64_t{4}, uint64_t{INT64_MAX}, UINT64_MAX, UINT64_MAX - 2}) {
    ByteReader r(bytes);
    r.skip(1);
    EXPECT_TRUE(r.run(n).empty());
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.pos(), 1u);
  }
}

}  // namespace
}  // namespace etch

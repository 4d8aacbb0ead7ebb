#include "base/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace etch {
namespace {

// The examples of FIPS 180-2, and the vector of no bytes in XXH3's own test.
TEST(HashTest, GivesThePublishedHashes) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(xxh3_hex(""), "99aa06d3014798d86001c324468d497f");
}

TEST(HashTest, PiecesGiveTheHashOfTheWhole) {
  std::vector<uint8_t> bytes(100'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  Xxh3 xxh;
  Sha256 sha;
  const std::span<const uint8_t> all = bytes;
  for (size_t done = 0, piece = 1; done < all.size(); done += piece, piece = piece * 3 + 1) {
    const auto part = all.subspan(done, std::min(piece, all.size() - done));
    xxh.add(part);
    sha.add(part);
  }
  EXPECT_EQ(xxh.hex(), xxh3_hex(all));
  EXPECT_EQ(sha.hex(), sha256_hex(all));
  bytes[77'777] ^= 1;
  EXPECT_NE(xxh3_hex(all), xxh.hex());
}

}  // namespace
}  // namespace etch

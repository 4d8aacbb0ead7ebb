// Files made to break readers. Each of the known vulnerabilities of other readers has its field
// here; each is refused, by name, without an allocation in proportion to what the file claims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "gguf/gguf_file.h"
#include "support/tiny_gguf.h"

namespace etch {
namespace {

// The fields of a header, little endian, version 3 unless told otherwise.
class Raw {
 public:
  explicit Raw(uint64_t n_tensors = 0, uint64_t n_keys = 0) {
    text("GGUF").u32(3).u64(n_tensors).u64(n_keys);
  }
  static Raw nothing() {
    Raw raw;
    raw.bytes_.clear();
    return raw;
  }
  Raw& u8(uint8_t v) { return put(&v, sizeof(v)); }
  Raw& u32(uint32_t v) { return put(&v, sizeof(v)); }
  Raw& u64(uint64_t v) { return put(&v, sizeof(v)); }
  Raw& text(std::string_view t) { return put(t.data(), t.size()); }
  Raw& string(std::string_view t) { return u64(t.size()).text(t); }
  Raw& tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type = 0,
              uint64_t offset = 0) {
    string(name).u32(static_cast<uint32_t>(dims.size()));
    for (const uint64_t d : dims) u64(d);
    return u32(type).u64(offset);
  }
  Raw& zeros(size_t n) {
    bytes_.resize(bytes_.size() + n);
    return *this;
  }
  std::string error() const {
    const auto file = read_gguf(test::mapping_of(bytes_, "hostile.gguf"));
    if (file) return "accepted";
    EXPECT_THAT(file.error().message, testing::StartsWith("hostile.gguf: "));
    return file.error().message;
  }
  GgufFile read() const { return read_gguf(test::mapping_of(bytes_, "odd.gguf")).value(); }

 private:
  Raw& put(const void* at, size_t n) {
    const auto* from = static_cast<const uint8_t*>(at);
    bytes_.insert(bytes_.end(), from, from + n);
    return *this;
  }
  std::vector<uint8_t> bytes_;
};

using testing::AllOf;
using testing::HasSubstr;

TEST(Hostile, CountsLargerThanTheFile) {
  for (const uint64_t n :
       {uint64_t{3}, uint64_t{1} << 32, uint64_t{1} << 61, UINT64_MAX / 24 + 2, UINT64_MAX}) {
    EXPECT_THAT(Raw(n, 0).zeros(48).error(),
                HasSubstr("tensors, more than the 48 bytes behind it could hold"));
    EXPECT_THAT(Raw(0, n * 2).zeros(48).error(), HasSubstr("keys, more than the 48 bytes"));
  }
  EXPECT_THAT(Raw(2, 0).zeros(48).error(),
              HasSubstr("a tensor must have a name"));  // 48 bytes are two descriptors
}

TEST(Hostile, StringLengthsThatWrap) {
  for (const uint64_t n : {UINT64_MAX, UINT64_MAX - 1, uint64_t{1} << 63, uint64_t{1} << 32,
                           uint64_t{INT32_MAX} + 1, uint64_t{65}}) {
    EXPECT_THAT(Raw(0, 1).u64(n).zeros(64).error(),
                AllOf(HasSubstr("ends inside its header"), HasSubstr("key 1 of 1")));
    EXPECT_THAT(Raw(0, 1).string("k").u32(8).u64(n).zeros(64).error(),
                AllOf(HasSubstr("key 'k'"), HasSubstr("its text")));
    EXPECT_THAT(Raw(1, 0).u64(n).zeros(64).error(), HasSubstr("descriptor 1 of 1"));
  }
}

TEST(Hostile, ArrayLengthsThatWrap) {
  for (const uint64_t n :
       {UINT64_MAX, uint64_t{1} << 62, (uint64_t{1} << 61) + 1, uint64_t{1} << 32}) {
    for (const uint32_t type : {0u, 4u, 8u, 9u, 12u}) {
      EXPECT_THAT(Raw(0, 1).string("k").u32(9).u32(type).u64(n).zeros(64).error(),
                  HasSubstr("cannot lie in the 64 bytes left"));
    }
  }
}

TEST(Hostile, ArraysInsideArraysWithoutEnd) {
  Raw deep(0, 1);
  deep.string("k").u32(9);
  for (int i = 0; i < 100'000; ++i) deep.u32(9).u64(1);
  deep.u32(0).u64(0);
  EXPECT_THAT(deep.error(), HasSubstr("arrays inside arrays more than 4 deep"));

  Raw four(0, 1);
  four.string("k").u32(9).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1).u32(0).u64(2).u8(7).u8(8);
  EXPECT_EQ(four.read().keys[0].value.print(), "[[...]]");
}

TEST(Hostile, ElementAndValueTypesOutOfRange) {
  for (const uint32_t type : {13u, 255u, 0x80000000u, 0xffffffffu}) {
    EXPECT_THAT(Raw(0, 1).string("k").u32(type).zeros(64).error(), HasSubstr("types are 0 to 12"));
    EXPECT_THAT(Raw(0, 1).string("k").u32(9).u32(type).u64(1).zeros(64).error(),
                HasSubstr("types are 0 to 12"));
  }
}

TEST(Hostile, TensorTypesOutOfRange) {
  for (const uint32_t type : {43u, 255u, 1000u, 0x80000000u, 0xffffffffu}) {
    EXPECT_THAT(Raw(1, 0).tensor("a", {4}, type).zeros(64).error(),
                HasSubstr(fmt::format("tensor type {}: unknown", type)));
  }
}

TEST(Hostile, DimensionsThatWrap) {
  const std::vector<uint64_t> wrapping[] = {
      {uint64_t{1} << 32, uint64_t{1} << 32},        // product is 2^64
      {uint64_t{1} << 62, 4},                        //
      {uint64_t{1} << 63},                           // negative as i64
      {UINT64_MAX, UINT64_MAX},                      // minus one times minus one
      {uint64_t{1} << 61},                           // elements fit, bytes (times 4) do not
      {uint64_t{1} << 31, uint64_t{1} << 30, 2, 1},  // 2^62 elements, 2^64 bytes
      {uint64_t{1} << 40, uint64_t{1} << 40, 0},     // would be 0 after the wrap
      {0, uint64_t{1} << 63},                        //
  };
  for (const auto& dims : wrapping) {
    EXPECT_THAT(Raw(1, 0).tensor("a", dims).zeros(64).error(), HasSubstr("beyond any file"))
        << testing::PrintToString(dims);
  }
  EXPECT_THAT(Raw(1, 0).tensor("a", std::vector<uint64_t>(5, 1)).zeros(64).error(),
              HasSubstr("5 dimensions"));
  EXPECT_THAT(Raw(1, 0).string("a").u32(0xffffffff).zeros(64).error(),
              HasSubstr("4294967295 dimensions"));
}

TEST(Hostile, OffsetsThatWrap) {
  EXPECT_THAT(Raw(1, 0).tensor("a", {4}, 0, uint64_t{1} << 63).zeros(64).error(),
              HasSubstr("beyond any file"));
  EXPECT_THAT(Raw(1, 0).tensor("a", {4}, 0, UINT64_MAX - 31).zeros(64).error(),
              HasSubstr("beyond any file"));
  EXPECT_THAT(Raw(1, 0).tensor("a", {4}, 0, INT64_MAX - 31).zeros(64).error(),
              HasSubstr("beyond any file"));
  EXPECT_THAT(Raw(1, 0).tensor("a", {4}, 0, uint64_t{1} << 62).zeros(64).error(),
              HasSubstr("tensor data ends early"));
  EXPECT_THAT(Raw(1, 0).tensor("a", {4}, 0, 16).zeros(128).error(),
              HasSubstr("no multiple of the alignment"));
  EXPECT_THAT(Raw(1, 0).tensor("a", {0}, 0, 1 << 20).zeros(64).error(),
              HasSubstr("behind the end of the file"));
  // The sum of many sizes that fit each.
  Raw many(4, 0);
  for (int i = 0; i < 4; ++i)
    many.tensor(std::to_string(i), {uint64_t{1} << 60}, 24, static_cast<uint64_t>(i) << 60);
  EXPECT_THAT(many.zeros(64).error(), HasSubstr("tensor data ends early"));
}

TEST(Hostile, TensorsThatOverlap) {
  EXPECT_THAT(Raw(2, 0).tensor("a", {16}, 0, 0).tensor("b", {16}, 0, 32).zeros(256).error(),
              HasSubstr("tensor 'b': its data at offset 32 overlap those of 'a', which end at 64"));
  EXPECT_THAT(Raw(2, 0).tensor("a", {16}, 0, 64).tensor("b", {64}, 0, 0).zeros(512).error(),
              HasSubstr("tensor 'a'"));
  EXPECT_THAT(Raw(2, 0).tensor("a", {16}, 0, 0).tensor("b", {16}, 0, 0).zeros(256).error(),
              HasSubstr("overlap"));
  // Empty ones lie anywhere.
  EXPECT_EQ(
      Raw(2, 0).tensor("a", {16}, 0, 0).tensor("b", {0}, 0, 32).zeros(256).read().tensors.size(),
      2u);
}

TEST(Hostile, AlignmentsThatHarm) {
  const auto aligned = [](uint32_t a) {
    return Raw(0, 1).string("general.alignment").u32(4).u32(a).error();
  };
  for (const uint32_t a : {0u, 1u, 2u, 4u, 12u, 1u << 21, 1u << 31, 0xfffffff8u}) {
    EXPECT_THAT(aligned(a), HasSubstr(fmt::format("general.alignment is {};", a)));
  }
  EXPECT_EQ(aligned(1 << 20), "accepted");
  EXPECT_THAT(Raw(0, 1).string("general.alignment").u32(8).string("32").error(),
              HasSubstr("of type string"));
  EXPECT_THAT(Raw(0, 1).string("general.alignment").u32(5).u32(32).error(),
              HasSubstr("of type i32"));
}

TEST(Hostile, NamesOfTensors) {
  EXPECT_THAT(Raw(1, 0).tensor(std::string(65, 'n'), {1}).zeros(64).error(),
              HasSubstr("a name of 65 bytes"));
  EXPECT_THAT(Raw(1, 0).tensor(std::string_view("a\0b", 3), {1}).zeros(64).error(),
              HasSubstr("UTF-8 without NUL"));
  EXPECT_THAT(Raw(1, 0).tensor("a\xff", {1}).zeros(64).error(),
              AllOf(HasSubstr("UTF-8"), HasSubstr("'a\\xff'")));
  EXPECT_THAT(Raw(1, 0).tensor("\x1b[2J", {1}, 99).zeros(64).error(),
              HasSubstr("'\\x1b[2J'"));  // terminals do not see it
}

TEST(Hostile, Versions) {
  const auto version = [](uint32_t v) {
    return Raw::nothing().text("GGUF").u32(v).zeros(64).error();
  };
  EXPECT_THAT(version(0), HasSubstr("version 0"));
  EXPECT_THAT(version(4), HasSubstr("GGUF version 4"));
  EXPECT_THAT(version(0x01000000), HasSubstr("only 3 may be big-endian"));
  EXPECT_THAT(version(0x02000000), HasSubstr("only 3 may be big-endian"));
  EXPECT_THAT(version(0x04000000), HasSubstr("GGUF version 4"));
  EXPECT_EQ(version(0x03000000), "accepted");
}

TEST(Hostile, FilesThatAreSomethingElse) {
  const auto beginning = [](std::string_view t) {
    return Raw::nothing().text(t).zeros(64).error();
  };
  EXPECT_THAT(beginning("<!DOCTYPE html>"), HasSubstr("web page"));
  EXPECT_THAT(beginning("version https://git-lfs.github.com/spec/v1"), HasSubstr("Git LFS"));
  EXPECT_THAT(beginning("tjgg"), HasSubstr("GGJT"));
  EXPECT_THAT(beginning("PK\3\4"), HasSubstr("zip"));
  EXPECT_THAT(beginning("abcd"), HasSubstr("it begins with 'abcd'"));
  EXPECT_THAT(Raw::nothing().text("GG").error(), HasSubstr("it begins with 'GG'"));
}

// A good file with everything in it, cut at every length and with every byte of its header turned:
// it is read or refused, and what is read can be walked.
class Damaged : public testing::Test {
 protected:
  static std::vector<uint8_t> good(const WriteOptions& options) {
    test::TinyGguf tiny;
    tiny.contents().set("f", 1.5f);
    tiny.contents().set("texts", std::vector<std::string>{"one", "two", ""});
    tiny.contents().set("numbers", std::vector<int16_t>{1, 2, 3});
    tiny.tensor("a.weight", DType::q4_0, {64, 2}).tensor("b.weight", DType::f32, {3, 2, 2});
    return gguf_bytes(tiny.contents(), options).value();
  }
  static bool walk(std::span<const uint8_t> bytes) {
    auto mapping = std::make_shared<Mapping>(Mapping::of_memory(bytes));
    const auto file = read_gguf(mapping);
    if (!file) {
      EXPECT_FALSE(file.error().message.empty());
      return false;
    }
    for (const Key& key : file->keys) {
      EXPECT_FALSE(key.value.print(100).empty());
      key.value.each_text([](int64_t, std::string_view text) { EXPECT_LE(text.size(), 1000u); });
    }
    for (const TensorInfo& t : file->tensors)
      EXPECT_EQ(static_cast<int64_t>(file->data(t).size()), t.bytes);
    return true;
  }
};

TEST_F(Damaged, CutAnywhere) {
  for (const WriteOptions& options :
       {WriteOptions{}, {.big_endian = true}, {.version = 1, .count_nul = true}}) {
    const auto bytes = good(options);
    for (size_t n = 0; n < bytes.size(); ++n) {
      const std::vector<uint8_t> cut(
          bytes.begin(), bytes.begin() + static_cast<int64_t>(n));  // its own allocation
      const bool read = walk(cut);
      EXPECT_EQ(read, n + 16 >= bytes.size())
          << n;  // only the padding of the last tensor may be missing
    }
    EXPECT_TRUE(walk(bytes));
  }
}

TEST_F(Damaged, AnyByteTurned) {
  for (const WriteOptions& options :
       {WriteOptions{}, {.big_endian = true}, {.version = 1, .count_nul = true}}) {
    auto bytes = good(options);
    for (uint8_t& byte : bytes) {
      const uint8_t was = byte;
      for (const uint8_t now : {uint8_t{0}, uint8_t{1}, uint8_t{0x7f}, uint8_t{0x80}, uint8_t{0xff},
                                static_cast<uint8_t>(was + 1), static_cast<uint8_t>(was ^ 0x20)}) {
        byte = now;
        walk(bytes);
      }
      byte = was;
    }
  }
}

}  // namespace
}  // namespace etch

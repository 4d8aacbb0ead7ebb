#include "gguf/split_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/tiny_gguf.h"

namespace etch {
namespace {

using test::TinyGguf;
using testing::HasSubstr;

// A set of three: keys alone in the first part, two tensors in the second, one in the third.
class SplitSet : public testing::Test {
 protected:
  SplitSet() {
    for (uint16_t i = 0; i < 3; ++i) {
      parts.emplace_back(i == 0 ? "llama" : "");
      parts[i].contents().set("split.no", i);
      parts[i].contents().set("split.count", uint16_t{3});
      parts[i].contents().set("split.tensors.count", 3);
    }
    parts[0].contents().set("llama.block_count", 1u);
    parts[1].tensor("a", DType::f32, {8}).tensor("b", DType::q4_0, {64, 2});
    parts[2].tensor("c", DType::f16, {100});
  }
  std::string path(int i) const { return dir / fmt::format("model-0000{}-of-00003.gguf", i + 1); }
  void write() {
    for (int i = 0; i < 3; ++i) parts[i].write(dir, std::filesystem::path(path(i)).filename());
  }
  std::string error_of(int i) {
    const auto file = read_gguf(path(i));
    return file ? "accepted" : file.error().message;
  }

  test::TemporaryDir dir;
  std::vector<TinyGguf> parts;
};

TEST_F(SplitSet, AnyPartNamesTheWholeSet) {
  write();
  for (int named = 0; named < 3; ++named) {
    const auto file = read_gguf(path(named));
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_THAT(file->warnings, testing::IsEmpty());
    EXPECT_EQ(file->parts.size(), 3u);
    EXPECT_EQ(file->find_key("llama.block_count")->integer(), 1);
    ASSERT_EQ(file->tensors.size(), 3u);
    for (const auto& [name, part] : {std::pair("a", 1), {"b", 1}, {"c", 2}}) {
      const TensorInfo& t = *file->find_tensor(name);
      EXPECT_EQ(t.part, part);
      const GgufFile alone = parts[static_cast<size_t>(part)].file();
      const auto expected = alone.data(*alone.find_tensor(name));
      const auto data = file->data(t);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), expected.begin(), expected.end())) << name;
    }
  }
}

TEST_F(SplitSet, OnePartCanBeReadAsItIs) {
  write();
  std::filesystem::remove(path(0));
  const auto file = read_gguf(path(1), {.whole_set = false});
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), 2u);
  EXPECT_EQ(file->find_key("split.no")->integer(), 1);
}

TEST_F(SplitSet, AllMissingPartsAreNamedAtOnce) {
  write();
  std::filesystem::remove(path(0));
  std::filesystem::remove(path(2));
  EXPECT_THAT(error_of(1), testing::AllOf(HasSubstr("2 of the 3 parts"), HasSubstr(path(0)),
                                          HasSubstr(path(2))));
}

TEST_F(SplitSet, NamesMustFitTheKeys) {
  write();
  std::filesystem::rename(path(1), dir / "other.gguf");
  EXPECT_THAT(read_gguf(dir / "other.gguf").error().message,
              HasSubstr("its name does not end in -00002-of-00003.gguf"));
  std::filesystem::copy(path(2), path(1));
  EXPECT_THAT(error_of(0),
              HasSubstr("its keys call it part 3 of 3; by its name it is part 2 of 3"));
}

TEST_F(SplitSet, ATensorStandsOnceInTheSet) {
  parts[2].tensor("a", DType::f32, {8});
  for (auto& p : parts) p.contents().set("split.tensors.count", 4);
  write();
  EXPECT_THAT(error_of(0), testing::AllOf(HasSubstr("tensor 'a' stands twice"), HasSubstr(path(1)),
                                          HasSubstr(path(2))));
}

TEST_F(SplitSet, TheTensorsAreCounted) {
  parts[0].contents().set("split.tensors.count", 4);
  write();
  EXPECT_THAT(error_of(0), HasSubstr("split.tensors.count is 4, but the 3 parts hold 3 tensors"));
}

TEST_F(SplitSet, LaterPartsMayRepeatTheArchitectureAndNothingElse) {
  parts[1].contents().set("general.architecture", "llama");
  write();
  EXPECT_EQ(error_of(0), "accepted");
  parts[1].contents().set("llama.block_count", 2u);
  write();
  EXPECT_THAT(read_gguf(path(0))->warnings,
              testing::ElementsAre(
                  HasSubstr("later parts of a split set are not read: 'llama.block_count'")));
  EXPECT_EQ(read_gguf(path(0))->find_key("llama.block_count")->integer(), 1);
  parts[2].contents().set("general.architecture", "gemma3");
  write();
  EXPECT_THAT(error_of(0),
              HasSubstr("its architecture is 'gemma3', that of the first part 'llama'"));
}

TEST_F(SplitSet, CountsAndNumbersAreChecked) {
  const auto error_with = [&](auto count, auto no) {
    parts[1].contents().set("split.count", count);
    parts[1].contents().set("split.no", no);
    write();
    return error_of(1);
  };
  EXPECT_THAT(error_with(-3, uint16_t{1}), HasSubstr("split.count is -3"));
  EXPECT_THAT(error_with(uint64_t{1} << 40, uint16_t{1}),
              HasSubstr("split.count is 1099511627776"));
  EXPECT_THAT(error_with("many", uint16_t{1}), HasSubstr("split.count is 'many'"));
  EXPECT_THAT(error_with(uint16_t{3}, uint16_t{3}), HasSubstr("split.no is 3"));
  EXPECT_THAT(error_with(uint16_t{3}, -1), HasSubstr("split.no is -1"));
  EXPECT_EQ(error_with(3, int64_t{1}), "accepted");  // other integer types of the same numbers
}

TEST_F(SplitSet, ATruncatedPartIsNamed) {
  write();
  std::filesystem::resize_file(path(1), std::filesystem::file_size(path(1)) - 32);
  EXPECT_THAT(error_of(0),
              testing::AllOf(testing::StartsWith(path(1)), HasSubstr("first tensor affected: b")));
}

TEST_F(SplitSet, EachPartHasItsAlignmentAndByteOrder) {
  parts[1].contents().set("general.alignment", 64u);
  parts[0].write(dir, "model-00001-of-00003.gguf");
  parts[1].write(dir, "model-00002-of-00003.gguf", {.big_endian = true});
  parts[2].write(dir, "model-00003-of-00003.gguf", {.version = 2});
  const auto file = read_gguf(path(2));
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->parts[1].alignment, 64);
  EXPECT_TRUE(file->parts[1].big_endian);
  EXPECT_EQ(file->parts[2].version, 2u);
}

TEST(MergedFile, StandsAlone) {
  const test::TemporaryDir dir;
  TinyGguf tiny;
  tiny.contents().set("split.count", uint16_t{0});
  tiny.contents().set("split.no", uint16_t{0});
  EXPECT_TRUE(read_gguf(tiny.write(dir, "merged.gguf")).has_value());
  tiny.contents().set("split.count", uint16_t{1});
  EXPECT_TRUE(read_gguf(tiny.write(dir, "one.gguf")).has_value());
}

}  // namespace
}  // namespace etch

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dtypes/random_blocks.h"
#include "model/model.h"
#include "support/tiny_gguf.h"

namespace etch {
namespace {

using test::TinyGguf;

TEST(ReadModel, WeightsHaveTheShapesOfCircuits) {
  TinyGguf tiny("llama");
  tiny.contents().set("llama.block_count", 3u);
  tiny.tensor("a", DType::q8_0, {64, 3, 2}).tensor("one", DType::f32, {});
  const Model model = read_model(tiny.file()).value();
  EXPECT_EQ(model.architecture(), "llama");
  EXPECT_EQ(model.arch_key("block_count")->integer(), 3);
  EXPECT_EQ(model.key("llama.block_count")->integer(), 3);
  EXPECT_EQ(model.arch_key("none"), nullptr);
  ASSERT_EQ(model.weights.size(), 2u);
  const Weight& a = *model.find("a");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3, 64}));
  EXPECT_EQ(a.dtype, DType::q8_0);
  EXPECT_EQ(a.bytes, 12 * 34);
  EXPECT_EQ(model.data(a).data(), model.bytes().data() + a.offset);
  EXPECT_EQ(model.find("one")->shape, (std::vector<int64_t>{1}));
  EXPECT_EQ(model.find("b"), nullptr);
}

TEST(ReadModel, FilesWithoutArchitectureOrTensorsAreModelsToo) {
  const Model model = read_model(TinyGguf("").file()).value();
  EXPECT_EQ(model.architecture(), "");
  EXPECT_TRUE(model.weights.empty());
}

TEST(ReadModel, ItsWeightsLieInTheFile) {
  const test::TemporaryDir dir;
  TinyGguf tiny;
  tiny.tensor("a", DType::q4_k, {256, 4});
  const Model model = read_model(tiny.write(dir, "m.gguf")).value();
  EXPECT_EQ(model.file->mapping->writable(), nullptr);
  const GgufFile in_memory = tiny.file();
  const auto expected = in_memory.data(in_memory.tensors[0]);
  EXPECT_TRUE(std::ranges::equal(model.data(model.weights[0]), expected));
}

class BigEndian : public testing::TestWithParam<DTypeInfo> {};

// A tensor written big endian is the same tensor, from memory and from a file.
TEST_P(BigEndian, IsTurnedWhenAModelIsMade) {
  const test::TemporaryDir dir;
  TinyGguf tiny;
  tiny.contents().set("general.name", "turned");
  tiny.tensor("a", GetParam().dtype, {256, 3}).tensor("b", DType::f32, {5});
  const Model straight = read_model(tiny.file()).value();
  const std::string path = tiny.write(dir, "big.gguf", {.big_endian = true});
  for (const auto& turned : {read_model(tiny.file({.big_endian = true})), read_model(path)}) {
    ASSERT_TRUE(turned.has_value()) << turned.error().message;
    EXPECT_EQ(turned->key("general.name")->text(), "turned");
    for (const Weight& w : straight.weights) {
      EXPECT_TRUE(std::ranges::equal(turned->data(*turned->find(w.name)), straight.data(w)))
          << w.name;
    }
  }
  // The file itself stays as it is.
  const GgufFile raw = read_gguf(path).value();
  const bool has_words = GetParam().dtype != DType::i8;
  EXPECT_EQ(std::ranges::equal(raw.data(raw.tensors[0]), straight.data(straight.weights[0])),
            !has_words);
}

std::vector<DTypeInfo> decodable() {
  std::vector<DTypeInfo> types;
  for (const DTypeInfo& t : all_dtypes()) {
    if (t.decode != nullptr) types.push_back(t);
  }
  return types;
}
INSTANTIATE_TEST_SUITE_P(EveryType, BigEndian, testing::ValuesIn(decodable()),
                         [](const auto& info) { return std::string(info.param.name); });

// The fields themselves, from the definition: writing and reading with the same mistake would
// agree.
TEST(BigEndianFile, TurnsWordsAndLeavesBytes) {
  TinyGguf tiny;
  std::vector<uint8_t> block(24);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<uint8_t>(i);
  tiny.data("q5_1", DType::q5_1, {32}, block).data("f64", DType::f64, {3}, block);
  const Model model = read_model(tiny.file({.big_endian = true})).value();
  const GgufFile raw = read_gguf(tiny.mapping({.big_endian = true})).value();
  EXPECT_THAT(raw.data(raw.tensors[0]).subspan(0, 8), testing::ElementsAre(1, 0, 3, 2, 4, 5, 6, 7));
  EXPECT_THAT(raw.data(raw.tensors[1]).subspan(0, 8), testing::ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
  EXPECT_THAT(model.file->warnings, testing::ElementsAre(testing::HasSubstr("Q5_1 and 1 more")));
}

TEST(BigEndianFile, SomePartsOfASetMayBe) {
  const test::TemporaryDir dir;
  std::vector<TinyGguf> parts;
  for (uint16_t i = 0; i < 2; ++i) {
    parts.emplace_back(i == 0 ? "llama" : "");
    parts[i].contents().set("split.no", i);
    parts[i].contents().set("split.count", uint16_t{2});
    parts[i].contents().set("split.tensors.count", 2);
    parts[i].numbers(i == 0 ? "a" : "b", {1.5f, 2.5f});
  }
  parts[0].write(dir, "m-00001-of-00002.gguf");
  const Model model =
      read_model(parts[1].write(dir, "m-00002-of-00002.gguf", {.big_endian = true})).value();
  for (const Weight& w : model.weights) {
    float x[2];
    info(w.dtype).decode(model.data(w).data(), x, 2);
    EXPECT_THAT(x, testing::ElementsAre(1.5f, 2.5f)) << w.name;
  }
}

}  // namespace
}  // namespace etch

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "gguf/gguf_file.h"
#include "support/tiny_gguf.h"

namespace etch {
namespace {

using test::TinyGguf;
using testing::HasSubstr;

TEST(ReadGguf, FindsKeysAndTensorsByName) {
  TinyGguf tiny("llama");
  tiny.contents().set("llama.block_count", 2u);
  tiny.tensor("a.weight", DType::q4_0, {64, 3});
  const GgufFile file = tiny.file();
  EXPECT_EQ(file.find_key("llama.block_count")->integer(), 2);
  EXPECT_EQ(file.find_key("llama.block"), nullptr);
  const TensorInfo* t = file.find_tensor("a.weight");
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->dims, (std::vector<int64_t>{64, 3}));
  EXPECT_EQ(t->elements, 192);
  EXPECT_EQ(t->bytes, 6 * 18);
  EXPECT_EQ(file.find_tensor("a"), nullptr);
  // Where things lie, for tools that show the bytes.
  const auto bytes = file.mapping->bytes();
  EXPECT_EQ(bytes[static_cast<size_t>(t->info_offset)], 8);  // length of the name
  EXPECT_EQ(bytes[static_cast<size_t>(file.keys[1].offset)], 17);
  EXPECT_EQ(file.keys[1].bytes, 8 + 17 + 4 + 4);
  EXPECT_EQ(file.keys[1].offset, file.keys[0].offset + file.keys[0].bytes);
}

TEST(ReadGguf, ValuesSayTheirTypeAndNothingElse) {
  TinyGguf tiny;
  tiny.contents().set("count", 7u);
  tiny.contents().set("negative", -7);
  tiny.contents().set("large", uint64_t{1} << 63);
  tiny.contents().set("half", 0.5f);
  tiny.contents().set("yes", true);
  tiny.contents().set("texts", std::vector<std::string>{"a", "b"});
  tiny.contents().set("reals", std::vector<double>{1.5, 2.5});
  const GgufFile file = tiny.file();
  const auto key = [&](std::string_view name) { return *file.find_key(name); };
  EXPECT_EQ(key("count").integer(), 7);
  EXPECT_EQ(key("count").real(), 7.0);
  EXPECT_EQ(key("count").truth(), std::nullopt);
  EXPECT_EQ(key("count").text(), std::nullopt);
  EXPECT_EQ(key("negative").integer(), -7);
  EXPECT_EQ(key("negative").unsigned_integer(), std::nullopt);
  EXPECT_EQ(key("large").integer(), std::nullopt);
  EXPECT_EQ(key("large").unsigned_integer(), uint64_t{1} << 63);
  EXPECT_EQ(key("half").integer(), std::nullopt);
  EXPECT_EQ(key("half").real(), 0.5);
  EXPECT_EQ(key("yes").truth(), true);
  EXPECT_EQ(key("yes").integer(), std::nullopt);
  EXPECT_EQ(key("texts").text(), std::nullopt);
  EXPECT_EQ(key("texts").real_at(0), std::nullopt);
  EXPECT_EQ(key("reals").real_at(1), 2.5);
  EXPECT_EQ(key("reals").real_at(2), std::nullopt);
  EXPECT_EQ(key("reals").real_at(-1), std::nullopt);
  EXPECT_EQ(key("reals").integer_at(0), std::nullopt);
}

TEST(ReadGguf, PrintsLongValuesShortly) {
  TinyGguf tiny;
  tiny.contents().set("numbers", std::vector<int32_t>(30, 1));
  tiny.contents().set("long", std::string(500, 'x'));
  const GgufFile file = tiny.file();
  EXPECT_EQ(file.find_key("numbers")->print(2), "[1, 1, ... 30 entries]");
  EXPECT_EQ(file.find_key("numbers")->print(0), "[... 30 entries]");
  EXPECT_LT(file.find_key("long")->print().size(), 100u);
}

// Versions 1 and 2: one NUL at the end of a name or text is a writer's mistake; two are not.
TEST(ReadGguf, DropsOneCountedNulOfOldFiles) {
  TinyGguf tiny;
  tiny.contents().set("texts", std::vector<std::string>{"a", "b"});
  tiny.numbers("a.weight", {1});
  for (const uint32_t version : {1u, 2u}) {
    const GgufFile file = tiny.file({.version = version, .count_nul = true});
    EXPECT_EQ(file.find_key("general.architecture")->text(), "llama");
    EXPECT_EQ(file.find_key("general.architecture")->bytes.size(), 6u);  // for byte-exact display
    EXPECT_NE(file.find_tensor("a.weight"), nullptr);
    std::vector<std::string> texts;
    file.find_key("texts")->each_text([&](int64_t, std::string_view t) { texts.emplace_back(t); });
    EXPECT_EQ(texts, (std::vector<std::string>{"a", "b"}));
  }
  TinyGguf two;
  two.contents().set("text", std::string_view("x\0\0", 3));
  EXPECT_EQ(two.file({.version = 2}).find_key("text")->text()->size(), 3u);
  EXPECT_EQ(two.file().find_key("text")->text()->size(), 3u);
  TinyGguf one;
  one.contents().set("text", std::string_view("x\0", 2));
  EXPECT_EQ(one.file({.version = 2}).find_key("text")->text(), "x");
  EXPECT_EQ(one.file().find_key("text")->text()->size(), 2u);  // version 3 means what it says
}

TEST(ReadGguf, SaysHowMuchOfATruncatedFileIsThere) {
  const test::TemporaryDir dir;
  TinyGguf tiny;
  tiny.tensor("blk.0.attn_q.weight", DType::f32, {64, 64})
      .tensor("blk.1.attn_q.weight", DType::f32, {64, 64});
  const std::string path = tiny.write(dir, "model.gguf");
  std::filesystem::resize_file(path, 20'000);
  const auto file = read_gguf(path);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().kind, ErrorKind::damaged);
  EXPECT_EQ(file.error().message,
            path +
                ": tensor data ends early\n"
                "  the file has 20,000 bytes, its header needs 32,960 (60 %)\n"
                "  first tensor affected: blk.1.attn_q.weight\n"
                "  this looks like an interrupted download; fetch it again");
  const std::string piece = dir / "model.gguf.part1of2";
  std::filesystem::rename(path, piece);
  EXPECT_THAT(read_gguf(piece).error().message, HasSubstr("join the pieces with cat"));
}

TEST(ReadGguf, SaysWhenTheFileEndsInsideItsHeader) {
  TinyGguf tiny;
  tiny.contents().set("tokenizer.ggml.tokens", std::vector<std::string>(1000, "token"));
  auto bytes = tiny.bytes();
  bytes.resize(500);
  const auto file = read_gguf(test::mapping_of(bytes, "model.gguf"));
  EXPECT_THAT(file.error().message,
              testing::AllOf(HasSubstr("model.gguf: key 'tokenizer.ggml.tokens'"),
                             HasSubstr("an array of 1000 string values"),
                             HasSubstr("interrupted download")));
}

TEST(ReadGguf, WarnsOnceOfEachKind) {
  TinyGguf tiny;
  for (int i = 0; i < 100; ++i) tiny.contents().set("Odd Key " + std::to_string(i), 1u);
  const GgufFile file = tiny.file();
  EXPECT_THAT(file.warnings,
              testing::ElementsAre(
                  "a key is not made of lower-case words joined by dots: 'Odd Key 0' and 99 more"));
}

TEST(ReadGguf, PassesOnWhatCannotBeOpened) {
  const auto file = read_gguf("/nonexistent/model.gguf");
  EXPECT_EQ(file.error().kind, ErrorKind::resources);
  EXPECT_THAT(file.error().message, testing::StartsWith("/nonexistent/model.gguf: "));
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// 100 GB of tensor data, none of it on the disk: opening reads the header and nothing else.
TEST(ReadGguf, OpeningCostsWhatTheHeaderCosts) {
  const test::TemporaryDir dir;
  TinyGguf tiny;
  tiny.contents().set("tokenizer.ggml.tokens", std::vector<std::string>(100'000, "token"));
  const std::string path = tiny.write(dir, "large.gguf");
  // Descriptors are written as they are, the data are a hole.
  constexpr int64_t kRow = 1 << 20, kRows = 500, kTensors = 50;  // 50 x 2 GB
  GgufContents contents = tiny.contents();
  {
    GgufContents shapes = contents;
    for (int64_t i = 0; i < kTensors; ++i)
      shapes.add_tensor("blk." + std::to_string(i) + ".w", DType::f32, {0}, {});
    auto bytes = gguf_bytes(shapes).value();
    // Give each descriptor its size and place: dims[0] stands behind the name and n_dims.
    auto at = bytes.begin();
    for (int64_t i = 0; i < kTensors; ++i) {
      const std::string name = "blk." + std::to_string(i) + ".w";
      at = std::search(at, bytes.end(), name.begin(), name.end()) +
           static_cast<int64_t>(name.size()) + 4;
      const int64_t dim = kRow * kRows, offset = i * dim * 4;
      std::memcpy(&*at, &dim, 8);
      std::memcpy(&*at + 12, &offset, 8);
    }
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    std::error_code error;
    std::filesystem::resize_file(
        path, bytes.size() + static_cast<uint64_t>(kTensors * kRow * kRows * 4), error);
    if (error) GTEST_SKIP() << "this file system has no files of 100 GB: " << error.message();
  }
  const int64_t resident_before = resident_bytes();
  const auto before = std::chrono::steady_clock::now();
  const auto file = read_gguf(path);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), static_cast<size_t>(kTensors));
  EXPECT_GT(file->parts[0].file_bytes, 100'000'000'000);
  EXPECT_LT(seconds, 1.0);
  EXPECT_LT(resident_bytes() - resident_before, 8 << 20);  // the header is 1.3 MB
  EXPECT_EQ(file->data(file->tensors.back()).size(), static_cast<size_t>(kRow * kRows * 4));
}

}  // namespace
}  // namespace etch

#include "gguf/write_gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/hex.h"
#include "support/shared_dir.h"
#include "support/tiny_gguf.h"

namespace etch {
namespace {

using test::TinyGguf;

std::vector<uint8_t> edge_case(const std::string& name) {
  const auto cases =
      nlohmann::json::parse(test::read_text(test::vectors_file("gguf_edge_cases.json")))["cases"];
  for (const auto& c : cases) {
    if (c["name"] == name) return test::bytes_of_hex(c["hex"].get<std::string>());
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

// Files made by others, byte for byte.
TEST(WriteGguf, WritesTheFilesOthersWrite) {
  TinyGguf tiny("llama");
  tiny.numbers("a", {1, 2, 3, 4});
  EXPECT_EQ(tiny.bytes(), edge_case("ok_fullpad"));
  EXPECT_EQ(tiny.bytes({.version = 2}), edge_case("v2"));
  EXPECT_EQ(tiny.bytes({.version = 1}), edge_case("v1"));
  EXPECT_EQ(tiny.bytes({.big_endian = true}), edge_case("be"));
  tiny.contents().set("general.alignment", 64u);
  EXPECT_EQ(tiny.bytes(), edge_case("align64"));
  EXPECT_EQ(TinyGguf("llama").bytes(), edge_case("zero_tensors_nopad"));
}

GgufContents every_kind_of_value() {
  GgufContents c;
  c.set("general.architecture", "llama");
  c.set("u8", uint8_t{200});
  c.set("i8", int8_t{-100});
  c.set("u16", uint16_t{60000});
  c.set("i16", int16_t{-30000});
  c.set("u32", 4000000000u);
  c.set("i32", -2000000000);
  c.set("f32", 0.1f);
  c.set("bool", true);
  c.set("text", "\xc3\xa9t\xc3\xa9");
  c.set("i32s", std::vector<int32_t>{1, -2, 3});
  c.set("f32s", std::vector<float>{0.5f, -0.25f});
  c.set("u8s", std::vector<uint8_t>{1, 2, 255});
  c.set("bools", std::vector<bool>{true, false});
  c.set("texts", std::vector<std::string>{"a", "", "bc"});
  c.set("none", std::vector<int32_t>{});
  return c;
}

std::vector<std::string> printed(const GgufFile& file) {
  std::vector<std::string> lines;
  for (const Key& key : file.keys)
    lines.push_back(std::string(key.name) + " = " + key.value.print(10));
  return lines;
}

const std::vector<std::string> kPrinted = {"general.architecture = 'llama'",
                                           "u8 = 200",
                                           "i8 = -100",
                                           "u16 = 60000",
                                           "i16 = -30000",
                                           "u32 = 4000000000",
                                           "i32 = -2000000000",
                                           "f32 = 0.1",
                                           "bool = true",
                                           "text = '\xc3\xa9t\xc3\xa9'",
                                           "i32s = [1, -2, 3]",
                                           "f32s = [0.5, -0.25]",
                                           "u8s = [1, 2, 255]",
                                           "bools = [true, false]",
                                           "texts = ['a', '', 'bc']",
                                           "none = []"};

TEST(WriteGguf, EveryVersionAndOrderReadsTheSame) {
  const WriteOptions all[] = {{},
                              {.big_endian = true},
                              {.version = 2},
                              {.version = 1},
                              {.version = 2, .count_nul = true},
                              {.version = 1, .count_nul = true}};
  for (const WriteOptions& options : all) {
    SCOPED_TRACE(fmt::format("version {} big {} nul {}", options.version, options.big_endian,
                             options.count_nul));
    const auto file =
        read_gguf(test::mapping_of(gguf_bytes(every_kind_of_value(), options).value()));
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_EQ(printed(*file), kPrinted);
    EXPECT_EQ(file->parts[0].version, options.version);
  }
}

// Keys of any file, written again as version 3: nothing of the old version or order is left.
TEST(WriteGguf, TranslatesKeysOfOldFiles) {
  const auto wanted = gguf_bytes(every_kind_of_value()).value();
  for (const WriteOptions& options :
       {WriteOptions{.big_endian = true}, {.version = 1, .count_nul = true}, {.version = 2}}) {
    const auto old =
        read_gguf(test::mapping_of(gguf_bytes(every_kind_of_value(), options).value()));
    GgufContents copy;
    for (const Key& key : old->keys) copy.set(key.name, key.value);
    EXPECT_EQ(gguf_bytes(copy).value(), wanted);
  }
}

TEST(WriteGguf, TranslatesNestedArrays) {
  const auto nested = edge_case("nested");
  const auto file = read_gguf(test::mapping_of(nested)).value();
  GgufContents copy;
  for (const Key& key : file.keys) copy.set(key.name, key.value);
  for (const TensorInfo& t : file.tensors) copy.add_tensor(t.name, t.dtype, t.dims, file.data(t));
  EXPECT_EQ(gguf_bytes(copy).value(), nested);
  const auto big = gguf_bytes(copy, {.big_endian = true}).value();
  const auto back = read_gguf(test::mapping_of(big)).value();
  GgufContents again;
  for (const Key& key : back.keys) again.set(key.name, key.value);
  for (const TensorInfo& t : file.tensors) again.add_tensor(t.name, t.dtype, t.dims, file.data(t));
  EXPECT_EQ(gguf_bytes(again).value(), nested);
}

TEST(WriteGguf, LaysTensorsOutStrictly) {
  TinyGguf tiny;
  tiny.tensor("a", DType::q4_0, {32, 3})
      .tensor("b", DType::f32, {5})
      .tensor("none", DType::f16, {0, 4})
      .tensor("c", DType::q6_k, {256, 2});
  const GgufFile file = tiny.file();
  EXPECT_TRUE(file.warnings.empty()) << file.warnings[0];
  const int64_t start = file.parts[0].data_offset;
  EXPECT_EQ(file.tensors[0].offset, start);
  EXPECT_EQ(file.tensors[1].offset, start + 64);       // 54 bytes
  EXPECT_EQ(file.tensors[2].offset, start + 64 + 32);  // 20 bytes
  EXPECT_EQ(file.tensors[3].offset, start + 64 + 32);  // none
  EXPECT_EQ(file.parts[0].file_bytes, start + 64 + 32 + 448);
  EXPECT_EQ(file.find_tensor("c")->bytes, 420);
}

TEST(WriteGguf, ReplacesAKeyInItsPlace) {
  GgufContents c;
  c.set("general.name", "old");
  c.set("other", 1u);
  c.set("general.name", "new");
  const auto file = read_gguf(test::mapping_of(gguf_bytes(c).value())).value();
  EXPECT_EQ(printed(file), (std::vector<std::string>{"general.name = 'new'", "other = 1"}));
}

TEST(WriteGguf, StreamsPiecesAndChecksTheirSum) {
  TinyGguf tiny;
  const std::vector<uint8_t> piece(8, 1);
  int pieces = 4;
  tiny.contents().tensors.push_back({"a", DType::f32, {8}, [&](const ByteSink& sink) -> Status {
                                       for (int i = 0; i < pieces; ++i) ETCH_TRY(sink(piece));
                                       return {};
                                     }});
  EXPECT_EQ(tiny.file().tensors[0].bytes, 32);
  for (pieces = 3; pieces <= 5; pieces += 2) {
    const auto bytes = gguf_bytes(tiny.contents());
    ASSERT_FALSE(bytes.has_value());
    EXPECT_THAT(bytes.error().message, testing::HasSubstr("where its shape needs 32"));
  }
}

TEST(WriteGguf, RefusesWhatReadersRefuse) {
  const std::vector<uint8_t> data(1024);
  const auto message = [](const GgufContents& c, const WriteOptions& options = {}) {
    const auto bytes = gguf_bytes(c, options);
    return bytes ? "written" : bytes.error().message;
  };
  const auto with_tensor = [&](std::string name, DType type, std::vector<int64_t> dims) {
    GgufContents c;
    c.add_tensor(name, type, std::move(dims), data);
    return message(c);
  };
  EXPECT_THAT(with_tensor("", DType::f32, {1}), testing::HasSubstr("1 to 63 bytes"));
  EXPECT_THAT(with_tensor(std::string(64, 'n'), DType::f32, {1}),
              testing::HasSubstr("1 to 63 bytes"));
  EXPECT_THAT(with_tensor("a", DType::q4_0, {31}), testing::HasSubstr("whole 32-element blocks"));
  EXPECT_THAT(with_tensor("a", DType::f32, {1, 1, 1, 1, 1}), testing::HasSubstr("4 at most"));
  EXPECT_THAT(with_tensor("a", DType::f32, {INT64_MAX, 2}),
              testing::HasSubstr("cannot be written"));
  GgufContents twice;
  twice.add_tensor("a", DType::f32, {1}, data);
  twice.add_tensor("a", DType::f32, {1}, data);
  EXPECT_THAT(message(twice), testing::HasSubstr("stands twice"));
  GgufContents odd;
  odd.set("general.alignment", 24u);
  EXPECT_THAT(message(odd), testing::HasSubstr("power of two"));
  odd.set("general.alignment", uint64_t{32});
  EXPECT_THAT(message(odd), testing::HasSubstr("as u32"));
  GgufContents wide;
  wide.set("f64", 1.5);
  EXPECT_THAT(message(wide, {.version = 1}), testing::HasSubstr("none that version 1 has"));
  EXPECT_THAT(message({}, {.version = 2, .big_endian = true}),
              testing::HasSubstr("cannot be written"));
}

TEST(WriteGguf, AFailureLeavesNoFile) {
  const test::TemporaryDir dir;
  TinyGguf tiny;
  tiny.contents().tensors.push_back({"a", DType::f32, {8}, [](const ByteSink&) -> Status {
                                       return fail(ErrorKind::resources, "the source is gone");
                                     }});
  const auto status = write_gguf(dir / "m.gguf", tiny.contents());
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, testing::HasSubstr("tensor 'a': the source is gone"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(WriteGguf, TheFileHasTheBytes) {
  const test::TemporaryDir dir;
  TinyGguf tiny;
  tiny.tensor("a", DType::q5_1, {64, 4});
  const auto text = read_file(tiny.write(dir, "m.gguf"), 1 << 20).value();
  const auto bytes = tiny.bytes();
  EXPECT_EQ(std::vector<uint8_t>(text.begin(), text.end()), bytes);
}

}  // namespace
}  // namespace etch

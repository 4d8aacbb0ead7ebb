// Vocabularies with ids from the models' own tokenizers and from llama.cpp (shared/data/vocab), and
// texts of real models (shared/data/models).
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/hex.h"
#include "support/model_file.h"
#include "support/shared_dir.h"
#include "text/utf8.h"

namespace etch {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path) {
  auto model = read_model(path);
  if (!model) {
    ADD_FAILURE() << path << ": " << model.error().message;
    return nullptr;
  }
  auto tokenizer = make_tokenizer(*model);
  if (!tokenizer) {
    ADD_FAILURE() << path << ": " << tokenizer.error().message;
    return nullptr;
  }
  return std::move(*tokenizer);
}

std::string from_hex(const std::string& digits) {
  const auto bytes = test::bytes_of_hex(digits);
  return {bytes.begin(), bytes.end()};
}

// Texts, each followed by a separator line; the ids of each on a line.
std::vector<std::pair<std::string, Ids>> read_set(const std::filesystem::path& inp,
                                                  const std::filesystem::path& out) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string texts = test::read_text(inp);
  std::istringstream lines(test::read_text(out));
  std::vector<std::pair<std::string, Ids>> set;
  size_t begin = 0;
  for (size_t end; (end = texts.find(separator, begin)) != std::string::npos;
       begin = end + separator.size()) {
    std::string line;
    std::getline(lines, line);
    std::istringstream numbers(line);
    Ids ids;
    for (int32_t id; numbers >> id;) ids.push_back(id);
    set.emplace_back(texts.substr(begin, end - begin), ids);
  }
  return set;
}

class VocabularyFile : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto folder = test::shared_file("data/vocab");
    if (!folder) GTEST_SKIP() << "no shared/data/vocab";
    folder_ = *folder;
    name_ = "ggml-vocab-" + std::string(GetParam());
    tokenizer_ = open_tokenizer((folder_ / (name_ + ".gguf")).string());
    ASSERT_NE(tokenizer_, nullptr);
  }
  void expect_ids(const std::string& text, const EncodeOptions& options, const Ids& expected,
                  const char* what) {
    const auto ids = tokenizer_->encode(text, options);
    ASSERT_TRUE(ids.has_value()) << ids.error().message;
    EXPECT_EQ(*ids, expected) << name_ << ", " << what << ", text: " << text;
  }

  std::filesystem::path folder_;
  std::string name_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(VocabularyFile, EncodesTheSetsAsTheModelsOwnTokenizer) {
  for (const std::string& set : {name_ + ".gguf", name_ + ".set2"}) {
    if (!std::filesystem::exists(folder_ / (set + ".inp"))) continue;
    const auto cases = read_set(folder_ / (set + ".inp"), folder_ / (set + ".out"));
    EXPECT_GE(cases.size(), 40u) << set;
    for (const auto& [text, ids] : cases) expect_ids(text, {false, false}, ids, set.c_str());
  }
}

TEST_P(VocabularyFile, EncodesTheExtraTextsWithEveryFlag) {
  const json extra = json::parse(test::read_text(folder_ / "extra" / (name_ + ".json")));
  ASSERT_GE(extra["encode"].size(), 60u);
  for (const json& c : extra["encode"]) {
    const std::string text = from_hex(c["text_hex"]);
    const json& plain = c.contains("reference_ids") ? c["reference_ids"] : c["ids"];
    expect_ids(text, {false, false}, plain, "plain");
    if (c.contains("reference_ids")) continue;
    expect_ids(text, {false, true}, c.value("ids_parse_special", plain), "parse_special");
    expect_ids(text, {true, false}, c["ids_add_special"], "add_special");
    expect_ids(text, {true, true}, c.value("ids_both", c["ids_add_special"]), "both");
  }
}

TEST_P(VocabularyFile, DecodesTheExtraIds) {
  const json extra = json::parse(test::read_text(folder_ / "extra" / (name_ + ".json")));
  for (const json& c : extra["decode"]) {
    const Ids ids = c["ids"];
    for (const auto& [field, special, remove] :
         {std::tuple{"keep_plain", false, false}, std::tuple{"keep_special", true, false},
          std::tuple{"remove_plain", false, true}, std::tuple{"remove_special", true, true}}) {
      if (!c.contains(field)) continue;
      EXPECT_EQ(tokenizer_->decode_bytes(
                    ids, {.special = special, .remove_special = remove, .clean_spaces = true}),
                from_hex(c[field]))
          << name_ << " " << field << " " << c["ids"].dump();
    }
  }
}

TEST_P(VocabularyFile, StreamsTheSameTextAsAtOnceAndOnlyValidUtf8) {
  const json extra = json::parse(test::read_text(folder_ / "extra" / (name_ + ".json")));
  for (const json& c : extra["encode"]) {
    const Ids ids = c["ids"];
    TextStream stream(*tokenizer_);
    std::string streamed, bytes;
    for (const int32_t id : ids) {
      const std::string piece = stream.push(id);
      EXPECT_TRUE(is_valid_utf8(piece));
      streamed += piece;
      bytes += tokenizer_->token_bytes(id);
    }
    streamed += stream.finish();
    EXPECT_EQ(streamed, replace_invalid_utf8(bytes));
  }
}

// Long runs that no pattern cuts: what costs n log n here takes seconds, what costs n squared would
// take days.
TEST_P(VocabularyFile, TakesLongRunsOfOneCharacterAndBrokenBytes) {
  for (const std::string& unit :
       {std::string("a"), std::string(" "), std::string("\n"), std::string("1"), std::string("中"),
        std::string("aB"), std::string("\xFF"), std::string("e\u0301"), std::string("<")}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    const auto ids = tokenizer_->encode(text, {false, true});
    ASSERT_TRUE(ids.has_value()) << ids.error().message;
    if (name_.ends_with("qwen3") && unit[0] == 'e') continue;  // composed
    std::string decoded = tokenizer_->decode_bytes(*ids);
    if (unit == "\xFF" && tokenizer_->vocabulary().byte_level)
      text = replace_invalid_utf8(text, true);
    EXPECT_TRUE(decoded == text) << name_ << " does not give back a run of '" << unit << "'";
  }
}

class RealModel : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RealModel, EncodesTheTextsAsTwoOtherTokenizersAgree) {
  const auto [folder, file] = GetParam();
  const auto data = test::shared_file("data/models");
  const auto path = test::model_file(file);
  if (!data || !path) GTEST_SKIP() << file << " or shared/data/models is not here";
  const auto tokenizer = open_tokenizer(*path);
  ASSERT_NE(tokenizer, nullptr);
  for (const std::string text :
       {"prose_en", "code_python", "json", "mixed_scripts", "chat", "medium_1500"}) {
    const std::string source = text == "chat" ? "chat." + std::string(folder) : text;
    const std::string content = test::read_text(*data / "texts" / (source + ".txt"));
    const std::string raw = test::read_text(*data / folder / text / "tokens.i32");
    Ids expected(raw.size() / sizeof(int32_t));
    ASSERT_FALSE(expected.empty()) << text;
    std::memcpy(expected.data(), raw.data(), expected.size() * sizeof(int32_t));
    const auto ids = tokenizer->encode(content);
    ASSERT_TRUE(ids.has_value()) << ids.error().message;
    EXPECT_EQ(*ids, expected) << folder << " " << text;
    EXPECT_EQ(tokenizer->decode(*ids, {.special = true, .remove_special = true}), content)
        << folder << " " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealModel,
                         testing::Values(std::pair{"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
                                         std::pair{"gemma3", "gemma-3-270m-q4_k_m.gguf"}),
                         [](const auto& info) { return std::string(info.param.first); });

INSTANTIATE_TEST_SUITE_P(Shared, VocabularyFile,
                         testing::Values("llama-spm", "mini-spm-bytes", "baichuan", "gpt-2",
                                         "gpt-neox", "qwen3", "deepseek-coder", "falcon", "refact"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace etch

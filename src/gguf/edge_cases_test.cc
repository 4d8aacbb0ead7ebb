// Tiny files made elsewhere, each with one peculiarity. Where the specification and the reference
// reader disagree, etch reads what has one meaning (and warns), and refuses what leads to ambiguity
// or harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "gguf/gguf_file.h"
#include "support/hex.h"
#include "support/shared_dir.h"

namespace etch {
namespace {

struct Verdict {
  bool accepted;
  std::string says;  // part of the error, or of a warning; "" for accepted without a word
};

const std::map<std::string, Verdict> kVerdicts = {
    {"align0", {false, "general.alignment is 0"}},
    {"align1", {false, "general.alignment is 1"}},  // float32 would lie anywhere
    {"align24", {true, "not a power of two"}},      // legal by the specification
    {"align2p31", {false, "general.alignment is 2147483648"}},
    {"align64", {true, ""}},
    {"align8", {true, ""}},
    {"alignu64", {false, "of type u64; it must be u32"}},
    {"badtype13", {false, "value type 13"}},
    {"badutf8", {true, "a text is not UTF-8"}},  // old vocabularies have such texts
    {"be", {true, ""}},
    {"boolval2", {true, "counts as true"}},
    {"dim_zero", {true, ""}},
    {"dims0", {true, ""}},
    {"dims5", {false, "5 dimensions"}},
    {"dupkey", {false, "this key came before"}},
    {"duptensor", {false, "stands twice"}},
    {"empty", {false, "the file is empty"}},
    {"emptyarr", {true, ""}},
    {"emptykey", {false, "a key may not be empty"}},
    {"emptytname", {false, "must have a name"}},
    {"gap", {true, "gaps or another order"}},
    {"magic", {false, "it begins with 'GGUX'"}},
    {"name63", {true, ""}},
    {"name64", {true, "64 bytes"}},
    {"nested", {true, ""}},
    {"noarch", {true, ""}},
    {"nulkey", {false, "may not hold a NUL"}},
    {"ok_fullpad", {true, ""}},
    {"ok_nopad_last", {true, "not padded"}},
    {"q4_0_bad", {false, "Q4_0 needs a multiple of 32"}},
    {"reorder", {true, "gaps or another order"}},
    {"trailing", {true, "bytes behind the end of the data: 40"}},
    {"trunc_data", {false, "tensor data ends early"}},
    {"type99", {false, "tensor type 99"}},
    {"type_removed4", {false, "Q4_2 (removed"}},
    {"upperkey", {true, "lower-case words"}},
    {"v1", {true, ""}},
    {"v2", {true, ""}},
    {"v4", {false, "GGUF version 4"}},
    {"zero_tensors_nopad", {true, ""}},
    {"zero_tensors_pad", {true, ""}},
};

nlohmann::json edge_cases() {
  return nlohmann::json::parse(
      test::read_text(test::vectors_file("gguf_edge_cases.json")))["cases"];
}

TEST(EdgeCases, EachHasItsVerdict) {
  const auto cases = edge_cases();
  EXPECT_EQ(cases.size(), kVerdicts.size());
  for (const auto& c : cases) {
    const auto name = c["name"].get<std::string>();
    SCOPED_TRACE(name + ": " + c["what"].get<std::string>());
    ASSERT_TRUE(kVerdicts.contains(name));
    const Verdict& verdict = kVerdicts.at(name);
    // A verdict both sides agree on is ours too.
    const auto theirs = c["verdict"].get<std::string>();
    if (theirs.starts_with("accept")) {
      EXPECT_TRUE(verdict.accepted);
    }
    if (theirs.starts_with("reject")) {
      EXPECT_FALSE(verdict.accepted);
    }

    const auto bytes = test::bytes_of_hex(c["hex"].get<std::string>());
    const auto file = read_gguf(std::make_shared<Mapping>(Mapping::of_memory(bytes, "case.gguf")));
    ASSERT_EQ(file.has_value(), verdict.accepted) << (file ? "accepted" : file.error().message);
    if (!file) {
      EXPECT_THAT(file.error().message, testing::HasSubstr(verdict.says));
      EXPECT_THAT(file.error().message, testing::StartsWith("case.gguf: "));
    } else if (verdict.says.empty()) {
      EXPECT_THAT(file->warnings, testing::IsEmpty());
    } else {
      EXPECT_THAT(file->warnings, testing::ElementsAre(testing::HasSubstr(verdict.says)));
    }
  }
}

TEST(EdgeCases, AcceptedFilesSayTheSame) {
  for (const auto& c : edge_cases()) {
    const auto name = c["name"].get<std::string>();
    if (!kVerdicts.at(name).accepted) continue;
    SCOPED_TRACE(name);
    const auto bytes = test::bytes_of_hex(c["hex"].get<std::string>());
    const auto file = read_gguf(std::make_shared<Mapping>(Mapping::of_memory(bytes)));
    ASSERT_TRUE(file.has_value());
    if (name != "noarch") {
      const KeyValue* architecture = file->find_key("general.architecture");
      ASSERT_NE(architecture, nullptr);
      EXPECT_EQ(architecture->text(), "llama");
    }
    if (name.starts_with("zero_tensors")) {
      EXPECT_TRUE(file->tensors.empty());
      continue;
    }
    const TensorInfo& tensor = file->tensors.at(0);
    EXPECT_EQ(tensor.name,
              name.starts_with("name6") ? std::string(name == "name63" ? 63 : 64, 'n') : "a");
    EXPECT_EQ(tensor.dtype, DType::f32);
    if (name == "dim_zero") {
      EXPECT_EQ(tensor.bytes, 0);
    } else if (name == "dims0") {
      EXPECT_EQ(tensor.elements, 1);
      EXPECT_EQ(file->data(tensor).size(), 4u);
    } else {
      EXPECT_EQ(tensor.elements, 4);
      EXPECT_EQ(file->data(tensor).size(), 16u);
    }
  }
}

}  // namespace
}  // namespace etch

// Drafts of circuits: what is known is used, what is not is marked, nothing is wired by guessing.
#include "study/draft_circuit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "circuit/bind.h"
#include "circuit/check.h"
#include "support/tiny_gguf.h"
#include "support/tiny_model_file.h"

namespace etch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A made-up model of a circuit under an architecture that no circuit knows, with more in it.
class DraftTest : public testing::Test {
 protected:
  std::shared_ptr<const Model> renamed(const std::string& circuit, const std::string& arch,
                                       const std::function<void(GgufContents&)>& change = {},
                                       const std::function<bool(std::string_view)>& keep = {}) {
    SynthOptions how = {.n_layers = 2};
    how.optional = SynthOptions::Optional::none;
    auto bytes = synth_gguf(*test::embedded_circuit(circuit), how);
    EXPECT_TRUE(bytes);
    original_ = *read_gguf(test::mapping_of(std::move(*bytes)));
    GgufContents contents;
    for (const Key& k : original_->keys) {
      std::string name(k.name);
      const std::string old = circuit + ".";  // both are called alike
      if (name.starts_with(old)) name = arch + "." + name.substr(old.size());
      contents.set(name, k.value);
    }
    contents.set("general.architecture", arch);
    for (const TensorInfo& t : original_->tensors)
      if (!keep || keep(t.name))
        contents.add_tensor(std::string(t.name), t.dtype, t.dims, original_->data(t));
    if (change) change(contents);
    const std::string path = dir_ / (arch + ".gguf");
    EXPECT_TRUE(write_gguf(path, contents).has_value());
    auto model = read_model(path);
    EXPECT_TRUE(model) << model.error().message;
    return std::make_shared<const Model>(std::move(*model));
  }
  CircuitDraft draft(const std::shared_ptr<const Model>& model) {
    auto made = draft_circuit(*load_library(), model, "new.gguf");
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : CircuitDraft{};
  }
  static Diagnostics checked(const CircuitDraft& draft) {
    auto circuit = parse_circuit(draft.text, "new.circuit");
    EXPECT_TRUE(circuit) << circuit.error().message << draft.text;
    return check_circuit(*circuit);
  }
  static void add_zeros(GgufContents& contents, const std::string& name,
                        std::vector<int64_t> dims) {
    static const std::vector<uint8_t> kZeros(1 << 16, 0);
    size_t n = sizeof(float);
    for (const int64_t d : dims) n *= static_cast<size_t>(d);
    contents.add_tensor(name, DType::f32, dims, std::span(kZeros).first(n));
  }
  static int64_t rows_of(const GgufContents& contents, std::string_view name) {
    for (const NewTensor& t : contents.tensors)
      if (t.name == name) return t.dims.at(1);
    ADD_FAILURE() << "no " << name;
    return 1;
  }

  test::TemporaryDir dir_;
  std::optional<GgufFile> original_;
};

TEST_F(DraftTest, TheSameTensorsUnderAnotherNameBindAtOnce) {
  const auto model = renamed("qwen3", "newarch");
  const CircuitDraft d = draft(model);
  EXPECT_EQ(d.nearest, "qwen3");
  EXPECT_EQ(d.n_known, d.n_tensors);
  EXPECT_THAT(d.open, testing::IsEmpty());
  EXPECT_THAT(d.text,
              AllOf(HasSubstr("circuit newarch 1\n"), HasSubstr("match arch == \"newarch\"\n"),
                    HasSubstr("# ??? This is the flow of qwen3"), Not(HasSubstr("import "))));
  EXPECT_EQ(checked(d).count(Severity::error), 0) << checked(d).print();
  ASSERT_TRUE(write_file(dir_ / "new.circuit", d.text).has_value());
  const auto library = load_library({.path = dir_ / "new.circuit"});
  ASSERT_TRUE(library) << library.error().message;
  const auto found = find_circuit(*library, *model);
  ASSERT_TRUE(found) << found.error().message;
  const auto bound = bind(*found, model, {.strict = true});
  EXPECT_TRUE(bound) << bound.error().message;
}

TEST_F(DraftTest, LeftOverTensorsBecomePartsThatTheCheckerAsksFor) {
  const auto model = renamed("llama", "newarch", [](GgufContents& c) {
    for (const char* layer : {"0", "1"}) {
      add_zeros(c, fmt::format("blk.{}.attn_gate.weight", layer), {64, 64});
      add_zeros(c, fmt::format("blk.{}.attn_sinks", layer), {4});
    }
    add_zeros(c, "embed_norm.weight", {rows_of(c, "blk.0.attn_output.weight")});
  });
  const CircuitDraft d = draft(model);
  EXPECT_EQ(d.nearest, "llama");
  EXPECT_EQ(d.n_tensors - d.n_known, 5u);
  EXPECT_THAT(d.open, Contains(HasSubstr("blk.*.attn_gate.weight (2 tensors, 64 x 64)")));
  EXPECT_THAT(d.text, HasSubstr("as \"blk.{l}.attn_sinks\""));
  EXPECT_THAT(d.text, HasSubstr("embed_norm  [d_model]  # ???"));
  const std::string said = checked(d).print(Severity::error);
  for (const char* part : {"attn_gate", "attn_sinks", "embed_norm"})
    EXPECT_THAT(said, HasSubstr(fmt::format("part '{}' is never used", part)));
  EXPECT_EQ(checked(d).count(Severity::error), 3) << said;
}

TEST_F(DraftTest, ALeftOverBiasGoesToItsMatrix) {
  const auto model = renamed("qwen3", "newarch", [](GgufContents& c) {
    for (const char* layer : {"0", "1"})
      add_zeros(c, fmt::format("blk.{}.ffn_gate.bias", layer),
                {rows_of(c, "blk.0.ffn_gate.weight")});
  });
  const CircuitDraft d = draft(model);
  EXPECT_THAT(d.open, Contains(HasSubstr("bias; is that right?")));
  EXPECT_EQ(checked(d).count(Severity::error), 0) << checked(d).print();
}

TEST_F(DraftTest, WhatTheFileLacksAndKeysThatNobodyReadsAreNamed) {
  const auto model = renamed(
      "qwen3", "newarch", [](GgufContents& c) { c.set("newarch.residual_scale", 0.25f); },
      [](std::string_view name) { return name.find("attn_k.") == std::string_view::npos; });
  const CircuitDraft d = draft(model);
  EXPECT_THAT(d.open, Contains(HasSubstr("attn_k.weight")));
  EXPECT_THAT(d.text, HasSubstr("# ??? key(\"residual_scale\") is 0.25: read it, or ignore it\n"));
  for (const std::string& o : d.open)
    if (o.find("attn_k.") != std::string::npos) EXPECT_THAT(d.text, HasSubstr("# ??? " + o));
  EXPECT_TRUE(parse_circuit(d.text, "new.circuit"));
}

TEST_F(DraftTest, KnownFilesAndStrangeOnesAreRefused) {
  const auto known = renamed("llama", "llama");
  auto made = draft_circuit(*load_library(), known, "a.gguf");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("knows this file already"));
  test::TinyGguf strange("strange");
  strange.tensor("alpha", DType::f32, {4});
  const auto model = std::make_shared<const Model>(*read_model(strange.file()));
  made = draft_circuit(*load_library(), model, "a.gguf");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace etch

// A circuit and a file's header: what does not fit, to the letter (circuit-language.md section 14,
// second table).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "circuit/bind.h"
#include "circuit/library.h"
#include "support/tiny_gguf.h"

namespace etch {
namespace {

// A llama of one layer, to be broken.
class Tiny {
 public:
  Tiny() {
    set("block_count", 1u)
        .set("embedding_length", 64u)
        .set("feed_forward_length", 96u)
        .set("attention.head_count", 4u);
    set("attention.head_count_kv", 2u)
        .set("attention.layer_norm_rms_epsilon", 1e-5f)
        .set("context_length", 128u);
    shapes_ = {{"token_embd.weight", {64, 32}},   {"output_norm.weight", {64}},
               {"output.weight", {64, 32}},       {"blk.0.attn_norm.weight", {64}},
               {"blk.0.attn_q.weight", {64, 64}}, {"blk.0.attn_k.weight", {64, 32}},
               {"blk.0.attn_v.weight", {64, 32}}, {"blk.0.attn_output.weight", {64, 64}},
               {"blk.0.ffn_norm.weight", {64}},   {"blk.0.ffn_gate.weight", {64, 96}},
               {"blk.0.ffn_up.weight", {64, 96}}, {"blk.0.ffn_down.weight", {96, 64}}};
  }
  template <class T>
  Tiny& set(const std::string& key, T value) {
    keys_.push_back([key, value](test::TinyGguf& g, const std::string& arch) {
      g.contents().set(arch + "." + key, value);
    });
    return *this;
  }
  Tiny& arch(std::string name) {
    arch_ = std::move(name);
    return *this;
  }
  Tiny& without(std::string_view tensor) {
    shapes_.erase(std::string(tensor));
    return *this;
  }
  Tiny& with(std::string_view tensor, std::vector<int64_t> dims) {
    shapes_[std::string(tensor)] = std::move(dims);
    return *this;
  }
  Tiny& type(std::string_view tensor, DType type) {
    types_[std::string(tensor)] = type;
    return *this;
  }
  std::shared_ptr<const Model> model() {
    test::TinyGguf g(arch_);
    for (const auto& k : keys_) k(g, arch_);
    for (const auto& [name, dims] : shapes_)
      g.tensor(name, types_.contains(name) ? types_[name] : DType::f32, dims);
    auto read = read_model(g.file());
    EXPECT_TRUE(read.has_value());
    return std::make_shared<const Model>(std::move(*read));
  }
  Result<Binding> bound(const BindOptions& options = {}) {
    auto m = model();
    auto library = ETCH_TRY(load_library());
    return bind(ETCH_TRY(find_circuit(library, *m)), m, options);
  }
  std::string said() {
    const auto b = bound();
    return b.has_value()
               ? ""
               : fmt::format("{}: {}", static_cast<int>(b.error().kind), b.error().message);
  }

 private:
  std::string arch_ = "llama";
  std::vector<std::function<void(test::TinyGguf&, const std::string&)>> keys_;
  std::map<std::string, std::vector<int64_t>> shapes_;
  std::map<std::string, DType> types_;
};

TEST(Header, ALegalOneBinds) { EXPECT_EQ(Tiny().said(), ""); }

TEST(Header, AnUnknownArchitectureNamesTheNearestCircuit) {
  EXPECT_EQ(Tiny().arch("foo").with("blk.0.attn_gate.weight", {64, 64}).said(),
            "4: no circuit knows architecture 'foo' (nearest: llama, 12 of 13 tensors match; not "
            "matched: blk.*.attn_gate.weight (1))");
}

TEST(Header, MissingAndWrongKeys) {
  EXPECT_EQ(Tiny().set("block_count", "many").said(),
            "3: key 'llama.block_count' is a text, a number is needed");
  test::TinyGguf empty("llama");
  auto m = std::make_shared<const Model>(*read_model(empty.file()));
  const auto b = bind(load_library()->find("llama"), m);
  ASSERT_FALSE(b.has_value());
  EXPECT_EQ(b.error().kind, ErrorKind::damaged);
  EXPECT_THAT(b.error().message,
              testing::StartsWith(
                  "key 'llama.embedding_length' is missing\nkey 'llama.block_count' is missing\n"
                  "key 'llama.feed_forward_length' is missing"));
}

TEST(Header, ABrokenRequirementShowsItsNumbers) {
  EXPECT_EQ(Tiny().set("attention.head_count", 32u).set("attention.head_count_kv", 5u).said(),
            "4: this file breaks 'n_heads % n_kv_heads == 0' (line 17): 32 % 5 = 2");
}

TEST(Header, AnUnknownRopeScalingIsAnError) {
  EXPECT_EQ(Tiny().set("rope.scaling.type", "dynamic").said(),
            "4: rope scaling type 'dynamic' is not known (none, linear, yarn, longrope)");
}

TEST(Header, EverythingMissingIsToldAtOnce) {
  EXPECT_EQ(Tiny()
                .without("blk.0.attn_q.weight")
                .without("blk.0.ffn_up.weight")
                .without("output.weight")
                .without("token_embd.weight")
                .said(),
            "3: tensor 'token_embd.weight' is missing\n"
            "tensor 'blk.0.attn_q.weight' is missing (nor blk.0.attn_qkv.weight)\n"
            "tensor 'blk.0.ffn_up.weight' is missing\n"
            "tensor 'output.weight' is missing (nor token_embd.weight)");
}

TEST(Header, AWrongShapeShowsBothInLettersAndNumbers) {
  EXPECT_EQ(Tiny().with("blk.0.attn_q.weight", {64, 32}).said(),
            "3: 'blk.0.attn_q.weight' is [32, 64], the circuit wants [n_heads*d_head, d_model] = "
            "[64, 64]");
}

TEST(Header, ATypeThatNobodyReadsIsNamed) {
  EXPECT_EQ(Tiny().type("blk.0.attn_norm.weight", DType::q4_0).said(),
            "4: 'blk.0.attn_norm.weight' is Q4_0, rmsnorm reads F32, F16 or BF16 (line 48)");
  EXPECT_EQ(
      Tiny().type("blk.0.attn_q.weight", DType::i32).said(),
      "4: 'blk.0.attn_q.weight' is I32, linear reads weights of numbers, not of ids (line 49)");
}

TEST(Header, TensorsLeftOverAreAnErrorKeysAWarning) {
  EXPECT_EQ(Tiny().with("blk.0.extra.weight", {4}).with("blk.1.attn_norm.weight", {64}).said(),
            "4: 2 tensors are not in the circuit: blk.0.extra.weight, blk.1.attn_norm.weight");
  const auto b = Tiny().set("foo", 3u).bound();
  ASSERT_TRUE(b.has_value()) << b.error().message;
  EXPECT_THAT(b->warnings, testing::ElementsAre(
                               "key 'llama.foo' = 3 is not in the circuit; read it or ignore it"));
  const auto strict = Tiny().set("foo", 3u).bound({.strict = true});
  ASSERT_FALSE(strict.has_value());
  EXPECT_EQ(strict.error().message,
            "key 'llama.foo' = 3 is not in the circuit; read it or ignore it");
}

TEST(Header, PacksBiasesAndPiecesOfStacksBind) {
  auto packed = Tiny()
                    .without("blk.0.attn_q.weight")
                    .without("blk.0.attn_k.weight")
                    .without("blk.0.attn_v.weight")
                    .with("blk.0.attn_qkv.weight", {64, 128})
                    .with("blk.0.attn_qkv.bias", {128})
                    .bound();
  ASSERT_TRUE(packed.has_value()) << packed.error().message;
  const BoundPart* k = packed->find("attn_k", 0);
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->tensor, "blk.0.attn_qkv.weight[64:96]");
  EXPECT_EQ(k->data.offsets[0] - k->data.weight->offset, 64 * 64 * 4);
  ASSERT_NE(k->bias, nullptr);
  EXPECT_EQ(k->bias->offsets[0] - k->bias->weight->offset, 64 * 4);

  auto experts = Tiny()
                     .without("blk.0.ffn_gate.weight")
                     .without("blk.0.ffn_up.weight")
                     .without("blk.0.ffn_down.weight")
                     .with("blk.0.ffn_gate_inp.weight", {64, 2})
                     .with("blk.0.ffn_gate.0.weight", {64, 96})
                     .with("blk.0.ffn_gate.1.weight", {64, 96})
                     .with("blk.0.ffn_up_exps.weight", {64, 96, 2})
                     .with("blk.0.ffn_down_exps.weight", {96, 64, 2})
                     .set("expert_count", 2u)
                     .set("expert_used_count", 1u)
                     .bound();
  ASSERT_TRUE(experts.has_value()) << experts.error().message;
  EXPECT_EQ(experts->circuit->name.text, "mixtral");
  EXPECT_EQ(experts->find("ffn_gate_exps", 0)->data.offsets.size(), 2u);
  const PartData& up = experts->find("ffn_up_exps", 0)->data;
  EXPECT_EQ(up.offsets[1] - up.offsets[0], 64 * 96 * 4);
}

TEST(Header, HostileNumbersAreRefused) {
  for (const uint64_t n : {uint64_t{0}, uint64_t{1} << 40, uint64_t{1} << 62, ~uint64_t{0}})
    for (const char* key :
         {"embedding_length", "block_count", "feed_forward_length", "attention.head_count",
          "attention.head_count_kv", "attention.key_length", "rope.dimension_count"}) {
      const auto b = Tiny().set(key, n).bound();
      EXPECT_FALSE(b.has_value()) << key << " " << n;
    }
  for (const float base : {0.0f, -1.0f, INFINITY, NAN})
    EXPECT_FALSE(Tiny().set("rope.freq_base", base).bound().has_value()) << base;
}

}  // namespace
}  // namespace etch

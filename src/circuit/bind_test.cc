#include "circuit/bind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "circuit/library.h"
#include "circuit/walk.h"
#include "support/shared_dir.h"

namespace etch {
namespace {

// The applications of a walk, one a line, as a person would read them.
class Listing final : public FlowSink {
 public:
  std::vector<std::string> lines;
  std::map<std::string, Operand, std::less<>> outputs;

  void input(const Operand& wire, std::string_view name) override {
    lines.push_back(fmt::format("%{} = input {}", wire.id, name));
  }
  Status apply(const Application& a) override {
    std::string s;
    for (const Operand& r : a.results) {
      EXPECT_EQ(r.id, next_++ + static_cast<int>(inputs_of(lines)));
      s += fmt::format("{}%{}: {}", s.empty() ? "" : ", ", r.id, print(r.type.shape));
    }
    s += fmt::format(" = {}(", name(a.op));
    bool first = true;
    for (const Operand& o : a.arguments) {
      s += (first ? "" : ", ") + text(o);
      first = false;
    }
    for (const NamedOperand& n : a.attributes) s += fmt::format(", {}: {}", n.name, text(n.value));
    lines.push_back(s + ")");
    return {};
  }
  void output(const Operand& wire, std::string_view name) override { outputs.emplace(name, wire); }

  static std::string text(const Operand& o) {
    switch (o.kind) {
      case Operand::Kind::wire:
        return fmt::format("%{}", o.id);
      case Operand::Kind::part:
        return o.name + (o.chosen ? "[e]" : "");
      case Operand::Kind::number:
        return fmt::format("{}", o.real);
      case Operand::Kind::truth:
        return o.truth ? "true" : "false";
      case Operand::Kind::symbol:
        return std::string(name(o.symbol));
      case Operand::Kind::numbers:
        return print(o.numbers);
      case Operand::Kind::none:
        return "none";
      default:
        return o.name;
    }
  }

 private:
  static size_t inputs_of(const std::vector<std::string>& lines) {
    return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [](const std::string& l) {
      return l.find("= input") != std::string::npos;
    }));
  }
  int next_ = 0;
};

Result<Binding> bind_file(const std::filesystem::path& path) {
  auto library = ETCH_TRY(load_library());
  auto model = std::make_shared<const Model>(ETCH_TRY(read_model(path.string())));
  return bind(ETCH_TRY(find_circuit(library, *model)), model);
}

// Architectures that a circuit knows.
constexpr std::string_view kTiny[] = {"bert",
                                      "deepseek2",
                                      "gemma3",
                                      "gemma3n",
                                      "gemma4",
                                      "gemma4-moe",
                                      "gpt-oss",
                                      "gpt-oss-notrunc",
                                      "llama",
                                      "llama-bias",
                                      "llama-linear",
                                      "llama-rope3",
                                      "llama-tied",
                                      "mamba",
                                      "mamba2",
                                      "mistral",
                                      "mixtral",
                                      "nemotron_h",
                                      "qwen2",
                                      "qwen3",
                                      "qwen35",
                                      "qwen3next",
                                      "t5"};

TEST(Bind, EveryTinyModelBindsWithNothingLeftOver) {
  for (const std::string_view name : kTiny) {
    const auto path = test::shared_file(fmt::format("data/tiny-hf/{}/model.gguf", name));
    if (!path) continue;
    const auto binding = bind_file(*path);
    ASSERT_TRUE(binding.has_value()) << name << ": " << binding.error().message;
    EXPECT_THAT(binding->warnings, testing::IsEmpty()) << name;
    for (const Flow& flow : binding->circuit->flows) {
      if (flow.name.text == "draft") continue;
      Listing listing;
      const Status walked = walk_flow(*binding, flow.name.text, listing);
      EXPECT_TRUE(walked.has_value()) << name << ": " << walked.error().message;
      EXPECT_FALSE(listing.lines.empty());
    }
  }
}

TEST(Bind, TheFlowOfATinyLlamaIsAStraightLine) {
  const auto path = test::shared_file("data/tiny-hf/llama/model.gguf");
  if (!path) return;
  const auto binding = bind_file(*path);
  ASSERT_TRUE(binding.has_value()) << binding.error().message;
  Listing listing;
  ASSERT_TRUE(walk_flow(*binding, "", listing).has_value());
  const std::vector<std::string> layer(listing.lines.begin(), listing.lines.begin() + 22);
  EXPECT_THAT(layer,
              testing::ElementsAre("%0 = input tokens",                 //
                                   "%1: [64] = embed(token_embd, %0)",  //
                                   "%2: [64] = rmsnorm(%1, attn_norm, 9.999999974752427e-07)",
                                   "%3: [64] = linear(%2, attn_q)",  //
                                   "%4: [4, 16] = heads(%3, 4)",     //
                                   "%5: [4, 16] = rope(%4, pos)",    //
                                   "%6: [32] = linear(%2, attn_k)",  //
                                   "%7: [2, 16] = heads(%6, 2)",     //
                                   "%8: [2, 16] = rope(%7, pos)",    //
                                   "%9: [32] = linear(%2, attn_v)",  //
                                   "%10: [2, 16] = heads(%9, 2)",    //
                                   "%11: [4, 16] = attention(%5, %8, %10, kv[0], scale: 0.25)",
                                   "%12: [64] = merge(%11)",                //
                                   "%13: [64] = linear(%12, attn_output)",  //
                                   "%14: [64] = add(%1, %13)",              //
                                   "%15: [64] = rmsnorm(%14, ffn_norm, 9.999999974752427e-07)",
                                   "%16: [96] = linear(%15, ffn_gate)",  //
                                   "%17: [96] = silu(%16)",              //
                                   "%18: [96] = linear(%15, ffn_up)",    //
                                   "%19: [96] = mul(%17, %18)",          //
                                   "%20: [64] = linear(%19, ffn_down)",  //
                                   "%21: [64] = add(%14, %20)"));
  EXPECT_EQ(listing.lines.size(), 1 + 1 + 2 * 20 + 2u);
  EXPECT_EQ(print(listing.outputs.at("logits").type.shape), "[320]");
  EXPECT_EQ(print(listing.outputs.at("hidden").type.shape), "[64]");
}

TEST(Bind, AMixIsALineOfApplicationsWithSlotsInFront) {
  const auto path = test::shared_file("data/tiny-hf/mixtral/model.gguf");
  if (!path) return;
  const auto binding = bind_file(*path);
  ASSERT_TRUE(binding.has_value()) << binding.error().message;
  Listing listing;
  ASSERT_TRUE(walk_flow(*binding, "", listing).has_value());
  const auto first =
      std::find_if(listing.lines.begin(), listing.lines.end(),
                   [](const std::string& l) { return l.find("route") != std::string::npos; });
  ASSERT_LT(first + 7, listing.lines.end());
  EXPECT_THAT(
      std::vector<std::string>(first, first + 8),
      testing::ElementsAre("%17: [2] = route(%16, top: 2, score: softmax, renorm: true)",  //
                           "%18: [2, 96] = linear_experts(%15, %17, ffn_gate_exps[e])",    //
                           "%19: [2, 96] = silu(%18)",                                     //
                           "%20: [2, 96] = linear_experts(%15, %17, ffn_up_exps[e])",      //
                           "%21: [2, 96] = mul(%19, %20)",                                 //
                           "%22: [2, 64] = linear_experts(%21, %17, ffn_down_exps[e])",    //
                           "%23: [64] = mix(%22, %17)",                                    //
                           "%24: [64] = add(%14, %23)"));
}

}  // namespace
}  // namespace etch

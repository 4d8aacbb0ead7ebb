#include "lower/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/passes.h"
#include "lower/explain.h"
#include "lowered/kinds.h"
#include "lowered/print.h"
#include "lowered/sizes.h"
#include "support/model_graphs.h"
#include "support/random_graph.h"

namespace etch {
namespace {

using model_graphs::Shape;
using ::testing::HasSubstr;

Result<Lowered> try_lower(const Shape& shape, const LowerOptions& options = {}) {
  model_graphs::Weights weights(shape.norms != DType::f32, 7);
  Result<Graph> graph = model_graphs::make(shape, weights);
  if (!graph) return tl::unexpected(graph.error());
  return lower(*graph, Target{}, options);
}

Lowered must_lower(const Shape& shape, const LowerOptions& options = {}) {
  Result<Lowered> lowered = try_lower(shape, options);
  EXPECT_TRUE(lowered) << lowered.error().message;
  return lowered ? std::move(*lowered) : Lowered{};
}

Shape tiny_mixtral() {
  Shape s = model_graphs::tiny({});
  s.n_experts = 8;
  s.n_used = 2;
  return s;
}

int64_t count(const CallList& list, std::string_view kernel) {
  return std::count_if(list.calls.begin(), list.calls.end(),
                       [&](const Call& c) { return c.kernel->name.starts_with(kernel); });
}

int64_t count_copies(const CallList& list) {
  return std::count_if(list.calls.begin(), list.calls.end(), [](const Call& c) {
    const auto fields = info(c.kernel->args).fields;
    for (size_t i = 0; i < fields.size(); ++i)
      if (c.kernel->args == ArgsKind::elementwise && fields[i].name == "op")
        return std::get<int32_t>(c.args[i]) == ETCH_EW_COPY;
    return false;
  });
}

Place place(const Call& call, std::string_view field) {
  const auto fields = info(call.kernel->args).fields;
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return std::get<Place>(call.args[i]);
  ADD_FAILURE() << "no field " << field;
  return {};
}

std::string print_kinds(const CallList& list) {
  std::string text;
  for (const LayerKind& k : layer_kinds(list))
    text += fmt::format("{} layers, {} calls, {} barriers:\n{}", k.layers.size(), k.n_calls,
                        k.n_barriers, k.text);
  return text;
}

// ---- layers of a kind look alike

TEST(Lower, gives_all_layers_of_smollm2_the_same_offsets) {
  const Lowered l = must_lower(model_graphs::smollm2());
  EXPECT_EQ(layer_kinds(l.decode).size(), 1u) << print_kinds(l.decode);
  EXPECT_EQ(layer_kinds(l.prefill).size(), 1u) << print_kinds(l.prefill);
  EXPECT_EQ(layer_kinds(l.decode)[0].layers.size(), 30u);
}

// Kinds by window (near, far) and by types (a third of the layers has other types for v and down).
TEST(Lower, gives_the_layers_of_gemma3_as_many_kinds_as_windows_and_types_make) {
  const Lowered l = must_lower(model_graphs::gemma3_270m());
  for (const CallList* list : {&l.decode, &l.prefill}) {
    const std::vector<LayerKind> kinds = layer_kinds(*list);
    ASSERT_EQ(kinds.size(), 3u) << print_kinds(*list);
    EXPECT_EQ(kinds[0].layers, (std::vector<int32_t>{0, 3, 6, 9, 12, 15}));
    EXPECT_EQ(kinds[1].layers, (std::vector<int32_t>{1, 2, 4, 7, 8, 10, 13, 14, 16}));
    EXPECT_EQ(kinds[2].layers, (std::vector<int32_t>{5, 11, 17}));
  }
}

TEST(Lower, gives_layers_of_experts_the_same_offsets) {
  Shape s = tiny_mixtral();
  s.n_layers = 7;
  const Lowered l = must_lower(s);
  EXPECT_EQ(layer_kinds(l.decode).size(), 1u) << print_kinds(l.decode);
  EXPECT_EQ(layer_kinds(l.prefill).size(), 1u) << print_kinds(l.prefill);
}

TEST(Lower, keeps_layers_alike_whatever_is_left_out) {
  for (const std::string& pass : lowering_passes()) {
    for (const Shape& shape : {model_graphs::tiny({}), tiny_mixtral()}) {
      const Lowered l = must_lower(shape, {.without = {pass}});
      EXPECT_EQ(layer_kinds(l.decode).size(), 1u) << pass << "\n" << print_kinds(l.decode);
      EXPECT_EQ(layer_kinds(l.prefill).size(), 1u) << pass << "\n" << print_kinds(l.prefill);
    }
  }
}

// ---- what is fused, repeated, shared

TEST(Lower, copies_nothing) {
  for (const Shape& s : {model_graphs::smollm2(), model_graphs::gemma3_270m(), tiny_mixtral()}) {
    const Lowered l = must_lower(s);
    EXPECT_EQ(count_copies(l.decode), 0) << s.name;
    EXPECT_EQ(count_copies(l.prefill), 0) << s.name;
  }
}

TEST(Lower, fuses_a_llama_layer_to_13_calls_with_7_barriers) {
  const Lowered l = must_lower(model_graphs::smollm2(), {.limits = {.n_threads = 2}});
  const LayerKind decode = layer_kinds(l.decode)[0];
  EXPECT_EQ(decode.n_calls, 13) << decode.text;
  // After q k v, append, attend, attend_merge, output, gate up, down.
  EXPECT_EQ(decode.n_barriers, 7) << decode.text;
  EXPECT_EQ(count(l.decode, "elementwise"), 0);
  EXPECT_EQ(count(l.decode, "rope"), 0);
  EXPECT_EQ(count(l.decode, "rmsnorm"),
            1 + count(l.decode, "rmsnorm_q8"));  // hidden, for the caller
  EXPECT_EQ(count(l.decode, "matmul"), 6 * 30 + 1);
}

TEST(Lower, computes_each_rotary_once_a_step) {
  const Lowered l = must_lower(model_graphs::gemma3_270m());
  EXPECT_EQ(count(l.decode, "rotary"), 2);
  EXPECT_EQ(count(l.prefill, "rotary"), 2);
  EXPECT_EQ(count(must_lower(model_graphs::smollm2()).decode, "rotary"), 1);
}

TEST(Lower, folds_the_embedding_scale_into_embed) {
  const Lowered l = must_lower(model_graphs::gemma3_270m());
  const auto embed = std::find_if(l.decode.calls.begin(), l.decode.calls.end(),
                                  [](const Call& c) { return c.kernel->args == ArgsKind::embed; });
  ASSERT_NE(embed, l.decode.calls.end());
  EXPECT_THAT(print_call(l, *embed), HasSubstr(fmt::format("factor={}", std::sqrt(640.0f))));
}

TEST(Lower, leaves_float32_norms_in_the_file_and_converts_others) {
  const Lowered f32 = must_lower(model_graphs::tiny({}));
  Shape s = model_graphs::tiny({});
  s.norms = DType::f16;
  const Lowered f16 = must_lower(s);
  const auto norm_weight = [](const Lowered& l) {
    for (const Call& c : l.decode.calls)
      if (c.kernel->args == ArgsKind::norm) return place(c, "weight").space;
    return Space::none;
  };
  EXPECT_EQ(norm_weight(f32), Space::file);
  EXPECT_EQ(norm_weight(f16), Space::constants);
  EXPECT_EQ(f16.constants.size(),
            f32.constants.size() + 7 * 256 * 4);  // 3 layers of 2, and the last
}

TEST(Lower, fuses_biases) {
  Shape s = model_graphs::tiny({});
  s.bias = true;
  EXPECT_EQ(count(must_lower(s).decode, "elementwise"), 0);
  EXPECT_EQ(count(must_lower(s, {.without = {"fuse_bias"}}).decode, "elementwise"), 3 * 3);
}

TEST(Lower, links_each_matmul_to_the_next) {
  const Lowered l = must_lower(model_graphs::smollm2());
  int32_t expected = -1;
  for (size_t i = l.decode.calls.size(); i-- > 0;) {
    const Call& c = l.decode.calls[i];
    if (c.kernel->args != ArgsKind::matmul) continue;
    EXPECT_EQ(std::get<CallRef>(c.args.back()).call, expected);
    expected = static_cast<int32_t>(i);
  }
}

TEST(Lower, makes_one_conversion_for_all_readers_of_a_wire) {
  const Lowered l = must_lower(model_graphs::smollm2(), {.without = {"fuse_norm_quantize"}});
  // h of attention, a, h of the feed-forward, g: four a layer, and hidden.
  EXPECT_EQ(count(l.decode, "quantize"), 4 * 30 + 1);
  EXPECT_EQ(count(l.prefill, "quantize"), 4 * 30 + 1);
}

TEST(Lower, repeats_in_decode_what_is_cheap_and_shares_it_out_in_prefill) {
  const Lowered l = must_lower(model_graphs::smollm2());
  for (const Call& c : l.decode.calls)
    EXPECT_TRUE(c.kernel->args != ArgsKind::quantize || c.split == Split::every_thread);
  for (const Call& c : l.prefill.calls) EXPECT_EQ(c.split, Split::items);
}

TEST(Lower, picks_registers_for_decode_and_panels_for_prefill) {
  const Lowered l = must_lower(model_graphs::smollm2());
  EXPECT_EQ(count(l.decode, "matmul_q4_1_registers"), 6 * 30);
  // The output head multiplies up to 16 rows even in prefill.
  EXPECT_EQ(count(l.prefill, "matmul_q4_1_panel"), 6 * 30);
  const Choice& first = l.choices[1];
  EXPECT_THAT(explain(l, first.node), HasSubstr("chosen"));
  EXPECT_THAT(explain(l, first.node), HasSubstr("times the cycles"));
}

// ---- memory

TEST(Lower, plans_the_larger_of_both_lists) {
  const Lowered l = must_lower(model_graphs::smollm2());
  const int64_t decode = bytes_at(l, Space::arena, false, 16, 16);
  const int64_t prefill = bytes_at(l, Space::arena, true, 512, 16);
  EXPECT_LE(std::max(decode, prefill), l.arena_bytes);
  EXPECT_GT(std::max(decode, prefill) + 64, l.arena_bytes);
  EXPECT_LT(bytes_at(l, Space::arena, true, 100, 1), prefill);
  EXPECT_EQ(l.outputs[0].shape, std::vector<int64_t>{49152});
}

TEST(Lower, needs_no_prefill_list_for_small_steps) {
  const Lowered l = must_lower(model_graphs::tiny({}), {.limits = {.n_rows = 8}});
  EXPECT_EQ(l.decode.max_rows, 8);
  EXPECT_TRUE(l.prefill.calls.empty());
}

TEST(Lower, tells_how_far_back_a_cache_is_seen) {
  const Lowered l = must_lower(model_graphs::gemma3_270m());
  EXPECT_EQ(l.states[0].window, 512);
  EXPECT_EQ(l.states[5].window, 0);
}

// ---- what cannot be

TEST(Lower, names_tensor_type_and_nearest_type_where_no_kernel_reads_it) {
  Shape s = model_graphs::tiny({});
  s.type = [](const std::string& part, int64_t layer) {
    return part == "attn_k" && layer == 1 ? DType::q5_1 : DType::q4_1;
  };
  std::vector<etch_kernel> kernels;
  for (const etch_kernel& k : Target{}.kernels)
    if (k.weight != DType::q5_1) kernels.push_back(k);
  model_graphs::Weights weights(false);
  const Result<Lowered> l = lower(*model_graphs::make(s, weights), {kernels}, {});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(l.error().message, HasSubstr("circuits/test.circuit:42"));
  EXPECT_THAT(l.error().message, HasSubstr("blk.1.attn_k.weight"));
  EXPECT_THAT(l.error().message, HasSubstr("Q5_1"));
  EXPECT_THAT(l.error().message, HasSubstr("nearest type that is: Q5_0"));
}

TEST(Lower, names_operation_and_line_where_there_is_no_kernel_yet) {
  Builder b("shift");
  b.origin({.file = "circuits/rwkv7.circuit", .line = 61});
  const ValueId x = b.input("x", Rows::tokens, {32});
  const int state = b.state({.name = "tail[0]", .kind = StateInfo::Kind::last, .n = 1, .d_k = 32});
  b.output("y", b.apply(Op::shift, {x}, {{"state", StateRef{state}}}));
  const Result<Graph> graph = std::move(b).finish();
  ASSERT_TRUE(graph) << graph.error().message;
  const Result<Lowered> l = lower(*graph, Target{}, {});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(l.error().message, HasSubstr("circuits/rwkv7.circuit:61: shift"));
}

TEST(Lower, says_why_attention_needs_rows_of_tokens) {
  Builder b("once");
  const ValueId x = b.input("x", Rows::once, {4, 16});
  b.output("y", b.apply(Op::attention, {x, x, x}, {{"scale", 1.0}}));
  const Result<Graph> graph = std::move(b).finish();
  ASSERT_TRUE(graph) << graph.error().message;
  const Result<Lowered> l = lower(*graph, Target{}, {});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(l.error().message,
              HasSubstr("attention: its kernels work on the rows of a step's tokens"));
}

// The head behind a gather that moved up to the step's tokens themselves.
TEST(Lower, looks_up_the_rows_that_want_outputs_alone_where_no_layer_mixes_tokens) {
  const std::vector<float> table(8 * 32, 0.5f);
  Builder b("bag");
  const ValueId ids = b.input("tokens", Rows::tokens, {}, Value::Kind::ids);
  const ValueId rows = b.embed(
      b.weight("table", DType::f32, {8, 32}, reinterpret_cast<const uint8_t*>(table.data())), ids);
  b.output("logits", b.apply(Op::outputs_only, {rows}));
  Result<Graph> graph = std::move(b).finish();
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_TRUE(run_passes(*graph, {}));
  const Result<Lowered> l = lower(*graph, Target{}, {});
  ASSERT_TRUE(l) << l.error().message;
  EXPECT_EQ(count(l->decode, "gather"), 0);
}

TEST(Lower, knows_its_passes_by_name) {
  const Result<Lowered> l = try_lower(model_graphs::tiny({}), {.without = {"fuse_everything"}});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().kind, ErrorKind::usage);
  EXPECT_THAT(l.error().message, HasSubstr("fuse_everything"));
}

// ---- any subset, any graph: lower() verifies what it made

TEST(Lower, verifies_without_any_subset_of_passes) {
  const std::vector<std::string> passes = lowering_passes();
  Shape gemma = model_graphs::tiny(model_graphs::gemma3_270m());
  gemma.type = [](const std::string&, int64_t) { return DType::q4_1; };
  Shape llama = model_graphs::tiny({});
  llama.bias = true;
  for (uint32_t subset = 0; subset < (1u << passes.size()); ++subset) {
    LowerOptions options;
    for (size_t i = 0; i < passes.size(); ++i)
      if ((subset >> i & 1) != 0) options.without.insert(passes[i]);
    for (const Shape& s : {llama, gemma, tiny_mixtral()}) must_lower(s, options);
  }
}

TEST(Lower, verifies_for_random_graphs) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    for (const Rows rows : {Rows::tokens, Rows::once}) {
      model_graphs::Weights weights(true, seed);
      random_graph::Maker maker(seed, rows, weights);
      const Result<Graph> graph = maker.make(30);
      ASSERT_TRUE(graph) << seed << ": " << graph.error().message;
      LowerOptions options;
      options.limits.n_rows = 40;
      Random random(seed);
      for (const std::string& pass : lowering_passes())
        if (random.below(4) == 0) options.without.insert(pass);
      const Result<Lowered> l = lower(*graph, Target{}, options);
      ASSERT_TRUE(l) << seed << ": " << l.error().message;
      EXPECT_EQ(l->prefill.calls.empty(), rows == Rows::once);
    }
  }
}

}  // namespace
}  // namespace etch

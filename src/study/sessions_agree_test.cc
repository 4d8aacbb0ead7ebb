// Sessions agree: the same bits for any number of threads, chunking, instruction set, batch and
// history, on small models whose texts run past a page and past every window.
// (tests/property/stages_agree_test.cc compares the stages with one another.)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "lower/lower.h"
#include "session/session.h"
#include "support/model_graphs.h"

namespace etch {
namespace {

using model_graphs::Shape;

constexpr int64_t kTokens = 150;  // past a page, past every window here
constexpr int64_t kRows = 64;

std::vector<int32_t> tokens_of(int64_t n, int64_t n_vocab, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<int32_t>(random.below(n_vocab)));
  return tokens;
}

// One model, and what may differ in running it.
struct Way {
  Limits limits = {.n_ctx = 512, .n_rows = kRows, .n_outputs = kRows};
  std::set<std::string> without;
  SessionOptions session = {.n_threads = 2};
  int64_t chunk = kRows;
  int64_t n_sequences = 1;
};

class Model {
 public:
  Model(const Shape& shape, uint64_t seed) : shape_(shape), weights_(true, seed) {
    auto graph = model_graphs::make(shape, weights_);
    EXPECT_TRUE(graph) << graph.error().message;
    graph_ = std::move(*graph);
  }

  std::unique_ptr<Session> session(Way way) const {
    LowerOptions options;
    options.limits = way.limits;
    options.limits.n_threads = way.session.n_threads;
    options.without = way.without;
    auto lowered = lower(graph_, {}, options);
    EXPECT_TRUE(lowered) << lowered.error().message;
    if (!lowered) return nullptr;
    const auto shared = std::make_shared<const Lowered>(std::move(*lowered));
    way.session.kv_budget_bytes = plan_memory(*shared, way.session).kv * way.n_sequences;
    auto session = Session::create(shared, {}, way.session);
    EXPECT_TRUE(session) << session.error().message;
    return session ? std::move(*session) : nullptr;
  }

  // Logits after every token.
  std::vector<float> logits(const Way& way, std::span<const int32_t> tokens) const {
    const auto s = session(way);
    return s ? feed(*s, *s->create_sequence(), tokens, way.chunk) : std::vector<float>();
  }

  static std::vector<float> feed(Session& session, SequenceId sequence,
                                 std::span<const int32_t> tokens, int64_t chunk) {
    std::vector<float> all;
    std::vector<BatchRow> rows;
    for (int64_t done = 0; done < std::ssize(tokens); done += std::ssize(rows)) {
      rows.clear();
      for (int64_t i = done; i < std::min<int64_t>(std::ssize(tokens), done + chunk); ++i) {
        rows.push_back({tokens[static_cast<size_t>(i)], sequence,
                        static_cast<int32_t>(session.length(sequence) + i - done), true});
      }
      const auto result = session.step(rows);
      EXPECT_TRUE(result) << result.error().message;
      if (!result) break;
      all.insert(all.end(), result->logits.begin(), result->logits.end());
    }
    return all;
  }

  int64_t n_vocab() const { return shape_.n_vocab; }

 private:
  Shape shape_;
  model_graphs::Weights weights_;
  Graph graph_;
};

// Where and by how much two sets of logits differ, "" if they do not.
std::string difference(const std::vector<float>& a, const std::vector<float>& b, int64_t n_vocab) {
  if (a.size() != b.size()) return fmt::format("{} and {} numbers", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) {
      return fmt::format("position {}, token {}: {} and {}", i / static_cast<size_t>(n_vocab),
                         i % static_cast<size_t>(n_vocab), a[i], b[i]);
    }
  }
  return "";
}

Shape llama() { return model_graphs::tiny({}); }
Shape gemma() {
  Shape s = model_graphs::gemma3_270m();
  s.window = 40;
  s.type = [](const std::string& part, int64_t layer) {
    return part == "ffn_down" ? (layer == 0 ? DType::q6_k : DType::q4_k)
           : part == "attn_v" ? DType::q8_0
                              : DType::q5_0;
  };
  s = model_graphs::tiny(s);
  s.window = 40;
  return s;
}
Shape mixtral() {
  Shape s = llama();
  s.n_experts = 4;
  s.n_used = 2;
  s.d_ff = 256;
  return s;
}

struct Case {
  const char* name;
  Shape shape;
};
class SessionsAgree : public testing::TestWithParam<int> {
 protected:
  static const Case& which() {
    static const Case cases[] = {{"llama", llama()}, {"gemma", gemma()}, {"mixtral", mixtral()}};
    return cases[GetParam()];
  }
  SessionsAgree()
      : model(which().shape, 3),
        tokens(tokens_of(kTokens, model.n_vocab(), 5)),
        reference(model.logits({}, tokens)) {
    EXPECT_EQ(std::ssize(reference), kTokens * model.n_vocab());
  }
  void expect_same(const Way& way, const std::string& what) const {
    EXPECT_EQ(difference(model.logits(way, tokens), reference, model.n_vocab()), "") << what;
  }
  Model model;
  std::vector<int32_t> tokens;
  std::vector<float> reference;
};

TEST_P(SessionsAgree, for_any_number_of_threads) {
  for (const int32_t n : {1, 3, 8}) {
    for (const int64_t chunk : {int64_t{1}, kRows}) {
      expect_same({.session = {.n_threads = n}, .chunk = chunk},
                  fmt::format("{} threads, chunks of {}", n, chunk));
    }
  }
}

TEST_P(SessionsAgree, for_any_chunking_of_a_prompt) {
  for (const int64_t chunk : {1, 2, 3, 7, 16, 17, 33, 63})
    expect_same({.chunk = chunk}, fmt::format("chunks of {}", chunk));
  expect_same({.limits = {.n_ctx = 512, .n_rows = 1, .n_outputs = 1}, .chunk = 1}, "--ubatch 1");
  expect_same({.limits = {.n_ctx = 512, .n_rows = 512, .n_outputs = 512}, .chunk = 512},
              "all at once");
}

TEST_P(SessionsAgree, for_every_instruction_set) {
  for (int isa = ETCH_SCALAR; isa < ETCH_ISA_COUNT; ++isa) {
    if (!cpu_has(static_cast<etch_isa>(isa))) continue;
    for (const int64_t chunk : {int64_t{1}, int64_t{16}, kRows}) {
      expect_same({.session = {.n_threads = 2, .isa = static_cast<etch_isa>(isa)}, .chunk = chunk},
                  fmt::format("{}, chunks of {}", isa_name(static_cast<etch_isa>(isa)), chunk));
    }
  }
}

TEST_P(SessionsAgree, under_a_guard) {
  for (const int64_t chunk : {int64_t{1}, int64_t{9}, kRows}) {
    expect_same({.session = {.n_threads = 2, .guard = true}, .chunk = chunk},
                fmt::format("chunks of {}", chunk));
  }
}

TEST_P(SessionsAgree, for_several_sequences_in_a_step) {
  const auto session = model.session({.n_sequences = 4});
  const SequenceId a = *session->create_sequence(), b = *session->create_sequence(),
                   c = *session->create_sequence();
  Random random(9);
  std::vector<std::vector<float>> got(3);
  const std::vector<int32_t> other = tokens_of(kTokens, model.n_vocab(), 6);
  const auto token = [&](SequenceId s, int64_t p) {
    return (s == b ? other : tokens)[static_cast<size_t>(p)];
  };
  // Steps of random shape until all three are fed.
  while (session->length(a) + session->length(b) + session->length(c) < 3 * kTokens) {
    std::vector<BatchRow> rows;
    for (const SequenceId s : {c, a, b}) {
      const int64_t left = kTokens - session->length(s);
      const int64_t n =
          std::min<int64_t>(left, random.below(2) ? random.below(22) : random.below(3));
      for (int64_t i = 0; i < n; ++i) {
        const auto p = static_cast<int32_t>(session->length(s) + i);
        rows.push_back({token(s, p), s, p, true});
      }
    }
    if (rows.empty()) continue;
    const auto result = session->step(rows);
    ASSERT_TRUE(result) << result.error().message;
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto row = result->logits.subspan(r * static_cast<size_t>(model.n_vocab()),
                                              static_cast<size_t>(model.n_vocab()));
      auto& to = got[static_cast<size_t>(rows[r].sequence)];
      to.insert(to.end(), row.begin(), row.end());
    }
  }
  EXPECT_EQ(difference(got[static_cast<size_t>(a)], reference, model.n_vocab()), "");
  EXPECT_EQ(difference(got[static_cast<size_t>(c)], reference, model.n_vocab()), "");
  EXPECT_EQ(difference(got[static_cast<size_t>(b)], model.logits({}, other), model.n_vocab()), "");
}

TEST_P(SessionsAgree, after_fork_truncate_save_and_restore) {
  const auto session = model.session({.n_sequences = 3});
  const int64_t half = 140;
  const auto n_vocab = static_cast<size_t>(model.n_vocab());
  const std::vector<float> rest(reference.begin() + half * model.n_vocab(), reference.end());
  const auto tail = std::span(tokens).subspan(half);
  const SequenceId a = *session->create_sequence();
  Model::feed(*session, a, std::span(tokens).first(half), kRows);
  const SequenceId b = *session->fork(a, half);
  Model::feed(*session, b, tokens_of(30, model.n_vocab(), 77), 7);
  EXPECT_EQ(difference(Model::feed(*session, a, tail, 3), rest, model.n_vocab()), "")
      << "beside a fork that went elsewhere";
  ASSERT_TRUE(session->truncate(a, half));
  EXPECT_EQ(difference(Model::feed(*session, a, tail, kRows), rest, model.n_vocab()), "")
      << "after going back";
  ASSERT_TRUE(session->truncate(a, half));
  const auto saved = session->save(a);
  ASSERT_TRUE(saved);
  const SequenceId d = *session->create_sequence();
  ASSERT_TRUE(session->restore(d, *saved));
  EXPECT_EQ(difference(Model::feed(*session, d, tail, 5), rest, model.n_vocab()), "")
      << "after restoring";
  EXPECT_EQ(rest.size(), tail.size() * n_vocab);
}

INSTANTIATE_TEST_SUITE_P(models, SessionsAgree, testing::Range(0, 3), [](const auto& p) {
  return std::string(std::array{"llama", "gemma", "mixtral"}[static_cast<size_t>(p.param)]);
});

}  // namespace
}  // namespace etch

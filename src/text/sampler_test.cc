// The steps against shared/data/sampling (made by llama.cpp), within its tolerance; the chain, the
// draw, the ties.
#include "text/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/shared_dir.h"
#include "text/random.h"
#include "text/real_math.h"
#include "text/samplers/step.h"
#include "text/tokenizer.h"

namespace etch {
namespace {

using nlohmann::json;
constexpr float kNone = -std::numeric_limits<float>::infinity();

TEST(RealMath, AgreesWithTheLibraryToTheLastBits) {
  for (double x = -740; x < 709; x += 0.37) {
    EXPECT_NEAR(exact_exp(x) / std::exp(x), 1, 6e-16 + (x < -700 ? 1e-2 : 0)) << x;
  }
  for (double x = 1e-300; x < 1e300; x *= 1.73) {
    EXPECT_NEAR(exact_log(x), std::log(x), 4e-16 * std::fabs(std::log(x)) + 1e-16) << x;
  }
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_log(1), 0);
  EXPECT_EQ(exact_exp(-std::numeric_limits<double>::infinity()), 0);
}

TEST(CountedRandom, GivesTheSameNumbersEverywhere) {
  EXPECT_EQ(splitmix64(1234567, 0), 6457827717110365317u);  // the published numbers of this seed
  EXPECT_EQ(splitmix64(1234567, 1), 3203168211198807973u);
  EXPECT_EQ(splitmix64(1234567, 2), 9817491932198370423u);
  CountedRandom r(0, 0);
  std::vector<uint64_t> first;
  for (int i = 0; i < 3; ++i) first.push_back(r.next_bits());
  CountedRandom again(0, 0);
  again.set_count(2);
  EXPECT_EQ(again.next_bits(), first[2]);
  EXPECT_NE(first[0], first[1]);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) sum += r.next_unit();
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

struct VectorCase {
  SamplingOptions options;
  std::string step;
};

// The parameters of a case in our words; nothing for a step that etch does not know.
std::optional<VectorCase> translate(const json& c) {
  VectorCase v;
  const json& p = c["params"];
  const std::string sampler = c["sampler"];
  v.options.min_keep = p.value("min_keep", 0);
  v.step = sampler;
  if (sampler == "top_k") {
    v.options.top_k = p["k"];
  } else if (sampler == "top_p") {
    v.options.top_p = p["p"];
  } else if (sampler == "min_p") {
    v.options.min_p = p["p"];
  } else if (sampler == "typical") {
    v.options.typical_p = p["p"];
    v.step = "typ";
  } else if (sampler == "temp" || sampler == "temp_ext") {
    v.options.temperature = p["t"];
    v.options.dynamic_range = p.value("range", 0.0f);
    v.options.dynamic_exponent = p.value("exponent", 1.0f);
    v.step = "temp";
  } else if (sampler == "penalties") {
    v.options.penalty_last_n = p["last_n"];
    v.options.repeat_penalty = p["repeat"];
    v.options.frequency_penalty = p["freq"];
    v.options.presence_penalty = p["present"];
  } else if (sampler == "top_n_sigma") {
    v.options.top_n_sigma = p["n"];
  } else if (sampler == "xtc") {
    v.options.xtc_probability = 1;
    v.options.xtc_threshold = p["threshold"];
  } else if (sampler == "dry") {
    v.options.dry_multiplier = p["multiplier"];
    v.options.dry_base = p["base"];
    v.options.dry_allowed_length = p["allowed_length"];
    v.options.dry_last_n = p["last_n"];
  } else if (sampler == "mirostat" || sampler == "mirostat_v2") {
    v.options.mirostat = sampler == "mirostat" ? 1 : 2;
    v.options.mirostat_tau = p["tau"];
    v.options.mirostat_eta = p["eta"];
    v.step = "mirostat";
  } else if (sampler == "adaptive_p") {
    v.options.adaptive_target = p["target"];
    v.options.adaptive_decay = p["decay"];
  } else if (sampler != "infill") {
    return std::nullopt;
  }
  return v;
}

float logit_of(const json& value) { return value.is_string() ? kNone : value.get<float>(); }

TEST(SamplerSteps, DoWhatLlamaCppDoes) {
  const auto file = test::shared_file("data/sampling/samplers.jsonl");
  if (!file) GTEST_SKIP();
  const auto model = read_model(*test::shared_file("data/vocab/ggml-vocab-gpt-2.gguf"));
  const auto tokenizer = make_tokenizer(*model);
  std::istringstream lines(test::read_text(*file));
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    const json c = json::parse(line);
    const auto v = translate(c);
    if (!v) continue;
    ++checked;
    Candidates candidates;
    for (const json& l : c["logits"]) candidates.logits.push_back(logit_of(l));
    const SamplerKind* kind = find_sampler_kind(v->step);
    ASSERT_NE(kind, nullptr) << v->step;
    if (const auto step = kind->make(v->options, tokenizer->get())) {
      for (const json& id : c["history"]) step->accept(id);
      step->apply(candidates);
    }
    std::map<int32_t, float> kept;
    for (int64_t i = 0; i < candidates.size(); ++i) kept[candidates.id(i)] = candidates.logits[i];
    std::vector<int32_t> ids;
    for (const auto& [id, logit] : kept) ids.push_back(id);
    ASSERT_EQ(ids, c["kept"].get<std::vector<int32_t>>()) << line;
    for (size_t i = 0; i < ids.size(); ++i) {
      const float expected = logit_of(c["result_logits"][i]);
      if (expected == kNone) {
        EXPECT_EQ(kept[ids[i]], kNone) << line;
      } else {
        EXPECT_NEAR(kept[ids[i]], expected, 1e-3 + 1e-4 * std::fabs(expected)) << line;
      }
    }
  }
  EXPECT_EQ(checked, 115);
}

SamplingOptions plain_options() {
  SamplingOptions o;
  o.top_k = 0, o.top_p = 1, o.min_p = 0, o.temperature = 1;
  return o;
}

TEST(Sampler, DrawsInProportion) {
  auto o = plain_options();
  o.seed = 42;
  auto sampler = make_sampler(o);
  ASSERT_TRUE(sampler.has_value());
  const std::vector<float> logits = {2, 1, 0, -1, kNone};  // 0.6439 0.2369 0.0871 0.0321 0
  std::vector<int> counts(5);
  for (int i = 0; i < 100000; ++i) ++counts[*sampler->sample(logits)];
  EXPECT_NEAR(counts[0], 64391, 700);
  EXPECT_NEAR(counts[1], 23688, 700);
  EXPECT_NEAR(counts[2], 8714, 500);
  EXPECT_NEAR(counts[3], 3206, 300);
  EXPECT_EQ(counts[4], 0);
}

TEST(Sampler, GivesTheSameTokensForTheSameSeed) {
  SamplingOptions o;
  o.seed = 7, o.repeat_penalty = 1.2f;
  std::vector<float> logits(1000);
  CountedRandom r(3);
  const auto run = [&](Sampler sampler) {
    std::vector<int32_t> ids;
    for (int i = 0; i < 50; ++i) {
      ids.push_back(*sampler.sample(logits));
      sampler.accept(ids.back());
    }
    return ids;
  };
  for (float& l : logits) l = static_cast<float>(r.next_unit() * 8);
  auto sampler = make_sampler(o);
  const auto first = run(*sampler);
  EXPECT_EQ(run(*sampler), first);  // a copy starts where the original stands
  for (const int32_t id : first) sampler->accept(id);
  sampler->reset();
  EXPECT_EQ(run(*sampler), first);
  o.seed = 8;
  EXPECT_NE(run(*make_sampler(o)), first);
}

TEST(Sampler, TakesTheLowestIdOfEqualLogitsWhenGreedy) {
  SamplingOptions o;
  o.temperature = 0;
  EXPECT_EQ(*make_sampler(o)->sample(std::vector<float>{1, 3, 2, 3}), 1);
  o.repeat_penalty = 2;  // the chain runs then
  auto sampler = make_sampler(o);
  sampler->accept(1);
  EXPECT_EQ(*sampler->sample(std::vector<float>{1, 3, 2, 3}), 3);
}

TEST(Sampler, SurvivesATinyTemperature) {
  auto o = plain_options();
  o.temperature = 1e-38f;
  EXPECT_EQ(*make_sampler(o)->sample(std::vector<float>{10, 30, 20}), 1);
}

TEST(Sampler, RefusesNonsenseAndNamesIt) {
  auto sampler = make_sampler({});
  const auto nan = sampler->sample(std::vector<float>{1, std::nanf(""), 2});
  ASSERT_FALSE(nan.has_value());
  EXPECT_EQ(nan.error().message, "the logit of token 1 is nan: the model computed nonsense");
  EXPECT_FALSE(sampler->sample(std::vector<float>{kNone, kNone}).has_value());
  EXPECT_FALSE(sampler->sample({}).has_value());
  SamplingOptions o;
  o.steps = {"top_q"};
  EXPECT_EQ(make_sampler(o).error().message,
            "no sampler step 'top_q'; there are penalties, dry, top_n_sigma, top_k, typical_p, "
            "top_p, min_p, xtc, temperature, infill, mirostat, adaptive_p");
  o = {};
  o.temperature = std::nanf("");
  EXPECT_EQ(make_sampler(o).error().kind, ErrorKind::usage);
}

TEST(Sampler, BiasForbidsATokenEvenWhenGreedy) {
  SamplingOptions o;
  o.temperature = 0;
  o.logit_bias = {{1, kNone}};
  EXPECT_EQ(*make_sampler(o)->sample(std::vector<float>{1, 3, 2}), 2);
}

TEST(Sampler, ShowsItsChain) {
  SamplingOptions o;
  o.seed = 7;
  o.steps = {"Top-P", "temp", "topk"};
  EXPECT_EQ(make_sampler(o)->print(), "top_p 0.95 -> temperature 0.8 -> top_k 40 -> draw, seed 7");
  o.temperature = 0;
  EXPECT_EQ(make_sampler(o)->print(), "top_p 0.95 -> greedy -> top_k 40 -> largest");
}

TEST(Candidates, TheBestAreTheSameByHeapAndBySort) {
  CountedRandom r(11);
  for (const int64_t n : {1, 2, 7, 100, 1000}) {
    Candidates all;
    for (int64_t i = 0; i < n; ++i)
      all.logits.push_back(static_cast<float>(r.next_bits() % 37));  // many ties
    Candidates sorted = all;
    sorted.sort();
    for (const int64_t k : {int64_t{1}, int64_t{2}, n / 9, n / 2, n, n + 5}) {
      Candidates best = all;
      best.keep_best(k);
      ASSERT_EQ(best.size(), std::min(k, n));
      for (int64_t i = 0; i < best.size(); ++i) {
        EXPECT_EQ(best.id(i), sorted.id(i));
        EXPECT_EQ(best.logits[i], sorted.logits[i]);
      }
    }
  }
}

TEST(TopLogprobs, AreNaturalLogsOfTheSoftmax) {
  const auto top = top_logprobs(std::vector<float>{2, 1, 0, -1}, 2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].id, 0);
  EXPECT_NEAR(std::exp(top[0].logprob), 0.643914, 1e-6);
  EXPECT_NEAR(std::exp(top[1].logprob), 0.236883, 1e-6);
}

}  // namespace
}  // namespace etch

// Attention and the KV cache: arithmetic.md section 5 written out plainly gives the bits that every
// cache type, shape of a run, chunking, number of threads and instruction set must equal with ==;
// double precision says the plain text is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dtypes/float16.h"
#include "kernels/math.h"
#include "kernels/simd/scalar_float.h"
#include "support/kernel_run.h"

namespace etch {
namespace {

using test::How;
using Floats = std::vector<float>;

struct Case {
  std::string name;
  int64_t n_q = 4, n_kv = 2, d_k = 32, d_v = 32;
  int64_t window = 0, chunk = 0;
  float softcap = 0;
  bool sinks = false, slopes = false;
  int64_t buckets = 0, reach = 0;
  bool full = false, turned = false;
  int32_t layout = ETCH_ROPE_HALVES;
  int64_t length = 150;
};

// What a case attends to, position by position.
struct Inputs {
  Case c;
  int64_t pairs;
  Floats q, k, v, sinks, slopes, relative, table;
  explicit Inputs(const Case& of) : c(of), pairs(c.d_k / 2) {
    q = test::random_floats(c.length * c.n_q * c.d_k, 1);
    k = test::random_floats(c.length * c.n_kv * c.d_k, 2);
    v = test::random_floats(c.length * c.n_kv * c.d_v, 3);
    sinks = test::random_floats(c.n_q, 4, 3);
    slopes = test::random_floats(c.n_q, 5, 0.1f);
    for (float& s : slopes) s = std::abs(s);
    relative = test::random_floats(c.buckets * c.n_q, 6);
    table = test::random_floats(c.length * 2 * pairs, 7, 0.7f);
  }
  float scale() const { return 1 / std::sqrt(static_cast<float>(c.d_k)); }
};

float exp1(float x) { return exp_of<scalar_float>(x); }

// ---- the plain text
// --------------------------------------------------------------------------------------------------

Floats turned(const Floats& row, const float* table, int64_t pairs, int32_t layout) {
  Floats y = row;
  for (int64_t i = 0; i < pairs; ++i) {
    const auto a = static_cast<size_t>(layout == ETCH_ROPE_HALVES ? i : 2 * i);
    const auto b = static_cast<size_t>(layout == ETCH_ROPE_HALVES ? i + pairs : 2 * i + 1);
    y[a] = std::fma(row[a], table[i], -(row[b] * table[pairs + i]));
    y[b] = std::fma(row[a], table[pairs + i], row[b] * table[i]);
  }
  return y;
}

Floats rounded(Floats row, std::optional<KvType> type) {
  if (!type) return row;
  for (float& x : row) {
    if (*type == KvType::f16) x = f16_to_f32(f32_to_f16(x));
    if (*type == KvType::bf16) x = bf16_to_f32(f32_to_bf16(x));
  }
  if (*type != KvType::q8_0) return row;
  for (size_t g = 0; g < row.size(); g += 32) {
    const size_t end = std::min(g + 32, row.size());
    float amax = 0;
    for (size_t i = g; i < end; ++i) amax = std::max(amax, std::abs(row[i]));
    const float d = f16_to_f32(f32_to_f16(amax / 127));
    for (size_t i = g; i < end; ++i)
      row[i] = d == 0 ? 0 : d * std::clamp(std::nearbyint(row[i] * (1 / d)), -127.0f, 127.0f);
  }
  return row;
}

// T5's rule in the usual words, with logarithms.
int64_t bucket_by_logarithm(const Case& c, int64_t ahead) {
  int64_t side = c.buckets, base = 0, distance = std::max<int64_t>(-ahead, 0);
  if (c.full) {
    side /= 2;
    base = ahead > 0 ? side : 0;
    distance = std::abs(ahead);
  }
  const int64_t exact = side / 2;
  if (distance < exact) return base + distance;
  const double log = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                     std::log(static_cast<double>(c.reach) / static_cast<double>(exact)) *
                     static_cast<double>(side - exact);
  return base + std::min(side - 1, exact + static_cast<int64_t>(log + 1e-9));
}

struct Reader {  // K and V as they are read, and q as it is used
  std::vector<Floats> q, k, v;
  Reader(const Inputs& in, std::optional<KvType> type) {
    const Case& c = in.c;
    const auto rows = [&](const Floats& x, int64_t heads, int64_t d, bool turn, bool round) {
      std::vector<Floats> result;
      for (int64_t r = 0; r < c.length * heads; ++r) {
        Floats row(x.begin() + r * d, x.begin() + (r + 1) * d);
        if (turn) row = turned(row, in.table.data() + r / heads * 2 * in.pairs, in.pairs, c.layout);
        result.push_back(round ? rounded(row, type) : row);
      }
      return result;
    };
    q = rows(in.q, c.n_q, c.d_k, c.turned, false);
    // attention without a cache is given its K as it is
    k = rows(in.k, c.n_kv, c.d_k, c.turned && type.has_value(), true);
    v = rows(in.v, c.n_kv, c.d_v, false, true);
  }
};

bool is_visible(const Case& c, int64_t i, int64_t j) {
  if (!c.full && j > i) return false;
  if (c.window > 0 && (c.full ? std::abs(i - j) > c.window / 2 : i - j >= c.window)) return false;
  return c.chunk == 0 || i / c.chunk == j / c.chunk;
}

template <class Number>
Number score_of(const Inputs& in, const Reader& r, int64_t i, int64_t j, int64_t h) {
  const Case& c = in.c;
  const Floats& q = r.q[static_cast<size_t>(i * c.n_q + h)];
  const Floats& k = r.k[static_cast<size_t>(j * c.n_kv + h * c.n_kv / c.n_q)];
  Number s = 0;
  for (size_t d = 0; d < q.size(); ++d) s = std::fma(Number{q[d]}, Number{k[d]}, s);
  s = Number{in.scale()} * s;
  if (c.softcap != 0) {
    if constexpr (sizeof(Number) == 4)
      s = c.softcap * tanh<scalar_float>(scalar_float::set(s / c.softcap)).at[0];
    else
      s = c.softcap * std::tanh(s / c.softcap);
  }
  if (c.buckets > 0)
    s = s + in.relative[static_cast<size_t>(bucket_by_logarithm(c, j - i) * c.n_q + h)];
  if (c.slopes)
    s = std::fma(-Number{in.slopes[static_cast<size_t>(h)]}, static_cast<Number>(std::abs(i - j)),
                 s);
  return s;
}

Floats expected_bits(const Inputs& in, std::optional<KvType> type) {
  const Case& c = in.c;
  const Reader reader(in, type);
  Floats y;
  for (int64_t i = 0; i < c.length; ++i)
    for (int64_t h = 0; h < c.n_q; ++h) {
      float m = 0, l = 0;
      Floats o(static_cast<size_t>(c.d_v));
      bool first = true;
      const auto merge = [&](float m_b, float l_b, const Floats& o_b) {
        if (first) {
          m = m_b, l = l_b, o = o_b, first = false;
          return;
        }
        const float top = std::max(m, m_b), a = exp1(m - top), b = exp1(m_b - top);
        l = std::fma(l_b, b, l * a);
        for (size_t d = 0; d < o.size(); ++d) o[d] = std::fma(o_b[d], b, o[d] * a);
        m = top;
      };
      for (int64_t start = 0; start < c.length; start += ETCH_PAGE_POSITIONS) {
        std::vector<std::pair<int64_t, float>> scores;
        float m_b = -INFINITY;
        for (int64_t j = start; j < std::min<int64_t>(start + ETCH_PAGE_POSITIONS, c.length); ++j) {
          if (!is_visible(c, i, j)) continue;
          scores.push_back({j, score_of<float>(in, reader, i, j, h)});
          m_b = std::max(m_b, scores.back().second);
        }
        if (scores.empty()) continue;
        Floats sums(16), o_b(static_cast<size_t>(c.d_v));
        for (const auto& [j, s] : scores) {
          const float p = exp1(s - m_b);
          sums[static_cast<size_t>(j % 16)] += p;
          const Floats& v = reader.v[static_cast<size_t>(j * c.n_kv + h * c.n_kv / c.n_q)];
          for (size_t d = 0; d < o_b.size(); ++d) o_b[d] = std::fma(p, v[d], o_b[d]);
        }
        for (size_t n = 8; n > 0; n /= 2)
          for (size_t e = 0; e < n; ++e) sums[e] += sums[e + n];
        for (float& x : o_b) x += 0.0f;
        merge(m_b, sums[0] + 0.0f, o_b);
      }
      if (c.sinks) merge(in.sinks[static_cast<size_t>(h)], 1, Floats(o.size()));
      for (const float x : o) y.push_back(x / l);
    }
  return y;
}

std::vector<double> truth(const Inputs& in, std::optional<KvType> type) {
  const Case& c = in.c;
  const Reader reader(in, type);
  std::vector<double> y;
  for (int64_t i = 0; i < c.length; ++i)
    for (int64_t h = 0; h < c.n_q; ++h) {
      std::vector<double> s(static_cast<size_t>(c.length), -INFINITY),
          o(static_cast<size_t>(c.d_v));
      for (int64_t j = 0; j < c.length; ++j)
        if (is_visible(c, i, j)) s[static_cast<size_t>(j)] = score_of<double>(in, reader, i, j, h);
      double top = *std::max_element(s.begin(), s.end()), l = 0;
      if (c.sinks) {
        top = std::max(top, double{in.sinks[static_cast<size_t>(h)]});
        l = std::exp(in.sinks[static_cast<size_t>(h)] - top);
      }
      for (int64_t j = 0; j < c.length; ++j) {
        const double p = std::exp(s[static_cast<size_t>(j)] - top);
        l += p;
        for (size_t d = 0; d < o.size(); ++d)
          o[d] += p * reader.v[static_cast<size_t>(j * c.n_kv + h * c.n_kv / c.n_q)][d];
      }
      for (const double x : o) y.push_back(x / l);
    }
  return y;
}

// ---- the kernels
// -----------------------------------------------------------------------------------------------------

// The pages of a sequence, each ending at a guard, full of NaN before anything is appended.
class Cache {
 public:
  Cache(const Case& c, KvType type) {
    for (int64_t at = 0; at < c.length; at += ETCH_PAGE_POSITIONS) {
      pages_.emplace_back(kv_page_bytes(type, c.n_kv, c.d_k, c.d_v));
      std::memset(pages_.back().data(), 0xff, static_cast<size_t>(pages_.back().size()));
    }
    for (test::Guarded& p : pages_) table_.push_back(p.data());
  }
  uint8_t** table() { return table_.data(); }

 private:
  std::vector<test::Guarded> pages_;
  std::vector<uint8_t*> table_;
};

// The rows of a step, gathered from the inputs of its runs (all of the same case), and back.
class Rows {
 public:
  Rows(const Inputs& in, const test::Step& step)
      : in_(in), step_(step), y(static_cast<size_t>(step.abi.n_rows * in.c.n_q * in.c.d_v)) {
    const auto take = [&](const Floats& from, int64_t row, Floats& to) {
      for (int32_t r = 0; r < step.abi.n_rows; ++r)
        to.insert(to.end(), from.begin() + step.abi.positions[r] * row,
                  from.begin() + (step.abi.positions[r] + 1) * row);
    };
    const Case& c = in.c;
    take(in.q, c.n_q * c.d_k, q_);
    take(in.k, c.n_kv * c.d_k, k_);
    take(in.v, c.n_kv * c.d_v, v_);
    take(in.table, 2 * in.pairs, table_);
  }
  void append(KvType type, How how) {
    const Case& c = in_.c;
    etch_append a{};
    a.k = test::view_of(k_, c.n_kv * c.d_k, c.d_k);
    a.v = test::view_of(v_, c.n_kv * c.d_v, c.d_v);
    a.table = c.turned ? table_.data() : nullptr;
    a.n = c.n_kv, a.d_k = c.d_k, a.d_v = c.d_v, a.pairs = in_.pairs, a.layout = c.layout;
    test::run_kernel("append_" + std::string(name(type)), a, step_.abi, how);
  }
  void attend(std::optional<KvType> type, How how) {
    const Case& c = in_.c;
    etch_attend a{};
    a.q = test::view_of(q_, c.n_q * c.d_k, c.d_k);
    a.y = test::view_of(y, c.n_q * c.d_v, c.d_v);
    if (!type) {
      a.k = test::view_of(k_, c.n_kv * c.d_k, c.d_k);
      a.v = test::view_of(v_, c.n_kv * c.d_v, c.d_v);
    }
    a.table = c.turned ? table_.data() : nullptr;
    a.sinks = c.sinks ? in_.sinks.data() : nullptr;
    a.slopes = c.slopes ? in_.slopes.data() : nullptr;
    a.relative = c.buckets > 0 ? in_.relative.data() : nullptr;
    a.n_q = c.n_q, a.n_kv = c.n_kv, a.d_k = c.d_k, a.d_v = c.d_v, a.pairs = in_.pairs;
    a.window = c.window, a.chunk = c.chunk, a.buckets = c.buckets, a.reach = c.reach;
    a.scale = in_.scale(), a.softcap = c.softcap, a.full = c.full, a.layout = c.layout;
    const test::Guarded partials(
        4 * attend_partial_floats(c.n_q, c.n_kv, c.d_v, c.length, how.threads));
    std::memset(partials.data(), 0xff, static_cast<size_t>(partials.size()));
    a.partials = partials.as<float>();
    if (!type) {
      test::run_kernel("attend_step", a, step_.abi, how);
      return;
    }
    test::run_kernel("attend_" + std::string(name(*type)), a, step_.abi, how);
    test::run_kernel("attend_merge", a, step_.abi, how);
  }

 private:
  const Inputs& in_;
  const test::Step& step_;
  Floats q_, k_, v_, table_;

 public:
  Floats y;
};

// The whole sequence, `chunk` rows a step.
Floats run_chunked(const Inputs& in, KvType type, int64_t chunk, How how) {
  Cache cache(in.c, type);
  Floats y;
  for (int64_t first = 0; first < in.c.length; first += chunk) {
    test::Step step({{0, static_cast<int32_t>(first),
                      static_cast<int32_t>(std::min(chunk, in.c.length - first))}});
    step.set_tables({cache.table()});
    Rows rows(in, step);
    rows.append(type, how);
    rows.attend(type, how);
    y.insert(y.end(), rows.y.begin(), rows.y.end());
    EXPECT_EQ(std::count(step.failed.begin(), step.failed.end(), 0), step.abi.n_rows);
  }
  return y;
}

const Case kCases[] = {
    {.name = "plain", .length = 270},
    {.name = "one_head", .n_q = 1, .n_kv = 1, .d_k = 64, .d_v = 64},
    {.name = "groups_of_3", .n_q = 9, .n_kv = 3, .d_k = 64, .d_v = 64, .turned = true},
    {.name = "groups_of_7_odd_sizes", .n_q = 14, .n_kv = 2, .d_k = 39, .d_v = 23},
    {.name = "no_groups_unequal_sizes",
     .n_q = 3,
     .n_kv = 3,
     .d_k = 40,
     .d_v = 96,
     .turned = true,
     .layout = ETCH_ROPE_PAIRS},
    {.name = "many_heads_share_one", .n_q = 20, .n_kv = 1, .d_k = 16, .d_v = 80},
    {.name = "window", .window = 20},
    {.name = "window_over_blocks_sinks", .window = 150, .sinks = true, .length = 300},
    {.name = "chunk", .chunk = 100, .length = 270},
    {.name = "softcap", .softcap = 2, .turned = true},
    {.name = "sinks", .n_q = 6, .n_kv = 2, .sinks = true},
    {.name = "slopes", .n_q = 6, .n_kv = 3, .slopes = true},
    {.name = "relative", .buckets = 32, .reach = 128},
    {.name = "everything",
     .n_q = 5,
     .n_kv = 1,
     .d_k = 20,
     .d_v = 36,
     .window = 140,
     .chunk = 200,
     .softcap = 5,
     .sinks = true,
     .slopes = true,
     .buckets = 20,
     .reach = 60,
     .turned = true,
     .length = 270},
};

const Case kFullCases[] = {
    {.name = "full", .full = true},
    {.name = "full_window", .window = 31, .full = true},
    {.name = "full_relative", .n_q = 3, .n_kv = 3, .buckets = 32, .reach = 128, .full = true},
    {.name = "full_chunk_one_row", .n_q = 4, .n_kv = 1, .chunk = 50, .full = true, .length = 1},
};

const KvType kTypes[] = {KvType::f16, KvType::f32, KvType::bf16, KvType::q8_0};

template <class T>
std::string case_name(const testing::TestParamInfo<T>& info) {
  return info.param.name;
}

class Attention : public testing::TestWithParam<Case> {};

TEST_P(Attention, IsItsDefinitionOnEveryInstructionSetAndCache) {
  const Inputs in(GetParam());
  for (const KvType type : kTypes) {
    const Floats expected = expected_bits(in, type);
    if (type == KvType::f16 || type == KvType::q8_0) {
      EXPECT_LE(test::worst_error(expected, truth(in, type), 0.5), 3e-6) << name(type);
    }
    for (const etch_isa isa : test::usable_isas())
      for (const int64_t chunk : {1, 200})
        EXPECT_TRUE(test::same_bits(run_chunked(in, type, chunk, {isa, 1}), expected))
            << name(type) << ", " << isa_name(isa) << ", steps of " << chunk;
  }
}

TEST_P(Attention, HasTheSameBitsInStepsOfAnySizeOnAnyNumberOfThreads) {
  const Inputs in(GetParam());
  const Floats expected = expected_bits(in, KvType::f16);
  for (const int64_t chunk : {1, 2, 7, 64, 128, 200})
    for (const int32_t threads : {1, 2, 3, 8})
      EXPECT_TRUE(
          test::same_bits(run_chunked(in, KvType::f16, chunk, {best_isa(), threads}), expected))
          << threads << " threads, steps of " << chunk;
}

// Several sequences in a step, single rows and longer runs, and each has what it has alone.
TEST_P(Attention, HasTheSameBitsBesideOtherSequences) {
  const Inputs in(GetParam());
  const Case& c = in.c;
  const Floats expected = expected_bits(in, KvType::f16);
  std::vector<test::Step::Run> runs = {{0, 130, 1},
                                       {1, 20, 60},
                                       {2, 3, 1},
                                       {3, static_cast<int32_t>(c.length) - 1, 1},
                                       {4, 120, 17}};
  for (const int32_t threads : {1, 2, 3, 8}) {
    std::vector<Cache> caches;
    std::vector<uint8_t* const*> tables;
    for (size_t i = 0; i < runs.size(); ++i) caches.emplace_back(c, KvType::f16);
    for (size_t i = 0; i < runs.size(); ++i) {  // what each sequence has seen
      test::Step before({{0, 0, runs[i].first_position}});
      before.set_tables({caches[i].table()});
      Rows(in, before).append(KvType::f16, {best_isa(), 1});
      tables.push_back(caches[i].table());
    }
    test::Step step(runs);
    step.set_tables(tables);
    Rows rows(in, step);
    rows.append(KvType::f16, {best_isa(), threads});
    rows.attend(KvType::f16, {best_isa(), threads});
    const int64_t row = c.n_q * c.d_v;
    Floats wanted;
    for (int32_t r = 0; r < step.abi.n_rows; ++r)
      wanted.insert(wanted.end(), expected.begin() + step.abi.positions[r] * row,
                    expected.begin() + (step.abi.positions[r] + 1) * row);
    EXPECT_TRUE(test::same_bits(rows.y, wanted)) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Causal, Attention, testing::ValuesIn(kCases), case_name<Case>);

class AttentionOfAStep : public testing::TestWithParam<Case> {};

TEST_P(AttentionOfAStep, HasTheSameBitsWithAndWithoutACache) {
  const Inputs in(GetParam());
  const Case& c = in.c;
  const auto n = static_cast<int32_t>(c.length);
  const Floats cached = expected_bits(in, KvType::f32), alone = expected_bits(in, std::nullopt);
  EXPECT_LE(test::worst_error(alone, truth(in, std::nullopt), 0.5), 3e-6);
  for (const etch_isa isa : test::usable_isas())
    for (const int32_t threads : {1, 3}) {
      EXPECT_TRUE(test::same_bits(run_chunked(in, KvType::f32, c.length, {isa, threads}), cached))
          << test::describe({isa, threads});
      test::Step step({{0, 0, n}, {1, 0, 1}, {2, 0, n / 2}});
      Rows rows(in, step);
      rows.attend(std::nullopt, {isa, threads});
      rows.y.resize(alone.size());
      EXPECT_TRUE(test::same_bits(rows.y, alone)) << test::describe({isa, threads});
    }
}

INSTANTIATE_TEST_SUITE_P(Full, AttentionOfAStep, testing::ValuesIn(kFullCases), case_name<Case>);
INSTANTIATE_TEST_SUITE_P(Causal, AttentionOfAStep,
                         testing::Values(kCases[0], kCases[3], kCases[13]), case_name<Case>);

// ---- what a cache cannot hold
// ----------------------------------------------------------------------------------------

TEST(Append, MarksARowItCannotHoldAndKeepsTheOthers) {
  const Case c{.name = "bad", .n_q = 2, .n_kv = 2, .d_k = 33, .d_v = 18, .length = 40};
  for (const KvType type : kTypes) {
    const float beyond = type == KvType::f16    ? 65520.0f
                         : type == KvType::bf16 ? 3.4e38f
                         : type == KvType::q8_0 ? 8.4e6f
                                                : INFINITY;
    for (const float bad : {beyond, static_cast<float>(NAN), -INFINITY})
      for (const bool in_k : {true, false})
        for (const etch_isa isa : test::usable_isas()) {
          Inputs in(c), zeroed(c);
          // head 1 of row 21, the last entry
          const int64_t d = in_k ? c.d_k : c.d_v;
          (in_k ? in.k : in.v)[static_cast<size_t>((21 * 2 + 2) * d - 1)] = bad;
          for (int64_t i = 0; i < d; ++i)
            (in_k ? zeroed.k : zeroed.v)[static_cast<size_t>((21 * 2 + 1) * d + i)] = 0;
          Cache cache(c, type);
          test::Step step({{0, 0, 40}});
          step.set_tables({cache.table()});
          Rows rows(in, step);
          rows.append(type, {isa, 2});
          for (size_t r = 0; r < 40; ++r) EXPECT_EQ(step.failed[r], r == 21 ? 7 : 0) << r;
          rows.attend(type, {isa, 2});
          EXPECT_TRUE(test::same_bits(rows.y, expected_bits(zeroed, type)))
              << name(type) << " " << bad << " " << isa_name(isa);
        }
  }
}

TEST(Append, TakesTheLargestNumbersOfEachType) {
  const Case c{.name = "large", .n_q = 1, .n_kv = 1, .d_k = 4, .d_v = 4, .length = 1};
  for (const auto& [type, largest] : {std::pair{KvType::f16, 65504.0f},
                                      {KvType::bf16, 0x1.fep127f},
                                      {KvType::q8_0, 8319008.0f},
                                      {KvType::f32, 0x1.fffffep127f}})
    for (const etch_isa isa : test::usable_isas()) {
      Inputs in(c);
      in.v = {largest, -largest, 1e-30f, 0};
      Cache cache(c, type);
      test::Step step({{0, 0, 1}});
      step.set_tables({cache.table()});
      Rows rows(in, step);
      rows.append(type, {isa, 1});
      rows.attend(type, {isa, 1});
      EXPECT_EQ(step.failed[0], 0);
      EXPECT_EQ(rows.y[0], largest) << name(type);
      EXPECT_EQ(rows.y[1], -largest) << name(type);
    }
}

TEST(AttentionWindow, LooksAtNoPageThatAWindowLetGoOf) {
  const Case c{.name = "dropped", .window = 100, .length = 300};
  const Inputs in(c);
  const Floats expected = expected_bits(in, KvType::f16);
  Cache cache(c, KvType::f16);
  for (const int32_t first : {0, 150, 290}) {
    const int32_t count = first == 0 ? 150 : first == 150 ? 140 : 10;
    if (first == 290) cache.table()[0] = nullptr;
    test::Step step({{0, first, count}});
    step.set_tables({cache.table()});
    Rows rows(in, step);
    rows.append(KvType::f16, {best_isa(), 2});
    rows.attend(KvType::f16, {best_isa(), 2});
    const int64_t row = c.n_q * c.d_v;
    EXPECT_TRUE(test::same_bits(
        rows.y, Floats(expected.begin() + first * row, expected.begin() + (first + count) * row)));
  }
}

}  // namespace
}  // namespace etch

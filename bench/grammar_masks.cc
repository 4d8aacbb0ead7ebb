// Time of a mask on a model's vocabulary: bench/grammar_masks MODEL.gguf [FILE.gbnf|FILE.json ...]
// Grows texts at random out of the masks and prints, for each grammar, the time to load it and the
// spread of microseconds per mask, first visits apart.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "model/model.h"
#include "text/grammar/formats.h"
#include "text/grammar/matcher.h"
#include "text/random.h"

namespace etch {
namespace {

using Clock = std::chrono::steady_clock;
double microseconds(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::micro>(b - a).count();
}

int32_t pick(std::span<const uint64_t> mask, CountedRandom& random) {
  int64_t n = 0;
  for (const uint64_t w : mask) n += __builtin_popcountll(w);
  if (n == 0) return -1;
  int64_t k = static_cast<int64_t>(random.next_bits() % static_cast<uint64_t>(n));
  for (size_t i = 0;; ++i) {
    const int64_t here = __builtin_popcountll(mask[i]);
    if (k >= here) {
      k -= here;
      continue;
    }
    uint64_t w = mask[i];
    while (k-- > 0) w &= w - 1;
    return static_cast<int32_t>(i * 64 + static_cast<size_t>(__builtin_ctzll(w)));
  }
}

void print_spread(const char* what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  if (times.empty()) return;
  const auto at = [&](double q) {
    return times[static_cast<size_t>(q * static_cast<double>(times.size() - 1))];
  };
  std::printf("  %-14s %6zu masks: median %.1f us, p99 %.1f us, worst %.1f us\n", what,
              times.size(), at(0.5), at(0.99), times.back());
}

int run(int argc, char** argv) {
  const auto model = read_model(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;
  const auto tokenizer = make_tokenizer(*model);
  if (!tokenizer) return std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str()), 1;
  auto start = Clock::now();
  const auto vocabulary = make_grammar_vocabulary(**tokenizer);
  std::printf("vocabulary of %lld tokens, %lld trie nodes, made in %.0f ms\n",
              static_cast<long long>(vocabulary->size()),
              static_cast<long long>(vocabulary->all().size()),
              microseconds(start, Clock::now()) / 1000);
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    start = Clock::now();
    const bool is_gbnf = std::string_view(argv[i]).ends_with(".gbnf");
    const auto grammar = is_gbnf ? parse_gbnf(text) : parse_json_schema(text);
    if (!grammar)
      return std::fprintf(stderr, "%s: %s\n", argv[i], grammar.error().message.c_str()), 1;
    auto automaton = build_automaton(*grammar);
    if (!automaton) return std::fprintf(stderr, "%s\n", automaton.error().message.c_str()), 1;
    std::printf("%s: %lld states, loaded in %.1f ms\n", argv[i],
                static_cast<long long>(automaton->n_states()),
                microseconds(start, Clock::now()) / 1000);
    const auto masks = TokenMasks::make(std::move(*automaton), vocabulary, tokenizer->get());
    if (!masks) return std::fprintf(stderr, "%s\n", masks.error().message.c_str()), 1;
    CountedRandom random(1);
    std::vector<double> first, later;
    for (int round = 0; round < 200; ++round) {
      Matcher matcher(*masks);
      for (int n = 0; n < 100 && !matcher.has_ended(); ++n) {
        start = Clock::now();
        const auto mask = matcher.mask();
        const double time = microseconds(start, Clock::now());
        if (!mask) return std::fprintf(stderr, "%s\n", mask.error().message.c_str()), 1;
        (round < 50 ? first : later).push_back(time);
        const int32_t id = pick(*mask, random);
        if (id < 0 || !matcher.accept(id)) break;
      }
    }
    print_spread("warm-up", first);
    print_spread("afterwards", later);
  }
  return 0;
}

}  // namespace
}  // namespace etch

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "grammar_masks MODEL.gguf FILE.gbnf|FILE.json ...\n"), 2;
  return etch::run(argc, argv);
}

// The one inner loop of attention: for each column c, chain[c][lane] = fma over ascending k of
// column[c][k] * matrix[k][lane], from +0.
//
//            columns          k runs over   lanes are    matrix
//   scores   queries          d             positions    a panel of K: [d][16]
//   values   probabilities    positions     d            V: [position][d]
//
// Some words of some columns stay in registers; a loaded word serves every column.
#pragma once

#include "kernels/ops/kv_number.h"

namespace etch::ETCH_ISA {

struct Chains {
  int64_t k_step, word_step;  // numbers between rows of the matrix, and between its words
  const float* column;        // [columns][..], column_step apart
  int64_t column_step;
  float* out;  // [columns][word][16], out_step apart
  int64_t out_step;
  int64_t first_k, last_k;        // first <= k < last
  int64_t first_word, last_word;  // first <= word < last
};

static constexpr int kColumns = W::kColumns;
static constexpr int words_at_once(int columns) {
  const int fit = W::kAccumulators / columns;
  return fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}

template <class Kv, int words, int columns>
ETCH_INLINE void chain_words(const typename Kv::Number* matrix, const Chains& s, int64_t word) {
  Word sums[columns][words];
#pragma GCC unroll 6
  for (int c = 0; c < columns; ++c)
#pragma GCC unroll 4
    for (int w = 0; w < words; ++w) sums[c][w] = W::set(0.0f);
  const int64_t k_step = s.k_step, word_step = s.word_step, column_step = s.column_step;
  const float* x = s.column + s.first_k;
  const typename Kv::Number* m = matrix + s.first_k * k_step + word * word_step;
  for (const float* const end = s.column + s.last_k; x < end; ++x, m += k_step) {
    Word v[words];
#pragma GCC unroll 4
    for (int w = 0; w < words; ++w) {
      Word loaded = Kv::load(m + w * word_step);
      W::pin(loaded);
      v[w] = loaded;
    }
#pragma GCC unroll 6
    for (int c = 0; c < columns; ++c) {
      const Word xc = W::set(x[c * column_step]);
#pragma GCC unroll 4
      for (int w = 0; w < words; ++w) sums[c][w] = W::fma(xc, v[w], sums[c][w]);
    }
  }
#pragma GCC unroll 6
  for (int c = 0; c < columns; ++c)
#pragma GCC unroll 4
    for (int w = 0; w < words; ++w)
      W::store(s.out + c * s.out_step + (word + w) * kFloats, sums[c][w]);
}

template <class Kv, int columns>
static void chains_of(const typename Kv::Number* matrix, const Chains& s) {
  constexpr int kWords = words_at_once(columns);
  int64_t word = s.first_word;
  for (; word + kWords <= s.last_word; word += kWords)
    chain_words<Kv, kWords, columns>(matrix, s, word);
  if constexpr (kWords == 4)
    for (; word + 2 <= s.last_word; word += 2) chain_words<Kv, 2, columns>(matrix, s, word);
  if constexpr (kWords > 1)
    for (; word < s.last_word; ++word) chain_words<Kv, 1, columns>(matrix, s, word);
}

// n columns, 1 <= n <= kColumns.
template <class Kv, int columns = kColumns>
ETCH_INLINE void chains(int64_t n, const typename Kv::Number* matrix, const Chains& s) {
  if (n == columns)
    chains_of<Kv, columns>(matrix, s);
  else if constexpr (columns > 1)
    chains<Kv, columns - 1>(n, matrix, s);
}

}  // namespace etch::ETCH_ISA

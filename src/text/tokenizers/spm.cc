// SPM: SentencePiece's byte-pair vocabularies. No words: the whole fragment is one string of
// characters, spaces written U+2581, merged by the scores of the tokens.
//
// Merging runs over long stretches, so the fragment is first cut where no token could ever reach
// across: between two characters that stand side by side in no token. In practice that is in front
// of most words.
#include <algorithm>
#include <numeric>

#include "text/text_hash.h"
#include "text/tokenizers/algorithm.h"
#include "text/tokenizers/merge.h"
#include "text/tokenizers/whole_words.h"
#include "text/utf8.h"

namespace etch {

namespace {

// Length of a symbol by its lead byte alone, as SentencePiece's successors do it; broken bytes are
// symbols of one.
int32_t symbol_bytes(uint8_t lead) {
  constexpr int8_t by_nibble[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return by_nibble[lead >> 4];
}

// The first symbol of a text as a number of up to four bytes.
uint32_t symbol_at(std::string_view text, size_t at, int32_t& bytes) {
  bytes = static_cast<int32_t>(
      std::min<size_t>(symbol_bytes(static_cast<uint8_t>(text[at])), text.size() - at));
  uint32_t symbol = 0;
  std::memcpy(&symbol, text.data() + at, bytes);
  return symbol;
}

// Which pairs of symbols stand side by side in some token: a filter of hashes, so it may say yes
// too often, which costs time and never changes a result.
class Neighbours {
 public:
  Neighbours() : bits_(kBits / 64) {}
  void add(std::string_view token) {
    int32_t bytes = 0;
    uint32_t left = symbol_at(token, 0, bytes);
    for (size_t at = bytes; at < token.size(); at += bytes) {
      const uint32_t right = symbol_at(token, at, bytes);
      const uint32_t bit = hash(left, right);
      bits_[bit >> 6] |= uint64_t{1} << (bit & 63);
      left = right;
    }
  }
  bool may_join(uint32_t left, uint32_t right) const {
    const uint32_t bit = hash(left, right);
    return bits_[bit >> 6] >> (bit & 63) & 1;
  }

 private:
  static constexpr uint32_t kBits =
      1u << 21;  // 256 KiB: a vocabulary of 260,000 has some 100,000 such pairs
  static uint32_t hash(uint32_t left, uint32_t right) {
    return static_cast<uint32_t>(
               mix_hash(static_cast<uint64_t>(left) << 32 | right, 0xD6E8FEB86659FD93u)) %
           kBits;
  }
  std::vector<uint64_t> bits_;
};

class Spm : public TokenizerAlgorithm {
 public:
  explicit Spm(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary),
        whole_words_(vocabulary.size()),
        ranks_(rank_by_score(vocabulary)) {
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      if (!vocabulary.text(id).empty()) neighbours_.add(vocabulary.text(id));
    }
    for (int b = 0; b < 256; ++b) {
      byte_ids_[b] = vocabulary.find(fmt::format("<0x{:02X}>", b));
      if (byte_ids_[b] < 0)
        byte_ids_[b] = vocabulary.find(std::string_view(reinterpret_cast<const char*>(&b), 1));
      if (byte_ids_[b] < 0) byte_ids_[b] = vocabulary.special.unknown;
    }
  }

  Status encode(std::string_view fragment, std::vector<int32_t>& ids) const override {
    const std::string text = escape_spaces(fragment);
    MergeScratch scratch;
    std::vector<MergeSymbol> symbols;
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = next_cut(text, begin);
      ETCH_TRY(
          encode_stretch(std::string_view(text).substr(begin, end - begin), symbols, scratch, ids));
      begin = end;
    }
    return {};
  }

 private:
  // Place of each token in the order of descending scores; equal scores share a rank.
  static std::vector<uint32_t> rank_by_score(const Vocabulary& vocabulary) {
    std::vector<uint32_t> ranks(static_cast<size_t>(vocabulary.size()), 0);
    const std::vector<float>& scores = vocabulary.scores;
    if (scores.empty()) return ranks;
    std::vector<int32_t> order(ranks.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
    for (size_t i = 1; i < order.size(); ++i) {
      ranks[order[i]] = ranks[order[i - 1]] + (scores[order[i]] != scores[order[i - 1]]);
    }
    return ranks;
  }

  std::string escape_spaces(std::string_view fragment) const {
    std::string text;
    text.reserve(fragment.size() + fragment.size() / 2 + 4);
    if (vocabulary_.add_space_prefix) text += kSpaceMark;
    for (size_t at = 0; at < fragment.size();) {
      const size_t space = std::min(fragment.find(' ', at), fragment.size());
      text.append(fragment, at, space - at);
      if (space < fragment.size()) text += kSpaceMark;
      at = space + 1;
    }
    return text;
  }

  size_t next_cut(std::string_view text, size_t begin) const {
    int32_t bytes = 0;
    uint32_t left = symbol_at(text, begin, bytes);
    size_t at = begin + bytes;
    while (at < text.size()) {
      const uint32_t right = symbol_at(text, at, bytes);
      if (!neighbours_.may_join(left, right)) return at;
      left = right;
      at += bytes;
    }
    return at;
  }

  Status encode_stretch(std::string_view text, std::vector<MergeSymbol>& symbols,
                        MergeScratch& scratch, std::vector<int32_t>& ids) const {
    const int32_t whole = vocabulary_.find(text);
    if (whole >= 0 && whole_words_.state(whole) == WholeWords::State::reached) {
      ids.push_back(whole);
      return {};
    }
    symbols.clear();
    int32_t bytes = 0;
    for (size_t at = 0; at < text.size(); at += bytes) {
      symbol_at(text, at, bytes);
      symbols.push_back({static_cast<uint32_t>(at), -1});
    }
    merge_symbols(
        symbols, static_cast<uint32_t>(text.size()),
        [&](const MergeSymbol& left, const MergeSymbol&, uint32_t end) {
          const int32_t id = vocabulary_.find(text.substr(left.begin, end - left.begin));
          return id < 0 ? Merged{} : Merged{ranks_[id], id};
        },
        scratch);
    if (whole >= 0) whole_words_.set(whole, symbols.size() == 1);
    for (size_t i = 0; i < symbols.size(); ++i) {
      const size_t end = i + 1 < symbols.size() ? symbols[i + 1].begin : text.size();
      ETCH_TRY(emit(symbols[i].id, text.substr(symbols[i].begin, end - symbols[i].begin), ids));
    }
    return {};
  }

  Status emit(int32_t id, std::string_view symbol, std::vector<int32_t>& ids) const {
    if (id < 0) id = vocabulary_.find(symbol);
    if (id >= 0) {
      ids.push_back(id);
      return {};
    }
    for (const char c : symbol) {
      const int32_t byte_id = byte_ids_[static_cast<uint8_t>(c)];
      if (byte_id < 0) {
        return fail(ErrorKind::unsupported,
                    "the vocabulary cannot write byte 0x{:02X} of the text: it has neither a token "
                    "for it nor an unknown "
                    "token",
                    static_cast<uint8_t>(c));
      }
      ids.push_back(byte_id);
    }
    return {};
  }

  const Vocabulary& vocabulary_;
  WholeWords whole_words_;
  std::vector<uint32_t> ranks_;
  Neighbours neighbours_;
  int32_t byte_ids_[256];
};

}  // namespace

Result<std::unique_ptr<TokenizerAlgorithm>> make_spm(const Model&, const Vocabulary& vocabulary) {
  return std::make_unique<Spm>(vocabulary);
}

}  // namespace etch

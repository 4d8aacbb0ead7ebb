#include "text/grammar/grammar_vocabulary.h"

#include <algorithm>

#include "text/utf8.h"

namespace etch {

namespace {

// Characters, if all of them are plain; else 0.
int32_t count_plain(std::string_view text) {
  int32_t n = 0;
  for (size_t at = 0; at < text.size(); ++n) {
    const Utf8Char c = decode_utf8(text, at);
    if (!c.valid || !GrammarVocabulary::is_plain(c.code)) return 0;
    at += static_cast<size_t>(c.bytes);
  }
  return n;
}

}  // namespace

GrammarVocabulary::GrammarVocabulary(const std::vector<std::string>& texts,
                                     std::vector<int32_t> ends)
    : ends_(std::move(ends)) {
  offsets_.push_back(0);
  for (const std::string& text : texts) {
    arena_ += text;
    offsets_.push_back(arena_.size());
  }
  plain_.assign(kMaxPlain + 1, TokenBits(n_words()));
  std::vector<std::pair<std::string_view, int32_t>> all, rest;
  for (int32_t id = 0; id < size(); ++id) {
    const std::string_view own = text(id);
    if (own.empty()) continue;
    if (own.size() == 1) single_bytes_.set(static_cast<uint8_t>(own[0]));
    all.emplace_back(own, id);
    const int32_t n = count_plain(own);
    if (n >= 1 && n <= kMaxPlain) {
      for (int32_t most = n; most <= kMaxPlain; ++most)
        set_bit(plain_[static_cast<size_t>(most)], id);
    } else {
      rest.emplace_back(own, id);
    }
  }
  all_ = TokenTrie(std::move(all));
  rest_ = TokenTrie(std::move(rest));
}

std::shared_ptr<const GrammarVocabulary> make_grammar_vocabulary(const Tokenizer& tokenizer) {
  const Vocabulary& v = tokenizer.vocabulary();
  std::vector<std::string> texts(static_cast<size_t>(v.size()));
  std::vector<int32_t> ends;
  for (int32_t id = 0; id < v.size(); ++id) {
    if (v.is_end_of_generation(id)) {
      ends.push_back(id);
    } else if (!(v.attributes[static_cast<size_t>(id)] & Vocabulary::structural)) {
      texts[static_cast<size_t>(id)] = tokenizer.token_bytes(id);
    }
  }
  for (const int32_t id : v.suppressed) {
    texts[static_cast<size_t>(id)].clear();
    std::erase(ends, id);
  }
  return std::make_shared<GrammarVocabulary>(texts, std::move(ends));
}

}  // namespace etch

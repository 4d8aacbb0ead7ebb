#include "text/tokenizer.h"

#include "text/special_tokens.h"
#include "text/tokenizers/algorithm.h"
#include "text/utf8.h"

namespace etch {

namespace {

constexpr size_t kMaxText = size_t{1} << 31;

}  // namespace

Tokenizer::Tokenizer() = default;
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> make_tokenizer(const Model& model) {
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer());
  tokenizer->vocabulary_ = ETCH_TRY(read_vocabulary(model));
  const Vocabulary& vocabulary = *tokenizer->vocabulary_;
  tokenizer->algorithm_ = ETCH_TRY(find_tokenizer_kind(vocabulary.model)->make(model, vocabulary));
  tokenizer->matcher_ = std::make_unique<SpecialMatcher>(vocabulary);
  return tokenizer;
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               const EncodeOptions& options) const {
  return encode_marked(text, {}, options);
}

Result<std::vector<int32_t>> Tokenizer::encode(const MarkedText& text,
                                               const EncodeOptions& options) const {
  return encode_marked(text.text, text.outside, options);
}

Result<std::vector<int32_t>> Tokenizer::encode_marked(std::string_view text,
                                                      const std::vector<TextRange>& outside,
                                                      const EncodeOptions& options) const {
  if (text.size() >= kMaxText) {
    return fail(ErrorKind::resources, "the text has {} bytes; etch encodes less than {} at once",
                text.size(), kMaxText);
  }
  const Vocabulary& v = *vocabulary_;
  std::vector<int32_t> ids;
  if (options.add_special && v.add_bos) ids.push_back(v.special.bos);
  for (const Fragment& f : matcher_->partition(text, options.parse_special, outside)) {
    if (f.id >= 0) {
      ids.push_back(f.id);
    } else {
      ETCH_TRY(algorithm_->encode(
          text.substr(static_cast<size_t>(f.begin), static_cast<size_t>(f.end - f.begin)), ids));
    }
  }
  if (options.add_special && v.add_eos) ids.push_back(v.special.eos);
  return ids;
}

Result<std::vector<int32_t>> Tokenizer::encode_chat(const MarkedText& text) const {
  const Vocabulary& v = *vocabulary_;
  std::vector<int32_t> ids = ETCH_TRY(encode(text, {}));
  if (v.add_bos && ids.size() > 1 && ids[1] == v.special.bos) ids.erase(ids.begin());
  const size_t n = ids.size();
  if (v.add_eos && n > 1 && ids[n - 2] == v.special.eos) ids.pop_back();
  return ids;
}

}  // namespace etch

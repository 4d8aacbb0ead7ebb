// Tokenizers: the input is a small vocabulary and a text for it.
//   [ kind: 1 ] [ flags: 1 ] [ token count: 1 ] { length: 1, bytes, type: 1, score: 1 } [ merge
//   count: 1 ] { a: 1, b: 1 } text
// Nothing may crash, ids lie in the vocabulary, decoded text is valid UTF-8, streaming gives the
// same text as at once.
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "gguf/write_gguf.h"
#include "model/model.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace etch {
namespace {

// Splits of every shape: one pattern, several, digits in threes, raw characters, words that get a
// mark.
constexpr std::string_view kPre[] = {"llama-bpe", "smollm", "qwen2",   "afmoe", "gemma4",
                                     "mmbert",    "tekken", "default", "",      "deepseek-llm"};

GgufContents read_vocabulary_of(ByteReader& in, const std::vector<std::string>& kinds) {
  GgufContents contents;
  contents.set("general.architecture", "llama");
  const uint8_t kind = in.read<uint8_t>(), flags = in.read<uint8_t>();
  contents.set("tokenizer.ggml.model", kinds[kind % kinds.size()]);
  const std::string_view pre = kPre[kind % std::size(kPre)];
  if (!pre.empty()) contents.set("tokenizer.ggml.pre", pre);
  if (flags & 1) contents.set("tokenizer.ggml.add_bos_token", true);
  if (flags & 2) contents.set("tokenizer.ggml.add_eos_token", true);
  if (flags & 4) contents.set("tokenizer.ggml.add_space_prefix", (flags & 8) != 0);
  if (flags & 16) contents.set("tokenizer.ggml.bos_token_id", uint32_t{flags} >> 5);
  if (flags & 32) contents.set("general.name", "phi-3");

  std::vector<std::string> tokens, merges;
  std::vector<int32_t> types;
  std::vector<float> scores;
  const int n = in.read<uint8_t>();
  for (int i = 0; i < n && in.ok(); ++i) {
    tokens.emplace_back(in.text(in.read<uint8_t>()));
    types.push_back(in.read<int8_t>());
    scores.push_back(in.read<int8_t>());
  }
  const int n_merges = in.read<uint8_t>();
  for (int i = 0; i < n_merges && in.ok() && !tokens.empty(); ++i) {
    const size_t a = in.read<uint8_t>() % tokens.size(), b = in.read<uint8_t>() % tokens.size();
    merges.push_back(tokens[a] + " " + tokens[b]);
  }
  contents.set("tokenizer.ggml.tokens", tokens);
  if (types.size() == tokens.size()) contents.set("tokenizer.ggml.token_type", types);
  if (scores.size() == tokens.size()) contents.set("tokenizer.ggml.scores", scores);
  contents.set("tokenizer.ggml.merges", merges);
  return contents;
}

void try_text(const Tokenizer& tokenizer, const MarkedText& text) {
  for (const EncodeOptions options : {EncodeOptions{true, true}, EncodeOptions{false, false}}) {
    const auto ids = tokenizer.encode(text, options);
    if (!ids) {
      ETCH_CHECK(!ids.error().message.empty(), "a refusal says why");
      continue;
    }
    TextStream stream(tokenizer, true);
    std::string streamed, bytes;
    for (const int32_t id : *ids) {
      ETCH_CHECK(id >= 0 && id < tokenizer.n_vocab(), "id {} of {}", id, tokenizer.n_vocab());
      const std::string piece = stream.push(id);
      ETCH_CHECK(is_valid_utf8(piece), "a piece is not valid UTF-8");
      streamed += piece;
      bytes += tokenizer.token_bytes(id, true);
    }
    streamed += stream.finish();
    ETCH_CHECK(streamed == replace_invalid_utf8(bytes), "streaming gives another text");
    ETCH_CHECK(
        is_valid_utf8(tokenizer.decode(*ids, {.remove_special = true, .clean_spaces = true})),
        "text");
  }
}

}  // namespace
}  // namespace etch

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etch;
  ByteReader in({data, size});
  const auto bytes = gguf_bytes(read_vocabulary_of(in, {"llama", "gpt2", "gemma4"}));
  if (!bytes) return 0;  // token texts that are no valid UTF-8
  auto file = read_gguf(std::make_shared<Mapping>(Mapping::of_memory(*bytes)));
  ETCH_CHECK(file.has_value(), "{}", file.error().message);
  const auto model = read_model(std::move(*file));
  ETCH_CHECK(model.has_value(), "{}", model.error().message);
  const auto tokenizer = make_tokenizer(*model);
  if (!tokenizer) {
    ETCH_CHECK(!tokenizer.error().message.empty(), "a refusal says why");
    return 0;
  }
  const std::string_view text = in.text(in.left());
  MarkedText marked;
  marked.append(text.substr(0, text.size() / 2), false);
  marked.append(text.substr(text.size() / 2), true);
  try_text(**tokenizer, marked);
  // No control token out of outside bytes alone.
  const auto outside = (*tokenizer)->encode(MarkedText::from_outside(text), {false, true});
  const auto plain = (*tokenizer)->encode(text, {false, false});
  ETCH_CHECK(outside.has_value() == plain.has_value(), "one fails");
  return 0;
}

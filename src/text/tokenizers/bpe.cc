// BPE: byte-pair encoding by a list of merges. The text is split into words (pretokenize.h); a
// word's symbols are the stand-ins of its bytes, or its characters where the vocabulary is raw;
// neighbours merge in the order of the list.
#include <algorithm>
#include <unordered_map>

#include "text/byte_text.h"
#include "text/normalise.h"
#include "text/pretokenize.h"
#include "text/text_hash.h"
#include "text/tokenizers/algorithm.h"
#include "text/tokenizers/merge.h"
#include "text/tokenizers/whole_words.h"
#include "text/utf8.h"

namespace etch {

namespace {

// The merges: (left symbol, right symbol) -> rank and product. Symbols are token ids; texts that
// are no tokens have ids from n_vocab on, since broken files merge through them.
class Merges {
 public:
  void reserve(size_t n) {
    size_t capacity = 16;
    while (capacity * 2 < n * 3) capacity *= 2;  // at most two thirds full
    slots_.assign(capacity, Slot{});
  }
  void add(int32_t left, int32_t right, Merged merged) {
    Slot& slot = slots_[place(left, right)];
    if (slot.merged.rank != Merged::kNever) return;  // repeated: the first line counts
    slot = {left, right, merged};
  }
  Merged find(int32_t left, int32_t right) const { return slots_[place(left, right)].merged; }

 private:
  struct Slot {
    int32_t left = -1, right = -1;
    Merged merged;
  };
  size_t place(int32_t left, int32_t right) const {
    const uint64_t pair =
        static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    const size_t mask = slots_.size() - 1;
    size_t i = mix_hash(pair ^ 0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u) & mask;
    while (slots_[i].merged.rank != Merged::kNever &&
           (slots_[i].left != left || slots_[i].right != right)) {
      i = (i + 1) & mask;
    }
    return i;
  }
  std::vector<Slot> slots_;
};

// Text -> symbol, tokens first.
class SymbolTable {
 public:
  explicit SymbolTable(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  int32_t find(std::string_view text) const {
    const int32_t id = vocabulary_.find(text);
    if (id >= 0 || others_.empty()) return id;
    const auto found = others_.find(std::string(text));
    return found == others_.end() ? -1 : found->second;
  }
  int32_t find_or_add(std::string_view text) {
    const int32_t id = vocabulary_.find(text);
    if (id >= 0) return id;
    return others_
        .try_emplace(std::string(text), static_cast<int32_t>(vocabulary_.size() + others_.size()))
        .first->second;
  }

 private:
  const Vocabulary& vocabulary_;
  std::unordered_map<std::string, int32_t> others_;
};

class Bpe : public TokenizerAlgorithm {
 public:
  Bpe(const Vocabulary& vocabulary, const PretokenizerName& pre,
      std::unique_ptr<Pretokenizer> splitter)
      : vocabulary_(vocabulary),
        pre_(pre),
        splitter_(std::move(splitter)),
        symbols_(vocabulary),
        whole_words_(vocabulary.size()) {
    for (int b = 0; b < 256; ++b) {
      std::string stand_in;
      append_utf8(stand_in, kByteToCode[b]);
      std::copy(stand_in.begin(), stand_in.end(), stand_ins_[b].text);
      stand_ins_[b].bytes = static_cast<uint8_t>(stand_in.size());
    }
  }

  Status read_merges(const Model& model);
  Status encode(std::string_view fragment, std::vector<int32_t>& ids) const override;

 private:
  struct StandIn {
    char text[2];
    uint8_t bytes;
  };
  // What one call works with.
  struct Work {
    std::string spelt;  // the word in the vocabulary's own spelling
    std::vector<MergeSymbol> symbols;
    MergeScratch scratch;
  };

  std::string normalise(std::string_view fragment) const;
  void encode_word(std::string_view word, Work& work, std::vector<int32_t>& ids) const;
  void spell(std::string_view word, std::string& spelt) const;
  void merge(std::string_view spelt, Work& work) const;
  void emit(int32_t symbol, std::string_view text, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  const PretokenizerName& pre_;
  std::unique_ptr<Pretokenizer> splitter_;
  SymbolTable symbols_;
  Merges merges_;
  WholeWords whole_words_;
  StandIn stand_ins_[256];
  int32_t byte_symbols_[256];  // symbol of each byte's stand-in
  int32_t byte_ids_[256];      // token for a byte that no symbol writes, -1
};

Status Bpe::read_merges(const Model& model) {
  const KeyValue* merges = model.key("tokenizer.ggml.merges");
  if (!merges && vocabulary_.pre == "kimi-k2") {
    merges_.reserve(0);  // without merges only single bytes come out; such files exist
  } else if (!merges || merges->type != ValueType::array || merges->element != ValueType::string) {
    return fail(ErrorKind::damaged, "tokenizer.ggml.merges {}, expected an array of strings",
                merges ? "is " + merges->print() : "is missing");
  } else {
    merges_.reserve(static_cast<size_t>(merges->count));
    int64_t broken = -1;
    int32_t guess = -1;  // products mostly come in the order of their ids
    std::string product;
    merges->each_text([&](int64_t i, std::string_view line) {
      const size_t space = line.empty() ? std::string_view::npos : line.find(' ', 1);
      if (space == std::string_view::npos || i >= static_cast<int64_t>(Merged::kNever)) {
        if (broken < 0) broken = i;
        return;
      }
      const std::string_view left = line.substr(0, space), right = line.substr(space + 1);
      product.assign(left);
      product.append(right);
      const int32_t made =
          vocabulary_.text(guess + 1) == product ? guess + 1 : symbols_.find_or_add(product);
      guess = made;
      merges_.add(symbols_.find_or_add(left), symbols_.find_or_add(right),
                  {static_cast<uint32_t>(i), made});
    });
    if (broken >= 0) {
      return fail(ErrorKind::damaged,
                  "tokenizer.ggml.merges: line {} is not two texts with a space between", broken);
    }
  }
  for (int b = 0; b < 256; ++b) {
    byte_symbols_[b] = symbols_.find({stand_ins_[b].text, stand_ins_[b].bytes});
    byte_ids_[b] = vocabulary_.find(fmt::format("<0x{:02X}>", b));
    if (vocabulary_.byte_level && byte_ids_[b] < 0) byte_ids_[b] = vocabulary_.special.unknown;
  }
  return {};
}

// Invalid bytes become U+FFFD, one each; some compose characters; raw vocabularies write spaces
// U+2581.
std::string Bpe::normalise(std::string_view fragment) const {
  std::string text =
      is_valid_utf8(fragment) ? std::string(fragment) : replace_invalid_utf8(fragment, true);
  if (pre_.has(PretokenizerName::composes)) text = to_nfc(text);
  if (!vocabulary_.escape_whitespaces) return text;
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2);
  for (const char c : text) {
    if (c == ' ') {
      escaped += kSpaceMark;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

Status Bpe::encode(std::string_view fragment, std::vector<int32_t>& ids) const {
  const std::string text = normalise(fragment);
  std::vector<uint32_t> ends;
  ETCH_TRY(splitter_->split(text, ends));
  Work work;
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    encode_word(std::string_view(text).substr(begin, end - begin), work, ids);
    begin = end;
  }
  return {};
}

void Bpe::spell(std::string_view word, std::string& spelt) const {
  if (vocabulary_.byte_level) {
    spelt.resize(word.size() * 2);
    char* out = spelt.data();
    for (const char c : word) {
      const StandIn& s = stand_ins_[static_cast<uint8_t>(c)];
      out[0] = s.text[0];
      out[1] = s.text[1];
      out += s.bytes;
    }
    spelt.resize(static_cast<size_t>(out - spelt.data()));
  } else {
    spelt.clear();
    if (pre_.has(PretokenizerName::marks_words) && word[0] != '\n' &&
        !word.starts_with(kSpaceMark)) {
      spelt += kSpaceMark;
    }
    spelt += word;
  }
}

void Bpe::encode_word(std::string_view word, Work& work, std::vector<int32_t>& ids) const {
  spell(word, work.spelt);
  const int32_t whole = vocabulary_.find(work.spelt);
  if (whole >= 0) {
    const bool at_once = pre_.has(PretokenizerName::ignores_merges) ||
                         (pre_.has(PretokenizerName::whole_newlines) && word[0] == '\n');
    if (at_once || whole_words_.state(whole) == WholeWords::State::reached) {
      ids.push_back(whole);
      return;
    }
  }
  merge(work.spelt, work);
  if (whole >= 0) whole_words_.set(whole, work.symbols.size() == 1);
  for (size_t i = 0; i < work.symbols.size(); ++i) {
    const size_t begin = work.symbols[i].begin;
    const size_t end = i + 1 < work.symbols.size() ? work.symbols[i + 1].begin : work.spelt.size();
    emit(work.symbols[i].id, std::string_view(work.spelt).substr(begin, end - begin), ids);
  }
}

void Bpe::merge(std::string_view spelt, Work& work) const {
  work.symbols.clear();
  for (size_t at = 0; at < spelt.size();) {
    const Utf8Char c = decode_utf8(spelt, at);
    const int32_t symbol = vocabulary_.byte_level
                               ? byte_symbols_[static_cast<uint8_t>(kCodeToByte[c.code])]
                               : symbols_.find(spelt.substr(at, c.bytes));
    work.symbols.push_back({static_cast<uint32_t>(at), symbol});
    at += c.bytes;
  }
  merge_symbols(
      work.symbols, static_cast<uint32_t>(spelt.size()),
      [&](const MergeSymbol& left, const MergeSymbol& right, uint32_t) {
        return left.id < 0 || right.id < 0 ? Merged{} : merges_.find(left.id, right.id);
      },
      work.scratch);
}

// A complete vocabulary has a token for every symbol that merging leaves. Else: the tokens of its
// parts, or what the vocabulary has for a byte it cannot write; a vocabulary without any of these
// loses the byte, as elsewhere.
void Bpe::emit(int32_t symbol, std::string_view text, std::vector<int32_t>& ids) const {
  if (symbol >= 0 && symbol < vocabulary_.size()) {
    ids.push_back(symbol);
    return;
  }
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    const std::string_view part = text.substr(at, c.bytes);
    at += c.bytes;
    const int32_t id = vocabulary_.find(part);
    if (id >= 0) {
      ids.push_back(id);
      continue;
    }
    if (vocabulary_.byte_level) {
      const int32_t byte_id = byte_ids_[static_cast<uint8_t>(kCodeToByte[c.code])];
      if (byte_id >= 0) ids.push_back(byte_id);
      continue;
    }
    for (const char b : part) {
      if (byte_ids_[static_cast<uint8_t>(b)] >= 0)
        ids.push_back(byte_ids_[static_cast<uint8_t>(b)]);
    }
  }
}

}  // namespace

Result<std::unique_ptr<TokenizerAlgorithm>> make_bpe(const Model& model,
                                                     const Vocabulary& vocabulary) {
  const PretokenizerName* pre = find_pretokenizer(vocabulary.pre);
  auto bpe = std::make_unique<Bpe>(vocabulary, *pre, ETCH_TRY(make_pretokenizer(pre->group)));
  ETCH_TRY(bpe->read_merges(model));
  return bpe;
}

}  // namespace etch

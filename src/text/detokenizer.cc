// Ids to text: what each kind of token stands for, and how a running generation is shown without
// ever breaking a character in two.
#include <optional>

#include "text/byte_text.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace etch {

namespace {

// "<0xE2>" -> the byte.
std::optional<char> byte_of(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    value *= 16;
    if (c >= '0' && c <= '9') {
      value += c - '0';
    } else if (c >= 'A' && c <= 'F') {
      value += c - 'A' + 10;
    } else if (c >= 'a' && c <= 'f') {
      value += c - 'a' + 10;
    } else {
      return std::nullopt;
    }
  }
  return static_cast<char>(value);
}

void append_stand_ins(std::string& out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    const int16_t byte = c.code < kCodeToByte.size() ? kCodeToByte[c.code] : int16_t{-1};
    if (c.valid && byte >= 0) {
      out += static_cast<char>(byte);
    } else {
      out.append(text, at, c.bytes);  // stands for no byte: printed as it is
    }
    at += c.bytes;
  }
}

void append_unescaped(std::string& out, std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t mark = std::min(text.find(kSpaceMark, at), text.size());
    out.append(text, at, mark - at);
    if (mark == text.size()) return;
    out += ' ';
    at = mark + kSpaceMark.size();
  }
}

// The clean-up of old BERT and GPT tokenizers, in three passes as they do it.
std::string clean_spaces(std::string_view text) {
  std::string once;
  for (const char c : text) {  // " ?" -> "?"
    if ((c == '?' || c == '!' || c == '.' || c == ',') && !once.empty() && once.back() == ' ')
      once.pop_back();
    once += c;
  }
  std::string twice;  // "don ' t" -> "don't"
  for (size_t i = 0; i < once.size(); ++i) {
    if (once.compare(i, 3, " ' ") == 0) {
      twice += '\'';
      i += 2;
    } else {
      twice += once[i];
    }
  }
  std::string out;  // "it 's" -> "it's"
  for (size_t i = 0; i < twice.size(); ++i) {
    const auto follows = [&](std::string_view tail) {
      return twice.compare(i, tail.size(), tail) == 0;
    };
    if (follows(" 's") || follows(" 'm") || follows(" 're") || follows(" 've")) continue;
    out += twice[i];
  }
  return out;
}

}  // namespace

std::string Tokenizer::token_bytes(int32_t id, bool special) const {
  const Vocabulary& v = *vocabulary_;
  const std::string_view text = v.text(id);
  std::string out;
  switch (v.kind(id)) {
    case TokenKind::control:
    case TokenKind::unknown:
      if (special) out = text;
      break;
    case TokenKind::user_defined:
      out = text;
      break;
    case TokenKind::byte:
      if (const auto byte = byte_of(text)) {
        out += *byte;
      } else {
        out = text;
      }
      break;
    case TokenKind::normal:
      if (v.byte_level) {
        append_stand_ins(out, text);
      } else if (v.escape_whitespaces) {
        append_unescaped(out, text);
      } else {
        out = text;
      }
      break;
    case TokenKind::undefined:
    case TokenKind::unused:
      break;
  }
  return out;
}

std::string Tokenizer::decode_bytes(std::span<const int32_t> ids,
                                    const DecodeOptions& options) const {
  const Vocabulary& v = *vocabulary_;
  bool dropped_bos = false;
  if (options.remove_special && v.add_bos && !ids.empty() && ids.front() == v.special.bos) {
    ids = ids.subspan(1);
    dropped_bos = true;
  }
  if (options.remove_special && v.add_eos && !ids.empty() && ids.back() == v.special.eos) {
    ids = ids.first(ids.size() - 1);
  }
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string piece = token_bytes(ids[i], options.special);
    if (i == 0 && v.add_space_prefix && !dropped_bos && piece.starts_with(' ')) piece.erase(0, 1);
    text += piece;
  }
  return options.clean_spaces && v.clean_spaces ? clean_spaces(text) : text;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  return replace_invalid_utf8(decode_bytes(ids, options));
}

TextStream::TextStream(const Tokenizer& tokenizer, bool special)
    : tokenizer_(&tokenizer), special_(special) {}

std::string TextStream::push(int32_t id) {
  held_ += tokenizer_->token_bytes(id, special_);
  const size_t ready = held_.size() - static_cast<size_t>(incomplete_tail(held_));
  std::string text = replace_invalid_utf8(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return text;
}

std::string TextStream::finish() {
  std::string text = replace_invalid_utf8(held_);
  held_.clear();
  return text;
}

}  // namespace etch

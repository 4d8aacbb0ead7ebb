#include "text/utf8.h"

#include <cstring>

#include "base/utf8.h"

namespace etch {

namespace {

// Length of the run of ASCII bytes at `at`, looked at eight at a time.
size_t ascii_run(std::string_view text, size_t at) {
  size_t end = at;
  while (end + 8 <= text.size()) {
    uint64_t word;
    std::memcpy(&word, text.data() + end, 8);
    if (word & 0x8080808080808080u) break;
    end += 8;
  }
  while (end < text.size() && static_cast<uint8_t>(text[end]) < 0x80) ++end;
  return end - at;
}

}  // namespace

// Lead byte -> length, and the range of the second byte that rules out overlong forms, surrogates
// and too large codes:
//   C2..DF  80..BF          E0  A0..BF   E1..EC EE EF  80..BF   ED  80..9F
//   F0  90..BF   F1..F3  80..BF   F4  80..8F
Utf8Char decode_utf8(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true, false};
  int length = 0;
  uint8_t low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {0xFFFD, 1, false, false};
  }
  uint32_t code = lead & (0x7F >> length);
  for (int i = 1; i < length; ++i) {
    if (at + i >= text.size()) return {0xFFFD, i, false, true};
    const uint8_t b = byte(i);
    if (b < low || b > high) return {0xFFFD, i, false, false};
    low = 0x80, high = 0xBF;
    code = code << 6 | (b & 0x3F);
  }
  return {code, length, true, false};
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) { return is_utf8(text); }

std::string replace_invalid_utf8(std::string_view text, bool each_byte) {
  std::string out;
  out.reserve(text.size() + 16);
  size_t at = 0;
  while (at < text.size()) {
    const size_t run = ascii_run(text, at);
    out.append(text, at, run);
    at += run;
    if (at >= text.size()) break;
    const Utf8Char c = decode_utf8(text, at);
    if (c.valid) {
      out.append(text, at, c.bytes);
    } else {
      for (int i = 0; i < (each_byte ? c.bytes : 1); ++i) out += kReplacement;
    }
    at += c.bytes;
  }
  return out;
}

int64_t incomplete_tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const size_t at = text.size() - back;
    if ((static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) continue;  // not a first byte
    const Utf8Char c = decode_utf8(text, at);
    return c.incomplete && at + c.bytes == text.size() ? static_cast<int64_t>(back) : 0;
  }
  return 0;
}

}  // namespace etch

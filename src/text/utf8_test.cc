#include "text/utf8.h"

#include <gtest/gtest.h>

namespace etch {
namespace {

TEST(Utf8, EveryCodePointComesBack) {
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string s;
    append_utf8(s, code);
    const Utf8Char c = decode_utf8(s, 0);
    ASSERT_TRUE(c.valid) << code;
    ASSERT_EQ(c.code, code);
    ASSERT_EQ(static_cast<size_t>(c.bytes), s.size());
  }
}

TEST(Utf8, BrokenBytesBecomeOneReplacementForEachMaximalSubpart) {
  EXPECT_EQ(replace_invalid_utf8("a\xE2\x82z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(replace_invalid_utf8("a\xE2\x82z", true), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // overlong
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");                // surrogate
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80").size(), 12u);  // past U+10FFFF
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), "\xEF\xBF\xBD");
}

TEST(Utf8, OnlyAnUnfinishedCharacterIsHeldBack) {
  EXPECT_EQ(incomplete_tail("abc"), 0);
  EXPECT_EQ(incomplete_tail("abc\xE2"), 1);
  EXPECT_EQ(incomplete_tail("abc\xE2\x82"), 2);
  EXPECT_EQ(incomplete_tail("abc\xE2\x82\xAC"), 0);
  EXPECT_EQ(incomplete_tail("\xF0\x9F\x98"), 3);
  EXPECT_EQ(incomplete_tail("\x80"), 0);  // a lone continuation never becomes a character
  EXPECT_EQ(incomplete_tail("\xFF"), 0);
  EXPECT_EQ(incomplete_tail("\xE0\x80"), 0);  // overlong: never either
  EXPECT_EQ(incomplete_tail(""), 0);
}

}  // namespace
}  // namespace etch

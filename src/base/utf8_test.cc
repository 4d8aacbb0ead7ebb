#include "base/utf8.h"

#include <gtest/gtest.h>

#include "base/number_text.h"

namespace etch {
namespace {

TEST(Utf8, AcceptsEveryLength) {
  EXPECT_EQ(utf8_length("a"), 1);
  EXPECT_EQ(utf8_length("\xc3\xa9!"), 2);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3);
  EXPECT_EQ(utf8_length("\xf0\x9f\x8d\x93"), 4);
  EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1);
  EXPECT_TRUE(is_utf8("na\xc3\xafve \xf4\x8f\xbf\xbf"));
  EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, RefusesWhatIsNotACharacter) {
  for (const char* bad : {"\x80", "\xc3", "\xc3(", "\xe2\x82", "\xf0\x9f\x8d", "\xff", "\xc0\x80",
                          "\xc1\xbf", "\xe0\x80\x80", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(utf8_length(bad), 0) << quote(bad);
    EXPECT_FALSE(is_utf8(std::string("a") + bad));
  }
}

TEST(Utf8, QuotesWhatATerminalWouldObey) {
  EXPECT_EQ(quote("blk.0"), "'blk.0'");
  EXPECT_EQ(quote("a\x1b[2J\n\t"), "'a\\x1b[2J\\n\\t'");
  EXPECT_EQ(quote("it's \\"), "'it\\'s \\\\'");
  EXPECT_EQ(quote("\xff\xc2\x9b"
                  "1m"),
            "'\\xff\\xc2\\x9b1m'");
  EXPECT_EQ(quote("\xe2\x82\xac"), "'\xe2\x82\xac'");
}

TEST(Utf8, CutsLongTextsBetweenCharacters) {
  EXPECT_EQ(quote("abcdef", 4), "'abcd...'");
  EXPECT_EQ(quote("abcd", 4), "'abcd'");
  EXPECT_EQ(quote("ab\xe2\x82\xac"
                  "cd",
                  4),
            "'ab\xe2\x82\xac...'");
}

TEST(NumberText, GroupsDigitsByThree) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(4920734176), "4,920,734,176");
  EXPECT_EQ(with_commas(-1000), "-1,000");
  EXPECT_EQ(with_commas(-100), "-100");
  EXPECT_EQ(with_commas(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Utf8, is_told_from_bytes_wherever_they_stand) {
  const std::string_view good[] = {"a",          "\x7f",   "\u00e9",    "\u20ac",
                                   "\U0001f642", "\ud7ff", "\U0010ffff"};
  const std::string_view bad[] = {
      "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
      "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
      "\xc3",         "\xe2\x82",         "\xf0\x9f\x99",     "\xff"};
  for (size_t before = 0; before < 20; ++before) {
    for (size_t behind = 0; behind < 20; behind += 3) {
      const std::string head(before, 'x'), tail(behind, 'y');
      for (const std::string_view c : good) {
        EXPECT_EQ(utf8_length(c), static_cast<int>(c.size()));
        EXPECT_TRUE(is_utf8(head + std::string(c) + tail)) << before << " " << behind << quote(c);
      }
      for (const std::string_view c : bad) {
        EXPECT_EQ(utf8_length(c), 0) << quote(c);
        EXPECT_FALSE(is_utf8(head + std::string(c) + tail)) << before << " " << behind << quote(c);
      }
    }
  }
  EXPECT_TRUE(is_utf8(""));
}

}  // namespace
}  // namespace etch

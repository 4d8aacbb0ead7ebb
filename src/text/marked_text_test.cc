#include "text/marked_text.h"

#include <gtest/gtest.h>

namespace etch {
namespace {

TEST(MarkedText, RemembersWhichBytesCameFromOutside) {
  MarkedText m;
  m.append("<s>", false);
  m.append("hi ", true);
  m.append("you", true);
  m.append("</s>", false);
  ASSERT_EQ(m.outside.size(), 1u);
  EXPECT_EQ(m.outside[0], (TextRange{3, 9}));
  EXPECT_TRUE(m.is_outside(0, 4));
  EXPECT_FALSE(m.is_outside(0, 3));
  EXPECT_FALSE(m.is_outside(9, 13));
  EXPECT_TRUE(m.is_outside(8, 9));
}

TEST(MarkedText, SlicesKeepTheMarks) {
  MarkedText m;
  m.append("ab", true);
  m.append("cd", false);
  m.append("ef", true);
  const MarkedText part = m.slice(1, 5);
  EXPECT_EQ(part.text, "bcde");
  EXPECT_EQ(part.outside, (std::vector<TextRange>{{0, 1}, {3, 4}}));
  EXPECT_EQ(m.slice(2, 4).outside.size(), 0u);
  EXPECT_EQ(m.slice(-4, 99), m);
}

TEST(MarkedText, JoiningTouchingRangesGivesOne) {
  MarkedText m = MarkedText::from_outside("a");
  m.append(MarkedText::from_outside("b"));
  EXPECT_EQ(m.outside, (std::vector<TextRange>{{0, 2}}));
}

}  // namespace
}  // namespace etch

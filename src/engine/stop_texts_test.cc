#include "engine/stop_texts.h"

#include <gtest/gtest.h>

namespace etch {
namespace {

// What comes out piece by piece, with '|' where the stop text was found and '.' for the end.
std::string run(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopTexts filter(std::move(stops));
  std::string out;
  for (const std::string& p : pieces) {
    out += "[" + filter.push(p) + "]";
    if (filter.found()) return out + "|";
  }
  return out + "." + filter.finish();
}

TEST(StopTexts, let_text_through_without_any) { EXPECT_EQ(run({}, {"a", "b"}), "[a][b]."); }
TEST(StopTexts, drop_empty_ones) { EXPECT_EQ(run({""}, {"a"}), "[a]."); }
TEST(StopTexts, hold_back_what_may_begin_one) {
  EXPECT_EQ(run({"END"}, {"say E", "N", "D more"}), "[say ][][]|");
  EXPECT_EQ(run({"END"}, {"say E", "N", "E"}), "[say ][][EN].E");
  EXPECT_EQ(run({"END"}, {"say EN"}), "[say ].EN");
}
TEST(StopTexts, end_at_the_first_of_several) {
  EXPECT_EQ(run({"dd", "b"}, {"a", "bcddee"}), "[a][]|");
  EXPECT_EQ(run({"aab"}, {"aa", "ab"}), "[][a]|");
}

}  // namespace
}  // namespace etch

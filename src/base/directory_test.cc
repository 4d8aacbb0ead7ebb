#include "base/directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "support/temporary_dir.h"

namespace etch {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  const auto text = read_file(path, 1000);
  return text ? *text : "(none)";
}

int entries(const fs::path& folder) {
  int n = 0;
  for ([[maybe_unused]] const auto& e : fs::directory_iterator(folder)) ++n;
  return n;
}

TEST(Directory, AppearsWholeOrNotAtAll) {
  const test::TemporaryDir dir;
  const std::string target = dir / "out";
  {
    auto writer = DirectoryWriter::create(target, false);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write("a", "1"));
    EXPECT_FALSE(fs::exists(target));
  }
  EXPECT_EQ(entries(dir.path()), 0) << "a writer that was given up leaves nothing";
  auto writer = DirectoryWriter::create(target + "/", false);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write("a", "1"));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(content(target + "/a"), "1");
  EXPECT_EQ(entries(dir.path()), 1);
}

TEST(Directory, GivesWayOnlyWhenAsked) {
  const test::TemporaryDir dir;
  const std::string target = dir / "out";
  fs::create_directory(target);
  ASSERT_TRUE(write_file(target + "/old", "0"));
  const auto refused = DirectoryWriter::create(target, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_EQ(refused.error().message, target + ": is there already");
  auto writer = DirectoryWriter::create(target, true);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write("new", "1"));
  EXPECT_EQ(content(target + "/old"), "0");
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(content(target + "/new"), "1");
  EXPECT_FALSE(fs::exists(target + "/old"));
  EXPECT_EQ(entries(dir.path()), 1);
}

}  // namespace
}  // namespace etch

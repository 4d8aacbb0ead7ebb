#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/temporary_dir.h"

namespace etch {
namespace {

namespace fs = std::filesystem;

int files_in(const fs::path& dir) {
  return static_cast<int>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

TEST(File, AppearsOnlyWhenCommitted) {
  const test::TemporaryDir dir;
  const std::string path = dir / "a.txt";
  {
    auto writer = FileWriter::create(path);
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->write("new").has_value());
    EXPECT_FALSE(fs::exists(path));
    ASSERT_TRUE(writer->commit().has_value());
  }
  EXPECT_EQ(read_file(path, 100).value(), "new");
  EXPECT_EQ(files_in(dir.path()), 1);
}

TEST(File, LeavesTheTargetAloneWhenGivenUp) {
  const test::TemporaryDir dir;
  const std::string path = dir / "a.txt";
  ASSERT_TRUE(write_file(path, "old").has_value());
  {
    auto writer = FileWriter::create(path);
    ASSERT_TRUE(writer->write(std::string(3 << 20, 'x')).has_value());  // more than the buffer
  }
  EXPECT_EQ(read_file(path, 100).value(), "old");
  EXPECT_EQ(files_in(dir.path()), 1);
}

TEST(File, KeepsThePermissionsAndTheLinkOfTheTarget) {
  const test::TemporaryDir dir;
  const std::string path = dir / "a.txt", link = dir / "link";
  ASSERT_TRUE(write_file(path, "old").has_value());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path, link);
  ASSERT_TRUE(write_file(link, "new").has_value());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(path, 100).value(), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(File, WritesLargeContentsWhole) {
  const test::TemporaryDir dir;
  const std::string path = dir / "large";
  std::string text(5'000'001, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31);
  auto writer = FileWriter::create(path);
  for (size_t i = 0; i < text.size(); i += 333'333) {
    ASSERT_TRUE(writer->write(std::string_view(text).substr(i, 333'333)).has_value());
  }
  ASSERT_TRUE(writer->commit().has_value());
  EXPECT_EQ(read_file(path, 1 << 24).value(), text);
}

TEST(File, WritesToDevicesDirectly) {
  EXPECT_TRUE(write_file("/dev/null", "gone").has_value());
  struct stat status;
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(File, SaysWhatWentWrong) {
  const test::TemporaryDir dir;
  const auto folder = write_file(dir.path().string(), "x");
  EXPECT_THAT(folder.error().message, testing::HasSubstr("a folder"));
  const auto nowhere = write_file(dir / "none/a.txt", "x");
  EXPECT_THAT(nowhere.error().message, testing::HasSubstr("No such file"));
  EXPECT_EQ(nowhere.error().kind, ErrorKind::resources);
  EXPECT_FALSE(read_file(dir / "none", 10).has_value());
  ASSERT_TRUE(write_file(dir / "long", "12345678901").has_value());
  EXPECT_THAT(read_file(dir / "long", 10).error().message,
              testing::HasSubstr("longer than the 10 bytes"));
  EXPECT_EQ(read_file(dir / "long", 11).value(), "12345678901");
}

}  // namespace
}  // namespace etch

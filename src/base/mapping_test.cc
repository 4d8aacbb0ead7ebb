#include "base/mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/temporary_dir.h"

namespace etch {
namespace {

std::string text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Mapping, ShowsAFilesBytes) {
  const test::TemporaryDir dir;
  ASSERT_TRUE(write_file(dir / "a", "hello").has_value());
  const auto m = Mapping::open(dir / "a");
  ASSERT_TRUE(m.has_value()) << m.error().message;
  EXPECT_EQ(text_of(m->part_bytes(0)), "hello");
  EXPECT_EQ(m->parts().at(0).bytes, 5);
}

TEST(Mapping, PutsPartsIntoOneRangeAtPageBounds) {
  const test::TemporaryDir dir;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::string contents[] = {"first", "", std::string(static_cast<size_t>(page), 'p'), "last"};
  std::vector<std::string> paths;
  for (const std::string& c : contents) {
    paths.push_back(dir / std::to_string(paths.size()));
    ASSERT_TRUE(write_file(paths.back(), c).has_value());
  }
  const auto m = Mapping::open_all(paths);
  ASSERT_TRUE(m.has_value()) << m.error().message;
  const int64_t offsets[] = {0, page, page, 2 * page};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(m->parts()[i].offset, offsets[i]);
    EXPECT_EQ(text_of(m->part_bytes(i)), contents[i]);
  }
  ASSERT_EQ(static_cast<int64_t>(m->bytes().size()), 3 * page);
  for (int64_t i = 5; i < page; ++i) ASSERT_EQ(m->bytes()[i], 0);  // the whole range can be read
}

TEST(Mapping, PrivateCopiesNeverReachTheFile) {
  const test::TemporaryDir dir;
  ASSERT_TRUE(write_file(dir / "a", "hello").has_value());
  auto original = Mapping::open(dir / "a");
  EXPECT_EQ(original->writable(), nullptr);
  auto copy = original->private_copy();
  ASSERT_TRUE(copy.has_value()) << copy.error().message;
  copy->writable()[0] = 'J';
  EXPECT_EQ(text_of(copy->part_bytes(0)), "Jello");
  EXPECT_EQ(text_of(original->part_bytes(0)), "hello");
  EXPECT_EQ(read_file(dir / "a", 100).value(), "hello");
}

TEST(Mapping, CopiesMemoryToo) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  const Mapping m = Mapping::of_memory(bytes, "three");
  EXPECT_EQ(m.bytes().data(), bytes.data());
  auto copy = m.private_copy();
  copy->writable()[1] = 9;
  EXPECT_EQ(bytes[1], 2);
  EXPECT_THAT(copy->part_bytes(0), testing::ElementsAre(1, 9, 3));
  EXPECT_EQ(copy->parts()[0].path, "three");
}

TEST(Mapping, MovesItsRange) {
  const test::TemporaryDir dir;
  ASSERT_TRUE(write_file(dir / "a", "hello").has_value());
  Mapping m = Mapping::open(dir / "a").value();
  Mapping moved = std::move(m);
  m = Mapping();
  EXPECT_EQ(text_of(moved.part_bytes(0)), "hello");
}

TEST(Mapping, ReplacingAFileLeavesItsMappingAlone) {
  const test::TemporaryDir dir;
  ASSERT_TRUE(write_file(dir / "a", "old content").has_value());
  const Mapping m = Mapping::open(dir / "a").value();
  ASSERT_TRUE(write_file(dir / "a", "new").has_value());
  EXPECT_EQ(text_of(m.part_bytes(0)), "old content");
}

TEST(Mapping, SaysWhatCannotBeMapped) {
  const test::TemporaryDir dir;
  const auto missing = Mapping::open(dir / "none");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::resources);
  EXPECT_THAT(missing.error().message,
              testing::EndsWith("none: cannot open it: No such file or directory"));
  EXPECT_THAT(Mapping::open(dir.path().string()).error().message,
              testing::HasSubstr("a folder, not a regular file"));
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);  // must not wait for a writer
  EXPECT_THAT(Mapping::open(dir / "pipe").error().message,
              testing::HasSubstr("a pipe or a device"));
  ASSERT_TRUE(write_file(dir / "empty", "").has_value());
  EXPECT_TRUE(Mapping::open(dir / "empty")->bytes().empty());
}

}  // namespace
}  // namespace etch

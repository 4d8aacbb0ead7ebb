#include "base/elf_section.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "support/temporary_dir.h"

namespace etch {
namespace {

namespace fs = std::filesystem;

class ElfSection : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy_file("/proc/self/exe", program_);
    fs::permissions(program_, fs::perms::owner_all);
    ASSERT_TRUE(write_file(file_, content_));
  }
  test::TemporaryDir dir_;
  const std::string program_ = dir_ / "program", file_ = dir_ / "file";
  const std::string content_ = "what is put inside" + std::string(10000, '.');
};

TEST_F(ElfSection, IsFoundWithItsBytesOnAPageOfItsOwn) {
  ASSERT_TRUE(append_section(program_, ".first", file_));
  ASSERT_TRUE(write_file(file_, "another"));
  ASSERT_TRUE(append_section(program_, ".second", file_));
  const auto first = find_section(program_, ".first"), second = find_section(program_, ".second");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->bytes, std::ssize(content_));
  EXPECT_EQ(first->offset % 4096, 0);
  const auto all = read_file(program_, int64_t{1} << 30);
  ASSERT_TRUE(all);
  const auto at = [&](const SectionPlace& p) {
    return all->substr(static_cast<size_t>(p.offset), static_cast<size_t>(p.bytes));
  };
  EXPECT_EQ(at(*first), content_);
  EXPECT_EQ(at(*second), "another");
  EXPECT_TRUE(find_section(program_, ".text"));
}

TEST_F(ElfSection, LeavesTheProgramAble) {
  ASSERT_TRUE(append_section(program_, ".first", file_));
  EXPECT_EQ(std::system((program_ + " --gtest_list_tests >/dev/null").c_str()), 0);
}

TEST_F(ElfSection, IsRefusedWhereThereIsNoProgram) {
  for (const std::string& path : {file_, program_}) {
    const auto found = find_section(path, ".none");
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find(path), std::string::npos);
  }
  EXPECT_FALSE(append_section(file_, ".first", program_));
  EXPECT_EQ(*read_file(file_, 1 << 20), content_);
}

TEST_F(ElfSection, IsRefusedWhereTheProgramIsCutShort) {
  ASSERT_TRUE(append_section(program_, ".first", file_));
  const std::string whole = *read_file(program_, int64_t{1} << 30);
  for (const size_t n : {size_t{0}, size_t{63}, size_t{64}, whole.size() / 2, whole.size() - 1}) {
    ASSERT_TRUE(write_file(program_, whole.substr(0, n)));
    EXPECT_FALSE(find_section(program_, ".first")) << n;
  }
}

}  // namespace
}  // namespace etch

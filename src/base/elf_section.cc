#include "base/elf_section.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/mapping.h"

namespace etch {
namespace {

constexpr int64_t kPageBytes = 65536;  // the largest page that machines of etch have
constexpr int64_t kPieceBytes = int64_t{1} << 22;

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

struct Sections {
  Elf64_Ehdr head{};
  std::vector<Elf64_Shdr> all;
  std::string names;  // of all of them, each ended by a zero
};

template <class T>
T copied(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Result<Sections> read_sections(std::span<const uint8_t> bytes) {
  const auto wrong = [](const char* what) { return fail(ErrorKind::damaged, "{}", what); };
  const auto is_inside = [&](uint64_t offset, uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  Sections s;
  if (!is_inside(0, sizeof s.head)) return wrong("it is too short for a program");
  s.head = copied<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(s.head.e_ident, ELFMAG, SELFMAG) != 0 || s.head.e_ident[EI_CLASS] != ELFCLASS64 ||
      s.head.e_ident[EI_DATA] != ELFDATA2LSB)
    return wrong("it is no ELF program of 64 bits");
  const size_t n = s.head.e_shnum;
  if (s.head.e_shentsize != sizeof(Elf64_Shdr) || s.head.e_shstrndx >= n ||
      !is_inside(s.head.e_shoff, n * sizeof(Elf64_Shdr)))
    return wrong("its table of sections is not one");
  for (size_t i = 0; i < n; ++i)
    s.all.push_back(copied<Elf64_Shdr>(bytes, s.head.e_shoff + i * sizeof(Elf64_Shdr)));
  const Elf64_Shdr& names = s.all[s.head.e_shstrndx];
  if (!is_inside(names.sh_offset, names.sh_size)) return wrong("its sections have no names");
  s.names.assign(reinterpret_cast<const char*>(bytes.data()) + names.sh_offset, names.sh_size);
  return s;
}

std::string_view name_of(const Sections& s, const Elf64_Shdr& section) {
  if (section.sh_name >= s.names.size()) return "";
  const std::string_view rest = std::string_view(s.names).substr(section.sh_name);
  return rest.substr(0, rest.find('\0'));
}

class Output {
 public:
  explicit Output(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}
  Output(const Output&) = delete;
  ~Output() {
    if (fd_ >= 0) ::close(fd_);
  }
  Status write(const void* from, int64_t bytes, int64_t offset) {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t n = fd_ < 0
                            ? -1
                            : ::pwrite(fd_, at, static_cast<size_t>(std::min(bytes, kPieceBytes)),
                                       static_cast<off_t>(offset));
      if (n < 0 && fd_ >= 0 && errno == EINTR) continue;
      if (n <= 0) {
        return fail(ErrorKind::resources, "{}: cannot be written: {}", path_, std::strerror(errno));
      }
      at += n, offset += n, bytes -= n;
    }
    return {};
  }

 private:
  const std::string& path_;
  int fd_;
};

}  // namespace

Status append_section(const std::string& program, std::string_view name, const std::string& file) {
  const Mapping content = ETCH_TRY(Mapping::open(file));
  const auto bytes = content.part_bytes(0);
  Sections s;
  int64_t end = 0;
  {
    const Mapping old = ETCH_TRY(Mapping::open(program));
    s = ETCH_TRY(read_sections(old.part_bytes(0)).context(program));
    end = std::ssize(old.part_bytes(0));
  }
  Elf64_Shdr added{};
  added.sh_name = static_cast<Elf64_Word>(s.names.size());
  added.sh_type = SHT_PROGBITS;
  added.sh_offset = static_cast<Elf64_Off>(round_up(end, kPageBytes));
  added.sh_size = bytes.size();
  added.sh_addralign = kPageBytes;
  s.names += name;
  s.names += '\0';
  Elf64_Shdr& names = s.all[s.head.e_shstrndx];
  names.sh_offset = added.sh_offset + added.sh_size;
  names.sh_size = s.names.size();
  s.all.push_back(added);
  s.head.e_shnum = static_cast<Elf64_Half>(s.all.size());
  s.head.e_shoff = static_cast<Elf64_Off>(
      round_up(static_cast<int64_t>(names.sh_offset + names.sh_size), alignof(Elf64_Shdr)));

  Output out(program);
  ETCH_TRY(out.write(bytes.data(), std::ssize(bytes), static_cast<int64_t>(added.sh_offset)));
  ETCH_TRY(out.write(s.names.data(), std::ssize(s.names), static_cast<int64_t>(names.sh_offset)));
  ETCH_TRY(out.write(s.all.data(), std::ssize(s.all) * int64_t{sizeof(Elf64_Shdr)},
                     static_cast<int64_t>(s.head.e_shoff)));
  return out.write(&s.head, sizeof s.head, 0);
}

Result<SectionPlace> find_section(const std::string& program, std::string_view name) {
  const Mapping mapping = ETCH_TRY(Mapping::open(program));
  const auto bytes = mapping.part_bytes(0);
  const Sections s = ETCH_TRY(read_sections(bytes).context(program));
  for (const Elf64_Shdr& section : s.all) {
    if (name_of(s, section) != name) continue;
    if (section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset) {
      return fail(ErrorKind::damaged, "{}: ends inside its section {}", program, name);
    }
    return SectionPlace{static_cast<int64_t>(section.sh_offset),
                        static_cast<int64_t>(section.sh_size)};
  }
  return fail(ErrorKind::damaged, "{}: has no section {}", program, name);
}

}  // namespace etch

// The header of one GGUF file. All numbers are in the file's byte order; nothing is aligned but the
// data.
//
//   [ "GGUF" | version:u32 | tensors:count | pairs:count | pair ... | tensor ... | zeros | data ]
//   pair    [ key:text | type:u32 | value ]
//   tensor  [ name:text | n_dims:u32 | dims:count ... | dtype:u32 | offset:u64 ]
//   text    [ length:count | bytes ]
//   array   [ element type:u32 | n:count | elements ]
//
// A count has 64 bits, in version 1 it has 32. Nothing is allocated from a count that was not
// compared with the bytes that are left, and every length is checked by ByteReader: memory and time
// stay in proportion to the header.
#include <algorithm>
#include <bit>

#include "base/number_text.h"
#include "base/utf8.h"
#include "gguf/header_reader.h"

namespace etch {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensor data are used as they lie in little-endian files");

constexpr int64_t kMinAlignment = 8, kMaxAlignment = 1 << 20;

// What a file that is no GGUF may be, by its first bytes.
struct Beginning {
  std::string_view bytes, what;
};
constexpr Beginning kBeginnings[] = {
    {"lmgg", "this is a GGML file of before May 2023"},
    {"fmgg", "this is a GGMF file of before May 2023"},
    {"tjgg", "this is a GGJT file of before August 2023"},
    {"PK\3\4", "this is a zip archive"},
    {"vers", "this looks like a pointer of Git LFS; fetch the file itself"},
    {"<", "this looks like a web page; the download did not give the file"},
    {"{", "this looks like JSON"},
};

}  // namespace

Status HeaderReader::read() {
  ETCH_TRY(read_beginning());
  const uint64_t n_tensors = read_count();
  const uint64_t n_keys = read_count();
  ETCH_TRY(check_ended("the counts"));
  // The smallest pair is a key of no bytes and a value of one; the smallest tensor has no name
  // and no dims.
  ETCH_TRY(check_count("tensors", n_tensors, count_bytes() + 4 + 4 + 8));
  ETCH_TRY(check_count("keys", n_keys, count_bytes() + 4 + 1));
  for (uint64_t i = 0; i < n_keys; ++i) ETCH_TRY(read_key(i, n_keys));
  ETCH_TRY(read_alignment());
  for (uint64_t i = 0; i < n_tensors; ++i) ETCH_TRY(read_tensor(i, n_tensors));
  out_.part.header_bytes = static_cast<int64_t>(reader_.pos());
  return {};
}

Status HeaderReader::read_beginning() {
  const std::string_view magic = peek(4);
  if (magic.empty()) return fail(ErrorKind::damaged, "the file is empty");
  if (magic != "GGUF") {
    for (const Beginning& b : kBeginnings) {
      if (magic.starts_with(b.bytes))
        return fail(ErrorKind::damaged, "not a GGUF file: {}", b.what);
    }
    return fail(ErrorKind::damaged, "not a GGUF file: it begins with {}, not with 'GGUF'",
                quote(magic));
  }
  reader_.skip(4);
  uint32_t version = reader_.read<uint32_t>();
  ETCH_TRY(check_ended("the version"));
  // The magic is the same in both byte orders; a small number whose low half is empty is of the
  // other one.
  const bool swapped = (version & 0xffff) == 0 && version != 0;
  if (swapped) version = byte_swap(version);
  if (version == 0 || (swapped && version < 3)) {
    return fail(ErrorKind::damaged, "version {}{} at offset 4; versions are 1, 2 and 3{}", version,
                swapped ? " in big-endian order" : "",
                swapped ? ", and only 3 may be big-endian" : "");
  }
  if (version > 3)
    return fail(ErrorKind::unsupported, "GGUF version {}; 1, 2 and 3 can be read", version);
  out_.part.version = version;
  out_.part.big_endian = swapped;
  reader_.set_swapped(swapped);
  narrow_ = version == 1;
  return {};
}

std::string_view HeaderReader::peek(uint64_t n) const {
  ByteReader copy = reader_;
  return copy.text(std::min(n, copy.left()));
}

Status HeaderReader::check_ended(std::string_view what) const {
  if (reader_.ok()) return {};
  return fail(ErrorKind::damaged,
              "the file ends inside its header\n"
              "  {}: {} bytes needed at offset {}, the file has {}\n"
              "  either this is an interrupted download, or the length before it is damaged",
              what, grouped(reader_.failed_need()), grouped(reader_.failed_at()),
              grouped(out_.part.file_bytes));
}

Status HeaderReader::check_count(std::string_view what, uint64_t n, uint64_t least_bytes) const {
  if (n <= reader_.left() / least_bytes) return {};
  return fail(ErrorKind::damaged,
              "its header claims {} {}, more than the {} bytes behind it could hold", n, what,
              grouped(reader_.left()));
}

std::string HeaderReader::grouped(uint64_t n) {
  return n > static_cast<uint64_t>(INT64_MAX) ? fmt::format("{}", n)
                                              : with_commas(static_cast<int64_t>(n));
}

// Versions 1 and 2: a writer of those days counted the terminating NUL of every text.
std::string_view HeaderReader::read_name() {
  std::string_view text = reader_.text(read_count());
  if (out_.part.version < 3 && text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

Status HeaderReader::read_alignment() {
  const KeyValue* value = out_.find_key("general.alignment");
  if (value == nullptr) return {};
  if (value->type != ValueType::u32) {
    return fail(ErrorKind::damaged, "general.alignment is of type {}; it must be u32",
                name(value->type));
  }
  const int64_t alignment = *value->integer();
  if (alignment < kMinAlignment || alignment > kMaxAlignment || alignment % 8 != 0) {
    return fail(ErrorKind::damaged,
                "general.alignment is {}; it must be a multiple of 8, at most {}", alignment,
                kMaxAlignment);
  }
  if ((alignment & (alignment - 1)) != 0) {
    out_.warnings.add("general.alignment is not a power of two; other programs refuse this file",
                      fmt::format("{}", alignment));
  }
  out_.part.alignment = alignment;
  return {};
}

}  // namespace etch

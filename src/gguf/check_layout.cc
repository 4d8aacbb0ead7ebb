// The places of a part's tensors: aligned, inside the file, nowhere overlapping. All sums are
// checked: an offset is any 63 bits a hostile file likes.
#include <algorithm>

#include "base/number_text.h"
#include "base/utf8.h"
#include "gguf/read_part.h"

namespace etch {
namespace {

// What the name of a file that is too short tells.
std::string_view advice_for_short_file(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const size_t at = file.rfind(".gguf");
  if (at != std::string_view::npos && at + 5 < file.size()) {
    return "the name looks like a piece of a cut file; join the pieces with cat first";
  }
  return "this looks like an interrupted download; fetch it again";
}

tl::unexpected<Error> refuse(const TensorInfo& t, std::string_view why) {
  return fail(ErrorKind::damaged, "tensor {}: {}", quote(t.name), why);
}

// n up to the next multiple. Both are far from the limits: n is an end that was checked, a at most
// 2^20.
int64_t padded(int64_t n, int64_t a) { return (n + a - 1) / a * a; }

// How long the file must be for the tensors to lie in it.
Result<int64_t> bytes_needed(const PartContents& contents) {
  const GgufFile::Part& part = contents.part;
  int64_t needed = part.header_bytes;
  for (const TensorInfo& t : contents.tensors) {
    if (t.offset % part.alignment != 0) {
      return refuse(
          t, fmt::format("offset {} is no multiple of the alignment {}", t.offset, part.alignment));
    }
    int64_t end;
    if (__builtin_add_overflow(part.data_offset, t.offset, &end) ||
        __builtin_add_overflow(end, t.bytes, &end) || end > INT64_MAX - part.alignment) {
      return refuse(t,
                    fmt::format("offset {} and {} bytes are beyond any file", t.offset, t.bytes));
    }
    if (t.bytes > 0) {
      needed = std::max(needed, end);
    } else if (end > padded(part.file_bytes, part.alignment)) {
      return refuse(t, fmt::format("offset {} lies behind the end of the file", t.offset));
    }
  }
  return needed;
}

using TensorsByOffset = std::vector<const TensorInfo*>;

tl::unexpected<Error> fail_truncated(const GgufFile::Part& part, int64_t needed,
                                     const TensorsByOffset& tensors) {
  const auto cut = std::find_if(tensors.begin(), tensors.end(), [&](const TensorInfo* t) {
    return t->bytes > 0 && part.data_offset + t->offset + t->bytes > part.file_bytes;
  });
  const double percent = static_cast<double>(part.file_bytes) / static_cast<double>(needed) * 100;
  return fail(ErrorKind::damaged,
              "tensor data ends early\n"
              "  the file has {} bytes, its header needs {} ({} %)\n"
              "  first tensor affected: {}\n"
              "  {}",
              with_commas(part.file_bytes), with_commas(needed), static_cast<int>(percent),
              (*cut)->name, advice_for_short_file(part.path));
}

Status check_no_overlap(const TensorsByOffset& tensors) {
  const TensorInfo* before = nullptr;
  for (const TensorInfo* t : tensors) {
    if (t->bytes == 0) continue;
    if (before != nullptr && t->offset < before->offset + before->bytes) {
      return refuse(
          *t, fmt::format("its data at offset {} overlap those of {}, which end at {}", t->offset,
                          quote(before->name), before->offset + before->bytes));
    }
    before = t;
  }
  return {};
}

// Each tensor right behind the padded one before, in the order of the descriptors: what other
// programs insist on.
bool is_strictly_ordered(const PartContents& contents) {
  int64_t expected = 0;
  for (const TensorInfo& t : contents.tensors) {
    if (t.offset != expected) return false;
    expected = padded(t.offset + t.bytes, contents.part.alignment);
  }
  return true;
}

}  // namespace

Status check_layout(PartContents& contents, int64_t part_offset) {
  GgufFile::Part& part = contents.part;
  // Without tensors there is nothing to align; such files end with or without padding.
  part.data_offset =
      contents.tensors.empty() ? part.header_bytes : padded(part.header_bytes, part.alignment);
  const int64_t needed = ETCH_TRY(bytes_needed(contents));

  TensorsByOffset by_offset;
  for (const TensorInfo& t : contents.tensors) by_offset.push_back(&t);
  std::stable_sort(by_offset.begin(), by_offset.end(),
                   [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
  if (needed > part.file_bytes) return fail_truncated(part, needed, by_offset);
  ETCH_TRY(check_no_overlap(by_offset));

  if (!is_strictly_ordered(contents)) {
    contents.warnings.add(
        "tensor data have gaps or another order than their descriptors; other programs refuse this",
        part.path);
  }
  const int64_t end = padded(needed, part.alignment);
  if (part.file_bytes < end && needed > part.header_bytes) {
    contents.warnings.add("the last tensor is not padded", part.path);
  }
  if (part.file_bytes > end) {
    contents.warnings.add("bytes behind the end of the data", with_commas(part.file_bytes - end));
  }
  for (TensorInfo& t : contents.tensors) {
    // A tensor without data may be said to lie in padding that the file lacks.
    t.offset = part_offset + std::min(part.data_offset + t.offset, part.file_bytes);
  }
  return {};
}

}  // namespace etch

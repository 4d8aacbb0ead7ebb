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
#include "gguf/read_part.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "base/bytes.h"
#include "base/number_text.h"
#include "base/utf8.h"

namespace etch {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensor data are used as they lie in little-endian files");

constexpr int kMaxDims = 4;
constexpr int kMaxArrayDepth = 4;
constexpr uint64_t kMaxNameBytes = 64;  // the specification's; other programs refuse 64 itself
constexpr uint64_t kMaxKeyBytes = 65535;
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

class HeaderReader {
 public:
  HeaderReader(std::span<const uint8_t> bytes, int64_t part_offset, PartContents& out)
      : reader_(bytes), part_offset_(part_offset), out_(out) {}

  Status read() {
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

 private:
  uint64_t count_bytes() const { return narrow_ ? 4 : 8; }
  uint64_t read_count() { return narrow_ ? reader_.read<uint32_t>() : reader_.read<uint64_t>(); }

  // Versions 1 and 2: a writer of those days counted the terminating NUL of every text.
  std::string_view read_name() {
    std::string_view text = reader_.text(read_count());
    if (out_.part.version < 3 && text.ends_with('\0')) text.remove_suffix(1);
    return text;
  }

  Status check_ended(std::string_view what) const {
    if (reader_.ok()) return {};
    return fail(ErrorKind::damaged,
                "the file ends inside its header\n"
                "  {}: {} bytes needed at offset {}, the file has {}\n"
                "  either this is an interrupted download, or the length before it is damaged",
                what, grouped(reader_.failed_need()), grouped(reader_.failed_at()),
                grouped(out_.part.file_bytes));
  }

  static std::string grouped(uint64_t n) {
    return n > static_cast<uint64_t>(INT64_MAX) ? fmt::format("{}", n)
                                                : with_commas(static_cast<int64_t>(n));
  }

  Status check_count(std::string_view what, uint64_t n, uint64_t least_bytes) const {
    if (n <= reader_.left() / least_bytes) return {};
    return fail(ErrorKind::damaged,
                "its header claims {} {}, more than the {} bytes behind it could hold", n, what,
                grouped(reader_.left()));
  }

  Status read_beginning() {
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
      return fail(ErrorKind::damaged, "version {}{} at offset 4; versions are 1, 2 and 3{}",
                  version, swapped ? " in big-endian order" : "",
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

  std::string_view peek(uint64_t n) const {
    ByteReader copy = reader_;
    return copy.text(std::min(n, copy.left()));
  }

  Status read_key(uint64_t i, uint64_t n_keys) {
    const uint64_t start = reader_.pos();
    Key key;
    key.name = read_name();
    const uint32_t type = reader_.read<uint32_t>();
    ETCH_TRY(check_ended(fmt::format("key {} of {}", i + 1, n_keys)));
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorKind::damaged, "key {} of {} at offset {}, {}: {}", i + 1, n_keys, start,
                  quote(key.name), why);
    };
    if (key.name.empty()) return refuse("a key may not be empty");
    if (key.name.find('\0') != std::string_view::npos) return refuse("a key may not hold a NUL");
    if (!is_utf8(key.name)) return refuse("a key must be UTF-8");
    if (!key_names_.insert(key.name).second)
      return refuse("this key came before; a key may stand only once");
    warn_of_odd_key(key.name);
    if (!is_type(type)) return refuse(fmt::format("value type {}; types are 0 to 12", type));
    key.value.type = static_cast<ValueType>(type);
    ETCH_TRY(read_value(key.value).context(fmt::format("key {}", quote(key.name))));
    key.offset = part_offset_ + static_cast<int64_t>(start);
    key.bytes = static_cast<int64_t>(reader_.pos() - start);
    out_.keys.push_back(key);
    return {};
  }

  void warn_of_odd_key(std::string_view name) {
    const auto odd = [](char c) {
      return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
               c == '-');
    };
    if (std::any_of(name.begin(), name.end(), odd)) {
      out_.warnings.add("a key is not made of lower-case words joined by dots", quote(name));
    }
    if (name.size() > kMaxKeyBytes)
      out_.warnings.add("a key is longer than 65535 bytes", quote(name));
  }

  bool is_type(uint32_t type) const {
    const auto last = out_.part.version == 1 ? ValueType::array : ValueType::f64;
    return type <= static_cast<uint32_t>(last);
  }

  Status read_value(KeyValue& value) {
    value.swapped = out_.part.big_endian;
    value.narrow = narrow_;
    value.trim_nul = out_.part.version < 3;
    if (value.type == ValueType::string) {
      value.bytes = reader_.run(read_count());
      ETCH_TRY(check_ended("its text"));
      if (!is_utf8(*value.text())) out_.warnings.add("a text is not UTF-8", quote(*value.text()));
      return {};
    }
    if (value.type == ValueType::array) return read_array(value);
    value.bytes = reader_.run(static_cast<uint64_t>(scalar_bytes(value.type)));
    ETCH_TRY(check_ended("its value"));
    if (value.type == ValueType::boolean && value.bytes[0] > 1) {
      out_.warnings.add("a bool is neither 0 nor 1 (and counts as true)",
                        fmt::format("{}", value.bytes[0]));
    }
    return {};
  }

  Status read_array(KeyValue& value) {
    const auto [element, count] = ETCH_TRY(read_array_head());
    value.element = element;
    value.count = count;
    ByteReader start = reader_;
    ETCH_TRY(skip_elements(element, count, 1));
    value.bytes = start.run(reader_.pos() - start.pos());
    return {};
  }

  struct ArrayHead {
    ValueType element;
    int64_t count;
  };
  Result<ArrayHead> read_array_head() {
    const uint64_t at = reader_.pos();
    const uint32_t element = reader_.read<uint32_t>();
    const uint64_t count = read_count();
    ETCH_TRY(check_ended("its element type and length"));
    if (!is_type(element)) {
      return fail(ErrorKind::damaged, "element type {} at offset {}; types are 0 to 12", element,
                  at);
    }
    const auto type = static_cast<ValueType>(element);
    uint64_t least = static_cast<uint64_t>(scalar_bytes(type));
    if (type == ValueType::string) least = count_bytes();
    if (type == ValueType::array) least = 4 + count_bytes();
    if (count > reader_.left() / least) {
      return fail(ErrorKind::damaged,
                  "an array of {} {} values at offset {} cannot lie in the {} bytes left\n"
                  "  either this is an interrupted download, or the length is damaged",
                  count, name(type), at, grouped(reader_.left()));
    }
    return ArrayHead{type, static_cast<int64_t>(count)};
  }

  Status skip_elements(ValueType element, int64_t count, int depth) {
    if (element == ValueType::string) {
      for (int64_t i = 0; i < count && reader_.ok(); ++i) reader_.skip(read_count());
      return check_ended("a text of the array");
    }
    if (element == ValueType::array) {
      if (depth == kMaxArrayDepth) {
        return fail(ErrorKind::damaged, "arrays inside arrays more than {} deep at offset {}",
                    kMaxArrayDepth, reader_.pos());
      }
      for (int64_t i = 0; i < count; ++i) {
        const auto [inner, inner_count] = ETCH_TRY(read_array_head());
        ETCH_TRY(skip_elements(inner, inner_count, depth + 1));
      }
      return {};
    }
    reader_.skip(static_cast<uint64_t>(count) *
                 static_cast<uint64_t>(scalar_bytes(element)));  // fits: read_array_head
    return check_ended("its elements");
  }

  Status read_alignment() {
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

  Status read_tensor(uint64_t i, uint64_t n_tensors) {
    const uint64_t start = reader_.pos();
    TensorInfo tensor;
    tensor.name = read_name();
    const uint32_t n_dims = reader_.read<uint32_t>();
    ETCH_TRY(check_ended(fmt::format("descriptor {} of {} tensors", i + 1, n_tensors)));
    const auto refuse = [&](ErrorKind kind, std::string_view why) {
      return fail(kind, "tensor {} (descriptor {} of {}, at offset {}): {}", quote(tensor.name),
                  i + 1, n_tensors, start, why);
    };
    ETCH_TRY(check_tensor_name(tensor.name, refuse));
    if (n_dims > kMaxDims) {
      return refuse(ErrorKind::damaged,
                    fmt::format("{} dimensions; at most {} are possible", n_dims, kMaxDims));
    }
    for (uint32_t d = 0; d < n_dims; ++d) tensor.dims.push_back(static_cast<int64_t>(read_count()));
    const uint32_t type = reader_.read<uint32_t>();
    const uint64_t offset = reader_.read<uint64_t>();
    ETCH_TRY(check_ended(fmt::format("the descriptor of tensor {}", quote(tensor.name))));

    const auto dtype = dtype_of_id(type);
    if (!dtype)
      return refuse(ErrorKind::unsupported,
                    fmt::format("tensor type {}: {}", type, describe_foreign_id(type)));
    tensor.dtype = *dtype;
    ETCH_TRY(count_elements(tensor, refuse));
    if (offset > static_cast<uint64_t>(INT64_MAX)) {
      return refuse(ErrorKind::damaged, fmt::format("offset {} is beyond any file", offset));
    }
    tensor.offset = static_cast<int64_t>(offset);  // of the data, until check_layout
    tensor.info_offset = part_offset_ + static_cast<int64_t>(start);
    out_.tensors.push_back(std::move(tensor));
    return {};
  }

  template <class Refuse>
  Status check_tensor_name(std::string_view name, Refuse refuse) {
    if (name.empty()) return refuse(ErrorKind::damaged, "a tensor must have a name");
    if (name.size() > kMaxNameBytes) {
      return refuse(ErrorKind::damaged, fmt::format("a name of {} bytes; at most {} are allowed",
                                                    name.size(), kMaxNameBytes));
    }
    if (name.size() == kMaxNameBytes) {
      out_.warnings.add("a tensor name has 64 bytes; other programs read at most 63", quote(name));
    }
    if (name.find('\0') != std::string_view::npos || !is_utf8(name)) {
      return refuse(ErrorKind::damaged, "a name must be UTF-8 without NUL");
    }
    return {};
  }

  // dims to elements and bytes, without overflow. No dims at all: one number.
  template <class Refuse>
  Status count_elements(TensorInfo& tensor, Refuse refuse) {
    const DTypeInfo& type = info(tensor.dtype);
    tensor.elements = 1;
    for (const int64_t dim : tensor.dims) {
      if (dim < 0 || __builtin_mul_overflow(tensor.elements, dim, &tensor.elements)) {
        return refuse(ErrorKind::damaged, fmt::format("its dimensions [{}] are beyond any file",
                                                      fmt::join(tensor.dims, ", ")));
      }
    }
    const int64_t row = tensor.dims.empty() ? 1 : tensor.dims[0];
    if (row % type.block_elements != 0) {
      return refuse(ErrorKind::damaged,
                    fmt::format("rows of {} elements; {} needs a multiple of {}", row, type.name,
                                type.block_elements));
    }
    if (__builtin_mul_overflow(tensor.elements / type.block_elements, type.block_bytes,
                               &tensor.bytes)) {
      return refuse(ErrorKind::damaged, fmt::format("its dimensions [{}] are beyond any file",
                                                    fmt::join(tensor.dims, ", ")));
    }
    return {};
  }

  ByteReader reader_;
  int64_t part_offset_;
  PartContents& out_;
  bool narrow_ = false;  // version 1: counts of 32 bits
  std::unordered_set<std::string_view> key_names_;
};

}  // namespace

const KeyValue* PartContents::find_key(std::string_view name) const {
  for (const Key& key : keys) {
    if (key.name == name) return &key.value;
  }
  return nullptr;
}

Result<PartContents> read_part(const Mapping& mapping, int index) {
  const Mapping::Part& place = mapping.parts()[static_cast<size_t>(index)];
  const std::span<const uint8_t> bytes = mapping.part_bytes(index);
  PartContents contents;
  contents.part.path = place.path;
  contents.part.file_bytes = place.bytes;
  ETCH_TRY(HeaderReader(bytes, place.offset, contents).read().context(place.path));
  ETCH_TRY(check_layout(contents, place.offset).context(place.path));
  for (TensorInfo& t : contents.tensors) t.part = index;

  const auto header = static_cast<size_t>(contents.part.header_bytes);
  const auto data = static_cast<size_t>(std::min(contents.part.data_offset, place.bytes));
  const auto padding = bytes.subspan(header, data - header);
  if (std::any_of(padding.begin(), padding.end(), [](uint8_t b) { return b != 0; })) {
    contents.warnings.add("the padding behind the header is not zero", place.path);
  }
  return contents;
}

}  // namespace etch

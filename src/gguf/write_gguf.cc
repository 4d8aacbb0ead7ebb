#include "gguf/write_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/bytes.h"
#include "base/file.h"
#include "base/utf8.h"
#include "dtypes/byte_order.h"

namespace etch {
namespace {

constexpr int64_t kDefaultAlignment = 32;
constexpr size_t kMaxDims = 4;
constexpr size_t kMaxNameBytes = 63;

int64_t padded(int64_t n, int64_t alignment) { return (n + alignment - 1) / alignment * alignment; }

// The header, field by field, in the version and byte order asked for.
class HeaderWriter {
 public:
  explicit HeaderWriter(const WriteOptions& options) : options_(options) {}

  template <class T>
  void put(T v) {
    if (options_.big_endian) v = byte_swap(v);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&v);
    out_.insert(out_.end(), bytes, bytes + sizeof(T));
  }
  void put_count(uint64_t n) {
    fits_ = fits_ && (options_.version > 1 || n <= UINT32_MAX);
    options_.version == 1 ? put(static_cast<uint32_t>(n)) : put(n);
  }
  void put_text(std::string_view text) {
    const bool nul = options_.version < 3 && options_.count_nul;
    put_count(text.size() + (nul ? 1 : 0));
    out_.insert(out_.end(), text.begin(), text.end());
    if (nul) out_.push_back(0);
  }
  void put_type(ValueType type) {
    fits_ = fits_ && (options_.version > 1 ||
                      type <= ValueType::array);  // the 64-bit ones came with version 2
    put(static_cast<uint32_t>(type));
  }
  void put_bytes(std::string_view bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

  // A value of whatever version and order, without its type.
  void put_value(const KeyValue& v) {
    if (v.type == ValueType::string) {
      put_text(*v.text());
    } else if (v.type == ValueType::array) {
      put_type(v.element);
      put_count(static_cast<uint64_t>(v.count));
      ByteReader r(v.bytes, v.swapped);
      put_elements(v, v.element, v.count, r);
    } else {
      put_numbers(v.bytes, scalar_bytes(v.type), v.swapped);
    }
  }

  std::vector<uint8_t>& bytes() { return out_; }
  bool fits() const { return fits_; }  // every count and type is one the version has

 private:
  void put_numbers(std::span<const uint8_t> bytes, int64_t width, bool swapped) {
    const size_t start = out_.size();
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    if (swapped == options_.big_endian) return;
    for (size_t at = start; at < out_.size(); at += static_cast<size_t>(width)) {
      std::reverse(out_.begin() + static_cast<int64_t>(at),
                   out_.begin() + static_cast<int64_t>(at) + width);
    }
  }

  void put_elements(const KeyValue& v, ValueType element, int64_t count, ByteReader& r) {
    const auto read_count = [&] { return v.narrow ? r.read<uint32_t>() : r.read<uint64_t>(); };
    if (element == ValueType::string) {
      for (int64_t i = 0; i < count; ++i) {
        KeyValue text = v;
        text.type = ValueType::string;
        text.bytes = r.run(read_count());
        put_text(*text.text());
      }
    } else if (element == ValueType::array) {
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t inner = r.read<uint32_t>();
        const uint64_t inner_count = read_count();
        put_type(static_cast<ValueType>(inner));
        put_count(inner_count);
        put_elements(v, static_cast<ValueType>(inner), static_cast<int64_t>(inner_count), r);
      }
    } else {
      const int64_t width = scalar_bytes(element);
      put_numbers(r.run(static_cast<uint64_t>(count * width)), width, v.swapped);
    }
  }

  WriteOptions options_;
  std::vector<uint8_t> out_;
  bool fits_ = true;
};

Result<int64_t> alignment_of(const GgufContents& contents) {
  for (const NewKey& key : contents.keys) {
    if (key.name != "general.alignment") continue;
    const int64_t a = key.value.type == ValueType::u32 ? *key.value.integer() : 0;
    if (a < 8 || a > 1 << 20 || (a & (a - 1)) != 0) {
      return fail(ErrorKind::usage,
                  "general.alignment must be a power of two from 8 to 1048576, as u32, not {}",
                  key.value.print());
    }
    return a;
  }
  return kDefaultAlignment;
}

template <class Named>
Status check_names(const std::vector<Named>& all, std::string_view what, size_t max_bytes) {
  std::unordered_set<std::string_view> seen;
  for (const Named& one : all) {
    if (one.name.empty() || one.name.size() > max_bytes || !is_utf8(one.name) ||
        one.name.find('\0') != std::string::npos) {
      return fail(ErrorKind::usage, "{} {}: its name must have 1 to {} bytes of UTF-8", what,
                  quote(one.name), max_bytes);
    }
    if (!seen.insert(one.name).second)
      return fail(ErrorKind::usage, "{} {} stands twice", what, quote(one.name));
  }
  return {};
}

Result<int64_t> bytes_of(const NewTensor& t) {
  const DTypeInfo& type = info(t.dtype);
  int64_t elements = 1, bytes = 0;
  bool good = t.dims.size() <= kMaxDims;
  for (const int64_t dim : t.dims)
    good = good && dim >= 0 && !__builtin_mul_overflow(elements, dim, &elements);
  const int64_t row = t.dims.empty() ? 1 : t.dims[0];
  good = good && row % type.block_elements == 0 &&
         !__builtin_mul_overflow(elements / type.block_elements, type.block_bytes, &bytes);
  if (good) return bytes;
  return fail(ErrorKind::usage,
              "tensor {}: dimensions [{}] cannot be written as {} (rows of whole {}-element "
              "blocks, 4 at most)",
              quote(t.name), fmt::join(t.dims, ", "), type.name, type.block_elements);
}

Status check_options(const WriteOptions& options) {
  if (options.version < 1 || options.version > 3 || (options.big_endian && options.version < 3)) {
    return fail(ErrorKind::usage, "GGUF version {}{} cannot be written", options.version,
                options.big_endian ? " in big-endian order" : "");
  }
  return {};
}

// Everything up to the data, with its padding.
Result<std::vector<uint8_t>> header_of(const GgufContents& contents, std::span<const int64_t> sizes,
                                       int64_t alignment, const WriteOptions& options) {
  HeaderWriter header(options);
  header.put_bytes("GGUF");
  header.put(options.version);
  header.put_count(contents.tensors.size());
  header.put_count(contents.keys.size());
  for (const NewKey& key : contents.keys) {
    header.put_text(key.name);
    header.put_type(key.value.type);
    header.put_value(key.value);
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const NewTensor& t = contents.tensors[i];
    header.put_text(t.name);
    header.put(static_cast<uint32_t>(t.dims.size()));
    for (const int64_t dim : t.dims) header.put_count(static_cast<uint64_t>(dim));
    header.put(info(t.dtype).id);
    header.put(offset);
    offset += static_cast<uint64_t>(padded(sizes[i], alignment));
  }
  if (!header.fits())
    return fail(ErrorKind::usage, "a count or a value type is none that version {} has",
                options.version);
  std::vector<uint8_t>& bytes = header.bytes();
  if (!sizes.empty())
    bytes.resize(static_cast<size_t>(padded(static_cast<int64_t>(bytes.size()), alignment)));
  return std::move(bytes);
}

// One tensor's data, exactly as many bytes as its shape says, and the padding.
Status write_tensor(const NewTensor& t, int64_t size, int64_t alignment,
                    const WriteOptions& options, const ByteSink& sink) {
  int64_t written = 0;
  std::vector<uint8_t> turned;  // big endian: the whole tensor, since pieces may end inside a block
  ETCH_TRY(t.write([&](std::span<const uint8_t> piece) -> Status {
              written += static_cast<int64_t>(piece.size());
              if (written > size) return {};  // said below
              if (!options.big_endian) return sink(piece);
              turned.insert(turned.end(), piece.begin(), piece.end());
              return {};
            }).context(fmt::format("tensor {}", quote(t.name))));
  if (written != size) {
    return fail(ErrorKind::internal, "tensor {}: {} bytes of data where its shape needs {}",
                quote(t.name), written, size);
  }
  if (options.big_endian) {
    swap_block_bytes(t.dtype, turned.data(), size);
    ETCH_TRY(sink(turned));
  }
  const std::vector<uint8_t> zeros(static_cast<size_t>(padded(size, alignment) - size));
  return sink(zeros);
}

Status emit(const GgufContents& contents, const WriteOptions& options, const ByteSink& sink) {
  ETCH_TRY(check_options(options));
  ETCH_TRY(check_names(contents.keys, "key", 65535));
  ETCH_TRY(check_names(contents.tensors, "tensor", kMaxNameBytes));
  const int64_t alignment = ETCH_TRY(alignment_of(contents));
  std::vector<int64_t> sizes;
  int64_t total = 0;
  for (const NewTensor& t : contents.tensors) {
    sizes.push_back(ETCH_TRY(bytes_of(t)));
    if (sizes.back() > INT64_MAX / 2 - total)
      return fail(ErrorKind::usage, "the tensors are larger than any file");
    total += padded(sizes.back(), alignment);
  }
  ETCH_TRY(sink(ETCH_TRY(header_of(contents, sizes, alignment, options))));
  for (size_t i = 0; i < sizes.size(); ++i) {
    ETCH_TRY(write_tensor(contents.tensors[i], sizes[i], alignment, options, sink));
  }
  return {};
}

}  // namespace

NewKey& GgufContents::place_of(std::string_view key) {
  const auto at =
      std::find_if(keys.begin(), keys.end(), [&](const NewKey& k) { return k.name == key; });
  if (at != keys.end()) return *at;
  keys.push_back({std::string(key), {}, nullptr});
  return keys.back();
}

void GgufContents::put(std::string_view key, KeyValue value, std::vector<uint8_t> bytes) {
  NewKey& place = place_of(key);
  place.storage = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  place.value = value;
  place.value.bytes = *place.storage;
}

void GgufContents::set_numbers(std::string_view key, ValueType type, bool is_array, int64_t count,
                               const void* bytes, size_t size) {
  KeyValue value;
  value.type = is_array ? ValueType::array : type;
  value.element = type;
  value.count = count;
  std::vector<uint8_t> copy(size);
  if (size > 0) std::memcpy(copy.data(), bytes, size);
  put(key, value, std::move(copy));
}

void GgufContents::set(std::string_view key, bool value) {
  const auto byte = static_cast<uint8_t>(value ? 1 : 0);
  set_numbers(key, ValueType::boolean, false, 1, &byte, 1);
}

void GgufContents::set(std::string_view key, const std::vector<bool>& values) {
  const std::vector<uint8_t> bytes(values.begin(), values.end());
  set_numbers(key, ValueType::boolean, true, static_cast<int64_t>(bytes.size()), bytes.data(),
              bytes.size());
}

void GgufContents::set(std::string_view key, std::string_view text) {
  set_numbers(key, ValueType::string, false, 1, text.data(), text.size());
}

void GgufContents::set(std::string_view key, const std::vector<std::string>& texts) {
  std::vector<uint8_t> bytes;
  for (const std::string& text : texts) {
    const uint64_t length = text.size();
    const auto* raw = reinterpret_cast<const uint8_t*>(&length);
    bytes.insert(bytes.end(), raw, raw + sizeof(length));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  set_numbers(key, ValueType::string, true, static_cast<int64_t>(texts.size()), bytes.data(),
              bytes.size());
}

void GgufContents::set(std::string_view key, const KeyValue& value) {
  NewKey& place = place_of(key);
  place.storage = nullptr;
  place.value = value;
}

void GgufContents::add_tensor(std::string_view name, DType dtype, std::vector<int64_t> dims,
                              std::span<const uint8_t> data) {
  tensors.push_back({std::string(name), dtype, std::move(dims),
                     [data](const ByteSink& sink) { return sink(data); }});
}

Status write_gguf(const std::string& path, const GgufContents& contents,
                  const WriteOptions& options) {
  FileWriter file = ETCH_TRY(FileWriter::create(path));
  ETCH_TRY(emit(contents, options, [&](std::span<const uint8_t> bytes) {
             return file.write(bytes);
           }).context(path));
  return file.commit();
}

Result<std::vector<uint8_t>> gguf_bytes(const GgufContents& contents, const WriteOptions& options) {
  std::vector<uint8_t> out;
  ETCH_TRY(emit(contents, options, [&](std::span<const uint8_t> bytes) -> Status {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return {};
  }));
  return out;
}

}  // namespace etch

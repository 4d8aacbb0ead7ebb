// HeaderReader: one part's header, from its bytes to PartContents.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/bytes.h"
#include "gguf/read_part.h"

namespace etch {

class HeaderReader {
 public:
  HeaderReader(std::span<const uint8_t> bytes, int64_t part_offset, PartContents& out)
      : reader_(bytes), part_offset_(part_offset), out_(out) {}

  Status read();

 private:
  // An error that says which tensor it is about.
  using Refuse = std::function<tl::unexpected<Error>(ErrorKind, std::string_view why)>;

  // read_header.cc
  Status read_beginning();
  Status read_alignment();
  std::string_view peek(uint64_t n) const;
  uint64_t count_bytes() const { return narrow_ ? 4 : 8; }
  uint64_t read_count() { return narrow_ ? reader_.read<uint32_t>() : reader_.read<uint64_t>(); }
  std::string_view read_name();
  Status check_ended(std::string_view what) const;
  Status check_count(std::string_view what, uint64_t n, uint64_t least_bytes) const;
  static std::string grouped(uint64_t n);

  // read_keys.cc
  Status read_key(uint64_t i, uint64_t n_keys);
  void warn_of_odd_key(std::string_view name);
  bool is_type(uint32_t type) const;
  Status read_value(KeyValue& value);
  Status read_array(KeyValue& value);
  struct ArrayHead {
    ValueType element;
    int64_t count;
  };
  Result<ArrayHead> read_array_head();
  Status skip_elements(ValueType element, int64_t count, int depth);

  // read_tensors.cc
  Status read_tensor(uint64_t i, uint64_t n_tensors);
  Status check_tensor_name(std::string_view name, const Refuse& refuse);
  Status count_elements(TensorInfo& tensor, const Refuse& refuse);

  ByteReader reader_;
  int64_t part_offset_;
  PartContents& out_;
  bool narrow_ = false;  // version 1: counts of 32 bits
  std::unordered_set<std::string_view> key_names_;
};

}  // namespace etch

// The descriptors of tensors: names, dims, types, places.
#include <fmt/format.h>

#include "base/utf8.h"
#include "gguf/header_reader.h"

namespace etch {
namespace {

constexpr int kMaxDims = 4;
constexpr uint64_t kMaxNameBytes = 64;  // the specification's; other programs refuse 64 itself

}  // namespace

Status HeaderReader::read_tensor(uint64_t i, uint64_t n_tensors) {
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

Status HeaderReader::check_tensor_name(std::string_view name, const Refuse& refuse) {
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
Status HeaderReader::count_elements(TensorInfo& tensor, const Refuse& refuse) {
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
    return refuse(ErrorKind::damaged, fmt::format("rows of {} elements; {} needs a multiple of {}",
                                                  row, type.name, type.block_elements));
  }
  if (__builtin_mul_overflow(tensor.elements / type.block_elements, type.block_bytes,
                             &tensor.bytes)) {
    return refuse(ErrorKind::damaged, fmt::format("its dimensions [{}] are beyond any file",
                                                  fmt::join(tensor.dims, ", ")));
  }
  return {};
}

}  // namespace etch

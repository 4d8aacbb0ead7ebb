// Names: how things are called in printed C. Tensors by the part of the circuit they are, lengths
// by the dims they are computed from, buffers by the wire they hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/code_options.h"
#include "lowered/lowered.h"

namespace etch {

class Names {
 public:
  explicit Names(const CodeOptions& options);

  // The tensor that begins at an offset of the file, or null.
  const CodeOptions::Tensor* tensor_at(int64_t offset) const;
  // What the constant with its offset is called outside of the table of layers.
  std::string global_name(const CodeOptions::Tensor& tensor) const;
  // Dims that are whole numbers and can be enumerators.
  const std::vector<CodeOptions::Dim>& dims() const { return dims_; }
  std::optional<int64_t> dim(std::string_view name) const;
  // A length as the circuit writes it ("n_heads*d_head"), spaced as C is, if it has that value.
  std::optional<std::string> expression(std::string_view text, int64_t value) const;
  bool is_taken(const std::string& name) const { return taken_.contains(name); }

 private:
  std::map<int64_t, const CodeOptions::Tensor*> tensors_;
  std::map<int64_t, std::string> globals_;
  std::vector<CodeOptions::Dim> dims_;
  std::set<std::string> taken_;  // words with a meaning of their own in the printed C
};

bool is_identifier(std::string_view text);
std::string identifier(std::string_view text);      // what is none becomes one
std::string without_number(std::string_view name);  // "linear.12" -> "linear"

}  // namespace etch

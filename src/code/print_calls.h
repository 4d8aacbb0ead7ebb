// The calls of a segment as C: the body of a layer's function, or a stretch of decode() or
// prefill().
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "code/fold.h"
#include "code/layout.h"
#include "code/names.h"

namespace etch {

// A pointer into arena, own memory or outputs that a function declares at its top.
struct LocalBuffer {
  std::string name;
  Place place;
};

class CallPrinter {
 public:
  CallPrinter(const Lowered& lowered, const Folded& folded, const FoldedList& list,
              const Names& names);

  // Calls first .. last - 1. `kind`: they are the layers of a kind; null: calls outside of layers.
  std::string print(int32_t first, int32_t last, const LayerFunction* kind);
  // Declares every buffer that print() has met since the last time.
  std::string take_declarations();
  // Whether what was printed since the last take_uses() reads its row of the table of layers, or
  // the number of it.
  struct Uses {
    bool table = false, row = false;
  };
  Uses take_uses() { return {std::exchange(used_table_, false), std::exchange(used_row_, false)}; }
  // Offsets of tensors that were printed by their global names; constants that were used.
  const std::set<int64_t>& globals() const { return globals_; }
  bool has_used_constants() const { return used_constants_; }

 private:
  std::string print_call(int32_t c, const LayerFunction* kind);
  std::string print_comment(int32_t c, const LayerFunction* kind) const;
  std::string place(const Place& p, const LayerFunction* kind, OpenArg arg);
  std::string number(const Call& call, const LayerFunction* kind, OpenArg arg, size_t field);
  std::string ahead(const Call& call, const LayerFunction* kind, int32_t here, std::string& out);
  std::string column(const LayerFunction* kind, OpenArg arg);
  std::string length(const Call& call, std::string_view field, int64_t value) const;
  std::string tensor_name(const CodeOptions::Tensor& t, const LayerFunction* kind) const;
  void learn_names(int32_t first, int32_t last);
  void learn_rows(const Call& call);
  std::string rename(std::string_view what, int32_t layer) const;
  const std::string& local(const Place& p);
  std::string wire(const Buffer& buffer) const;
  std::string range(const Access& access) const;
  const CodeOptions::Tensor* tensor_of(const Call& call) const;

  const Lowered& lowered_;
  const Folded& folded_;
  const FoldedList& list_;
  const Names& names_;
  int32_t first_ = 0;                           // of the segment at work
  std::map<std::string, std::string> wires_;    // buffer names -> names in C
  std::map<int32_t, std::string> row_lengths_;  // buffer -> how long its rows are, in dims
  std::vector<LocalBuffer> locals_;
  std::set<std::string> declared_;  // matrices fetched ahead, in the function at work
  std::set<int64_t> globals_;
  bool used_table_ = false, used_row_ = false, used_constants_ = false;
};

// A number as a literal of its C type.
std::string print_float(float f);

}  // namespace etch

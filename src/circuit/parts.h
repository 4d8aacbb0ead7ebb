// The parts of a circuit as a flat list: each declaration with what stands around it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "circuit/ast.h"
#include "circuit/dims.h"

namespace etch {

struct PartDeclaration {
  const Part* part = nullptr;
  const PartItem* pack = nullptr;
  struct Guard {  // an enclosing `each` or arm of an `if`, outermost first
    const PartItem* item = nullptr;
    bool otherwise = false;
  };
  std::vector<Guard> guards;
  const PartItem* each = nullptr;  // the innermost

  std::string_view variable() const {
    return each != nullptr ? std::string_view(each->name.text) : std::string_view();
  }
  bool may_be_absent() const;  // optional, or in an optional group
  const PartItem* optional_group() const;
};

std::vector<PartDeclaration> declarations(const Circuit& circuit);

// Is the part declared at this index? Ranges, `where` and `if` of everything around it. layer is
// ignored outside `each`.
Formula declared_at(Dims& dims, const PartDeclaration& d, const Polynomial& layer);
// Its declared shape there; false if an error was reported.
bool shape_at(Dims& dims, const std::vector<ExprPtr>& lengths, std::string_view variable,
              const Polynomial& layer, std::vector<Polynomial>& out);

// {l} and {e} in a tensor's name.
std::string with_indices(std::string_view name, std::string_view variable, int64_t layer,
                         int64_t element = -1);
// "blk.3.attn_q.weight" -> "blk.*.attn_q.weight"
std::string starred(std::string_view name);
// Names under which the file may have the part itself (not its else), in order of trying; none for
// or_each.
std::vector<std::string> tensor_names(const PartDeclaration& d, int64_t layer);
// "blk.3.attn_qkv.weight" of a pack; "" outside of one.
std::string pack_name(const PartDeclaration& d, int64_t layer);
// "blk.3.attn_q.bias" beside "blk.3.attn_q.weight".
std::string bias_name(std::string_view weight);

}  // namespace etch

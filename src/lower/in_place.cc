// Results that take over the memory of an operand whose last reader made them.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "lower/schedule_steps.h"

namespace etch {
namespace {

// Operands whose memory the result may take over, element for element.
std::vector<std::string> operands_in_place(const DraftCall& call) {
  switch (call.kind) {
    case ArgsKind::matmul:
      return {"residual"};
    case ArgsKind::elementwise:
      return {"a", "b"};
    case ArgsKind::rope:
    case ArgsKind::norm:
      return {"x.at"};
    default:
      return {};
  }
}

bool equal_strides(const DraftCall& call, const std::string& operand) {
  switch (call.kind) {
    case ArgsKind::matmul:
      return call.i64("residual_stride") == call.i64("y_stride");
    case ArgsKind::elementwise:
      for (int i = 0; i < 4; ++i) {
        const bool used = call.i64(fmt::format("sizes[{}]", i)) > 1 ||
                          (i == 0 && call.i32("rows_of") != ETCH_ONCE);
        if (used && call.i64(fmt::format("{}_strides[{}]", operand, i)) !=
                        call.i64(fmt::format("y_strides[{}]", i)))
          return false;
      }
      return true;
    default:
      return call.op != "sum" && call.i64("x.row_stride") == call.i64("y.row_stride") &&
             call.i64("x.inner_stride") == call.i64("y.inner_stride");
  }
}

}  // namespace

void work_in_place(Draft& draft) {
  // The last reader of each slot, and how many write it; kept by the slot whose memory it is.
  std::map<int32_t, int32_t> last_reader, n_writers;
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    for (const Access& a : draft.calls[i].reads)
      if (a.state < 0) last_reader[a.place.buffer] = static_cast<int32_t>(i);
    std::set<int32_t> written;
    for (const Access& a : draft.calls[i].writes)
      if (a.state < 0) written.insert(a.place.buffer);
    for (const int32_t s : written) ++n_writers[s];
  }
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    DraftCall& call = draft.calls[i];
    const std::string y_field =
        call.kind == ArgsKind::matmul || call.kind == ArgsKind::elementwise ? "y" : "y.at";
    for (const std::string& operand : operands_in_place(call)) {
      const Place from = call.place(operand), to = call.place(y_field);
      if (from.buffer < 0 || to.buffer < 0 || from.offset != to.offset ||
          !equal_strides(call, operand))
        continue;
      const auto reads = std::count_if(call.reads.begin(), call.reads.end(), [&](const Access& a) {
        return a.state < 0 && a.place.buffer == from.buffer;
      });
      Slot& source = draft.slot(from.buffer);
      Slot& target = draft.slot(to.buffer);
      const int32_t root = draft.root(from.buffer);
      const bool ends_here = last_reader[from.buffer] == static_cast<int32_t>(i) && reads == 1;
      const bool same_kind =
          source.bytes == target.bytes && source.representation == target.representation;
      if (!ends_here || !same_kind || n_writers[to.buffer] != 1 || draft.root(to.buffer) == root)
        continue;
      if (draft.slot(root).space == target.space && is_per_list(target.space)) {
        target.same_as = root;
      } else if (target.space == Space::output && draft.slot(root).space == Space::arena) {
        draft.slot(root).same_as = to.buffer;  // made where the caller reads the result
      } else {
        continue;
      }
      break;
    }
  }
}

}  // namespace etch

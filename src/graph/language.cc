#include "graph/language.h"

namespace etch {
namespace {

using Names = std::string_view;
constexpr Names kClamp[] = {"lo", "hi"};
constexpr Names kSoftcap[] = {"cap"};
constexpr Names kEps[] = {"eps"};
constexpr Names kHeads[] = {"n"};
constexpr Names kSplit[] = {"sizes"};
constexpr Names kIndex[] = {"at"};
constexpr Names kSlice[] = {"first", "last"};
constexpr Names kRepeat[] = {"n", "kind"};
constexpr Names kPool[] = {"kind"};

}  // namespace

std::span<const std::string_view> number_names(Op op) {
  switch (op) {
    case Op::clamp:
      return kClamp;
    case Op::softcap:
      return kSoftcap;
    case Op::rmsnorm:
    case Op::layernorm:
    case Op::l2norm:
      return kEps;
    case Op::heads:
      return kHeads;
    case Op::split:
      return kSplit;
    case Op::index:
      return kIndex;
    case Op::slice:
      return kSlice;
    case Op::repeat:
      return kRepeat;
    case Op::pool:
      return kPool;
    default:
      return {};
  }
}

}  // namespace etch

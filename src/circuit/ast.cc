#include "circuit/ast.h"

namespace etch {

const Flow* Circuit::flow(std::string_view name) const {
  for (const Flow& f : flows)
    if (f.name.text == name) return &f;
  return nullptr;
}

const Def* Circuit::def(std::string_view name) const {
  for (const Def& d : defs)
    if (d.name.text == name) return &d;
  return nullptr;
}

const DimEntry* Circuit::dim(std::string_view name) const {
  for (const DimEntry& d : dims)
    if (d.kind == DimEntry::Kind::dim && d.name.text == name) return &d;
  return nullptr;
}

const StateEntry* Circuit::state(std::string_view name) const {
  for (const StateEntry& s : states)
    if (s.name.text == name) return &s;
  return nullptr;
}

}  // namespace etch

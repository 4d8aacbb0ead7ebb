// One argument of a call by the name of its field ("n_in", "x.at").
#pragma once

#include <string_view>

#include "base/check.h"
#include "lowered/lowered.h"

namespace etch {

template <class T>
const T& argument(const Call& call, std::string_view field) {
  const ArgsInfo& args = info(call.kernel->args);
  for (size_t i = 0; i < args.fields.size(); ++i) {
    if (args.fields[i].name == field) return std::get<T>(call.args.at(i));
  }
  ETCH_CHECK(false, "{} has no field {}", args.name, field);
}

}  // namespace etch

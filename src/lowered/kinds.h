// Kinds of layer: layers whose calls are equal up to file offsets, constants and state numbers. The
// printed C has one function per kind; the plan is good for it when a model has as many kinds as
// its circuit and tensor types make (llama: 1, a Q4_K_M file: 2 or 3).
#pragma once

#include <string>
#include <vector>

#include "lowered/lowered.h"

namespace etch {

struct LayerKind {
  std::vector<int32_t> layers;
  int32_t n_calls = 0, n_barriers = 0;
  std::string text;  // the calls, a line each, with file offsets, constants and states left open
};

std::vector<LayerKind> layer_kinds(const CallList& list);

}  // namespace etch

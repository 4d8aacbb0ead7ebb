// The steps of schedule(), in the order it takes them.
#pragma once

#include "lower/draft.h"

namespace etch {

void repeat_in_every_thread(Draft& draft);  // cheap calls, instead of waiting for each other
void order_calls(Draft& draft);
void work_in_place(Draft& draft);
void place_barriers(Draft& draft);

// Memory that one thread alone sees.
inline bool is_private(const Draft& draft, const Access& a) {
  return a.state < 0 && draft.slot(a.place.buffer).space == Space::thread;
}

}  // namespace etch

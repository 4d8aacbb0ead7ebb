// Which kernel does a call: first what is legal, then what costs least.
#pragma once

#include "base/result.h"
#include "lower/draft.h"

namespace etch {

// The kernel of this call, for kinds where there is no choice: by kind, operation, what it writes
// and the type of its cache. Null where there is none.
const etch_kernel* find_kernel_for(const DraftCall& call, const Target& target);

// Gives every call its kernel. Products choose among all that read their weight's type; why the
// others lost goes to `choices`. Nothing legal: ErrorKind::unsupported, naming tensor, type and the
// nearest type that would do.
Status select_kernels(Draft& draft, const Target& target, std::vector<Choice>& choices);

// The representation that each call's kernel reads as x, made by one call and shared by all that
// read the same rows (representations.cc).
Status insert_conversions(Draft& draft, const Target& target);

}  // namespace etch

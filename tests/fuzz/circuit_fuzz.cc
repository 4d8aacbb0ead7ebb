// Circuits from anywhere: lexing, parsing, printing and checking end with a tree or with messages, never otherwise. What
// parses prints back to itself.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "circuit/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  const auto circuit = etch::parse_circuit(std::move(text), "fuzz.circuit");
  if (!circuit.has_value()) return 0;
  const std::string printed = etch::print(*circuit);
  const auto again = etch::parse_circuit(printed, "printed.circuit");
  // A circuit at the limit of depth stays there: printing adds no brackets.
  if (!again.has_value() || etch::print(*again) != printed) std::abort();
  const etch::Diagnostics found = etch::check_circuit(*circuit);
  if (found.print().size() > (1u << 24)) std::abort();
  return 0;
}

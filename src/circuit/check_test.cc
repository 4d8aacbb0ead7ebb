#include "circuit/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "circuit/library.h"

namespace etch {
namespace {

TEST(Check, EveryCircuitPassesWithoutAnError) {
  EXPECT_GE(embedded_circuits().size(), 17u);
  for (const EmbeddedCircuit& embedded : embedded_circuits()) {
    const auto circuit = parse_circuit(std::string(embedded.text), std::string(embedded.name));
    ASSERT_TRUE(circuit.has_value()) << circuit.error().message;
    const Diagnostics found = check_circuit(*circuit);
    EXPECT_EQ(found.count(Severity::error), 0) << found.print(Severity::error);
    EXPECT_EQ(found.count(Severity::warning), 0) << found.print(Severity::warning);
    EXPECT_LE(found.count(Severity::note), 3) << found.print();
  }
}

}  // namespace
}  // namespace etch

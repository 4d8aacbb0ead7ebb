#include "study/test_circuit.h"

#include <gtest/gtest.h>

#include "circuit/library.h"

namespace etch {
namespace {

class CircuitTest : public testing::TestWithParam<const char*> {};

TEST_P(CircuitTest, holds_in_every_way_with_every_type) {
  const auto library = load_library();
  ASSERT_TRUE(library.has_value());
  const auto report = test_circuit(library->find(GetParam()));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_GE(report->models.size(), 20u);
  EXPECT_GE(report->n_executed(), 22);  // those with the head of a reranker again without it
  for (const CircuitTestReport::Model& m : report->models)
    EXPECT_EQ(m.failure, "") << GetParam() << ": " << m.name;
}

// Whatever the executor knows of them, the plain evaluation runs them all.
TEST(CircuitTests, every_circuit_holds_in_float32) {
  const auto library = load_library();
  ASSERT_TRUE(library.has_value());
  for (const auto& circuit : library->places.back().circuits) {
    const auto report = test_circuit(circuit, {.each_type = false, .n_mixes = 0, .execute = false});
    ASSERT_TRUE(report.has_value()) << report.error().message;
    for (const CircuitTestReport::Model& m : report->models)
      EXPECT_EQ(m.failure, "") << circuit->name.text << ": " << m.name;
  }
}

INSTANTIATE_TEST_SUITE_P(running, CircuitTest,
                         testing::Values("llama", "qwen2", "qwen3", "gemma3", "mixtral"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace etch

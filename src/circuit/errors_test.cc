// tests/errors/circuits: a broken circuit each, and beside it what etch says, to the letter.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "circuit/check.h"

namespace etch {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string said_of(const fs::path& path) {
  const auto circuit = parse_circuit(read_text(path), path.filename().string());
  if (!circuit.has_value()) return circuit.error().message + "\n";
  const std::string found = check_circuit(*circuit).print();
  return found.empty() ? "" : found + "\n";
}

TEST(CircuitErrors, EveryBrokenCircuitIsToldToTheLetter) {
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(ETCH_SOURCE_DIR "/tests/errors/circuits")) {
    if (entry.path().extension() != ".circuit") continue;
    fs::path expected = entry.path();
    expected.replace_extension(".expected");
    EXPECT_EQ(said_of(entry.path()), read_text(expected)) << entry.path();
    ++cases;
  }
  EXPECT_GE(cases, 40);
}

}  // namespace
}  // namespace etch

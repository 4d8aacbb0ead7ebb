// What `etch verify` has looked at: a line a check, in order.
#pragma once

#include <string>
#include <vector>

namespace etch {

struct Check {
  enum class Outcome : uint8_t { holds, fails, left_out };
  std::string name;  // "manifest.json", "races", "canaries, library"
  Outcome outcome = Outcome::holds;
  std::string detail;  // what was looked at, or what is wrong
};

struct VerifyReport {
  std::vector<Check> checks;
  int n_failed() const {
    int n = 0;
    for (const Check& c : checks) n += c.outcome == Check::Outcome::fails;
    return n;
  }
  void holds(std::string name, std::string detail) {
    checks.push_back({std::move(name), Check::Outcome::holds, std::move(detail)});
  }
  void fails(std::string name, std::string detail) {
    checks.push_back({std::move(name), Check::Outcome::fails, std::move(detail)});
  }
  void left_out(std::string name, std::string detail) {
    checks.push_back({std::move(name), Check::Outcome::left_out, std::move(detail)});
  }
};

}  // namespace etch

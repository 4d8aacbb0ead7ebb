// Real models, which scripts/models fetches into a cache outside the tree: $ETCH_MODELS, or
// ~/.cache/etch/models. A test whose model is not there says so in one line.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace etch::test {

inline std::optional<std::string> model_file(const std::string& name) {
  namespace fs = std::filesystem;
  const char* named = std::getenv("ETCH_MODELS");
  const char* home = std::getenv("HOME");
  for (const fs::path& place : {fs::path(named != nullptr ? named : ""),
                                fs::path(home != nullptr ? home : "") / ".cache/etch/models"}) {
    std::error_code ignored;
    if (!place.empty() && fs::exists(place / name, ignored)) return (place / name).string();
  }
  std::cout << "note: the model " << name
            << " is not here (scripts/models fetches it); its tests are left out\n";
  return std::nullopt;
}

}  // namespace etch::test

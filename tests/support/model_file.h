// Real models, which scripts/models fetches into a cache outside the tree (it says where). A test
// whose model is not there says so in one line; where $ETCH_REQUIRE_MODELS is set (CI), it fails.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace etch::test {

inline std::filesystem::path model_cache() {
  const auto named = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  std::filesystem::path cache = named("ETCH_CACHE");
  if (cache.empty() && !named("XDG_CACHE_HOME").empty()) cache = named("XDG_CACHE_HOME") / "etch";
  if (cache.empty()) cache = named("HOME") / ".cache/etch";
  return cache / "models";
}

inline std::optional<std::string> model_file(const std::string& name) {
  const std::filesystem::path path = model_cache() / name;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return path.string();
  const char* required = std::getenv("ETCH_REQUIRE_MODELS");
  if (required != nullptr && *required != '\0') {
    ADD_FAILURE() << "the model " << path << " must be here; scripts/models fetches it";
  } else {
    std::cout << "note: the model " << name
              << " is not here (scripts/models fetches it); its tests are left out\n";
  }
  return std::nullopt;
}

}  // namespace etch::test

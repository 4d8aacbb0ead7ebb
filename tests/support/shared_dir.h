// Where the reference data of the formats lie: $ETCH_SHARED, or a folder `shared` beside the
// checkout or one above. A clone alone has none; a test that wants it then says so in one line and
// falls back on what the repository holds.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

namespace etch::test {

inline std::optional<std::filesystem::path> shared_dir() {
  namespace fs = std::filesystem;
  const fs::path root = ETCH_SOURCE_DIR;
  const char* named = std::getenv("ETCH_SHARED");
  for (const fs::path& place :
       {fs::path(named != nullptr ? named : ""), root / "../shared", root / "../../shared"}) {
    std::error_code ignored;
    if (!place.empty() && fs::is_directory(place / "formats", ignored))
      return fs::weakly_canonical(place, ignored);
  }
  return std::nullopt;
}

// A file of it; says in one line when it is not to be had.
inline std::optional<std::filesystem::path> shared_file(const std::string& relative) {
  const auto dir = shared_dir();
  std::error_code ignored;
  if (dir && std::filesystem::exists(*dir / relative, ignored)) return *dir / relative;
  std::cout << "note: shared/" << relative
            << " is not here; its tests see only what the repository holds\n";
  return std::nullopt;
}

// A file of vectors: the whole of it where the reference data are, else the sample in the
// repository.
inline std::filesystem::path vectors_file(const std::string& name) {
  const auto whole = shared_file("formats/vectors/" + name);
  return whole ? *whole : std::filesystem::path(ETCH_SOURCE_DIR) / "tests/data/vectors" / name;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace etch::test

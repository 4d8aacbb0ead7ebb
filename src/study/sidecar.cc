#include "study/sidecar.h"

#include <algorithm>

namespace etch {

std::span<const SidecarFile> sidecar_files() {
  static constexpr SidecarFile kFiles[] = {
#define SIDECAR(name, schema, when, purpose) {name, schema, purpose, SidecarFile::When::when},
#include "study/sidecar.def"
  };
  return kFiles;
}

const SidecarFile* find_sidecar_file(std::string_view name) {
  const auto files = sidecar_files();
  const auto at = std::find_if(files.begin(), files.end(),
                               [&](const SidecarFile& f) { return f.name == name; });
  return at == files.end() ? nullptr : &*at;
}

}  // namespace etch

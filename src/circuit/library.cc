#include "circuit/library.h"

#include "circuit/check.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace etch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".circuit";
constexpr uintmax_t kMostBytes = 1 << 20;

Result<std::shared_ptr<const Circuit>> parse_shared(std::string text, std::string file) {
  return std::make_shared<const Circuit>(ETCH_TRY(parse_circuit(std::move(text), std::move(file))));
}

Result<std::shared_ptr<const Circuit>> read_circuit(const fs::path& path,
                                                    const std::string& called = "") {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) return fail(ErrorKind::resources, "{}: {}", path.string(), error.message());
  if (size > kMostBytes)
    return fail(ErrorKind::usage, "{}: a circuit of {} bytes; the most is {}", path.string(), size,
                kMostBytes);
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad() || !in.is_open())
    return fail(ErrorKind::resources, "{}: cannot be read", path.string());
  auto circuit = ETCH_TRY(parse_shared(std::move(text), called.empty() ? path.string() : called));
  ETCH_TRY(check_circuit(*circuit)
               .status());  // bind() wants a sound one; those inside etch are held to it by a test
  return circuit;
}

Result<std::vector<std::shared_ptr<const Circuit>>> read_folder(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (i->path().extension() == kEnding) paths.push_back(i->path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::shared_ptr<const Circuit>> out;
  std::string mistakes;
  for (const fs::path& p : paths) {
    auto circuit = read_circuit(p);
    if (circuit.has_value())
      out.push_back(std::move(*circuit));
    else
      mistakes += (mistakes.empty() ? "" : "\n") + circuit.error().message;
  }
  if (!mistakes.empty()) return fail(ErrorKind::usage, "{}", mistakes);
  return out;
}

}  // namespace

std::shared_ptr<const Circuit> CircuitLibrary::find(std::string_view name) const {
  for (const Place& p : places)
    for (const auto& c : p.circuits)
      if (c->name.text == name) return c;
  return nullptr;
}

Result<CircuitLibrary> load_library(const LibraryOptions& options) {
  CircuitLibrary library;
  std::error_code ignored;
  if (!options.path.empty()) {
    CircuitLibrary::Place place{"--circuit " + options.path, {}};
    if (fs::is_directory(options.path, ignored))
      place.circuits = ETCH_TRY(read_folder(options.path));
    else
      place.circuits.push_back(ETCH_TRY(read_circuit(options.path, options.called)));
    library.places.push_back(std::move(place));
  }
  for (const std::string& folder : {options.user_folder, options.system_folder})
    if (!folder.empty() && fs::is_directory(folder, ignored))
      library.places.push_back({"the folder " + folder, ETCH_TRY(read_folder(folder))});
  CircuitLibrary::Place own{"the circuits of etch", {}};
  for (const EmbeddedCircuit& c : embedded_circuits())
    own.circuits.push_back(ETCH_TRY(parse_shared(std::string(c.text), std::string(c.name))));
  library.places.push_back(std::move(own));
  return library;
}

}  // namespace etch

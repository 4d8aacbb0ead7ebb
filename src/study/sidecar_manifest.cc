// manifest.json: what everything else is, by hash. Its own last line is the hash of the bytes
// before it, so that a damaged manifest does not accuse the files it names:
//
//   {
//    "schema": "etch.manifest/1",
//    ...
//    "files": [ ... ],
//    "check": "xxh3-128 of all bytes up to the quotation mark before this word"
//   }
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "circuit/ast.h"
#include "study/read_json.h"
#include "study/sidecar_parts.h"

namespace etch {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kName = "manifest.json", kCheck = " \"check\": \"";
constexpr int64_t kMostBytes = 1 << 20;
constexpr int64_t kPieces = 64, kPieceBytes = 4096;

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

nlohmann::ordered_json model_json(const SidecarSource& source) {
  const Model& model = *source.compiled->model;
  const ModelIdentity id = quick_identity(model);
  const std::string path = absolute(source.model_path);
  return {{"name", exact_text(fs::path(path).filename().string())},
          {"path", exact_text(path)},
          {"architecture", exact_text(model.architecture())},
          {"bytes", id.bytes},
          {"header_xxh3", id.header},
          {"sample_xxh3", id.sample},
          {"sha256", whole_sha256(model)}};
}

nlohmann::ordered_json plan_json(const SidecarSource& source) {
  const Lowered& l = *source.compiled->lowered;
  const MemoryPlan memory = plan_memory(l, {.n_threads = static_cast<int32_t>(l.limits.n_threads)});
  return {{"n_ctx", l.limits.n_ctx},
          {"n_rows", l.limits.n_rows},
          {"n_outputs", l.limits.n_outputs},
          {"n_threads", l.limits.n_threads},
          {"kv", name(l.limits.kv)},
          {"without", source.options->compile.without},
          {"abi", ETCH_MODEL_ABI_VERSION},
          {"calls_decode", l.decode.calls.size()},
          {"calls_prefill", l.prefill.calls.size()},
          {"arena_bytes", l.arena_bytes},
          {"thread_bytes", l.thread_bytes},
          {"constants_bytes", l.constants.size()},
          {"kv_bytes", memory.kv}};
}

}  // namespace

ModelIdentity quick_identity(const Model& model) {
  const Mapping& mapping = *model.file->mapping;
  ModelIdentity id;
  Xxh3 header, sample;
  for (size_t p = 0; p < mapping.parts().size(); ++p) {
    const auto bytes = mapping.part_bytes(static_cast<int>(p));
    id.bytes += std::ssize(bytes);
    const auto n = std::clamp<int64_t>(model.file->parts[p].data_offset, 0, std::ssize(bytes));
    header.add(bytes.first(static_cast<size_t>(n)));
  }
  const auto all = mapping.bytes();
  const int64_t last = std::max<int64_t>(0, std::ssize(all) - kPieceBytes);
  for (int64_t i = 0; i < kPieces; ++i) {
    const auto at =
        static_cast<size_t>(last / (kPieces - 1) * i + last % (kPieces - 1) * i / (kPieces - 1));
    sample.add(all.subspan(at, std::min<size_t>(kPieceBytes, all.size() - at)));
  }
  id.header = header.hex();
  id.sample = sample.hex();
  return id;
}

std::string whole_sha256(const Model& model) {
  Sha256 hash;
  const Mapping& mapping = *model.file->mapping;
  for (size_t p = 0; p < mapping.parts().size(); ++p)
    hash.add(mapping.part_bytes(static_cast<int>(p)));
  return hash.hex();
}

Result<Artefact> make_manifest(const SidecarSource& source, const BuildRecord& build,
                               std::span<const Artefact> files) {
  nlohmann::ordered_json j;
  const Circuit& circuit = *source.compiled->binding->circuit;
  j["schema"] = "etch.manifest/1";
  j["etch"] = ETCH_VERSION;
  j["model"] = model_json(source);
  j["circuit"] = {{"name", circuit.name.text},
                  {"revision", circuit.revision},
                  {"file", exact_text(circuit.file)},
                  {"sha256", sha256_hex(circuit.text)}};
  j["plan"] = plan_json(source);
  j["build"] = {{"compiler", build.compiler}, {"flags", build.flags}};
  j["files"] = nlohmann::ordered_json::array();
  for (const Artefact& f : files)
    j["files"].push_back(
        {{"name", f.name}, {"bytes", f.bytes.size()}, {"sha256", sha256_hex(f.bytes)}});
  std::string text = file_text(j);
  text.resize(text.size() - std::string_view("\n}\n").size());
  text += ",\n";
  text += fmt::format("{}{}\"\n}}\n", kCheck, xxh3_hex(text));
  return Artefact{std::string(kName), std::move(text)};
}

namespace {

// The hash in the last line is that of what stands before it, and nothing stands behind it.
Status check_itself(std::string_view text) {
  const size_t at = text.rfind(kCheck);
  if (at == std::string_view::npos) return fail(ErrorKind::damaged, "its last line is missing");
  const std::string expected = fmt::format("{}{}\"\n}}\n", kCheck, xxh3_hex(text.substr(0, at)));
  if (text.substr(at) != expected)
    return fail(ErrorKind::damaged, "its bytes do not give the hash in its last line");
  return {};
}

Result<Limits> parse_limits(const nlohmann::json& plan) {
  Limits limits;
  limits.n_ctx = ETCH_TRY(integer_field(plan, "n_ctx"));
  limits.n_rows = ETCH_TRY(integer_field(plan, "n_rows"));
  limits.n_outputs = ETCH_TRY(integer_field(plan, "n_outputs"));
  limits.n_threads = ETCH_TRY(integer_field(plan, "n_threads"));
  constexpr int64_t kMost = int64_t{1} << 30;
  for (const int64_t n : {limits.n_ctx, limits.n_rows, limits.n_outputs, limits.n_threads})
    if (n < 1 || n > kMost) return fail(ErrorKind::damaged, "a limit of the plan is {}", n);
  const auto kv = kv_type_of_name(ETCH_TRY(text_field(plan, "kv")));
  if (!kv) return wrong_field("kv", "a type of cached keys and values");
  limits.kv = *kv;
  return limits;
}

Result<Manifest> parse_manifest(std::string_view text) {
  ETCH_TRY(check_itself(text));
  const nlohmann::json json = ETCH_TRY(parse_json(text, "etch.manifest/1"));
  Manifest m;
  m.etch_version = ETCH_TRY(text_field(json, "etch"));
  const nlohmann::json& model = *ETCH_TRY(object_field(json, "model"));
  m.model_name = ETCH_TRY(text_field(model, "name"));
  m.model_path = ETCH_TRY(text_field(model, "path"));
  m.architecture = ETCH_TRY(text_field(model, "architecture"));
  m.model.bytes = ETCH_TRY(integer_field(model, "bytes"));
  m.model.header = ETCH_TRY(text_field(model, "header_xxh3"));
  m.model.sample = ETCH_TRY(text_field(model, "sample_xxh3"));
  m.model.sha256 = ETCH_TRY(text_field(model, "sha256"));
  const nlohmann::json& circuit = *ETCH_TRY(object_field(json, "circuit"));
  m.circuit = ETCH_TRY(text_field(circuit, "file"));
  m.circuit_sha256 = ETCH_TRY(text_field(circuit, "sha256"));
  const nlohmann::json& plan = *ETCH_TRY(object_field(json, "plan"));
  m.limits = ETCH_TRY(parse_limits(plan));
  m.without = ETCH_TRY(texts_field(plan, "without"));
  const nlohmann::json& build = *ETCH_TRY(object_field(json, "build"));
  m.build.compiler = ETCH_TRY(text_field(build, "compiler"));
  m.build.flags = ETCH_TRY(texts_field(build, "flags"));
  for (const auto& file : *ETCH_TRY(list_field(json, "files"))) {
    m.files.push_back({ETCH_TRY(text_field(file, "name")), ETCH_TRY(integer_field(file, "bytes")),
                       ETCH_TRY(text_field(file, "sha256"))});
    if (!find_sidecar_file(m.files.back().name))  // so no path leads out of the directory
      return fail(ErrorKind::damaged, "'{}' is no file of a sidecar", m.files.back().name);
  }
  return m;
}

}  // namespace

Result<Manifest> read_manifest(const std::string& directory) {
  const std::string path = (fs::path(directory) / kName).string();
  const std::string text = ETCH_TRY(read_file(path, kMostBytes).context(kName));
  return parse_manifest(text).context(path);
}

Status check_file(const std::string& directory, const Manifest::File& file) {
  constexpr int64_t kMostFileBytes = int64_t{1} << 31;
  const std::string path = (fs::path(directory) / file.name).string();
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return fail(ErrorKind::answer_is_no, "it is missing, or cannot be read");
  if (static_cast<int64_t>(size) != file.bytes)
    return fail(ErrorKind::answer_is_no, "it has {} bytes, expected {}", size, file.bytes);
  const std::string hash = sha256_hex(ETCH_TRY(read_file(path, kMostFileBytes)));
  if (hash != file.sha256)
    return fail(ErrorKind::answer_is_no, "its SHA-256 is {}..., expected {}...", hash.substr(0, 12),
                file.sha256.substr(0, 12));
  return {};
}

Status check_running_files(const Manifest& manifest, const std::string& directory) {
  for (const Manifest::File& file : manifest.files) {
    if (file.name != "libmodel.so" && file.name != "model.circuit") continue;
    if (const Status whole = check_file(directory, file); !whole) {
      return fail(whole.error().kind,
                  "{}: {}\n  the directory is damaged; `etch compile --force` "
                  "makes it again",
                  (fs::path(directory) / file.name).string(), whole.error().message);
    }
  }
  return {};
}

Result<std::string> find_model(const Manifest& manifest, const std::string& directory,
                               const std::string& given) {
  if (!given.empty()) return given;
  const fs::path folder(directory);
  std::error_code ignored;
  for (const fs::path& p : {folder / manifest.model_name, folder / ".." / manifest.model_name,
                            fs::path(manifest.model_path)})
    if (fs::is_regular_file(p, ignored)) return p.lexically_normal().string();
  return fail(ErrorKind::resources,
              "{}: its model {} is nowhere to be found\n  looked in {}, beside it, and at {}\n  "
              "--model FILE says where it is",
              directory, manifest.model_name, directory, manifest.model_path);
}

Status check_model(const Manifest& manifest, const Model& model) {
  const ModelIdentity id = quick_identity(model);
  const auto refuse = [&](std::string what) -> Status {
    return fail(
        ErrorKind::answer_is_no,
        "the model is not the one that was compiled: {}\n  the sidecar was made from {} ({} "
        "bytes)\n  compile this one, or find that one",
        what, manifest.model_name, manifest.model.bytes);
  };
  if (id.bytes != manifest.model.bytes)
    return refuse(fmt::format("it has {} bytes, expected {}", id.bytes, manifest.model.bytes));
  if (id.header != manifest.model.header) return refuse("its header is another one");
  if (id.sample != manifest.model.sample) return refuse("its weights are others");
  return {};
}

CompileOptions compile_options(const Manifest& manifest, const std::string& directory) {
  CompileOptions options;
  options.circuit = (fs::path(directory) / "model.circuit").string();
  options.circuit_called = manifest.circuit;
  options.limits = manifest.limits;
  options.without = {manifest.without.begin(), manifest.without.end()};
  return options;
}

}  // namespace etch

#include "study/verify_sidecar.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/file.h"
#include "session/library.h"
#include "study/canary.h"
#include "study/sidecar.h"
#include "study/verify_model.h"

namespace etch {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kMostBytes = int64_t{1} << 31;

class SidecarCheck {
 public:
  SidecarCheck(std::string directory, std::string model, const EngineOptions& options)
      : directory_(std::move(directory)), model_path_(std::move(model)), options_(options) {}

  VerifyReport run() {
    auto manifest = read_manifest(directory_);
    if (!manifest) {
      report_.fails("manifest.json", manifest.error().message);
      return std::move(report_);
    }
    manifest_ = std::move(*manifest);
    report_.holds("manifest.json",
                  fmt::format("of {}, by etch {}", manifest_.model_name, manifest_.etch_version));
    files();
    const bool known = model();
    if (known && sound("model.circuit")) {
      again();
    } else if (known) {
      report_.left_out("plan", "it is made from model.circuit");
    }
    return std::move(report_);
  }

 private:
  std::string path_of(std::string_view name) const {
    return (fs::path(directory_) / name).string();
  }
  bool sound(std::string_view name) const { return sound_.contains(name); }

  // ---- the directory against the manifest

  void files() {
    std::vector<std::pair<std::string, std::string>> wrong;  // name, what
    for (const Manifest::File& f : manifest_.files) {
      if (const Status whole = check_file(directory_, f); whole)
        sound_.insert(f.name);
      else
        wrong.emplace_back(f.name, whole.error().message);
    }
    for (const SidecarFile& f : sidecar_files()) {
      const bool must = f.when == SidecarFile::When::always && f.name != "manifest.json";
      if (must && std::none_of(manifest_.files.begin(), manifest_.files.end(),
                               [&](const Manifest::File& m) { return m.name == f.name; }))
        wrong.emplace_back(f.name, "the manifest does not have it");
    }
    // All that is different from model to model is: then the manifest is the stranger.
    constexpr std::string_view kOfModel[] = {"binding.json", "lowered.json", "canary.json",
                                             "report.html"};
    if (std::none_of(std::begin(kOfModel), std::end(kOfModel),
                     [&](std::string_view name) { return sound(name); }))
      report_.fails("manifest.json", fmt::format("the files beside it are not those it names: it "
                                                 "belongs to another sidecar, of {}",
                                                 manifest_.model_name));
    for (const auto& [name, what] : wrong) report_.fails(name, what);
    for (const std::string& name : sound_) report_.holds(name, "");
    strangers();
  }

  void strangers() {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator i(directory_, error), end; !error && i != end; i.increment(error)) {
      const std::string name = i->path().filename().string();
      const bool named = name == "manifest.json" ||
                         std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                     [&](const Manifest::File& f) { return f.name == name; });
      if (!named && find_sidecar_file(name))
        report_.fails(name, "the manifest does not name it");
      else if (!named && name != manifest_.model_name)
        names.push_back(name);
    }
    if (!names.empty()) report_.left_out("other files", fmt::format("{}", fmt::join(names, ", ")));
  }

  // ---- the model against the manifest

  bool model() {
    const auto path = find_model(manifest_, directory_, model_path_);
    if (!path) {
      report_.fails("model", path.error().message);
      return false;
    }
    auto read = read_model(*path);
    if (!read) {
      report_.fails("model", fmt::format("{}: {}", *path, read.error().message));
      return false;
    }
    model_ = std::make_shared<const Model>(std::move(*read));
    if (const Status quick = check_model(manifest_, *model_); !quick) {
      report_.fails("model", fmt::format("{}: {}", *path, quick.error().message));
      return false;
    }
    const std::string hash = whole_sha256(*model_);
    if (hash != manifest_.model.sha256) {
      report_.fails("model",
                    fmt::format("{}: its SHA-256 is {}..., expected {}...; some of its weights "
                                "have changed",
                                *path, hash.substr(0, 12), manifest_.model.sha256.substr(0, 12)));
      return false;
    }
    report_.holds("model", *path);
    return true;
  }

  // ---- the plan and what it gives

  void again() {
    EngineOptions how = options_;
    how.compile = compile_options(manifest_, directory_);
    how.session.n_threads = static_cast<int32_t>(manifest_.limits.n_threads);
    auto compiled = compile(model_, how.compile);
    if (!compiled) {
      report_.fails("plan", compiled.error().message);
      return;
    }
    verify_plan(*compiled, report_);
    texts(*compiled, how);
    if (!sound("canary.json")) {
      report_.left_out("canaries", "canary.json is not to be trusted");
      return;
    }
    const auto bytes = read_file(path_of("canary.json"), kMostBytes);
    auto canaries =
        bytes ? parse_canaries(*bytes) : Result<Canaries>(tl::unexpected(bytes.error()));
    if (!canaries) {
      report_.fails("canary.json", canaries.error().message);
      return;
    }
    auto session = Session::create(compiled->lowered, model_->bytes(), how.session);
    played("canaries, executor", std::move(session), *canaries);
    const bool has_library =
        std::any_of(manifest_.files.begin(), manifest_.files.end(),
                    [](const Manifest::File& f) { return f.name == "libmodel.so"; });
    if (!has_library) return report_.left_out("canaries, library", "compiled with --no-build");
    if (!sound("libmodel.so"))
      return report_.left_out("canaries, library", "libmodel.so is not to be trusted");
    auto library = Library::open(path_of("libmodel.so"));
    if (!library) return report_.fails("libmodel.so", library.error().message);
    how.session.library = std::move(*library);
    session = Session::create(compiled->lowered, model_->bytes(), how.session);
    played("canaries, library", std::move(session), *canaries);
  }

  // Does this etch make the same of the model? Another version may not.
  void texts(const Compiled& compiled, const EngineOptions& how) {
    std::unique_ptr<Tokenizer> tokenizer;
    if (auto made = make_tokenizer(*model_)) tokenizer = std::move(*made);
    const auto files = make_artefacts({&compiled, &how, tokenizer.get(), manifest_.model_path});
    if (!files) {
      report_.fails("plan", files.error().message);
      return;
    }
    std::vector<std::string> others;
    for (const Artefact& f : *files) {
      if (!sound(f.name)) continue;
      const auto bytes = read_file(path_of(f.name), kMostBytes);
      if (bytes && *bytes != f.bytes) others.push_back(f.name);
    }
    const std::string names = fmt::format("{}", fmt::join(others, ", "));
    if (others.empty())
      report_.holds("made again", "the same bytes");
    else if (manifest_.etch_version == ETCH_VERSION)
      report_.fails("made again", names + ": not what etch makes of this model; compile it again");
    else
      report_.left_out("made again",
                       fmt::format("{}: otherwise than by etch {}", names, manifest_.etch_version));
  }

  void played(std::string name, Result<std::unique_ptr<Session>> session,
              const Canaries& canaries) {
    const auto differences =
        session ? replay(**session, canaries)
                : Result<std::vector<std::string>>(tl::unexpected(std::move(session).error()));
    if (!differences)
      report_.fails(std::move(name), differences.error().message);
    else if (!differences->empty())
      report_.fails(std::move(name), fmt::format("{}", fmt::join(*differences, "\n")));
    else
      report_.holds(std::move(name), fmt::format("{} prompts", canaries.prompts.size()));
  }

  std::string directory_, model_path_;
  EngineOptions options_;
  Manifest manifest_;
  std::shared_ptr<const Model> model_;
  std::set<std::string, std::less<>> sound_;
  VerifyReport report_;
};

}  // namespace

bool is_sidecar(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Result<VerifyReport> verify_sidecar(const std::string& directory, const std::string& model,
                                    const EngineOptions& options) {
  if (!is_sidecar(directory)) return fail(ErrorKind::resources, "{}: no directory", directory);
  return SidecarCheck(directory, model, options).run();
}

}  // namespace etch

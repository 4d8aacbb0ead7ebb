#include "session/library.h"

#include <dlfcn.h>

#include <filesystem>

#include "code/print_c.h"

namespace etch {
namespace {

class LibraryProgram : public Program {
 public:
  LibraryProgram(const etch_model& model, const Arena& arena, const uint8_t* file, etch_team* team,
                 etch_isa isa)
      : model_(&model), arena_(&arena), file_(file), team_(team), isa_(isa) {}

  void run(const etch_step& step, bool prefill) override {
    step_ = &step;
    walk_ = prefill ? model_->prefill : model_->decode;
    etch_team_run(
        team_, [](void* self, int32_t t) { static_cast<LibraryProgram*>(self)->walk(t); }, this);
  }
  const std::optional<std::string>& finding() const override { return no_finding_; }

 private:
  void walk(int32_t thread) const {
    etch_worker worker = {.file = file_,
                          .constants = arena_->part(Space::constants),
                          .outputs = arena_->part(Space::output),
                          .arena = arena_->part(Space::arena),
                          .own = arena_->part(Space::thread, thread),
                          .isa = isa_,
                          .thread = {.step = step_,
                                     .team = team_,
                                     .index = thread,
                                     .count = etch_team_threads(team_),
                                     .call = 0}};
    walk_(&worker);
  }

  const etch_model* model_;
  const Arena* arena_;
  const uint8_t* file_;
  etch_team* team_;
  etch_isa isa_;
  const etch_step* step_ = nullptr;
  void (*walk_)(etch_worker*) = nullptr;
  std::optional<std::string> no_finding_;
};

}  // namespace

Result<std::shared_ptr<const Library>> Library::open(const std::string& path) {
  // With a slash in it the name is a path, not something to search for.
  const std::string absolute = std::filesystem::absolute(path).string();
  void* const handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(ErrorKind::damaged, "{}: cannot be loaded: {}\n  `etch compile` makes it again",
                path, dlerror());
  }
  std::shared_ptr<Library> library(new Library(path, handle));
  using Describe = const etch_model* (*)();
  const auto describe = reinterpret_cast<Describe>(dlsym(handle, "model_description"));
  if (describe == nullptr) {
    return fail(ErrorKind::damaged, "{}: is no library of a model: it has no model_description",
                path);
  }
  library->model_ = describe();
  if (library->model_->abi != ETCH_MODEL_ABI_VERSION) {
    return fail(
        ErrorKind::unsupported,
        "{}: was made by another etch, whose interface has version {}; this one's has {}\n  "
        "`etch compile --force` makes it again",
        path, library->model_->abi, int{ETCH_MODEL_ABI_VERSION});
  }
  return std::shared_ptr<const Library>(std::move(library));
}

Library::~Library() { dlclose(handle_); }

Limits Library::limits() const {
  return {.n_ctx = model_->n_ctx,
          .n_rows = model_->n_rows,
          .n_outputs = model_->n_outputs,
          .n_threads = model_->n_threads,
          .kv = static_cast<KvType>(model_->kv)};
}

Status Library::check(const Lowered& lowered) const {
  if (model_->plan == plan_hash(lowered)) return {};
  return fail(ErrorKind::damaged,
              "{}: was compiled from another plan than this model, circuit and etch give\n  `etch "
              "compile --force` makes it again",
              path_);
}

std::unique_ptr<Program> make_program(const Library& library, const Arena& arena,
                                      const uint8_t* file, etch_team* team, etch_isa isa) {
  return std::make_unique<LibraryProgram>(library.model(), arena, file, team, isa);
}

}  // namespace etch

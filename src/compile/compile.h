// compile(): from a model to the calls that run it. The first of the two functions that tell the
// story, a line a stage.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "circuit/binding.h"
#include "graph/graph.h"
#include "lowered/lowered.h"
#include "model/model.h"

namespace etch {

struct CompileOptions {
  // Where circuits are looked for: a file, or a folder of files; then the user's folder and the
  // system's ("" for none); last those inside etch.
  std::string circuit, user_circuits, system_circuits;
  std::string circuit_called;  // what `circuit` is called in origins and messages; "": by its path
  // n_ctx 0: the smaller of what the model was trained for and 4096. n_outputs 0: as many as fit
  // into kLogitBytes, at most n_rows.
  Limits limits = {.n_ctx = 0, .n_outputs = 1};
  std::set<std::string> without;  // passes to leave out
  bool strict = false;            // warnings about the file are errors
};

constexpr int64_t kDefaultContext = 4096;
constexpr int64_t kDefaultRows = 512;
constexpr int64_t kLogitBytes = int64_t{64} << 20;

struct StageTime {
  std::string name;
  double seconds = 0;
};

struct Compiled {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Binding> binding;
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Lowered> lowered;
  std::vector<std::string> warnings;  // of the file and the binding
  std::vector<StageTime> stages;
};

Result<Compiled> compile(std::shared_ptr<const Model> model, const CompileOptions& options);

// Positions the model was trained for; 0 if its file does not say.
int64_t trained_context(const Model& model);

// Names that --without takes: passes over the graph, then over the lowered form.
std::vector<std::string> pass_names();

}  // namespace etch

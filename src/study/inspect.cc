#include "study/inspect.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>

#include "base/file.h"
#include "circuit/ast.h"

namespace etch {
namespace {

std::optional<int64_t> number_in(const std::string& path) {
  const auto text = read_file(path, 4096);
  int64_t n = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), n).ec != std::errc{})
    return {};
  return n;
}

std::vector<TypeShare> type_shares(const Model& model) {
  std::map<DType, TypeShare> by_type;
  for (const Weight& w : model.weights) {
    TypeShare& t = by_type[w.dtype];
    int64_t elements = 1;
    for (int64_t n : w.shape) elements *= n;
    t.dtype = w.dtype;
    ++t.tensors;
    t.elements += elements;
    t.bytes += w.bytes;
  }
  std::vector<TypeShare> shares;
  for (const auto& [dtype, share] : by_type) shares.push_back(share);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return shares;
}

std::string text_key(const Model& model, std::string_view name) {
  const KeyValue* value = model.key(name);
  return std::string(value ? value->text().value_or("") : "");
}

// What the file alone tells.
Inspection describe_file(const std::string& path, const Model& model) {
  Inspection i;
  i.path = path;
  i.name = text_key(model, "general.name");
  i.architecture = model.architecture();
  i.n_parts = static_cast<int>(model.file->parts.size());
  for (const auto& part : model.file->parts) i.file_bytes += part.file_bytes;
  i.version = model.file->parts.front().version;
  i.types = type_shares(model);
  int64_t bytes = 0;
  for (const TypeShare& t : i.types) {
    i.parameters += t.elements;
    bytes += t.bytes;
  }
  i.bits_per_weight =
      i.parameters > 0 ? 8.0 * static_cast<double>(bytes) / static_cast<double>(i.parameters) : 0;
  i.trained_context = trained_context(model);
  i.vocabulary = text_key(model, "tokenizer.ggml.model");
  if (i.vocabulary == "none") i.vocabulary.clear();
  if (const std::string pre = text_key(model, "tokenizer.ggml.pre");
      !pre.empty() && !i.vocabulary.empty()) {
    i.vocabulary += ", pre " + pre;
  }
  for (const Key& key : model.file->keys) {
    if (key.name.starts_with("tokenizer.ggml.")) i.vocabulary_bytes += key.bytes;
  }
  i.has_chat_template = has_chat_template(model);
  i.odd = model.file->warnings;
  return i;
}

// And what putting it together with its circuit tells.
void describe_plan(Inspection& i, const Compiled& compiled, const SessionOptions& session) {
  i.circuit = compiled.binding->circuit->file;
  i.n_layers = compiled.binding->n_layers;
  i.d_model = compiled.binding->d_model;
  i.n_vocab = compiled.binding->n_vocab;
  i.limits = compiled.lowered->limits;
  const MemoryPlan plan = plan_memory(*compiled.lowered, session);
  MemoryReport m;
  for (const TypeShare& t : i.types) m.weights += t.bytes;
  m.kv = plan.kv;
  m.arena = plan.arena;
  m.total = m.weights + m.kv + m.arena;
  i.memory = m;
  i.odd = compiled.warnings;
}

}  // namespace

int64_t available_memory() {
  int64_t available = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string word; meminfo >> word;) {
    if (word != "MemAvailable:") continue;
    meminfo >> available;
    available *= 1024;
    break;
  }
  const auto limit = number_in("/sys/fs/cgroup/memory.max"),
             used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) available = std::min(available, std::max<int64_t>(0, *limit - *used));
  return available;
}

Result<Inspection> inspect(const std::string& path, const EngineOptions& options) {
  const auto model = std::make_shared<const Model>(ETCH_TRY(read_model(path)));
  Inspection i = describe_file(path, *model);
  i.available = available_memory();
  auto compiled = compile_for(model, options);
  if (compiled) {
    describe_plan(i, *compiled, options.session);
    i.n_threads = planned_threads(options.session);
  } else {
    i.problem = compiled.error();
  }
  if (i.vocabulary.empty()) {
    i.odd.push_back("the file has no vocabulary: only token ids go in and out");
  } else if (const auto tokenizer = make_tokenizer(*model); !tokenizer) {
    i.odd.push_back(tokenizer.error().message);
  } else {
    const auto& warnings = (*tokenizer)->warnings();
    i.odd.insert(i.odd.end(), warnings.begin(), warnings.end());
  }
  return i;
}

}  // namespace etch

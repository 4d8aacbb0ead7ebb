// Every artefact of a sidecar is read back and held against what it was made from.
#include "study/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "circuit/ast.h"
#include "study/canary.h"
#include "study/sidecar_parts.h"
#include "support/tiny_model_file.h"

namespace etch {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class SidecarTest : public testing::Test {
 protected:
  SidecarTest() { make("gemma3"); }

  void make(std::string_view circuit, const test::TinyModelOptions& how = {}) {
    path_ = test::write_tiny_model(dir_ / "tiny.gguf", circuit, how);
    options_.compile.limits = {.n_ctx = 256, .n_rows = 64, .n_outputs = 1};
    options_.session.n_threads = 2;
    auto engine = load_engine(path_, options_);
    ASSERT_TRUE(engine) << engine.error().message;
    engine_ = std::move(*engine);
    source_ = {&engine_.compiled, &options_, engine_.tokenizer.get(), path_};
    auto files = make_artefacts(source_);
    ASSERT_TRUE(files) << files.error().message;
    files_ = std::move(*files);
  }

  const std::string& bytes(std::string_view name) const {
    static const std::string none;
    for (const Artefact& f : files_)
      if (f.name == name) return f.bytes;
    ADD_FAILURE() << name << " is missing";
    return none;
  }
  json read(std::string_view name) const {
    json j = json::parse(bytes(name), nullptr, false);
    EXPECT_TRUE(j.is_object()) << name;
    EXPECT_EQ(j["schema"], find_sidecar_file(name)->schema);
    return j;
  }
  void write_manifest() {
    auto manifest = make_manifest(source_, {"cc 1.0", {"-O2"}}, files_);
    ASSERT_TRUE(manifest) << manifest.error().message;
    files_.push_back(*manifest);
    ASSERT_TRUE(write_file(dir_ / "manifest.json", manifest->bytes).has_value());
  }

  test::TemporaryDir dir_;
  std::string path_;
  EngineOptions options_;
  Engine engine_;
  SidecarSource source_;
  std::vector<Artefact> files_;
};

TEST_F(SidecarTest, HasEveryFileOfTheListOnce) {
  write_manifest();
  std::vector<std::string> expected, got;
  for (const SidecarFile& f : sidecar_files())
    if (f.when != SidecarFile::When::code && f.when != SidecarFile::When::built)
      expected.emplace_back(f.name);
  for (const Artefact& f : files_) got.push_back(f.name);
  EXPECT_THAT(got, testing::UnorderedElementsAreArray(expected));
}

TEST_F(SidecarTest, MakesTheSameBytesTwice) {
  const auto again = make_artefacts(source_);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->size(), files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    EXPECT_EQ((*again)[i].name, files_[i].name);
    EXPECT_EQ((*again)[i].bytes, files_[i].bytes) << files_[i].name;
  }
}

TEST_F(SidecarTest, TheCircuitIsTheTextThatWasBound) {
  const auto circuit = parse_circuit(bytes("model.circuit"), "model.circuit");
  ASSERT_TRUE(circuit) << circuit.error().message;
  EXPECT_EQ(print(*circuit), print(*engine_.compiled.binding->circuit));
}

TEST_F(SidecarTest, TheBindingTellsEveryKeyAndWhereEveryPartLies) {
  const json j = read("binding.json");
  const Model& model = *engine_.model;
  EXPECT_EQ(j["keys"].size(), model.file->keys.size());
  for (const json& key : j["keys"]) {
    const std::string name = key["key"];
    EXPECT_NE(model.key(name), nullptr) << name;
    EXPECT_NE(key["use"], "left over") << name;
    if (name == "gemma3.block_count") {
      EXPECT_EQ(key["use"], "read");
    } else if (name.starts_with("tokenizer.")) {
      EXPECT_EQ(key["use"], "text");
    }
  }
  EXPECT_EQ(j["dims"].size(), engine_.compiled.binding->dims.size());
  int64_t bytes = 0;
  std::set<std::string> tensors;
  for (const json& part : j["parts"]) {
    const std::string tensor = part["tensor"];
    const Weight* w = model.find(tensor);
    ASSERT_NE(w, nullptr) << tensor;
    EXPECT_EQ(part["type"], name(w->dtype));
    EXPECT_EQ(part["offset"], w->offset);
    EXPECT_EQ(part["bytes"], w->bytes) << tensor;
    EXPECT_EQ(part["shape"].get<std::vector<int64_t>>(), w->shape);
    if (tensors.insert(tensor).second) bytes += w->bytes;
  }
  int64_t all = 0;
  for (const Weight& w : model.weights) all += w.bytes;
  EXPECT_EQ(bytes, all);  // nothing of the file is left out
}

TEST_F(SidecarTest, EveryTensorHasItsKernelAndTheReasonsAgainstTheOthers) {
  const json j = read("kernels.json");
  EXPECT_EQ(j["tensors"].size(), engine_.model->weights.size());
  int64_t products = 0;
  for (const json& t : j["tensors"]) {
    ASSERT_FALSE(t["uses"].empty()) << t["tensor"];
    for (const json& use : t["uses"]) {
      const CallList& list = use["list"] == "prefill" ? engine_.compiled.lowered->prefill
                                                      : engine_.compiled.lowered->decode;
      const Call& call = list.calls.at(use["call"].get<size_t>());
      EXPECT_EQ(use["kernel"], call.kernel->name);
      if (call.kernel->args != ArgsKind::matmul) continue;
      ++products;
      EXPECT_FALSE(use["others"].empty()) << t["tensor"];
      for (const json& other : use["others"])
        EXPECT_FALSE(other["reason"].get<std::string>().empty());
    }
  }
  EXPECT_GT(products, 0);
}

TEST_F(SidecarTest, GraphAndCallsAreThoseThatRun) {
  const json graph = read("graph.json"), lowered = read("lowered.json");
  EXPECT_EQ(graph["states"].size(), engine_.compiled.graph->states.size());
  const auto& decode = engine_.compiled.lowered->decode.calls;
  ASSERT_EQ(lowered["decode"]["calls"].size(), decode.size());
  for (size_t i = 0; i < decode.size(); ++i)
    EXPECT_EQ(lowered["decode"]["calls"][i]["kernel"], decode[i].kernel->name);
  EXPECT_EQ(lowered["memory"]["arena"], engine_.compiled.lowered->arena_bytes);
}

TEST_F(SidecarTest, ThePlanShowsEveryKindOfLayerAndAllMemory) {
  const std::string& plan = bytes("plan.txt");
  EXPECT_THAT(plan, HasSubstr("decode: steps of up to"));
  EXPECT_THAT(plan, HasSubstr("prefill: steps of up to 64 rows"));
  for (const Buffer& b : engine_.compiled.lowered->buffers) EXPECT_THAT(plan, HasSubstr(b.name));
  for (const State& s : engine_.compiled.lowered->states) EXPECT_THAT(plan, HasSubstr(s.name));
}

TEST_F(SidecarTest, TheTokenizerHasEveryTokenInItsPlace) {
  const json j = read("tokenizer.json");
  const Tokenizer& t = *engine_.tokenizer;
  ASSERT_EQ(static_cast<int64_t>(j["tokens"].size()), t.n_vocab());
  for (int32_t id = 0; id < t.n_vocab(); ++id) {
    EXPECT_EQ(j["tokens"][static_cast<size_t>(id)], t.token_text(id));
    EXPECT_EQ(j["kinds"][static_cast<size_t>(id)], static_cast<int>(t.token_kind(id)));
  }
  EXPECT_EQ(j["special"]["bos"], 1);
  EXPECT_EQ(j["end_of_generation"], json::array({2}));
  EXPECT_EQ(j["rules"]["add_bos"], t.vocabulary().add_bos);
  EXPECT_EQ(bytes("chat_template.jinja"),
            engine_.model->key("tokenizer.chat_template")->text().value());
}

TEST_F(SidecarTest, FrequenciesStandWhereTheBindingSays) {
  const json j = read("binding.json");
  const std::string& rope = bytes("rope.bin");
  const auto& rotaries = engine_.compiled.binding->rotaries;
  ASSERT_EQ(j["rotaries"].size(), rotaries.size());
  EXPECT_GT(rotaries.size(), 1u);  // gemma3 turns local and global layers differently
  size_t floats = 0;
  for (size_t r = 0; r < rotaries.size(); ++r) {
    const size_t first = j["rotaries"][r]["first"], count = j["rotaries"][r]["count"];
    ASSERT_LE((first + count) * 4, rope.size());
    ASSERT_EQ(count, rotaries[r].frequencies.size());
    EXPECT_EQ(std::memcmp(rope.data() + first * 4, rotaries[r].frequencies.data(), count * 4), 0);
    floats += count;
  }
  EXPECT_EQ(rope.size(), floats * 4);
}

TEST_F(SidecarTest, CanariesHoldInEveryWayOfRunning) {
  const auto canaries = parse_canaries(bytes("canary.json"));
  ASSERT_TRUE(canaries) << canaries.error().message;
  ASSERT_EQ(canaries->prompts.size(), 3u);
  EXPECT_GT(canaries->prompts[2].tokens.size(), 128u);
  for (const Canary& c : canaries->prompts) EXPECT_FALSE(c.text.empty());
  for (const int64_t n_rows : {1, 7, 64}) {
    for (const int threads : {1, 3}) {
      EngineOptions options = options_;
      options.compile.limits.n_rows = n_rows;
      options.session.n_threads = threads;
      options.session.isa = threads == 1 ? ETCH_SCALAR : best_isa();
      const auto engine = load_engine(path_, options);
      ASSERT_TRUE(engine);
      const auto differences = replay(*engine->session, *canaries);
      ASSERT_TRUE(differences) << differences.error().message;
      EXPECT_THAT(*differences, testing::IsEmpty());
    }
  }
  // Another type of cached keys and values gives other bits.
  EngineOptions other = options_;
  other.compile.limits.kv = KvType::bf16;
  const auto engine = load_engine(path_, other);
  ASSERT_TRUE(engine);
  const auto differences = replay(*engine->session, *canaries);
  ASSERT_TRUE(differences);
  EXPECT_EQ(differences->size(), 3u);
  EXPECT_THAT((*differences)[0], HasSubstr("prompt 0 of 5 tokens: the logits of position"));
}

TEST_F(SidecarTest, TheManifestIsReadBackAndKnowsItsModel) {
  write_manifest();
  const auto m = read_manifest(dir_.path().string());
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->model_name, "tiny.gguf");
  EXPECT_EQ(m->architecture, "gemma3");
  EXPECT_EQ(m->circuit, "circuits/gemma3.circuit");
  EXPECT_EQ(m->limits.n_rows, 64);
  EXPECT_EQ(m->build.compiler, "cc 1.0");
  EXPECT_EQ(m->files.size(), files_.size() - 1);
  const auto file = read_file(path_, 1 << 30);
  ASSERT_TRUE(file);
  EXPECT_EQ(m->model.sha256, sha256_hex(*file));
  const auto found = find_model(*m, dir_.path().string());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, path_);
  EXPECT_TRUE(check_model(*m, *engine_.model).has_value());
}

TEST_F(SidecarTest, AManifestMakesTheSamePlanAgain) {
  write_manifest();
  ASSERT_TRUE(write_file(dir_ / "model.circuit", bytes("model.circuit")).has_value());
  const auto m = read_manifest(dir_.path().string());
  ASSERT_TRUE(m);
  const auto again = compile(engine_.model, compile_options(*m, dir_.path().string()));
  ASSERT_TRUE(again) << again.error().message;
  const SidecarSource source = {&*again, &options_, engine_.tokenizer.get(), path_};
  const auto files = make_artefacts(source);
  ASSERT_TRUE(files);
  for (const Artefact& f : *files) EXPECT_EQ(f.bytes, bytes(f.name)) << f.name;
}

TEST_F(SidecarTest, RefusesAnotherModelQuickly) {
  write_manifest();
  const auto m = read_manifest(dir_.path().string());
  ASSERT_TRUE(m);
  test::TinyModelOptions how;
  how.synth.seed = 2;
  make("gemma3", how);
  const Status other = check_model(*m, *engine_.model);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::answer_is_no);
  EXPECT_THAT(other.error().message, HasSubstr("not the one that was compiled"));
}

TEST_F(SidecarTest, ADamagedManifestIsRefusedWhereverItIsDamaged) {
  write_manifest();
  const std::string good = files_.back().bytes;
  for (size_t at = 0; at < good.size(); at += 29) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    ASSERT_TRUE(write_file(dir_ / "manifest.json", bad).has_value());
    EXPECT_FALSE(read_manifest(dir_.path().string())) << "byte " << at;
  }
  for (const size_t length : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 1}) {
    ASSERT_TRUE(write_file(dir_ / "manifest.json", good.substr(0, length)).has_value());
    const auto m = read_manifest(dir_.path().string());
    ASSERT_FALSE(m) << length << " bytes";
    EXPECT_THAT(m.error().message, HasSubstr("manifest.json"));
  }
}

TEST_F(SidecarTest, HostileNamesStayTextOnThePage) {
  test::TinyModelOptions how;
  how.name = "<script>alert(1)</script>\"'&\x01\xff";
  make("llama", how);
  const std::string& page = bytes("report.html");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\uFFFD\uFFFD"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  for (const BoundPart& p : engine_.compiled.binding->parts) EXPECT_THAT(page, HasSubstr(p.tensor));
}

}  // namespace
}  // namespace etch

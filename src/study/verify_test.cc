// etch verify: a sound model and a sound sidecar pass; whatever is damaged is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "code/print_c.h"
#include "code/toolchain.h"
#include "compile/code_options.h"
#include "study/sidecar.h"
#include "study/verify_model.h"
#include "study/verify_sidecar.h"
#include "support/tiny_model_file.h"

namespace etch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string failures(const VerifyReport& report) {
  std::string all;
  for (const Check& c : report.checks)
    if (c.outcome == Check::Outcome::fails) all += c.name + ": " + c.detail + "\n";
  return all;
}

bool names(const VerifyReport& report, std::string_view file) {
  return std::any_of(report.checks.begin(), report.checks.end(), [&](const Check& c) {
    return c.outcome == Check::Outcome::fails && c.name == file;
  });
}

EngineOptions small_options() {
  EngineOptions options;
  options.compile.limits = {.n_ctx = 256, .n_rows = 64, .n_outputs = 1};
  options.session.n_threads = 2;
  return options;
}

// What `etch compile` leaves; without a C compiler here, what `etch compile --no-build` does.
void write_sidecar(const std::string& model, const fs::path& directory) {
  const EngineOptions options = small_options();
  auto engine = load_engine(model, options);
  ASSERT_TRUE(engine) << engine.error().message;
  const SidecarSource source = {&engine->compiled, &options, engine->tokenizer.get(), model};
  auto files = make_artefacts(source);
  ASSERT_TRUE(files) << files.error().message;
  const auto names = code_options_of(engine->compiled, "0.0.0");
  ASSERT_TRUE(names) << names.error().message;
  files->push_back({"model.c", *print_c(*engine->compiled.lowered, *names)});
  fs::create_directories(directory);
  if (const auto toolchain = find_toolchain()) {
    ASSERT_TRUE(write_file((directory / "model.c").string(), files->back().bytes));
    const Status built = build_library(directory, *toolchain);
    ASSERT_TRUE(built) << built.error().message;
    files->push_back({"libmodel.so", *read_file((directory / "libmodel.so").string(), 1 << 30)});
  }
  files->push_back(*make_manifest(source, {}, *files));
  for (const Artefact& f : *files)
    ASSERT_TRUE(write_file((directory / f.name).string(), f.bytes).has_value());
}

class VerifySidecarTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new test::TemporaryDir;
    test::write_tiny_model(*dir_ / "tiny.gguf", "gemma3");
    test::TinyModelOptions other;
    other.synth.seed = 9;
    other.name = "other";
    test::write_tiny_model(*dir_ / "other.gguf", "gemma3", other);
    write_sidecar(*dir_ / "tiny.gguf", dir_->path() / "good");
    write_sidecar(*dir_ / "other.gguf", dir_->path() / "foreign");
  }
  static void TearDownTestSuite() {
    delete dir_;
    dir_ = nullptr;
  }

  VerifySidecarTest() {
    fs::remove_all(work_);
    fs::copy(dir_->path() / "good", work_);
  }

  VerifyReport verify(const std::string& model = "") {
    auto report = verify_sidecar(work_.string(), model, small_options());
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : VerifyReport{};
  }
  std::string bytes(const std::string& name, const char* of = "work") {
    auto text = read_file((dir_->path() / of / name).string(), 1 << 30);
    EXPECT_TRUE(text) << name;
    return text ? *text : "";
  }
  void write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(write_file((work_ / name).string(), text).has_value());
  }
  static std::vector<std::string> file_names() {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(dir_->path() / "good"))
      all.push_back(entry.path().filename().string());
    return all;
  }

  static test::TemporaryDir* dir_;
  const fs::path work_ = dir_->path() / "work";
};
test::TemporaryDir* VerifySidecarTest::dir_ = nullptr;

TEST_F(VerifySidecarTest, ASoundOnePasses) {
  const VerifyReport report = verify();
  EXPECT_EQ(failures(report), "");
  EXPECT_GT(report.checks.size(), file_names().size());
  if (fs::exists(work_ / "libmodel.so")) {
    EXPECT_TRUE(std::any_of(report.checks.begin(), report.checks.end(), [](const Check& c) {
      return c.name == "canaries, library" && c.outcome == Check::Outcome::holds;
    }));
  }
}

TEST_F(VerifySidecarTest, EveryDamagedFileIsNamed) {
  ASSERT_GE(file_names().size(), 13u);
  for (const std::string& name : file_names()) {
    const std::string good = bytes(name);
    const auto expect_named = [&](std::string_view how) {
      const VerifyReport report = verify();
      EXPECT_TRUE(names(report, name)) << name << ", " << how << ":\n" << failures(report);
      if (name != "manifest.json") {
        EXPECT_EQ(report.n_failed(), 1) << name << ", " << how << ":\n" << failures(report);
      }
    };
    std::string bad = good;
    bad[bad.size() / 3] = static_cast<char>(bad[bad.size() / 3] ^ 0x10);
    write(name, bad);
    expect_named("a bit flipped");
    write(name, good.substr(0, good.size() - good.size() / 4 - 1));
    expect_named("truncated");
    fs::remove(work_ / name);
    expect_named("missing");
    const std::string foreign = bytes(name, "foreign");
    if (foreign != good) {
      write(name, foreign);
      expect_named("another model's");
    }
    write(name, good);
  }
}

TEST_F(VerifySidecarTest, AnotherModelIsRefused) {
  const VerifyReport report = verify(*dir_ / "other.gguf");
  EXPECT_EQ(report.n_failed(), 1);
  EXPECT_TRUE(names(report, "model"));
  EXPECT_THAT(failures(report), HasSubstr("not the one that was compiled"));
}

TEST_F(VerifySidecarTest, OneChangedWeightIsFound) {
  std::string model = bytes("tiny.gguf", "");
  model[model.size() - 5000] = static_cast<char>(model[model.size() - 5000] ^ 1);
  write("tiny.gguf", model);  // in the directory it is found first
  const VerifyReport report = verify();
  EXPECT_TRUE(names(report, "model")) << failures(report);
}

TEST_F(VerifySidecarTest, ALostModelIsSaidToBeLost) {
  fs::rename(dir_->path() / "tiny.gguf", dir_->path() / "moved.gguf");
  const VerifyReport lost = verify(), found = verify(*dir_ / "moved.gguf");
  fs::rename(dir_->path() / "moved.gguf", dir_->path() / "tiny.gguf");
  EXPECT_THAT(failures(lost), HasSubstr("--model FILE says where it is"));
  EXPECT_EQ(failures(found), "");
}

// Hashes that fit are not enough: the canaries are played.
TEST_F(VerifySidecarTest, CanariesOfOtherBitsFail) {
  std::string canaries = bytes("canary.json");
  const size_t at = canaries.find("\"hash\": \"", canaries.find("\"steps\"")) + 9;
  canaries[at] = canaries[at] == '0' ? '1' : '0';
  const std::string path = *dir_ / "tiny.gguf";
  const EngineOptions options = small_options();
  auto engine = load_engine(path, options);
  ASSERT_TRUE(engine);
  std::vector<Artefact> files;
  for (const std::string& name : file_names())
    if (name != "manifest.json")
      files.push_back({name, name == "canary.json" ? canaries : bytes(name)});
  const auto manifest = make_manifest({&engine->compiled, &options, nullptr, path}, {}, files);
  ASSERT_TRUE(manifest);
  write("canary.json", canaries);
  write("manifest.json", manifest->bytes);
  const VerifyReport report = verify();
  EXPECT_TRUE(names(report, "canaries, executor")) << failures(report);
  EXPECT_THAT(failures(report), HasSubstr("prompt 0 of 5 tokens: the logits of position 4"));
}

// So is the library: another model's is told by its plan, however well its hash fits.
TEST_F(VerifySidecarTest, ALibraryOfAnotherPlanFails) {
  if (!fs::exists(work_ / "libmodel.so")) GTEST_SKIP() << "there is no C compiler";
  const std::string path = *dir_ / "tiny.gguf";
  EngineOptions options = small_options();
  auto engine = load_engine(path, options);
  options.compile.limits.n_ctx = 128;
  auto shorter = load_engine(path, options);
  ASSERT_TRUE(engine && shorter);
  const auto words = code_options_of(shorter->compiled, "0.0.0");
  ASSERT_TRUE(words);
  const fs::path other = dir_->path() / "shorter";
  fs::create_directories(other);
  ASSERT_TRUE(
      write_file((other / "model.c").string(), *print_c(*shorter->compiled.lowered, *words)));
  ASSERT_TRUE(build_library(other, *find_toolchain()));
  std::vector<Artefact> files;
  for (const std::string& name : file_names())
    if (name != "manifest.json")
      files.push_back({name, bytes(name, name == "libmodel.so" ? "shorter" : "work")});
  options = small_options();
  const auto manifest = make_manifest({&engine->compiled, &options, nullptr, path}, {}, files);
  ASSERT_TRUE(manifest);
  write("libmodel.so", bytes("libmodel.so", "shorter"));
  write("manifest.json", manifest->bytes);
  const VerifyReport report = verify();
  EXPECT_EQ(report.n_failed(), 1) << failures(report);
  EXPECT_TRUE(names(report, "canaries, library")) << failures(report);
  EXPECT_THAT(failures(report), HasSubstr("another plan"));
}

class VerifyModelTest : public testing::TestWithParam<const char*> {};

TEST_P(VerifyModelTest, EveryWayOfRunningGivesTheSameBits) {
  test::TemporaryDir dir;
  test::TinyModelOptions how;
  how.synth.optional = SynthOptions::Optional::none;  // reranking heads are not run yet
  const std::string path = test::write_tiny_model(dir / "tiny.gguf", GetParam(), how);
  const auto report = verify_model(path, small_options());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(failures(*report), "");
  EXPECT_GE(report->checks.size(), 10u);
}
INSTANTIATE_TEST_SUITE_P(Circuits, VerifyModelTest,
                         testing::Values("llama", "gemma3", "mixtral", "gptoss", "qwen3"));

TEST(VerifyModelErrorsTest, ATruncatedFileIsAnError) {
  test::TemporaryDir dir;
  const std::string path = test::write_tiny_model(dir / "tiny.gguf", "llama");
  fs::resize_file(path, fs::file_size(path) / 2);
  const auto report = verify_model(path, small_options());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::damaged);
}

}  // namespace
}  // namespace etch

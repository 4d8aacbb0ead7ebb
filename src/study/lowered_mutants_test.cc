// Every mutant of a plan is noticed: by the checks of plans, or, when it runs, by guard, canaries
// or parity. The ordinary run draws a hundred on a made-up model; scripts/lowered_mutants takes
// real ones: ETCH_MUTANT_MODEL names a file, ETCH_MUTANTS_DRAWN how many, ETCH_MUTANT_SEED which.
#include "study/lowered_mutants.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

#include "lowered/verify.h"
#include "study/canary.h"
#include "study/parity.h"
#include "support/tiny_model_file.h"

namespace etch {
namespace {

constexpr unsigned kSeconds = 120;  // for one run of a mutant

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

// Runs f in a process of its own: a mutant may write anywhere. What f says; "crash" if it cannot.
std::string apart(const std::function<std::string()>& f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(kSeconds);
    const std::string said = f();
    const bool written = write(ends[1], said.data(), said.size()) == std::ssize(said);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char piece[4096];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;)
    said.append(piece, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said : "crash";
}

// The model, its plan, and what the sound plan gives.
class Noticing {
 public:
  explicit Noticing(const std::string& path) {
    options_.compile.limits = {.n_ctx = 512, .n_rows = 64, .n_outputs = 64};
    options_.session.n_threads = 2;
    auto model = read_model(path);
    EXPECT_TRUE(model) << model.error().message;
    model_ = std::make_shared<const Model>(std::move(*model));
    auto compiled = compile_for(model_, options_);
    EXPECT_TRUE(compiled) << compiled.error().message;
    compiled_ = std::move(*compiled);
    auto session = Session::create(compiled_.lowered, model_->bytes(), options_.session);
    EXPECT_TRUE(session) << session.error().message;
    auto canaries = make_canaries(**session, nullptr);
    EXPECT_TRUE(canaries) << canaries.error().message;
    canaries_ = std::move(*canaries);
    for (int32_t i = 0; i < 26; ++i)
      tokens_.push_back(static_cast<int32_t>((i * 37 + 11) % (*session)->n_vocab()));
  }

  const Lowered& plan() const { return *compiled_.lowered; }

  struct Verdict {
    std::string by;      // who noticed first: "verifier", "race check", ..., "nobody"
    std::string how;     // what was said
    bool named = false;  // it named the very call
  };
  Verdict notice(const LoweredMutant& m) const {
    const Lowered mutant = with_mutant(plan(), m);
    const Status races = check_races(mutant);
    if (const Status sound = verify(mutant); !sound) {
      const bool race = !races && races.error().message == sound.error().message;
      return {race ? "race check" : "verifier", sound.error().message,
              sound.error().message.find(fmt::format("call {}", m.number)) != std::string::npos ||
                  race};
    }
    const auto shared = std::make_shared<const Lowered>(mutant);
    std::string said = apart([&] { return replayed(shared, true); });
    if (said.starts_with("guard: "))
      return {"guard", said, said.find(fmt::format("call {} ", m.number)) != std::string::npos};
    const std::string of_canaries = apart([&] { return replayed(shared, false); });
    if (!of_canaries.empty() && of_canaries != "crash") return {"canaries", of_canaries, false};
    const std::string of_parity = apart([&] { return compared(shared, m.call.origin.node); });
    if (!of_parity.empty() && of_parity != "crash")
      return {"parity", of_parity, of_parity.starts_with("here")};
    if (!said.empty()) return {"guard", said, false};
    if (of_canaries == "crash" || of_parity == "crash") return {"crash", "", false};
    return {"nobody", "", false};
  }
  // Does parity with the plain evaluation notice it too?
  std::string parity(const LoweredMutant& m) const {
    const auto shared = std::make_shared<const Lowered>(with_mutant(plan(), m));
    return apart([&] { return compared(shared, m.call.origin.node); });
  }

 private:
  // What is different, "" if nothing is.
  std::string replayed(const std::shared_ptr<const Lowered>& mutant, bool guard) const {
    SessionOptions how = options_.session;
    how.guard = guard;
    auto session = Session::create(mutant, model_->bytes(), how);
    if (!session) return session.error().message;
    auto differences = replay(**session, canaries_);
    if (!differences) return differences.error().message;
    return differences->empty() ? "" : differences->front();
  }

  std::string compared(const std::shared_ptr<const Lowered>& mutant, int32_t node) const {
    auto session = Session::create(mutant, model_->bytes(), options_.session);
    if (!session) return session.error().message;
    const auto kernels = run_of_session(compiled_, **session, "kernels");
    const auto plain = run_of_interpreter(compiled_, false, "plain");
    const auto report = compare(*kernels, *plain,
                                {.tokens = tokens_,
                                 .promise = Promise::rounding,
                                 .tolerance = rounding_tolerance(*model_)});
    if (!report) return report.error().message;
    const ComparedValue* first = report->first();
    if (first == nullptr) return "";
    return fmt::format("{}{}: {}, {:.2g} apart", first->node == node ? "here: " : "",
                       first->location, first->what, first->difference.typical);
  }

  EngineOptions options_;
  std::shared_ptr<const Model> model_;
  Compiled compiled_;
  Canaries canaries_;
  std::vector<int32_t> tokens_;
};

constexpr std::string_view kColumns[] = {"verifier", "race check", "guard", "canaries",
                                         "parity",   "crash",      "nobody"};

void notice_all(const std::string& path, int n, uint64_t seed) {
  const Noticing noticing(path);
  if (testing::Test::HasFailure()) return;
  std::map<std::string, std::map<std::string, int>, std::less<>> table;
  int total = 0, named = 0;
  for (const LoweredMutant& m : draw_lowered_mutants(noticing.plan(), n, seed)) {
    const Noticing::Verdict v = noticing.notice(m);
    ++table[std::string(name(m.kind))][v.by];
    ++total;
    named += v.named;
    if (std::getenv("ETCH_MUTANT_MODEL"))
      std::cout << v.by << (v.named ? " (named)" : "") << ": " << m.description << "\n    "
                << v.how.substr(0, v.how.find('\n')) << std::endl;
    if (v.by == "nobody" || v.by == "crash") ADD_FAILURE() << m.description << ": " << v.by;
  }
  EXPECT_EQ(total, n);
  std::cout << fmt::format("{:18}", "");
  for (const std::string_view c : kColumns) std::cout << fmt::format("{:>12}", c);
  std::cout << "\n";
  for (const auto& [kind, counts] : table) {
    std::cout << fmt::format("{:18}", kind);
    for (const std::string_view c : kColumns) {
      const auto it = counts.find(std::string(c));
      std::cout << fmt::format("{:>12}", it == counts.end() ? 0 : it->second);
    }
    std::cout << "\n";
  }
  std::cout << fmt::format("{} mutants; the finding names the very call in {}\n", total, named);
}

TEST(LoweredMutants, AreAllNoticed) {
  const int n = std::atoi(from_environment("ETCH_MUTANTS_DRAWN", "100").c_str());
  const auto seed =
      static_cast<uint64_t>(std::atoll(from_environment("ETCH_MUTANT_SEED", "20261201").c_str()));
  const std::string real = from_environment("ETCH_MUTANT_MODEL", "");
  if (!real.empty()) {
    notice_all(real, n, seed);
    return;
  }
  test::TemporaryDir dir;
  test::TinyModelOptions how;
  for (const char* circuit : {"llama", "mixtral"})
    notice_all(test::write_tiny_model(dir / (std::string(circuit) + ".gguf"), circuit, how), n / 2,
               seed);
}

// The sound plan passes all of what notices mutants: else the figures above mean nothing.
TEST(LoweredMutants, ASoundPlanIsNotNoticed) {
  test::TemporaryDir dir;
  const Noticing noticing(test::write_tiny_model(dir / "llama.gguf", "llama"));
  LoweredMutant none;
  none.number = 0;
  none.call = noticing.plan().decode.calls[0];
  EXPECT_EQ(noticing.notice(none).by, "nobody");
  EXPECT_EQ(noticing.parity(none), "");
}

}  // namespace
}  // namespace etch

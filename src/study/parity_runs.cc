// The runs that can be compared: kernels in a session, and the plain evaluation.
#include <map>
#include <set>

#include "graph/interpret.h"
#include "study/parity.h"
#include "study/parity_values.h"

namespace etch {
namespace {

class SessionRun : public ParityRun {
 public:
  SessionRun(const Compiled& compiled, Session& session, std::string what)
      : compiled_(compiled), session_(session), what_(std::move(what)) {
    for (const bool prefill : {false, true}) {
      for (LeftValue& l : left_values(*compiled.graph, session.lowered(), prefill)) {
        shown_[prefill].insert(l.value);
        by_call_[prefill].emplace(l.call, std::move(l));
      }
    }
  }
  ~SessionRun() override { session_.remove(sequence_); }

  std::string what() const override { return what_; }
  const Graph& graph() const override { return *compiled_.graph; }
  int64_t most_rows() const override {
    return std::min(session_.max_rows(), session_.max_outputs());
  }
  bool shows(ValueId value, int64_t n_rows) const override {
    return shown_[is_prefill(n_rows)].contains(value);
  }

  Status step(const ParityStep& step, const Take& take) override {
    if (sequence_ < 0) sequence_ = ETCH_TRY(session_.create_sequence());
    const int64_t first = session_.length(sequence_);
    std::vector<BatchRow> rows;
    for (size_t i = 0; i < step.tokens.size(); ++i)
      rows.push_back({step.tokens[i], sequence_,
                      static_cast<int32_t>(first + static_cast<int64_t>(i)),
                      step.observed >= 0 && static_cast<int64_t>(i) >= step.first_row});
    if (step.observed >= 0)
      session_.on_result = [&](const CallResult& result) { tell(result, step, take); };
    const auto ran = session_.step(rows);
    session_.on_result = nullptr;
    if (!ran) return tl::unexpected(ran.error());
    return {};
  }

 private:
  bool is_prefill(int64_t n_rows) const {
    const Lowered& l = session_.lowered();
    return !l.prefill.calls.empty() && n_rows > l.decode.max_rows;
  }
  void tell(const CallResult& result, const ParityStep& step, const Take& take) const {
    const auto left = by_call_[result.prefill].find(result.number);
    if (left == by_call_[result.prefill].end()) return;
    std::vector<float> numbers = read_value(left->second, result);
    int64_t rows = 1;
    if (left->second.rows_of == ETCH_OUTPUTS) rows = result.step.n_outputs;
    if (left->second.rows_of == ETCH_TOKENS) {
      rows = result.step.n_rows - step.first_row;
      const auto width = std::ssize(numbers) / result.step.n_rows;
      numbers.erase(numbers.begin(), numbers.begin() + step.first_row * width);
    }
    take(left->second.value, rows, std::move(numbers));
  }

  const Compiled& compiled_;
  Session& session_;
  std::string what_;
  SequenceId sequence_ = -1;
  std::set<ValueId> shown_[2];  // decode, prefill
  std::map<int32_t, LeftValue> by_call_[2];
};

class PlainRun : public ParityRun {
 public:
  PlainRun(const Compiled& compiled, bool in_double, std::string what)
      : compiled_(compiled),
        precision_(in_double ? Precision::float64 : Precision::float32),
        what_(std::move(what)) {}

  std::string what() const override { return what_; }
  const Graph& graph() const override { return *compiled_.graph; }
  int64_t most_rows() const override { return compiled_.lowered->limits.n_rows; }
  bool shows(ValueId value, int64_t) const override {
    const Value& v = graph().value(value);
    return v.node >= 0 && graph().maker(value).op != Op::weight &&
           (v.kind == Value::Kind::real || v.kind == Value::Kind::experts);
  }

  Status step(const ParityStep& step, const Take& take) override {
    std::vector<InterpretRow> rows;
    for (size_t i = 0; i < step.tokens.size(); ++i)
      rows.push_back({step.tokens[i], 0, static_cast<int32_t>(length_ + static_cast<int64_t>(i)),
                      step.observed >= 0 && static_cast<int64_t>(i) >= step.first_row});
    length_ += std::ssize(step.tokens);
    OnValue tell;
    if (step.observed >= 0) {
      tell = [&](ValueId v, int64_t n, std::span<const double> numbers) {
        const bool cut = graph().value(v).rows == Rows::tokens;
        const int64_t first =
            cut ? step.first_row * (std::ssize(numbers) / std::max<int64_t>(1, n)) : 0;
        const auto kept = numbers.subspan(static_cast<size_t>(first));
        take(v, cut ? n - step.first_row : n, {kept.begin(), kept.end()});
      };
    }
    ETCH_TRY(interpret(graph(), rows, kept_, precision_, {}, tell));
    return {};
  }

 private:
  const Compiled& compiled_;
  Precision precision_;
  std::string what_;
  KeptStates kept_;
  int64_t length_ = 0;
};

}  // namespace

std::unique_ptr<ParityRun> run_of_session(const Compiled& compiled, Session& session,
                                          std::string what) {
  return std::make_unique<SessionRun>(compiled, session, std::move(what));
}

std::unique_ptr<ParityRun> run_of_interpreter(const Compiled& compiled, bool in_double,
                                              std::string what) {
  return std::make_unique<PlainRun>(compiled, in_double, std::move(what));
}

}  // namespace etch

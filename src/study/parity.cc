#include "study/parity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "graph/print.h"
#include "study/parity_experts.h"
#include "study/parity_meeting.h"

namespace etch {
namespace {

// In root mean squares of a value. Float weights: sums in another order, and cached keys and values
// in half precision. Quantised ones: activations are rounded to int8 as well; a wrong row, sign or
// layer gives about 1.4.
constexpr double kFloatTolerance = 0.01, kQuantisedTolerance = 0.2;

// The tokens as steps: the first ones in steps of up to `rows`, the last n_decode one by one. With
// `last_only` the runs cut them differently, and the last row of all is looked at.
std::vector<ParityStep> cut(const ParityOptions& options, int64_t rows, bool last_only) {
  std::vector<ParityStep> steps;
  const int64_t total = std::ssize(options.tokens);
  const int64_t n_decode = last_only ? 0 : std::min(options.n_decode, total - 1);
  for (int64_t done = 0; done < total;) {
    const int64_t n = done < total - n_decode ? std::min(rows, total - n_decode - done) : 1;
    ParityStep step;
    step.tokens.assign(options.tokens.begin() + done, options.tokens.begin() + done + n);
    done += n;
    if (!last_only) step.observed = static_cast<int>(steps.size());
    if (last_only && done == total) {
      step.observed = 0;
      step.first_row = n - 1;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

const WeightSource* weight_input(const Graph& graph, const Node& node) {
  for (const ValueId v : node.inputs)
    if (const WeightSource* w = graph.weight_of(v)) return w;
  return nullptr;
}

// The weight a value is made with: its own node's, or that of a product it was added to. A residual
// or a bias is fused into the product before it.
std::string tensor_of(const Graph& graph, ValueId v, int depth = 0) {
  const Node& node = graph.maker(v);
  if (const WeightSource* w = weight_input(graph, node))
    return w->data.weight ? w->data.weight->name : "memory";
  if (depth > 1 || (node.op != Op::add && node.op != Op::mul)) return "";
  for (const ValueId input : node.inputs)
    if (graph.maker(input).op == Op::linear) return tensor_of(graph, input, depth + 1);
  return "";
}

ComparedValue describe(const Graph& graph, ValueId v) {
  ComparedValue c;
  c.value = v;
  c.node = graph.value(v).node;
  const Node& node = graph.maker(v);
  c.layer = node.origin.layer;
  if (node.origin.line > 0) c.location = fmt::format("{}:{}", node.origin.file, node.origin.line);
  c.what = print_node(graph, node);
  c.tensor = tensor_of(graph, v);
  return c;
}

class Comparison {
 public:
  Comparison(ParityRun& a, ParityRun& b, const ParityOptions& options)
      : a_(a),
        b_(b),
        options_(options),
        to_a_(align(a.graph(), b.graph())),
        rerouting_(a.graph()) {}

  Result<ParityReport> run() {
    const bool last_only = options_.rows_a != options_.rows_b;
    const int64_t most = std::min(a_.most_rows(), b_.most_rows());
    const auto rows = [&](int64_t asked) {
      return std::max<int64_t>(1, asked > 0 ? std::min(asked, most) : most);
    };
    steps_a_ = cut(options_, rows(options_.rows_a), last_only);
    steps_b_ = cut(options_, rows(options_.rows_b), last_only);
    find_shared();
    Status of_b;
    std::thread other([&] { of_b = walk(1, b_, steps_b_); });
    const Status of_a = walk(0, a_, steps_a_);
    other.join();
    ETCH_TRY(Status(of_a).context(a_.what()));
    ETCH_TRY(std::move(of_b).context(b_.what()));
    return finish();
  }

 private:
  // Which values both runs show in each step they are compared in.
  void find_shared() {
    std::map<int, std::set<ValueId>> of_a, of_b;
    for (const ParityStep& s : steps_a_)
      for (ValueId v = 0; s.observed >= 0 && v < std::ssize(a_.graph().values); ++v)
        if (a_.shows(v, std::ssize(s.tokens))) of_a[s.observed].insert(v);
    for (const ParityStep& s : steps_b_)
      for (ValueId v = 0; s.observed >= 0 && v < std::ssize(b_.graph().values); ++v)
        if (b_.shows(v, std::ssize(s.tokens)) && to_a_[static_cast<size_t>(v)] != kNoValue)
          of_b[s.observed].insert(to_a_[static_cast<size_t>(v)]);
    for (const auto& [step, values] : of_a) {
      for (const ValueId v : values) {
        if (of_b[step].contains(v))
          shared_.insert({step, v});
        else
          ++report_.n_only_a;
      }
      report_.n_only_b += std::ssize(of_b[step]);
    }
    report_.n_only_b -= std::ssize(shared_);
  }

  Status walk(int side, ParityRun& run, const std::vector<ParityStep>& steps) {
    struct Leaver {
      Meeting& meeting;
      int side;
      ~Leaver() { meeting.leave(side); }
    } leaver{meeting_, side};
    for (const ParityStep& step : steps) {
      ETCH_TRY(run.step(step, [&](ValueId v, int64_t, std::vector<float> numbers) {
        const ValueId as_a = side == 0 ? v : to_a_[static_cast<size_t>(v)];
        const Meeting::Key key = {step.observed, as_a};
        if (as_a == kNoValue || !shared_.contains(key)) return;
        if (side == 0) order_[key] = static_cast<int64_t>(order_.size());  // A's thread alone
        meeting_.bring(side, key, std::move(numbers));
      }));
    }
    return {};
  }

  void pair(Meeting::Key key, std::vector<float> a, std::vector<float> b) {
    ComparedValue c = describe(a_.graph(), key.second);
    c.step = key.first;
    const Value& value = a_.graph().value(key.second);
    const int64_t each = value.kind == Value::Kind::experts ? 2 : 1;  // an id and a weight
    const int64_t width = each * value.elements();
    if (a.size() != b.size()) {
      c.what += fmt::format(" ({} and {} numbers)", a.size(), b.size());
      c.differs = true;
    } else {
      if (options_.promise == Promise::rounding) {
        rerouting_.see(c.step, c.value, a, b);
        if (value.rows != Rows::once) {
          leave_out(rerouting_.rows(c.step), width, a);
          leave_out(rerouting_.rows(c.step), width, b);
        }
        if (a.empty()) return;
      }
      c.difference = measure(a, b, width);
      c.differs = options_.promise == Promise::same_bits
                      ? c.difference.n_different > 0
                      : !(c.difference.typical <= options_.tolerance);
    }
    found_[key] = std::move(c);
  }

  static void leave_out(const std::set<int64_t>& rows, int64_t width, std::vector<float>& numbers) {
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      const auto at = numbers.begin() + *row * width;
      numbers.erase(at, at + width);
    }
  }

  ParityReport finish() {
    report_.a = a_.what();
    report_.b = b_.what();
    report_.promise = options_.promise;
    report_.tolerance = options_.tolerance;
    report_.n_tokens = std::ssize(options_.tokens);
    report_.n_steps = std::ssize(steps_a_);
    report_.n_rerouted = rerouting_.count();
    std::map<int64_t, ComparedValue> in_order;
    for (auto& [key, value] : found_) in_order[order_[key]] = std::move(value);
    for (auto& [place, value] : in_order) {
      report_.n_different += value.differs;
      report_.values.push_back(std::move(value));
    }
    return std::move(report_);
  }

  ParityRun& a_;
  ParityRun& b_;
  const ParityOptions& options_;
  std::vector<ValueId> to_a_;
  std::vector<ParityStep> steps_a_, steps_b_;
  std::set<Meeting::Key> shared_;
  std::map<Meeting::Key, int64_t> order_;
  std::map<Meeting::Key, ComparedValue> found_;
  Rerouting rerouting_;
  Meeting meeting_{[this](Meeting::Key key, std::vector<float> a, std::vector<float> b) {
    pair(key, std::move(a), std::move(b));
  }};
  ParityReport report_;
};

// "q" of "q.17": names are made unique by numbers behind a point.
std::string_view wire_of(std::string_view name) { return name.substr(0, name.find('.')); }

std::vector<std::string> keys_of(const Graph& graph) {
  std::vector<std::string> keys(graph.values.size());
  std::map<std::string, int> seen;
  for (const Node& node : graph.nodes) {
    if (node.dead) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId v = node.outputs[i];
      std::string key = fmt::format("{}|{}|{}|{}", node.origin.layer, name(node.op),
                                    wire_of(graph.value(v).name), i);
      const int n = seen[key]++;
      keys[static_cast<size_t>(v)] = fmt::format("{}|{}", key, n);
    }
  }
  return keys;
}

}  // namespace

std::string_view name(Promise promise) {
  constexpr std::string_view kNames[] = {"the same bits", "rounding", "nothing"};
  return kNames[static_cast<size_t>(promise)];
}

const ComparedValue* ParityReport::first() const {
  const auto at =
      std::find_if(values.begin(), values.end(), [](const auto& v) { return v.differs; });
  return at == values.end() ? nullptr : &*at;
}

const ComparedValue* ParityReport::worst() const {
  const auto at = std::max_element(values.begin(), values.end(), [](const auto& x, const auto& y) {
    return x.difference.typical < y.difference.typical;
  });
  return at == values.end() ? nullptr : &*at;
}

std::vector<ValueId> align(const Graph& a, const Graph& b) {
  std::vector<ValueId> to_a(b.values.size(), kNoValue);
  std::map<std::string, ValueId> by_key;
  const std::vector<std::string> of_a = keys_of(a), of_b = keys_of(b);
  for (size_t v = 0; v < of_a.size(); ++v)
    if (!of_a[v].empty()) by_key[of_a[v]] = static_cast<ValueId>(v);
  for (size_t v = 0; v < of_b.size(); ++v) {
    const auto it = of_b[v].empty() ? by_key.end() : by_key.find(of_b[v]);
    if (it != by_key.end() && a.value(it->second).shape == b.values[v].shape &&
        a.value(it->second).rows == b.values[v].rows)
      to_a[v] = it->second;
  }
  return to_a;
}

double rounding_tolerance(const Model& model) {
  const bool quantised =
      std::any_of(model.weights.begin(), model.weights.end(),
                  [](const Weight& w) { return info(w.dtype).block_elements > 1; });
  return quantised ? kQuantisedTolerance : kFloatTolerance;
}

Result<ParityReport> compare(ParityRun& a, ParityRun& b, const ParityOptions& options) {
  if (options.tokens.empty()) return fail(ErrorKind::usage, "there are no tokens to compare");
  return Comparison(a, b, options).run();
}

Result<ParityReport> compare_with_reference(Session& session, std::span<const int32_t> tokens,
                                            std::span<const float> reference, double tolerance) {
  const int64_t n_vocab = session.n_vocab();
  if (n_vocab == 0) return fail(ErrorKind::unsupported, "the circuit gives no logits");
  if (std::ssize(reference) != std::ssize(tokens) * n_vocab)
    return fail(ErrorKind::usage,
                "the reference has {} numbers; {} tokens of {} logits are {}\n  expected float32, "
                "[tokens, n_vocab], little-endian, as etch logits -o writes it",
                reference.size(), tokens.size(), n_vocab, std::ssize(tokens) * n_vocab);
  ParityReport report = {.a = "the reference", .b = "etch", .promise = Promise::rounding};
  report.tolerance = tolerance;
  report.n_tokens = std::ssize(tokens);
  const SequenceId sequence = ETCH_TRY(session.create_sequence());
  const int64_t most = std::min(session.max_rows(), session.max_outputs());
  for (int64_t done = 0; done < std::ssize(tokens);) {
    std::vector<BatchRow> rows;
    for (int64_t p = done; p < std::min(std::ssize(tokens), done + most); ++p)
      rows.push_back({tokens[static_cast<size_t>(p)], sequence, static_cast<int32_t>(p), true});
    const StepResult result = ETCH_TRY(session.step(rows));
    ++report.n_steps;
    for (size_t r = 0; r < rows.size(); ++r, ++done) {
      const auto n = static_cast<size_t>(n_vocab);
      ComparedValue c;
      c.step = static_cast<int>(done);
      c.what = fmt::format("logits of position {}", done);
      c.difference = measure(reference.subspan(static_cast<size_t>(done) * n, n),
                             result.logits.subspan(r * n, n), n_vocab);
      c.differs = !(c.difference.typical <= tolerance);
      report.n_different += c.differs;
      report.values.push_back(std::move(c));
    }
  }
  session.remove(sequence);
  return report;
}

}  // namespace etch

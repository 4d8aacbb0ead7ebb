#include "circuit/bind.h"

#include <algorithm>

#include "circuit/bind_parts.h"
#include "circuit/dims.h"
#include "circuit/key_values.h"
#include "circuit/patterns.h"
#include "circuit/rotary.h"
#include "circuit/walker.h"

namespace etch {
namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr int64_t kMostStates = 100000;
// Keys that the engine reads, whatever the circuit.
constexpr std::string_view kEngineKeys[] = {"context_length", "vocab_size",
                                            "decoder_start_token_id"};

// What a binding's evaluator needs to stay alive.
struct BoundDims {
  std::shared_ptr<const Circuit> circuit;
  std::shared_ptr<const Model> model;
  ModelParts parts;
  Dims dims;

  BoundDims(std::shared_ptr<const Circuit> c, std::shared_ptr<const Model> m)
      : circuit(std::move(c)),
        model(std::move(m)),
        parts(*circuit, *model),
        dims(*circuit, model.get(), &parts, nullptr) {}
};

class Binder {
 public:
  Binder(std::shared_ptr<const Circuit> circuit, std::shared_ptr<const Model> model,
         const BindOptions& options)
      : options_(options),
        holder_(std::make_shared<BoundDims>(circuit, model)),
        dims_(holder_->dims),
        circuit_(*circuit),
        model_(*model) {
    out_.circuit = std::move(circuit);
    out_.model = std::move(model);
    out_.dims_values = std::shared_ptr<Dims>(holder_, &holder_->dims);
  }

  Result<Binding> run() {
    dims_.set_report([this](const Location& at, ErrorKind kind, const std::string& message) {
      const bool told =
          message.find("(line ") != std::string::npos || message.substr(0, 5) == "key '";
      dims_failed_ = true;
      findings_.add(kind, told ? message : fmt::format("{} (line {})", message, at.line));
    });
    dims_.evaluate_all();
    ETCH_TRY(findings_.status());
    std::set<std::string_view> consumed;
    bind_parts(dims_, circuit_, model_, out_.parts, consumed, findings_);
    states();
    if (dims_failed_) ETCH_TRY(findings_.status());  // what could not be asked for is not left over
    left_over_tensors(consumed);
    ETCH_TRY(findings_.status());
    left_over_keys();
    walk_flows();
    ETCH_TRY(findings_.status());
    ETCH_TRY(rotaries());
    dims();
    dims_.set_report(nullptr);
    return std::move(out_);
  }

 private:
  void states() {
    for (const StateEntry& s : circuit_.states) {
      Polynomial first, last;
      if (!dims_.range(s.range, first, last)) return;
      if (last.constant() - first.constant() > kMostStates)
        return findings_.add(
            ErrorKind::damaged,
            fmt::format("{} states '{}'", last.constant() - first.constant(), s.name.text));
      for (int64_t l = first.constant(); l < last.constant(); ++l) {
        if (!state_declared_at(dims_, s, l).is_true()) continue;
        StateType t;
        const Dims::Report report = [this](const Location& at, ErrorKind kind,
                                           const std::string& message) {
          findings_.add(kind, fmt::format("{} (line {})", message, at.line));
        };
        if (!state_type_at(dims_, s, l, {}, t, nullptr, report)) return;
        StateInfo info;
        info.name = fmt::format("{}[{}]", s.name.text, l);
        info.kind = static_cast<StateInfo::Kind>(t.kind);
        info.n = t.n.constant();
        info.d_k = t.d_k.constant();
        info.d_v = t.d_v.constant();
        info.block = t.block.constant();
        info.layer = static_cast<int>(l);
        for (const StateInfo& before : out_.states)
          if (before.name == info.name)
            return findings_.add(
                ErrorKind::usage,
                fmt::format("state {} is declared twice (line {})", info.name, s.at.line));
        out_.states.push_back(std::move(info));
      }
    }
  }

  // ---- what is left over ----

  void left_over_tensors(const std::set<std::string_view>& consumed) {
    const std::vector<std::string> patterns = ignored_tensors();
    std::vector<std::string_view> left;
    for (const Weight& w : model_.weights) {
      if (consumed.contains(w.name)) continue;
      const bool ignored = std::any_of(patterns.begin(), patterns.end(),
                                       [&](const std::string& p) { return matches(p, w.name); });
      if (ignored)
        out_.tensors_ignored.push_back(w.name);
      else
        left.push_back(w.name);
    }
    if (left.empty()) return;
    std::string names;
    constexpr size_t kShown = 6;
    for (size_t i = 0; i < left.size() && i < kShown; ++i)
      names += (i == 0 ? "" : ", ") + std::string(left[i]);
    if (left.size() > kShown) names += fmt::format(" and {} more", left.size() - kShown);
    findings_.add(ErrorKind::unsupported,
                  left.size() == 1
                      ? fmt::format("1 tensor is not in the circuit: {}", names)
                      : fmt::format("{} tensors are not in the circuit: {}", left.size(), names));
  }

  std::vector<std::string> ignored_tensors() {
    std::vector<std::string> patterns;
    for (const Ignore& i : circuit_.ignores) {
      if (i.is_key) continue;
      if (!i.variable) {
        patterns.push_back(i.pattern);
        continue;
      }
      Polynomial first, last;
      if (!dims_.range(i.range, first, last)) continue;
      for (int64_t l = first.constant(); l < last.constant() && l - first.constant() < kMostStates;
           ++l)
        patterns.push_back(with_indices(i.pattern, i.variable->text, l));
    }
    return patterns;
  }

  void left_over_keys() {
    const std::string prefix = std::string(model_.architecture()) + ".";
    const std::vector<std::string> known = keys_of(circuit_);
    for (const Key& k : model_.file->keys) {
      if (k.name.substr(0, prefix.size()) != prefix) continue;
      const std::string_view name = k.name.substr(prefix.size());
      if (std::find(std::begin(kEngineKeys), std::end(kEngineKeys), name) != std::end(kEngineKeys))
        continue;
      if (std::find(known.begin(), known.end(), name) != known.end()) {
        out_.keys_read.emplace_back(k.name);
        continue;
      }
      const bool ignored =
          std::any_of(circuit_.ignores.begin(), circuit_.ignores.end(),
                      [&](const Ignore& i) { return i.is_key && matches(i.pattern, name); });
      if (ignored) {
        out_.keys_ignored.emplace_back(k.name);
        continue;
      }
      std::string message = fmt::format("key '{}' = {} is not in the circuit; read it or ignore it",
                                        k.name, k.value.print());
      if (options_.strict)
        findings_.add(ErrorKind::unsupported, std::move(message));
      else
        out_.warnings.push_back(std::move(message));
    }
  }

  // ---- flows ----

  void walk_flows() {
    const Dims::Report report = [this](const Location& at, ErrorKind kind,
                                       const std::string& message) {
      findings_.add(kind == ErrorKind::usage ? ErrorKind::damaged : kind,
                    fmt::format("{} (line {})", message, at.line));
    };
    dims_.set_report(report);
    Walker walker(dims_, {&out_, nullptr, report, nullptr});
    walker.walk(*circuit_.flow(""));
    for (const Flow& f : circuit_.flows)
      if (!f.name.text.empty() && findings_.lines.empty()) walker.walk(f);
  }

  // ---- rotaries ----

  Result<std::vector<float>> factors(const std::string& part) {
    std::vector<float> out;
    const BoundPart* p = part.empty() ? nullptr : out_.find(part, -1);
    if (p == nullptr) return out;
    int64_t n = 1;
    for (const int64_t length : p->data.shape) n *= length;
    const DTypeInfo& type = info(p->data.dtype);
    if (type.decode == nullptr || type.block_elements != 1)
      return fail(ErrorKind::unsupported, "'{}' is {}, rotary reads F32, F16 or BF16", p->tensor,
                  type.name);
    out.resize(static_cast<size_t>(n));
    type.decode(model_.bytes().data() + p->data.offsets[0], out.data(), n);
    return out;
  }

  Status rotaries() {
    int64_t n_ctx = options_.n_ctx;
    if (n_ctx <= 0) {
      const KeyValue* trained = model_.arch_key("context_length");
      n_ctx = std::min(kDefaultContext, trained != nullptr
                                            ? trained->integer().value_or(kDefaultContext)
                                            : kDefaultContext);
    }
    for (const RotarySpec& spec : dims_.rotaries()) {
      RotaryFactors f;
      f.all = ETCH_TRY(factors(spec.factors));
      f.short_context = ETCH_TRY(factors(spec.short_factors));
      f.long_context = ETCH_TRY(factors(spec.long_factors));
      out_.rotaries.push_back(ETCH_TRY(make_rotary(spec, model_, f, n_ctx)));
    }
    return {};
  }

  // ---- dims, for people ----

  void dims() {
    for (const DimEntry& e : circuit_.dims) {
      if (e.kind != DimEntry::Kind::dim) continue;
      BoundDim d;
      d.name = e.name.text;
      d.line = e.at.line;
      if (e.parameter) {
        d.name += fmt::format("({})", e.parameter->text);
        d.value = dims_.known_values(e.name.text);
        d.source = "per layer";
      } else {
        const DimValue v = dims_.value(e.name.text);
        d.source = v.source.empty() ? "computed" : v.source;
        if (v.kind == DimValue::Kind::rotary) {
          const Rotary& r = out_.rotaries[static_cast<size_t>(v.rotary)];
          const RotarySpec& spec = dims_.rotaries()[static_cast<size_t>(v.rotary)];
          d.value = fmt::format("rotary({}, {}, base {})", name(r.layout), r.dims, spec.base);
        } else {
          d.value = print(v);
        }
        int64_t* number = d.name == "n_vocab"    ? &out_.n_vocab
                          : d.name == "n_layers" ? &out_.n_layers
                          : d.name == "d_model"  ? &out_.d_model
                                                 : nullptr;
        if (number != nullptr && v.kind == DimValue::Kind::integer) *number = v.integer.constant();
      }
      out_.dims.push_back(std::move(d));
    }
  }

  const BindOptions options_;
  std::shared_ptr<BoundDims> holder_;
  Dims& dims_;
  const Circuit& circuit_;
  const Model& model_;
  Binding out_;
  BindFindings findings_;
  bool dims_failed_ = false;
};

}  // namespace

const BoundPart* Binding::find(std::string_view part, int layer) const {
  for (const BoundPart& p : parts)
    if (p.layer == layer && p.name == part) return &p;
  return nullptr;
}

Result<Binding> bind(std::shared_ptr<const Circuit> circuit, std::shared_ptr<const Model> model,
                     const BindOptions& options) {
  return Binder(std::move(circuit), std::move(model), options).run();
}

}  // namespace etch

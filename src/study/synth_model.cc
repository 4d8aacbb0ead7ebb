#include "study/synth_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "base/random.h"
#include "circuit/check.h"
#include "circuit/dims.h"
#include "circuit/parts.h"
#include "circuit/patterns.h"
#include "dtypes/random_blocks.h"
#include "gguf/write_gguf.h"

namespace etch {
namespace {

constexpr int kMostTries = 4000;
constexpr int64_t kTableRows = 64;  // of tables whose length only the file knows: positions, labels

// What keys are called in GGUF files, and small values that make sense together. Sizes called
// `unit` are multiples of the width asked for.
struct KeyRule {
  std::string_view pattern;
  std::vector<double> values;
  bool unit = false, real = false, truth = false;
  bool head = false;  // the size of a head: one draw for all keys that say it
};

const std::vector<KeyRule>& key_rules() {
  static const std::vector<KeyRule> kRules = {
      {"context_length", {256}},
      {"block_count", {2, 3}},
      {"nextn_predict_layers", {0, 1}},
      {"*embedding_length", {1, 2}, true},
      {"*feed_forward_length", {1, 2, 3}, true},
      {"attention.head_count", {2, 4}},
      {"attention.head_count_kv", {1, 2, 4}},
      {"*key_length*", {1}, false, false, false, true},
      {"*value_length*", {1}, false, false, false, true},
      {"rope.dimension_count*", {1, 1, 0.5}, false, false, false, true},
      {"wkv.head_size", {1}, false, false, false, true},
      {"rope.freq_base*", {100, 10000}, false, true},
      {"*epsilon", {1e-5, 1e-6}, false, true},
      {"attention.sliding_window", {3, 5}},
      {"attention.sliding_window_pattern", {2, 3}},
      {"attention.shared_kv_layers", {0, 1}},
      {"attention.causal", {0, 1}, false, false, true},
      {"*logit_softcapping", {1.5, 3}, false, true},
      {"expert_count", {4, 6}},
      {"expert_used_count", {1, 2, 3}},
      {"expert_group*", {1, 2}},
      {"leading_dense_block_count", {0, 1, 2, 3}},
      {"*lora_rank", {16, 32}},
      {"ssm.conv_kernel", {3, 4}},
      {"ssm.inner_size", {1, 2}, true},
      {"ssm.state_size", {16, 32}},
      {"ssm.time_step_rank", {2, 4, 8}},
      {"ssm.group_count", {1, 2}},
      {"altup.num_inputs", {2, 3}},
      {"altup.active_idx", {0}},
      {"embedding_length_per_layer_input", {16, 32}},
      {"*relative_buckets_count", {8, 32}},
      {"*token_type_count", {2}},
  };
  return kRules;
}

// Which parts are there of those that may be absent, and how many rows tables have that only the
// file knows.
class DrawnParts final : public PartLookup {
 public:
  DrawnParts(const Circuit& circuit, const SynthOptions& options) : options_(options) {
    for (const PartDeclaration& d : declarations(circuit)) {
      const bool asked_for = std::any_of(d.guards.begin(), d.guards.end(), [](const auto& g) {
        return g.item->kind == PartItem::Kind::branch;
      });
      if (d.may_be_absent() || d.part->otherwise || asked_for)
        may_be_absent_.insert(d.part->name.text);
    }
  }
  bool has(std::string_view part, int64_t) override {
    return !may_be_absent_.contains(part) || present(part);
  }
  int64_t rows(std::string_view part, int64_t layer) override {
    if (part == "token_embd") return options_.n_vocab;
    return has(part, layer) ? kTableRows : 0;
  }
  bool present(std::string_view what) const {
    if (options_.optional != SynthOptions::Optional::drawn)
      return options_.optional == SynthOptions::Optional::all;
    uint64_t h = options_.seed;
    for (const char c : what) h = h * 1099511628211u + static_cast<unsigned char>(c);
    return (Random(h).next() & 1) != 0;
  }

 private:
  const SynthOptions& options_;
  std::set<std::string, std::less<>> may_be_absent_;
};

class Synth {
 public:
  Synth(const Circuit& circuit, const SynthOptions& options)
      : circuit_(circuit),
        options_(options),
        random_(options.seed),
        use_(use_of(circuit)),
        parts_(circuit, options) {}

  Result<std::vector<uint8_t>> run() {
    const std::string arch = ETCH_TRY(architecture());
    for (int attempt = 0; attempt < kMostTries; ++attempt) {
      GgufContents contents = keys(arch);
      auto model =
          std::make_shared<const Model>(ETCH_TRY(model_of(ETCH_TRY(gguf_bytes(contents)))));
      std::string complaint;
      Dims dims(circuit_, model.get(), &parts_,
                [&](const Location&, ErrorKind, const std::string& m) { complaint = m; });
      dims.evaluate_all();
      if (complaint.empty()) {
        if (!dims.truth(dims.evaluate(*circuit_.match), circuit_.match->at).is_true())
          complaint = "match does not hold";
      }
      last_complaint_ = complaint;
      if (!complaint.empty()) continue;
      rotary_factors_.clear();
      for (const RotarySpec& r : dims.rotaries())
        rotary_factors_.insert({r.factors, r.short_factors, r.long_factors});
      if (!tensors(dims, contents)) continue;
      return gguf_bytes(contents);
    }
    return fail(ErrorKind::unsupported, "{}: no legal sizes found in {} tries; the last time: {}",
                circuit_.file, kMostTries, last_complaint_);
  }

  // Keeps the bytes that a model's views point into.
  static Result<Model> model_of(std::vector<uint8_t> bytes) {
    struct Held {
      std::vector<uint8_t> bytes;
      Mapping mapping;
    };
    auto held = std::make_shared<Held>();
    held->bytes = std::move(bytes);
    held->mapping = Mapping::of_memory(held->bytes, "made-up.gguf");
    return read_model(ETCH_TRY(read_gguf(std::shared_ptr<Mapping>(held, &held->mapping))));
  }

 private:
  // The name that `match` compares with: arch == "x", or arch in ["x", ...].
  Result<std::string> architecture() const {
    std::string found;
    const std::function<void(const Expr&)> look = [&](const Expr& e) {
      const bool compares = e.kind == Expr::Kind::binary &&
                            (e.binary == BinaryOp::eq || e.binary == BinaryOp::in) &&
                            e.operands[0]->is_name("arch");
      if (compares && found.empty()) {
        const Expr& to = *e.operands[1];
        if (to.kind == Expr::Kind::text)
          found = to.text;
        else if (to.kind == Expr::Kind::list && !to.operands.empty())
          found = to.operands[0]->text;
      }
      for (const ExprPtr& o : e.operands) look(*o);
    };
    look(*circuit_.match);
    if (found.empty())
      return fail(ErrorKind::unsupported, "{}: match names no architecture", circuit_.file);
    return found;
  }

  // Keys that the circuit asks for with an index are lists in some files; here they are in every
  // file that draws so.
  GgufContents keys(const std::string& arch) {
    GgufContents contents;
    contents.set("general.architecture", arch);
    contents.set("tokenizer.ggml.model", "none");
    const int64_t n_layers = options_.n_layers > 0 ? options_.n_layers : 2 + random_.below(2);
    head_size_ =
        int64_t{16} << random_.below(options_.optional == SynthOptions::Optional::all ? 2 : 4);
    std::set<std::string> needed, mentioned, listed, meta;
    each_expr(circuit_, [&](const Expr& e) { note_key(e, needed, mentioned, listed, meta); });
    mentioned.insert("context_length");
    // What `match` asks for tells circuits apart by being there or not.
    std::set<std::string> of_match;
    const std::function<void(const Expr&)> look = [&](const Expr& e) {
      if (const std::string k = key_name(e, "key"); !k.empty()) of_match.insert(k);
      for (const ExprPtr& o : e.operands) look(*o);
    };
    look(*circuit_.match);
    for (const std::string& k : mentioned) {
      if (of_match.contains(k) && (random_.next() & 1) != 0) continue;
      // Drawn anew in each try: what a key says and what stands for it where it is absent must
      // agree with others.
      const bool drawn = options_.optional == SynthOptions::Optional::drawn;
      const bool taken =
          drawn ? (random_.next() & 1) != 0 : options_.optional == SynthOptions::Optional::all;
      const bool wanted = needed.contains(k) || k == "context_length" || taken;
      if (wanted) set_key(contents, arch + "." + k, k, listed.contains(k), n_layers);
    }
    for (const std::string& k : meta) set_key(contents, k, k, false, n_layers);
    return contents;
  }

  static std::string key_name(const Expr& e, std::string_view call) {
    const bool is = e.is_call(call) && e.arguments.size() == 1 &&
                    e.arguments[0].value->kind == Expr::Kind::text;
    return is ? e.arguments[0].value->text : "";
  }

  // needed: somewhere without an else. each_expr visits parents first, so what an `else` guards is
  // known before it is seen.
  void note_key(const Expr& e, std::set<std::string>& needed, std::set<std::string>& mentioned,
                std::set<std::string>& listed, std::set<std::string>& meta) {
    if (e.kind == Expr::Kind::otherwise) guarded_.insert(e.operands[0].get());
    if (e.kind == Expr::Kind::index) {
      if (guarded_.contains(&e)) guarded_.insert(e.operands[0].get());
      const std::string k = key_name(*e.operands[0], "key");
      if (!k.empty()) listed.insert(k);
    }
    if (const std::string k = key_name(e, "key"); !k.empty()) {
      mentioned.insert(k);
      if (!guarded_.contains(&e)) needed.insert(k);
    }
    if (const std::string k = key_name(e, "meta"); !k.empty()) meta.insert(k);
  }

  void set_key(GgufContents& contents, const std::string& full, const std::string& name,
               bool listed, int64_t n_layers) {
    if (name == "block_count") return contents.set(full, static_cast<uint32_t>(n_layers));
    const KeyRule* rule = nullptr;
    for (const KeyRule& r : key_rules())
      if (matches(r.pattern, name)) {
        rule = &r;
        break;
      }
    if (rule == nullptr) return contents.set(full, static_cast<uint32_t>(1 + random_.below(3)));
    const auto draw = [&] {
      const double v = rule->values[static_cast<size_t>(
          random_.below(static_cast<int64_t>(rule->values.size())))];
      return rule->unit   ? v * static_cast<double>(options_.width)
             : rule->head ? v * static_cast<double>(head_size_)
                          : v;
    };
    if (rule->truth) return contents.set(full, draw() != 0);
    if (rule->real) return contents.set(full, static_cast<float>(draw()));
    if (!listed || (random_.next() & 1) != 0)
      return contents.set(full, static_cast<uint32_t>(draw()));
    // Layers of another kind say so by having no key heads or no feed-forward.
    const bool may_be_none = name == "attention.head_count_kv" || name == "feed_forward_length";
    std::vector<int32_t> list;
    for (int64_t l = 0; l < n_layers; ++l)
      list.push_back(static_cast<int32_t>(may_be_none && (random_.next() & 1) != 0 ? 0 : draw()));
    contents.set(full, list);
  }

  // ---- tensors ----

  struct Wanted {
    std::string name;
    std::vector<int64_t> shape;
    const PartDeclaration* declaration;
  };

  bool tensors(Dims& dims, GgufContents& contents) {
    declarations_ = declarations(circuit_);
    growing_.clear();
    for (const PartDeclaration& d : declarations_) {
      int64_t first = -1, last = 0;
      if (d.each != nullptr) {
        Polynomial a, b;
        if (!dims.range(d.each->range, a, b)) return false;
        first = a.constant();
        last = b.constant();
      }
      for (int64_t l = first; l < last; ++l)
        if (declared_at(dims, d, l).is_true() && !part(dims, contents, d, l)) return false;
    }
    return true;
  }

  bool part(Dims& dims, GgufContents& contents, const PartDeclaration& d, int64_t layer) {
    const Part& p = *d.part;
    // A part that stands for itself in other layers is there once at least.
    const bool stands_for_itself = p.otherwise && p.otherwise->text == p.name.text && layer == 0;
    const bool may_be_absent = (d.may_be_absent() || p.otherwise) && !stands_for_itself;
    if (may_be_absent && !parts_.present(p.name.text)) return true;
    std::vector<Polynomial> lengths;
    if (!shape_at(dims, p.stored.empty() ? p.shape : p.stored, d.variable(), layer, lengths))
      return false;
    std::vector<int64_t> shape;
    int64_t elements = 1;
    for (const Polynomial& l : lengths) {
      if (!l.is_constant() || l.constant() < 1 || elements > (1 << 24) / l.constant()) {
        last_complaint_ = fmt::format("part '{}' has a length of {}", p.name.text, l.print());
        return false;
      }
      shape.push_back(l.constant());
      elements *= l.constant();
    }
    const bool matrix = shape.size() >= 2 && !use_.wire_parts.contains(p.name.text) &&
                        !rotary_factors_.contains(p.name.text);
    const DType type = matrix ? draw_type(shape.back()) : DType::f32;
    const bool bias =
        p.bias == BiasRule::present ||
        (p.bias == BiasRule::perhaps &&
         parts_.present("bias " +
                        (options_.packed && d.pack != nullptr ? d.pack->name.text : p.name.text)));
    std::vector<int64_t> bias_shape(shape.begin(), shape.end() - (shape.size() > 1 ? 1 : 0));
    if (use_.norm_parts.contains(p.name.text)) bias_shape = shape;
    std::vector<uint8_t> data = values(p.name.text, type, shape, matrix);
    if (options_.packed && d.pack != nullptr && shape.size() == 2)
      return packed(contents, d, layer, shape, bias ? bias_shape : std::vector<int64_t>());
    const std::string name = tensor_names(d, layer)[0];
    if (options_.pieces && p.or_each && shape.size() == 3) {
      const size_t one = data.size() / static_cast<size_t>(shape[0]);
      for (int64_t e = 0; e < shape[0]; ++e)
        add(contents, with_indices(*p.or_each, d.variable(), layer, e), type, {shape[1], shape[2]},
            std::vector<uint8_t>(data.begin() + static_cast<std::ptrdiff_t>(one) * e,
                                 data.begin() + static_cast<std::ptrdiff_t>(one) * (e + 1)));
    } else {
      add(contents, name, type, shape, std::move(data));
    }
    if (bias)
      add(contents, bias_name(name), DType::f32, bias_shape, plain(bias_shape, -0.3f, 0.3f));
    return true;
  }

  // Rows of one part after those of another: the tensor grows with each.
  bool packed(GgufContents& contents, const PartDeclaration& d, int64_t layer,
              const std::vector<int64_t>& shape, const std::vector<int64_t>& bias) {
    const std::string name = pack_name(d, layer);
    const auto grow = [&](const std::string& tensor, DType type, std::vector<int64_t> more,
                          std::vector<uint8_t> data) {
      for (Growing& g : growing_)
        if (g.name == tensor) {
          g.shape[0] += more[0];
          g.data.insert(g.data.end(), data.begin(), data.end());
          replace(contents, g);
          return;
        }
      growing_.push_back({tensor, type, std::move(more), std::move(data)});
      replace(contents, growing_.back());
    };
    DType type = DType::f32;
    for (const Growing& g : growing_)
      if (g.name == name) type = g.type;
    const bool first = std::none_of(growing_.begin(), growing_.end(),
                                    [&](const Growing& g) { return g.name == name; });
    if (first) type = draw_type(shape.back());
    grow(name, type, shape, values(d.part->name.text, type, shape, true));
    if (!bias.empty()) grow(bias_name(name), DType::f32, bias, plain(bias, -0.3f, 0.3f));
    return true;
  }

  DType draw_type(int64_t row) {
    std::vector<DType> fitting;
    for (const DType t : options_.types)
      if (row % info(t).block_elements == 0) fitting.push_back(t);
    return fitting.empty()
               ? DType::f32
               : fitting[static_cast<size_t>(random_.below(static_cast<int64_t>(fitting.size())))];
  }

  std::vector<uint8_t> plain(const std::vector<int64_t>& shape, float lo, float hi) {
    int64_t n = 1;
    for (const int64_t l : shape) n *= l;
    std::vector<float> v(static_cast<size_t>(n));
    for (float& x : v) x = random_.between(lo, hi);
    std::vector<uint8_t> bytes(v.size() * sizeof(float));
    std::memcpy(bytes.data(), v.data(), bytes.size());
    return bytes;
  }

  std::vector<uint8_t> values(const std::string& part, DType type,
                              const std::vector<int64_t>& shape, bool matrix) {
    if (rotary_factors_.contains(part)) return plain(shape, 1, 4);
    if (use_.norm_parts.contains(part)) return plain(shape, 0.5f, 1.5f);
    if (!matrix) return plain(shape, -0.7f, 0.7f);
    int64_t n = 1;
    for (const int64_t l : shape) n *= l;
    // A row times a row of ones keeps about its size; tables give ones.
    const bool table = shape.size() == 2 && shape[0] == options_.n_vocab;
    const float magnitude = table ? 1.7f : 2.5f / std::sqrt(static_cast<float>(shape.back()));
    return random_blocks(type, random_, magnitude, n);
  }

  struct Growing {
    std::string name;
    DType type;
    std::vector<int64_t> shape;
    std::vector<uint8_t> data;
  };

  static NewTensor tensor(std::string name, DType type, const std::vector<int64_t>& shape,
                          std::vector<uint8_t> data) {
    auto held = std::make_shared<const std::vector<uint8_t>>(std::move(data));
    return {std::move(name), type, {shape.rbegin(), shape.rend()}, [held](const ByteSink& sink) {
              return sink(*held);
            }};
  }
  static void add(GgufContents& contents, std::string name, DType type,
                  const std::vector<int64_t>& shape, std::vector<uint8_t> data) {
    contents.tensors.push_back(tensor(std::move(name), type, shape, std::move(data)));
  }
  static void replace(GgufContents& contents, const Growing& g) {
    for (NewTensor& t : contents.tensors)
      if (t.name == g.name) {
        t = tensor(g.name, g.type, g.shape, g.data);
        return;
      }
    contents.tensors.push_back(tensor(g.name, g.type, g.shape, g.data));
  }

  const Circuit& circuit_;
  const SynthOptions& options_;
  Random random_;
  CircuitUse use_;
  DrawnParts parts_;
  std::vector<PartDeclaration> declarations_;
  std::set<const Expr*> guarded_;
  int64_t head_size_ = 16;  // of this try
  std::set<std::string> rotary_factors_;
  std::vector<Growing> growing_;
  std::string last_complaint_;
};

}  // namespace

Result<std::vector<uint8_t>> synth_gguf(const Circuit& circuit, const SynthOptions& options) {
  return Synth(circuit, options).run();
}

Result<std::shared_ptr<const Model>> synth_model(const Circuit& circuit,
                                                 const SynthOptions& options) {
  return std::make_shared<const Model>(
      ETCH_TRY(Synth::model_of(ETCH_TRY(synth_gguf(circuit, options)))));
}

}  // namespace etch

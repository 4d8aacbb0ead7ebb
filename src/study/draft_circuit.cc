#include "study/draft_circuit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "circuit/bind.h"
#include "circuit/bind_parts.h"
#include "circuit/check.h"
#include "circuit/dims.h"
#include "circuit/key_values.h"
#include "circuit/nearest.h"
#include "circuit/patterns.h"

namespace etch {
namespace {

constexpr std::string_view kMark = "# ???";

// Tensors of the file that the circuit has no name for, by pattern.
struct LeftOver {
  std::string pattern;  // "blk.*.attn_gate.weight"
  int n = 0;
  const Weight* first = nullptr;
};

// "attn_gate" of "blk.*.attn_gate.weight"; of another ending the ending stays: "ssm_a_bias".
std::string part_name(std::string_view pattern) {
  if (pattern.starts_with("blk.*.")) pattern.remove_prefix(6);
  if (pattern.ends_with(".weight")) pattern.remove_suffix(7);
  std::string name;
  for (const char c : pattern) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += word ? c : '_';
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "part_");
  return name;
}

class Drafter {
 public:
  Drafter(Nearest nearest, std::shared_ptr<const Model> model, const std::string& model_name)
      : nearest_(std::move(nearest)),
        circuit_(*nearest_.circuit),
        model_(std::move(model)),
        model_name_(model_name),
        parts_(circuit_, *model_),
        dims_(circuit_, model_.get(), &parts_,
              [](const Location&, ErrorKind, const std::string&) {}) {}

  Result<CircuitDraft> run() {
    rename();
    for (const Import& i : circuit_.imports) cut(i.at.begin, end_of_line(i.at.end) + 1);
    tensors();
    keys();
    mark_flow();
    CircuitDraft draft = {.text = edited(),
                          .nearest = circuit_.name.text,
                          .n_known = nearest_.known,
                          .n_tensors = model_->weights.size(),
                          .open = {}};
    const auto parsed = parse_circuit(draft.text, "the draft");
    if (!parsed) return tl::unexpected(parsed.error());
    findings(*parsed);
    draft.text = heading() + draft.text;
    draft.open = open_;
    return draft;
  }

 private:
  // ---- edits of the nearest circuit's text

  void replace(int begin, int end, std::string text) { edits_[begin] = {end, std::move(text)}; }
  void cut(int begin, int end) { replace(begin, std::min(end, size()), ""); }
  void insert(int at, const std::string& text) { inserts_[at] += text; }
  int size() const { return static_cast<int>(circuit_.text.size()); }
  int end_of_line(int at) const {
    const size_t end = circuit_.text.find('\n', static_cast<size_t>(at));
    return end == std::string::npos ? size() : static_cast<int>(end);
  }
  int line_of(int at) const {  // where the line begins
    const size_t before =
        at == 0 ? std::string::npos : circuit_.text.rfind('\n', static_cast<size_t>(at - 1));
    return before == std::string::npos ? 0 : static_cast<int>(before) + 1;
  }

  std::string edited() const {
    std::string out;
    for (int at = 0; at < size();) {
      if (const auto i = inserts_.find(at); i != inserts_.end()) out += i->second;
      if (const auto e = edits_.find(at); e != edits_.end()) {
        out += e->second.second;
        at = std::max(at + 1, e->second.first);
      } else {
        out += circuit_.text[static_cast<size_t>(at++)];
      }
    }
    while (out.ends_with("\n\n")) out.pop_back();
    return out;
  }

  void rename() {
    const std::string arch(model_->architecture());
    replace(circuit_.name.at.begin, end_of_line(circuit_.name.at.end), part_name(arch) + " 1");
    replace(circuit_.match->at.begin, end_of_line(circuit_.match->at.end),
            fmt::format("arch == \"{}\"", arch));
  }

  // ---- tensors

  void tensors() {
    std::map<std::string, LeftOver> left;
    for (const Weight& w : model_->weights) {
      const std::string pattern = starred(w.name);
      if (!nearest_.unknown.contains(pattern)) continue;
      LeftOver& l = left[pattern];
      l.pattern = pattern;
      if (l.n++ == 0) l.first = &w;
    }
    const PartItem* layers = nullptr;
    for (const PartItem& i : circuit_.parts)
      if (i.kind == PartItem::Kind::each && layers == nullptr) layers = &i;
    for (const auto& [pattern, l] : left) {
      const bool of_layer = pattern.starts_with("blk.*.") && layers != nullptr;
      if (pattern.ends_with(".bias") && give_bias(pattern)) continue;
      const std::string variable = of_layer ? layers->name.text : "";
      std::string name = part_name(pattern), as;
      while (taken(name)) name += "_2";
      const std::string usual = fmt::format("{}{}.weight", of_layer ? "blk.*." : "", name);
      if (usual != pattern) {
        std::string exact = pattern;
        if (of_layer) exact.replace(4, 1, "{" + variable + "}");
        if (exact.find('*') != std::string::npos) {
          note(fmt::format("{} ({} tensors): no part was made of it", pattern, l.n));
          continue;
        }
        as = fmt::format("  as \"{}\"", exact);
      }
      const std::string what = fmt::format("{} ({} tensor{}, {})", pattern, l.n,
                                           l.n == 1 ? "" : "s", fmt::join(l.first->shape, " x "));
      const std::string line =
          fmt::format("{}  [{}]{}  {} use it in the flow\n", name, shape(*l.first), as, kMark);
      open_.push_back(fmt::format("{}: use part '{}' in the flow", what, name));
      // Behind the last part of the layers, or before them.
      if (of_layer)
        insert(line_of(layers->at.end - 1), "    " + line);
      else
        insert(line_of(layers ? layers->at.begin : circuit_.parts.back().at.begin), "  " + line);
    }
  }

  bool taken(const std::string& name) const {
    const auto all = declarations(circuit_);
    return circuit_.dim(name) != nullptr || circuit_.state(name) != nullptr ||
           circuit_.def(name) != nullptr ||
           std::any_of(all.begin(), all.end(),
                       [&](const PartDeclaration& d) { return d.part->name.text == name; });
  }

  // A bias of a matrix that the circuit knows without one: linear() adds it.
  bool give_bias(const std::string& pattern) {
    const std::string weight = pattern.substr(0, pattern.size() - 5) + ".weight";
    for (const PartDeclaration& d : declarations(circuit_)) {
      if (d.part->bias != BiasRule::none || d.part->shape.size() != 2) continue;
      if (starred(tensor_names(d, 0)[0]) != weight) continue;
      const size_t bracket =
          circuit_.text.find(']', static_cast<size_t>(d.part->shape.back()->at.end));
      insert(static_cast<int>(bracket) + 1, " bias?");
      open_.push_back(fmt::format("{}: added to part '{}' as its bias; is that right?", pattern,
                                  d.part->name.text));
      return true;
    }
    return false;
  }

  // Lengths as dims where the file's numbers agree with one.
  std::string shape(const Weight& w) {
    std::vector<std::string> lengths;
    for (size_t i = 0; i < w.shape.size(); ++i)
      lengths.push_back(length(w.shape[i], i + 1 == w.shape.size()));
    return fmt::format("{}", fmt::join(lengths, ", "));
  }

  std::string length(int64_t n, bool last) {
    if (last && n == number("d_model")) return "d_model";
    for (const char* product : {"n_heads*d_head", "n_kv_heads*d_head"}) {
      const std::string_view factor =
          std::string_view(product).substr(0, std::string_view(product).find('*'));
      if (n > 1 && n == number(factor) * number("d_head") && n != number("d_model")) return product;
    }
    if (n > 1 && n == number("d_model")) return "d_model";
    for (const DimEntry& e : circuit_.dims)
      if (n > 1 && e.kind == DimEntry::Kind::dim && !e.parameter && n == number(e.name.text))
        return e.name.text;
    return fmt::format("{}", n);
  }

  int64_t number(std::string_view dim) {
    if (circuit_.dim(dim) == nullptr || circuit_.dim(dim)->parameter) return -1;
    const DimValue v = dims_.value(dim);
    return is_constant(v) ? v.integer.constant() : -1;
  }

  // ---- keys

  void keys() {
    const std::vector<std::string> known = keys_of(circuit_);
    const std::string prefix = std::string(model_->architecture()) + ".";
    std::string lines;
    for (const Key& k : model_->file->keys) {
      if (!k.name.starts_with(prefix)) continue;
      const std::string name(k.name.substr(prefix.size()));
      const bool ignored =
          std::any_of(circuit_.ignores.begin(), circuit_.ignores.end(),
                      [&](const Ignore& i) { return i.is_key && matches(i.pattern, name); });
      if (ignored || std::find(known.begin(), known.end(), name) != known.end()) continue;
      const bool of_engine = name == "context_length" || name == "vocab_size";
      if (of_engine) continue;
      const std::string value = print_value(k);
      lines += fmt::format("  {} key(\"{}\") is {}: read it, or ignore it\n", kMark, name, value);
      open_.push_back(fmt::format("key '{}' is {}: read it, or ignore it", k.name, value));
    }
    if (lines.empty() || circuit_.dims.empty()) return;
    insert(std::min(size(), end_of_line(circuit_.dims.back().at.end) + 1), lines);
  }

  static std::string print_value(const Key& k) {
    const auto value = value_of_key(k.value, std::string(k.name));
    std::string text = value ? print(*value) : "an array";
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
  }

  // ---- what a person must look at

  void mark_flow() {
    for (const Flow& f : circuit_.flows)
      if (f.name.text.empty())
        insert(line_of(f.at.begin),
               fmt::format("{} This is the flow of {}: the same tensors may be wired otherwise. "
                           "Compare it with the\n{} model's paper or code, and its logits with "
                           "`etch parity --reference`.\n",
                           kMark, circuit_.name.text, kMark));
  }

  void note(std::string what) {
    notes_ += fmt::format("{} {}\n", kMark, what);
    open_.push_back(std::move(what));
  }

  // What does not fit yet, as binding says it. A draft whose parts are not all used cannot be bound
  // to the end, but everything it misses in the file is told.
  void findings(const Circuit& draft) {
    const auto shared = std::make_shared<const Circuit>(*parse_circuit(draft.text, draft.file));
    const Diagnostics checked = check_circuit(*shared);
    for (const Diagnostic& d : checked.all())
      if (d.severity == Severity::error && d.message.find("never used") == std::string::npos)
        return;
    const auto bound = bind(shared, model_);
    if (bound) return;
    std::string text = bound.error().message;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string line = text.substr(at, end - at);
      if (!line.empty() && line[0] != ' ') note(std::move(line));
      at = end + 1;
    }
  }

  std::string heading() const {
    return fmt::format(
        "# A draft for {}: {} of its {} tensors are known to {}, which this was made from.\n"
        "# \"???\" marks what a person must decide; `etch circuit check` says what is still open.\n"
        "{}",
        model_name_, nearest_.known, model_->weights.size(), circuit_.file, notes_);
  }

  Nearest nearest_;
  const Circuit& circuit_;
  std::shared_ptr<const Model> model_;
  std::string model_name_;
  ModelParts parts_;
  Dims dims_;
  std::map<int, std::pair<int, std::string>> edits_;
  std::map<int, std::string> inserts_;
  std::string notes_;
  std::vector<std::string> open_;
};

}  // namespace

Result<CircuitDraft> draft_circuit(const CircuitLibrary& library,
                                   std::shared_ptr<const Model> model,
                                   const std::string& model_name) {
  const auto known = find_circuit(library, *model);
  if (known)
    return fail(ErrorKind::usage,
                "circuit {} knows this file already\n  `etch circuit show {}` prints it",
                (*known)->file, (*known)->name.text);
  if (model->architecture().empty()) return tl::unexpected(known.error());
  Nearest nearest = nearest_circuit(library, *model);
  if (nearest.circuit == nullptr)
    return fail(ErrorKind::unsupported,
                "no circuit has a tensor in common with this file, so there is nothing to begin "
                "with\n  docs/circuit-language.md says how one is written");
  return Drafter(std::move(nearest), std::move(model), model_name).run();
}

}  // namespace etch

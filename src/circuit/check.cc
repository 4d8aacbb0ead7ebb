#include "circuit/check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "circuit/dims.h"
#include "circuit/parts.h"
#include "circuit/patterns.h"
#include "circuit/walker.h"

namespace etch {
namespace {

constexpr std::string_view kImportFunctions[] = {
    "pairs", "transpose", "rows",    "every", "concat",         "tiled",
    "fp8",   "mxfp4",     "scaling", "exp",   "llama3_factors", "layers"};

class Checker {
 public:
  explicit Checker(const Circuit& circuit)
      : c_(circuit),
        out_(circuit.file, circuit.text),
        declarations_(declarations(circuit)),
        dims_(circuit, nullptr, nullptr,
              [this](const Location& at, ErrorKind, std::string message) {
                out_.error(at, std::move(message));
              }) {
    dims_.note = [this](const Location& at, std::string message) { note(at, std::move(message)); };
  }

  Diagnostics run() {
    names();
    imports();
    if (out_.has_errors()) return std::move(out_);
    headers();
    if (out_.has_errors()) return std::move(out_);
    Walker walker(
        dims_, {nullptr, nullptr,
                [this](const Location& at, ErrorKind, std::string message) {
                  out_.error(at, std::move(message));
                },
                [this](const Location& at, std::string message) { note(at, std::move(message)); }});
    const bool main = walker.walk(*c_.flow(""));
    for (const Flow& f : c_.flows) {
      const bool continues = std::any_of(f.inputs.begin(), f.inputs.end(),
                                         [](const Name& n) { return n.text == "hidden"; });
      if (!f.name.text.empty() && (main || !continues)) walker.walk(f);
    }
    if (!out_.has_errors()) unused(walker);
    return std::move(out_);
  }

 private:
  void note(const Location& at, std::string message) {
    out_.add(Severity::note, at, std::move(message));
  }

  // ---- names ----

  void names() {
    for (const DimEntry& e : c_.dims)
      if (e.kind == DimEntry::Kind::dim) define(e.name);
    std::set<std::string> parts;
    for (const PartDeclaration& d : declarations_) part_name(d, parts);
    std::set<std::string> states;
    for (const StateEntry& s : c_.states)
      if (states.insert(s.name.text).second) define(s.name);  // again for other layers
    for (const Def& d : c_.defs) {
      if (op_of_spelling(d.name.text))
        out_.error(d.name.at,
                   fmt::format("'{}' is an operation and cannot be a name", d.name.text));
      else if (dims_.is_builtin(d.name.text))
        out_.error(d.name.at,
                   fmt::format("'{}' is a function of dims and cannot be a name", d.name.text));
      else
        define(d.name);
    }
    for (const Def& d : c_.defs) {
      for (const Name& p : d.parameters) wire_name(p);
      statements(d.body);
    }
    for (const Flow& f : c_.flows) {
      if (!f.name.text.empty() && f.name.text != "encode" && f.name.text != "draft")
        out_.error(
            f.name.at,
            fmt::format("a flow is called encode or draft, or has no name; there is no flow '{}'",
                        f.name.text));
      for (const Name& i : f.inputs) wire_name(i);
      statements(f.body);
    }
  }

  void define(const Name& n) {
    const auto [at, fresh] = defined_.emplace(n.text, n.at.line);
    if (!fresh)
      out_.error(n.at, fmt::format("'{}' is already defined at line {}", n.text, at->second));
  }

  // A part may be declared again for other layers or in the other arm; what overlaps for sure is an
  // error.
  void part_name(const PartDeclaration& d, std::set<std::string>& seen) {
    if (seen.insert(d.part->name.text).second) return define(d.part->name);
    for (const PartDeclaration& other : declarations_) {
      if (&other == &d) break;
      if (other.part->name.text != d.part->name.text) continue;
      const bool same = other.guards.size() == d.guards.size() &&
                        std::equal(d.guards.begin(), d.guards.end(), other.guards.begin(),
                                   [](const auto& a, const auto& b) {
                                     return a.item == b.item && a.otherwise == b.otherwise;
                                   });
      if (same || other.guards.empty() || d.guards.empty())
        out_.error(d.part->name.at, fmt::format("'{}' is already defined at line {}",
                                                d.part->name.text, other.part->name.at.line));
    }
    if (const auto other = defined_.find(d.part->name.text);
        other != defined_.end() && c_.dim(d.part->name.text) != nullptr)
      out_.error(d.part->name.at, fmt::format("'{}' is already defined at line {}",
                                              d.part->name.text, other->second));
  }

  // Wires may be assigned again, but hide nothing.
  void wire_name(const Name& n) {
    if (const auto other = defined_.find(n.text); other != defined_.end())
      out_.error(n.at, fmt::format("'{}' is already defined at line {}", n.text, other->second));
  }

  void statements(const std::vector<Statement>& body) {
    for (const Statement& s : body) {
      for (const Name& t : s.targets) wire_name(t);
      if (s.kind == Statement::Kind::each) wire_name(s.variable);
      statements(s.body);
      statements(s.otherwise);
    }
  }

  void imports() {
    std::set<std::string_view> parts;
    for (const PartDeclaration& d : declarations_) parts.insert(d.part->name.text);
    std::set<std::string> architectures;
    for (const Import& i : c_.imports) {
      for (const Name& a : i.architectures)
        if (!architectures.insert(a.text).second)
          out_.error(a.at, fmt::format("'{}' is imported twice", a.text));
      std::set<std::string> targets;
      for (const ImportEntry& e : i.entries) {
        if (!targets.insert(e.target.text).second)
          out_.error(e.target.at, fmt::format("'{}' is already imported", e.target.text));
        if (!e.is_key && !parts.contains(e.target.text)) {
          const std::vector<std::string_view> known(parts.begin(), parts.end());
          out_.error(e.target.at, fmt::format("nothing here is called '{}'{}", e.target.text,
                                              suggestion(e.target.text, known)));
        }
        import_value(*e.value);
      }
    }
  }

  void import_value(const Expr& e) {
    if (e.kind == Expr::Kind::call &&
        std::find(std::begin(kImportFunctions), std::end(kImportFunctions), e.text) ==
            std::end(kImportFunctions))
      out_.error(e.at,
                 fmt::format("no transform '{}'{}", e.text, suggestion(e.text, kImportFunctions)));
    if (e.kind == Expr::Kind::name) imported_.insert(e.text);
    for (const ExprPtr& o : e.operands) import_value(*o);
    for (const Argument& a : e.arguments) import_value(*a.value);
  }

  // ---- dims, parts, states: everything but flows ----

  void headers() {
    dims_.evaluate_all();
    dims_.truth(dims_.evaluate(*c_.match), c_.match->at);
    for (const PartDeclaration& d : declarations_) {
      const Polynomial l = any_layer(d.variable());
      declared_at(dims_, d, l);
      Shape shape;
      shape_at(dims_, d.part->shape, d.variable(), l, shape);
      if (d.part->shape.size() > 3)
        out_.error(d.part->at, fmt::format("'{}' has {} lengths, at most 3 are possible",
                                           d.part->name.text, d.part->shape.size()));
      if (!d.part->stored.empty()) stored(d, shape, l);
      if (d.part->otherwise) otherwise(d);
      if (d.part->or_each && d.part->or_each->find("{e}") == std::string::npos)
        out_.error(d.part->at, "or_each names one tensor per first index: {e} stands for it");
      if (d.pack != nullptr && d.part->shape.size() < 2)
        out_.error(d.part->at,
                   fmt::format("'{}' is no matrix, a pack joins rows", d.part->name.text));
    }
    for (const StateEntry& s : c_.states) {
      const Polynomial l = any_layer(s.variable.text);
      state_declared_at(dims_, s, l);
      StateType t;
      state_type_at(dims_, s, l, {}, t, nullptr,
                    [this](const Location& at, ErrorKind, std::string message) {
                      out_.error(at, std::move(message));
                    });
    }
    for (const Ignore& i : c_.ignores) {
      if (!i.variable) continue;
      Polynomial first, last;
      dims_.range(i.range, first, last);
    }
  }

  void stored(const PartDeclaration& d, const Shape& shape, const Polynomial& l) {
    Shape in_file;
    if (!shape_at(dims_, d.part->stored, d.variable(), l, in_file)) return;
    Polynomial a(1), b(1);
    for (const Polynomial& p : shape) a = a * p;
    for (const Polynomial& p : in_file) b = b * p;
    const Answer answer = dims_.proof().equal(a, b);
    if (answer == Answer::refuted)
      out_.error(d.part->at, fmt::format("'{}' is {} and stored as {}: not as many elements",
                                         d.part->name.text, print(shape), print(in_file)));
    if (answer == Answer::open)
      note(d.part->at, fmt::format("cannot prove {} == {}; add it to require if it must hold",
                                   a.print(), b.print()));
  }

  void otherwise(const PartDeclaration& d) {
    const std::string& other = d.part->otherwise->text;
    const auto at =
        std::find_if(declarations_.begin(), declarations_.end(),
                     [&](const PartDeclaration& o) { return o.part->name.text == other; });
    if (at == declarations_.end()) {
      std::vector<std::string_view> known;
      for (const PartDeclaration& o : declarations_) known.push_back(o.part->name.text);
      out_.error(d.part->otherwise->at,
                 fmt::format("nothing here is called '{}'{}", other, suggestion(other, known)));
      return;
    }
    if (at->each != nullptr && d.each == nullptr && d.part->otherwise_index == nullptr)
      out_.error(d.part->otherwise->at,
                 fmt::format("'{}' stands in every layer; say which: {}[0]", other, other));
  }

  // ---- what is never used ----

  void unused(const Walker& walker) {
    std::set<std::string> parts = walker.used_parts;
    for (const RotarySpec& r : dims_.rotaries())
      parts.insert({r.factors, r.short_factors, r.long_factors});
    for (const PartDeclaration& d : declarations_)
      if (d.part->otherwise && parts.contains(d.part->name.text))
        parts.insert(d.part->otherwise->text);
    std::set<std::string> told;
    for (const PartDeclaration& d : declarations_)
      if (!parts.contains(d.part->name.text) && told.insert(d.part->name.text).second)
        out_.error(d.part->name.at, fmt::format("part '{}' is never used", d.part->name.text));
    for (const auto& [at, name] : walker.assignments)
      if (!walker.used_origins.contains(at))
        out_.error(name.at, fmt::format("wire '{}' is never used", name.text));
    for (const StateEntry& s : c_.states) {
      if (walker.written_states.contains(s.name.text) || !told.insert(s.name.text).second) continue;
      out_.error(s.name.at, walker.used_states.contains(s.name.text)
                                ? fmt::format("'{}' is read but no flow writes it", s.name.text)
                                : fmt::format("'{}' is never written", s.name.text));
    }
    for (const Def& d : c_.defs)
      if (!walker.used_defs.contains(d.name.text))
        out_.add(Severity::warning, d.name.at, fmt::format("def '{}' is never used", d.name.text));
    for (const DimEntry& e : c_.dims)
      if (e.kind == DimEntry::Kind::dim && !dims_.used().contains(e.name.text) &&
          !imported_.contains(e.name.text))
        out_.add(Severity::warning, e.name.at, fmt::format("dim '{}' is never used", e.name.text));
  }

  const Circuit& c_;
  Diagnostics out_;
  std::vector<PartDeclaration> declarations_;
  Dims dims_;
  std::map<std::string, int, std::less<>> defined_;
  std::set<std::string> imported_;
};

}  // namespace

Diagnostics check_circuit(const Circuit& circuit) { return Checker(circuit).run(); }

CircuitUse use_of(const Circuit& circuit) {
  CircuitUse out;
  const Dims::Report ignore = [](const Location&, ErrorKind, const std::string&) {};
  Dims dims(circuit, nullptr, nullptr, ignore);
  dims.evaluate_all();
  std::set<std::pair<int, int>> seen;
  const auto call = [&](const Location&, std::span<const Location> places,
                        std::span<const Operand> operands) {
    for (size_t i = 0; i < operands.size(); ++i)
      for (size_t j = i + 1; j < operands.size(); ++j) {
        const Operand &a = operands[i], &b = operands[j];
        const bool values = (a.is_wire() || a.is_part()) && (b.is_wire() || b.is_part());
        if (!values || a.type.kind != b.type.kind || a.type.shape.size() != b.type.shape.size())
          continue;
        bool same = true;
        for (size_t k = 0; k < a.type.shape.size(); ++k)
          same = same && dims.proof().equal(a.type.shape[k], b.type.shape[k]) == Answer::proved;
        if (same && seen.insert({places[i].begin, places[j].begin}).second)
          out.alike.emplace_back(places[i], places[j]);
      }
  };
  Walker walker(dims, {nullptr, nullptr, ignore, nullptr, call});
  for (const Flow& f : circuit.flows) walker.walk(f);
  out.wire_parts = walker.wire_parts;
  out.norm_parts = walker.norm_parts;
  return out;
}

}  // namespace etch

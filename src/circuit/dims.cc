#include "circuit/dims.h"

#include <algorithm>

#include "circuit/evaluator.h"

namespace etch {

using Kind = DimValue::Kind;

namespace {

// An atom that is an expression over a file and not yet named for a dim.
bool is_anonymous(const std::string& atom) {
  return atom.find("key(") != std::string::npos || atom.find("meta(") != std::string::npos ||
         atom.find("cycle(") != std::string::npos;
}

// What only a file decides gets the dim's name: of "l < n_layers and key(...)" the second half.
Formula with_name(const Formula& f, const std::string& name, int& given) {
  std::vector<std::string> atoms;
  f.collect_atoms(atoms);
  if (std::none_of(atoms.begin(), atoms.end(), is_anonymous)) return f;
  if (std::all_of(atoms.begin(), atoms.end(), is_anonymous))
    return Formula::atom(given++ == 0 ? name : fmt::format("{} #{}", name, given));
  switch (f.kind()) {
    case Formula::Kind::not_:
      return !with_name(f.operands()[0], name, given);
    case Formula::Kind::and_: {
      const Formula a = with_name(f.operands()[0], name, given);
      return a && with_name(f.operands()[1], name, given);
    }
    case Formula::Kind::or_: {
      const Formula a = with_name(f.operands()[0], name, given);
      return a || with_name(f.operands()[1], name, given);
    }
    default:
      return f;
  }
}

}  // namespace

Dims::Dims(const Circuit& circuit, const Model* model, PartLookup* parts, Report report)
    : circuit_(circuit), model_(model), parts_(parts), report_(std::move(report)) {
  const std::function<void(const std::vector<PartItem>&, const std::string&)> collect =
      [&](const std::vector<PartItem>& items, const std::string& variable) {
        for (const PartItem& i : items) {
          if (i.kind == PartItem::Kind::part) part_variables.emplace(i.part.name.text, variable);
          const std::string& inner = i.kind == PartItem::Kind::each ? i.name.text : variable;
          collect(i.items, inner);
          collect(i.otherwise, inner);
        }
      };
  collect(circuit.parts, "");
}

void Dims::set_report(Report report) {
  report_ = report ? std::move(report) : [](const Location&, ErrorKind, const std::string&) {};
}

DimValue Dims::evaluate(const Expr& e, const Lookup& variables) {
  return Evaluator(*this, variables).run(e);
}

bool Dims::is_builtin(std::string_view name) { return Evaluator::builtin(name) != nullptr; }

DimValue Dims::value(std::string_view name) {
  used_.emplace(name);
  if (const auto known = memo_.find(name); known != memo_.end()) return known->second;
  const DimEntry* entry = circuit_.dim(name);
  if (entry == nullptr || entry->parameter) return {};
  if (!running_.emplace(name).second) {
    report_(entry->name.at, ErrorKind::usage, fmt::format("dim '{}' uses itself", name));
    return {};
  }
  DimValue v = named(*entry, std::string(name), evaluate(*entry->value));
  running_.erase(running_.find(std::string(name)));
  memo_[std::string(name)] = v;
  return v;
}

// A dim gives its name to what only a file knows, so that messages speak of d_model and not of
// key("embedding_length").
DimValue Dims::named(const DimEntry& entry, const std::string& called, DimValue v) {
  if (is_absent(v, entry.value->at)) return {};
  if (v.kind == Kind::rotary && rotaries_[static_cast<size_t>(v.rotary)].name.empty())
    rotaries_[static_cast<size_t>(v.rotary)].name = called;
  if (!symbolic()) return v;
  const int order = static_cast<int>(&entry - circuit_.dims.data());
  if (v.kind == Kind::truth) {
    int given = 0;
    v.truth = with_name(v.truth, called, given);
  }
  if (v.kind == Kind::unknown) {
    v.text = called;
    v.order = order;
  }
  if (v.kind == Kind::integer) {
    bool anonymous = false, dependent = false;
    for (const Term& t : v.integer.terms())
      for (const Unknown& u : t.factors) {
        anonymous = anonymous || u.order == kAnonymous;
        dependent = dependent || proof_.is_dependent(u);
      }
    if (anonymous) {
      const Unknown u{order, called};
      if (dependent) proof_.set_dependent(u);
      v.integer = Polynomial(u);
    }
  }
  return v;
}

std::string Dims::known_values(std::string_view dim) const {
  std::map<int64_t, std::string> by_layer;
  for (const auto& [name, v] : memo_) {
    if (name.size() <= dim.size() + 2 || name.substr(0, dim.size()) != dim ||
        name[dim.size()] != '(')
      continue;
    by_layer[std::strtoll(name.c_str() + dim.size() + 1, nullptr, 10)] = print(v);
  }
  std::string s;
  for (const auto& [layer, value] : by_layer)
    s += fmt::format("{}{}: {}", s.empty() ? "" : ", ", layer, value);
  return s;
}

}  // namespace etch

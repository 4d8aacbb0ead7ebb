// Calls in expressions of dims: keys of the file, its parts, per-layer dims, functions of numbers.
#include <cmath>

#include "circuit/diagnostics.h"
#include "circuit/evaluator.h"
#include "circuit/key_values.h"

namespace etch {

using Kind = DimValue::Kind;

namespace {

const Expr& argument(const Expr& call, size_t i) { return *call.arguments[i].value; }

}  // namespace

std::span<const Evaluator::Builtin> Evaluator::builtins() {
  static constexpr Builtin kBuiltins[] = {
      {"key", &Evaluator::key},        {"meta", &Evaluator::key},
      {"keys", &Evaluator::family},    {"rows", &Evaluator::of_part},
      {"has", &Evaluator::of_part},    {"cycle", &Evaluator::cycle},
      {"rotary", &Evaluator::rotary},  {"len", &Evaluator::length},
      {"min", &Evaluator::extreme},    {"max", &Evaluator::extreme},
      {"floor", &Evaluator::floor},    {"sqrt", &Evaluator::function},
      {"rsqrt", &Evaluator::function}, {"exp", &Evaluator::function},
      {"ln", &Evaluator::function}};
  return kBuiltins;
}

const Evaluator::Builtin* Evaluator::builtin(std::string_view name) {
  for (const Builtin& b : builtins())
    if (b.name == name) return &b;
  return nullptr;
}

DimValue Evaluator::call(const Expr& e) {
  if (const DimEntry* entry = d_.circuit_.dim(e.text)) return per_layer(e, *entry);
  if (e.text != "rotary")
    for (const Argument& a : e.arguments)
      if (!a.attribute.empty())
        return wrong(a.at, fmt::format("{} has no attribute '{}'", e.text, a.attribute));
  if (const Builtin* f = builtin(e.text)) return (this->*f->evaluate)(e);
  std::vector<std::string_view> known;
  for (const Builtin& b : builtins()) known.push_back(b.name);
  return wrong(e.at, fmt::format("no function '{}' of dims{}", e.text, suggestion(e.text, known)));
}

bool Evaluator::arity(const Expr& e, size_t fewest, size_t most) {
  if (e.arguments.size() >= fewest && e.arguments.size() <= most) return true;
  const std::string takes =
      fewest == most ? fmt::format("{}", fewest) : fmt::format("{} to {}", fewest, most);
  wrong(e.at, fmt::format("{} takes {} argument{}, {} given", e.text, takes, most == 1 ? "" : "s",
                          e.arguments.size()));
  return false;
}

DimValue Evaluator::per_layer(const Expr& e, const DimEntry& entry) {
  if (!entry.parameter)
    return wrong(e.at, fmt::format("'{}' is one value, not one per layer", e.text));
  if (!arity(e, 1, 1)) return {};
  DimValue at = run(argument(e, 0));
  Polynomial l;
  if (!d_.integer(at, argument(e, 0).at, l)) return {};
  const std::string name = fmt::format("{}({})", e.text, l.print());
  d_.used_.insert(e.text);
  if (const auto known = d_.memo_.find(name); known != d_.memo_.end()) return known->second;
  if (!d_.running_.insert(name).second)
    return wrong(e.at, fmt::format("dim '{}' uses itself", e.text));
  const DimValue bound = DimValue::of(l);
  DimValue v =
      d_.named(entry, name, d_.evaluate(*entry.value, Dims::only(entry.parameter->text, bound)));
  d_.running_.erase(name);
  d_.memo_[name] = v;
  return v;
}

DimValue Evaluator::key(const Expr& e) {
  if (!arity(e, 1, 1)) return {};
  const Expr& name = argument(e, 0);
  if (name.kind != Expr::Kind::text)
    return wrong(name.at, fmt::format("{} wants the name of a key in quotes", e.text));
  if (d_.symbolic()) return DimValue::unknown(fmt::format("{}(\"{}\")", e.text, name.text), false);
  const std::string full =
      e.text == "meta" ? name.text : fmt::format("{}.{}", d_.model_->architecture(), name.text);
  auto known = d_.keys_.find(full);
  if (known == d_.keys_.end()) {
    const KeyValue* value = d_.model_->key(full);
    DimValue v;
    if (value == nullptr) {
      v.kind = Kind::absent;
      v.text = full;
    } else {
      Result<DimValue> read = value_of_key(*value, full);
      if (!read.has_value()) return wrong(e.at, read.error().message, read.error().kind);
      v = std::move(*read);
    }
    known = d_.keys_.emplace(full, std::move(v)).first;
  }
  return known->second;
}

DimValue Evaluator::family(const Expr& e) {
  if (!arity(e, 1, 1)) return {};
  if (argument(e, 0).kind != Expr::Kind::text)
    return wrong(e.at, "keys wants the beginning of key names in quotes");
  DimValue v;
  v.kind = Kind::family;
  v.text = argument(e, 0).text;
  return v;
}

DimValue Evaluator::of_part(const Expr& e) {
  if (!arity(e, 1, 1)) return {};
  const Expr* part = &argument(e, 0);
  const Expr* at = nullptr;
  if (part->kind == Expr::Kind::index) {
    at = part->operands[1].get();
    part = part->operands[0].get();
  }
  if (part->kind != Expr::Kind::name)
    return wrong(part->at, fmt::format("{} wants the name of a part", e.text));
  const auto variable = d_.part_variables.find(part->text);
  if (variable == d_.part_variables.end()) {
    std::vector<std::string_view> known;
    for (const auto& [name, v] : d_.part_variables) known.push_back(name);
    return wrong(part->at, fmt::format("nothing here is called '{}'{}", part->text,
                                       suggestion(part->text, known)));
  }
  Polynomial layer(-1);
  if (!part_index(*part, at, layer)) return {};
  const std::string called = at == nullptr && variable->second.empty()
                                 ? part->text
                                 : fmt::format("{}[{}]", part->text, layer.print());
  if (d_.symbolic()) {
    if (e.text == "rows") return DimValue::unknown(fmt::format("rows({})", called), false);
    return DimValue::of_truth(Formula::atom(fmt::format("has({})", called)));
  }
  if (!layer.is_constant()) return {};
  if (e.text == "rows") return DimValue::of(d_.parts_->rows(part->text, layer.constant()));
  return DimValue::of_truth(d_.parts_->has(part->text, layer.constant()));
}

// -1 for a part that stands outside the layers.
bool Evaluator::part_index(const Expr& part, const Expr* at, Polynomial& layer) {
  if (at != nullptr) return d_.integer(run(*at), at->at, layer);
  const std::string& variable = d_.part_variables.find(part.text)->second;
  if (variable.empty()) return true;
  const DimValue* l = variables_(variable);
  if (l == nullptr) {
    wrong(part.at,
          fmt::format("'{}' stands in every layer; say which: {}[0]", part.text, part.text));
    return false;
  }
  layer = l->integer;
  return true;
}

// A pattern over layers. A list: its entry. A number n: all layers but the last (first) of every
// n.
DimValue Evaluator::cycle(const Expr& e) {
  if (!arity(e, 2, 3)) return {};
  bool first = false;
  if (e.arguments.size() == 3) {
    const Expr& which = argument(e, 2);
    if (which.kind != Expr::Kind::symbol || which.symbol != Symbol::first)
      return wrong(which.at, "the third argument of cycle is the word first");
    first = true;
  }
  const DimValue p = run(argument(e, 0));
  if (is_missing(p)) return p;
  const DimValue at = run(argument(e, 1));
  Polynomial l;
  if (!d_.integer(at, argument(e, 1).at, l)) return {};
  if (p.kind == Kind::list) {
    const DimValue entry = entry_of(p, l, e.at);
    if (entry.kind == Kind::wrong) return entry;
    return DimValue::of_truth(d_.truth(entry, argument(e, 0).at));
  }
  if (p.kind == Kind::unknown || !l.is_constant() ||
      (p.kind == Kind::integer && !p.integer.is_constant()))
    return DimValue::of_truth(
        Formula::atom(fmt::format("cycle({}, {})", print(argument(e, 0)), l.print())));
  Polynomial n;
  if (!d_.integer(p, argument(e, 0).at, n)) return {};
  if (n.constant() < 0)
    return wrong(e.at, fmt::format("cycle of {} layers", n.constant()), ErrorKind::damaged);
  if (n.constant() == 0) return DimValue::of_truth(true);
  return DimValue::of_truth(l.constant() % n.constant() != (first ? 0 : n.constant() - 1));
}

DimValue Evaluator::extreme(const Expr& e) {
  if (!arity(e, 1, 64)) return {};
  DimValue best;
  for (size_t i = 0; i < e.arguments.size(); ++i) {
    const DimValue v = run(argument(e, i));
    if (is_missing(v)) return v;
    if (is_open(v)) return DimValue::unknown(print(e), true);
    if (!is_numeric(v)) return needs_number(v, argument(e, i).at);
    const bool better =
        i == 0 || (e.text == "min" ? as_real(v) < as_real(best) : as_real(v) > as_real(best));
    if (better) best = v;
  }
  best.source.clear();
  return best;
}

DimValue Evaluator::length(const Expr& e) {
  if (!arity(e, 1, 1)) return {};
  const DimValue v = run(argument(e, 0));
  if (is_missing(v)) return v;
  if (v.kind == Kind::unknown) return DimValue::unknown(print(e), false);
  if (v.kind != Kind::list)
    return wrong(e.at, fmt::format("len wants a list, this is a {}", kind_name(v.kind)));
  return DimValue::of(static_cast<int64_t>(v.items.size()));
}

// Inside floor, `/` of whole numbers need not come out even.
DimValue Evaluator::floor(const Expr& e) {
  if (!arity(e, 1, 1)) return {};
  const Expr& a = argument(e, 0);
  if (a.kind == Expr::Kind::binary && a.binary == BinaryOp::div) {
    const DimValue x = run(*a.operands[0]), y = run(*a.operands[1]);
    if (is_constant(x) && is_constant(y)) {
      const int64_t p = x.integer.constant(), q = y.integer.constant();
      if (q == 0) return wrong(a.at, "division by 0");
      if (p == INT64_MIN && q == -1) return wrong(a.at, "this number is too large");
      return DimValue::of(p / q - (p % q != 0 && (p < 0) != (q < 0) ? 1 : 0));
    }
    if (is_missing(x)) return x;
    if (is_missing(y)) return y;
    if (d_.symbolic()) return DimValue::unknown(print(e), true);
  }
  const DimValue v = run(a);
  if (is_missing(v) || v.kind == Kind::integer) return v;
  if (is_open(v)) return DimValue::unknown(print(e), true);
  if (v.kind != Kind::real) return needs_number(v, a.at);
  const double r = std::floor(v.real);
  if (!(std::abs(r) < 9e18))
    return wrong(e.at, fmt::format("{} is too large for a whole number", v.real));
  return DimValue::of(static_cast<int64_t>(r));
}

DimValue Evaluator::function(const Expr& e) {
  if (!arity(e, 1, 1)) return {};
  const DimValue v = run(argument(e, 0));
  if (is_missing(v)) return v;
  if (is_open(v)) return DimValue::of_real(0, false);
  if (!is_numeric(v)) return needs_number(v, argument(e, 0).at);
  const double x = as_real(v);
  const double r = e.text == "sqrt"    ? std::sqrt(x)
                   : e.text == "rsqrt" ? 1 / std::sqrt(x)
                   : e.text == "exp"   ? std::exp(x)
                                       : std::log(x);
  if (!std::isfinite(r))
    return wrong(e.at, fmt::format("{}({}) is no number", e.text, print(v)), ErrorKind::damaged);
  return DimValue::of_real(r);
}

}  // namespace etch

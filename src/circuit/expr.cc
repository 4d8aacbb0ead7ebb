#include "circuit/expr.h"

#include <algorithm>
#include <cmath>

#include "circuit/diagnostics.h"
#include "circuit/key_values.h"

namespace etch {

using Kind = DimValue::Kind;

namespace {

constexpr int kMostNested = 400;         // dims that hang on dims, expressions in expressions
constexpr int64_t kMostListed = 100000;  // entries of a list made by an expression
constexpr std::string_view kBuiltins[] = {"key",   "meta",   "keys",  "rows", "has",
                                          "cycle", "rotary", "len",   "min",  "max",
                                          "floor", "sqrt",   "rsqrt", "exp",  "ln"};
constexpr std::string_view kMaths[] = {"floor", "sqrt", "exp", "ln"};  // also operations on wires

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"wrong",  "absent", "none",           "truth",
                                         "number", "number", "text",           "symbol",
                                         "list",   "rotary", "family of keys", "value"};
  return kNames[static_cast<int>(kind)];
}

bool is_numeric(const DimValue& v) { return v.kind == Kind::integer || v.kind == Kind::real; }
bool is_constant(const DimValue& v) { return v.kind == Kind::integer && v.integer.is_constant(); }

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

constexpr int kAnonymous = 1 << 16;  // order of unknowns that are no dims

}  // namespace

// One evaluation: dims, the variables in scope, and whether a division here is only a default.
class Evaluator {
 public:
  Evaluator(Dims& dims, const Dims::Lookup& variables) : d_(dims), variables_(variables) {}

  DimValue run(const Expr& e) {
    if (d_.depth_ >= kMostNested) return wrong(e.at, "dims hang on one another too deeply");
    ++d_.depth_;
    DimValue v = dispatch(e);
    --d_.depth_;
    if (v.at.line == 0) v.at = e.at;
    return v;
  }

 private:
  DimValue wrong(const Location& at, std::string message, ErrorKind kind = ErrorKind::usage) {
    d_.report_(at, kind, std::move(message));
    return {};
  }

  DimValue dispatch(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::number:
        return e.is_integer ? DimValue::of(e.integer) : DimValue::of_real(e.real);
      case Expr::Kind::text:
        return DimValue::of_text(e.text);
      case Expr::Kind::truth:
        return DimValue::of_truth(e.truth);
      case Expr::Kind::none:
        return DimValue::of_none();
      case Expr::Kind::symbol:
        return DimValue::of_symbol(e.symbol);
      case Expr::Kind::name:
        return named(e);
      case Expr::Kind::call:
        return call(e);
      case Expr::Kind::list:
        return list(e);
      case Expr::Kind::each_list:
        return each_list(e);
      case Expr::Kind::index:
        return index(e);
      case Expr::Kind::negate:
        return negate(e);
      case Expr::Kind::not_: {
        const DimValue v = run(*e.operands[0]);
        if (v.kind == Kind::wrong || v.kind == Kind::absent) return v;
        return DimValue::of_truth(!d_.truth(v, e.operands[0]->at));
      }
      case Expr::Kind::binary:
        return binary(e);
      case Expr::Kind::conditional:
        return conditional(e);
      case Expr::Kind::otherwise:
        return otherwise(e);
      case Expr::Kind::slice:
      case Expr::Kind::mix:
        return wrong(e.at, "this belongs to flows, not to dims");
    }
    return {};
  }

  DimValue named(const Expr& e) {
    if (const DimValue* v = variables_(e.text)) return *v;
    if (e.text == "arch") {
      if (d_.symbolic()) return DimValue::unknown("arch", false);
      return DimValue::of_text(std::string(d_.model_->architecture()));
    }
    const DimEntry* entry = d_.circuit_.dim(e.text);
    if (entry != nullptr && entry->parameter)
      return wrong(e.at, fmt::format("'{}' has one value per layer: {}({})", e.text, e.text,
                                     entry->parameter->text));
    if (entry != nullptr) return d_.value(e.text);
    std::vector<std::string_view> known;
    for (const DimEntry& entry : d_.circuit_.dims)
      if (entry.kind == DimEntry::Kind::dim) known.push_back(entry.name.text);
    return wrong(e.at,
                 fmt::format("nothing here is called '{}'{}", e.text, suggestion(e.text, known)));
  }

  // ---- calls ----
  DimValue call(const Expr& e) {
    if (const DimEntry* entry = d_.circuit_.dim(e.text)) return per_layer(e, *entry);
    if (e.text == "rotary") return rotary(e);
    for (const Argument& a : e.arguments)
      if (!a.attribute.empty())
        return wrong(a.at, fmt::format("{} has no attribute '{}'", e.text, a.attribute));
    if (e.text == "key" || e.text == "meta") return key(e);
    if (e.text == "keys") return family(e);
    if (e.text == "rows" || e.text == "has") return of_part(e);
    if (e.text == "cycle") return cycle(e);
    if (e.text == "min" || e.text == "max") return extreme(e);
    if (e.text == "len") return length(e);
    if (e.text == "floor") return floor(e);
    for (const std::string_view f : {"sqrt", "rsqrt", "exp", "ln"})
      if (e.text == f) return function(e);
    return wrong(e.at,
                 fmt::format("no function '{}' of dims{}", e.text, suggestion(e.text, kBuiltins)));
  }

  bool arity(const Expr& e, size_t fewest, size_t most) {
    if (e.arguments.size() >= fewest && e.arguments.size() <= most) return true;
    const std::string takes =
        fewest == most ? fmt::format("{}", fewest) : fmt::format("{} to {}", fewest, most);
    wrong(e.at, fmt::format("{} takes {} argument{}, {} given", e.text, takes, most == 1 ? "" : "s",
                            e.arguments.size()));
    return false;
  }
  const Expr& argument(const Expr& e, size_t i) const { return *e.arguments[i].value; }

  DimValue per_layer(const Expr& e, const DimEntry& entry) {
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
    const Dims::Lookup inner = [&](std::string_view n) {
      return n == entry.parameter->text ? &bound : nullptr;
    };
    DimValue v = d_.named(entry, name, Evaluator(d_, inner).run(*entry.value));
    d_.running_.erase(name);
    d_.memo_[name] = v;
    return v;
  }

  DimValue key(const Expr& e) {
    if (!arity(e, 1, 1)) return {};
    const Expr& name = argument(e, 0);
    if (name.kind != Expr::Kind::text)
      return wrong(name.at, fmt::format("{} wants the name of a key in quotes", e.text));
    if (d_.symbolic())
      return DimValue::unknown(fmt::format("{}(\"{}\")", e.text, name.text), false);
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

  DimValue family(const Expr& e) {
    if (!arity(e, 1, 1)) return {};
    if (argument(e, 0).kind != Expr::Kind::text)
      return wrong(e.at, "keys wants the beginning of key names in quotes");
    DimValue v;
    v.kind = Kind::family;
    v.text = argument(e, 0).text;
    return v;
  }

  DimValue of_part(const Expr& e) {
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
    if (at != nullptr) {
      if (!d_.integer(run(*at), at->at, layer)) return {};
    } else if (!variable->second.empty()) {
      const DimValue* l = variables_(variable->second);
      if (l == nullptr)
        return wrong(part->at, fmt::format("'{}' stands in every layer; say which: {}[0]",
                                           part->text, part->text));
      layer = l->integer;
    }
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

  // A pattern over layers. A list: its entry. A number n: all layers but the last (first) of every
  // n.
  DimValue cycle(const Expr& e) {
    if (!arity(e, 2, 3)) return {};
    bool first = false;
    if (e.arguments.size() == 3) {
      const Expr& which = argument(e, 2);
      if (which.kind != Expr::Kind::symbol || which.symbol != Symbol::first)
        return wrong(which.at, "the third argument of cycle is the word first");
      first = true;
    }
    const DimValue p = run(argument(e, 0));
    if (p.kind == Kind::wrong || p.kind == Kind::absent) return p;
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

  DimValue extreme(const Expr& e) {
    if (!arity(e, 1, 64)) return {};
    DimValue best;
    for (size_t i = 0; i < e.arguments.size(); ++i) {
      const DimValue v = run(argument(e, i));
      if (v.kind == Kind::wrong || v.kind == Kind::absent) return v;
      if (v.kind == Kind::unknown || (v.kind == Kind::integer && !is_constant(v)) ||
          (v.kind == Kind::real && !v.known))
        return DimValue::unknown(print(e), true);
      if (!is_numeric(v)) return needs_number(v, argument(e, i).at);
      const bool better =
          i == 0 || (e.text == "min" ? as_real(v) < as_real(best) : as_real(v) > as_real(best));
      if (better) best = v;
    }
    best.source.clear();
    return best;
  }

  DimValue length(const Expr& e) {
    if (!arity(e, 1, 1)) return {};
    const DimValue v = run(argument(e, 0));
    if (v.kind == Kind::wrong || v.kind == Kind::absent) return v;
    if (v.kind == Kind::unknown) return DimValue::unknown(print(e), false);
    if (v.kind != Kind::list)
      return wrong(e.at, fmt::format("len wants a list, this is a {}", kind_name(v.kind)));
    return DimValue::of(static_cast<int64_t>(v.items.size()));
  }

  // Inside floor, `/` of whole numbers need not come out even.
  DimValue floor(const Expr& e) {
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
      if (x.kind == Kind::wrong || x.kind == Kind::absent) return x;
      if (y.kind == Kind::wrong || y.kind == Kind::absent) return y;
      if (d_.symbolic()) return DimValue::unknown(print(e), true);
    }
    const DimValue v = run(a);
    if (v.kind == Kind::wrong || v.kind == Kind::absent || v.kind == Kind::integer) return v;
    if (v.kind == Kind::unknown || (v.kind == Kind::real && !v.known))
      return DimValue::unknown(print(e), true);
    if (v.kind != Kind::real) return needs_number(v, a.at);
    const double r = std::floor(v.real);
    if (!(std::abs(r) < 9e18))
      return wrong(e.at, fmt::format("{} is too large for a whole number", v.real));
    return DimValue::of(static_cast<int64_t>(r));
  }

  DimValue function(const Expr& e) {
    if (!arity(e, 1, 1)) return {};
    const DimValue v = run(argument(e, 0));
    if (v.kind == Kind::wrong || v.kind == Kind::absent) return v;
    if (v.kind == Kind::unknown || (v.kind == Kind::integer && !is_constant(v)) ||
        (v.kind == Kind::real && !v.known))
      return DimValue::of_real(0, false);
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

  DimValue rotary(const Expr& e) {
    static constexpr std::string_view kAttributes[] = {
        "layout", "dims",     "base",        "scaling",   "factors", "short",
        "long",   "sections", "interleaved", "magnitude", "truncate"};
    RotarySpec spec;
    spec.at = e.at;
    bool layout = false, dims = false, base = false, ok = true;
    for (const Argument& a : e.arguments) {
      if (std::find(std::begin(kAttributes), std::end(kAttributes), a.attribute) ==
          std::end(kAttributes)) {
        wrong(a.at, a.attribute.empty()
                        ? "the arguments of rotary have names: rotary(layout: halves, ...)"
                        : fmt::format("rotary has no attribute '{}'{}", a.attribute,
                                      suggestion(a.attribute, kAttributes)));
        ok = false;
      } else if (a.attribute == "factors" || a.attribute == "short" || a.attribute == "long") {
        ok = factor_part(a, spec) && ok;
      } else {
        const DimValue v = run(*a.value);
        if (v.kind == Kind::wrong || d_.is_absent(v, a.value->at)) {
          ok = false;
          continue;
        }
        ok = rotary_attribute(a, v, spec) && ok;
        layout = layout || a.attribute == "layout";
        dims = dims || a.attribute == "dims";
        base = base || a.attribute == "base";
      }
    }
    for (const auto& [given, name] : {std::pair(layout, "layout"), {dims, "dims"}, {base, "base"}})
      if (!given && ok)
        ok = wrong(e.at, fmt::format("rotary needs '{}'", name)).kind != Kind::wrong;
    if (!ok) return {};
    for (size_t i = 0; i < d_.rotaries_.size(); ++i)
      if (d_.rotaries_[i].at.begin == spec.at.begin && d_.rotaries_[i].dims == spec.dims &&
          d_.rotaries_[i].base == spec.base)
        return of_rotary(static_cast<int>(i));
    d_.rotaries_.push_back(std::move(spec));
    return of_rotary(static_cast<int>(d_.rotaries_.size()) - 1);
  }

  static DimValue of_rotary(int i) {
    DimValue v;
    v.kind = Kind::rotary;
    v.rotary = i;
    return v;
  }

  bool factor_part(const Argument& a, RotarySpec& spec) {
    if (a.value->kind != Expr::Kind::name || !d_.part_variables.contains(a.value->text)) {
      wrong(a.value->at, fmt::format("'{}' is a part", a.attribute));
      return false;
    }
    (a.attribute == "factors" ? spec.factors
     : a.attribute == "short" ? spec.short_factors
                              : spec.long_factors) = a.value->text;
    return true;
  }

  bool rotary_attribute(const Argument& a, const DimValue& v, RotarySpec& spec) {
    const Location& at = a.value->at;
    if (a.attribute == "layout") {
      if (v.kind == Kind::symbol && (v.symbol == Symbol::pairs || v.symbol == Symbol::halves)) {
        spec.layout = v.symbol;
        return true;
      }
      wrong(at, "'layout' is one of pairs, halves");
      return false;
    }
    if (a.attribute == "scaling") {
      if (v.kind == Kind::none) return true;
      if (v.kind == Kind::family) {
        spec.scaling = v.text;
        return true;
      }
      wrong(at, "'scaling' is a family of keys: keys(\"rope.scaling\")");
      return false;
    }
    if (a.attribute == "interleaved" || a.attribute == "truncate") {
      const Formula f = d_.truth(v, at);
      if (a.attribute == "truncate" && f.is_known()) spec.truncate = f.is_true();
      return true;
    }
    if (a.attribute == "sections") return true;  // for text all components of a position are equal
    if (a.attribute == "dims") {
      if (!d_.integer(v, at, spec.dims)) return false;
      if (!spec.dims.is_constant()) return true;
      const int64_t n = spec.dims.constant();
      if (n > 0 && n % 2 == 0 && n <= 1 << 20) return true;
      wrong(at, fmt::format("a rotary turns pairs: {} entries cannot be", n), ErrorKind::damaged);
      return false;
    }
    double x = 0;
    if (v.kind == Kind::unknown || (v.kind == Kind::real && !v.known) ||
        (v.kind == Kind::integer && !is_constant(v)))
      return true;
    if (!is_numeric(v)) return needs_number(v, at).kind != Kind::wrong;
    x = as_real(v);
    if (a.attribute == "magnitude") {
      spec.magnitude = x;
      spec.has_magnitude = true;
    } else {
      spec.base = x;
      if (!(x > 0) || !std::isfinite(x)) {
        wrong(at, fmt::format("a rotary's base is positive, this is {}", x), ErrorKind::damaged);
        return false;
      }
    }
    return true;
  }

  // ---- lists ----
  DimValue list(const Expr& e) {
    DimValue v;
    v.kind = Kind::list;
    for (const ExprPtr& o : e.operands) {
      v.items.push_back(run(*o));
      if (v.items.back().kind == Kind::wrong || v.items.back().kind == Kind::absent)
        return v.items.back();
    }
    return v;
  }

  DimValue each_list(const Expr& e) {
    Polynomial first, last;
    if (!d_.integer(run(*e.operands[1]), e.operands[1]->at, first) ||
        !d_.integer(run(*e.operands[2]), e.operands[2]->at, last))
      return {};
    if (!first.is_constant() || !last.is_constant()) return DimValue::unknown(print(e), true);
    DimValue v;
    v.kind = Kind::list;
    if (last.constant() - first.constant() > kMostListed)
      return wrong(e.at, "this list is too long");
    for (int64_t i = first.constant(); i < last.constant(); ++i) {
      const DimValue bound = DimValue::of(i);
      const Dims::Lookup inner = [&](std::string_view n) {
        return n == e.variable.text ? &bound : variables_(n);
      };
      v.items.push_back(Evaluator(d_, inner).run(*e.operands[0]));
      if (v.items.back().kind == Kind::wrong || v.items.back().kind == Kind::absent)
        return v.items.back();
    }
    return v;
  }

  DimValue entry_of(const DimValue& v, const Polynomial& i, const Location& at) {
    if (!i.is_constant())
      return DimValue::unknown(
          fmt::format("{}[{}]", v.source.empty() ? "list" : v.source, i.print()), true);
    if (i.constant() >= 0 && i.constant() < static_cast<int64_t>(v.items.size())) {
      DimValue entry = v.items[static_cast<size_t>(i.constant())];
      entry.source = v.source;
      return entry;
    }
    if (v.source.empty())
      return wrong(at, fmt::format("the list has {} entries, entry {} is asked for", v.items.size(),
                                   i.constant()));
    return wrong(at,
                 fmt::format("key '{}' has {} entries, layer {} is asked for", v.source,
                             v.items.size(), i.constant()),
                 ErrorKind::damaged);
  }

  // A scalar indexed by a layer is that scalar.
  DimValue index(const Expr& e) {
    const DimValue v = run(*e.operands[0]);
    if (v.kind == Kind::wrong || v.kind == Kind::absent) return v;
    const DimValue at = run(*e.operands[1]);
    if (at.kind == Kind::wrong || at.kind == Kind::absent) return at;
    if (e.operands[0]->kind == Expr::Kind::list && is_constant(at) && !at.source.empty()) {
      const int64_t i = at.integer.constant(), n = static_cast<int64_t>(v.items.size());
      if (i < 0 || i >= n) {
        const std::string_view arch = d_.symbolic() ? "" : d_.model_->architecture();
        std::string_view key = at.source;
        if (key.size() > arch.size() && key.substr(0, arch.size()) == arch)
          key.remove_prefix(arch.size() + 1);
        return wrong(e.at, fmt::format("{} = {}, the circuit knows 0..{}", key, i, n - 1),
                     ErrorKind::unsupported);
      }
    }
    Polynomial i;
    if (!d_.integer(at, e.operands[1]->at, i)) return {};
    if (v.kind == Kind::list) return entry_of(v, i, e.at);
    if (v.kind == Kind::unknown)
      return DimValue::unknown(fmt::format("{}[{}]", v.text, i.print()), v.dependent);
    if (is_numeric(v) || v.kind == Kind::truth) return v;
    return wrong(e.at, fmt::format("a {} has no entries", kind_name(v.kind)));
  }

  // ---- arithmetic ----
  static double as_real(const DimValue& v) {
    return v.kind == Kind::integer ? static_cast<double>(v.integer.constant()) : v.real;
  }

  DimValue needs_number(const DimValue& v, const Location& at) {
    if (v.kind == Kind::wrong) return {};
    if (!v.source.empty())
      return wrong(at,
                   fmt::format("key '{}' is a {}, a number is needed", v.source, kind_name(v.kind)),
                   ErrorKind::damaged);
    return wrong(at, fmt::format("a number is needed here, this is {}{}",
                                 v.kind == Kind::none ? "" : "a ", kind_name(v.kind)));
  }

  DimValue negate(const Expr& e) {
    const DimValue v = run(*e.operands[0]);
    if (v.kind == Kind::wrong || v.kind == Kind::absent) return v;
    if (v.kind == Kind::integer) return checked(-v.integer, e.at);
    if (v.kind == Kind::real) return DimValue::of_real(-v.real, v.known);
    if (v.kind == Kind::unknown) return DimValue::of(-as_length(v));
    return needs_number(v, e.operands[0]->at);
  }

  DimValue checked(Polynomial p, const Location& at) {
    if (p.overflowed()) return wrong(at, "this number is too large", ErrorKind::damaged);
    return DimValue::of(std::move(p));
  }

  Polynomial as_length(const DimValue& v) {
    if (v.kind == Kind::integer) return v.integer;
    Unknown u{v.order, v.text};
    if (v.dependent) d_.proof_.set_dependent(u);
    return Polynomial(u);
  }

  DimValue binary(const Expr& e) {
    if (e.binary == BinaryOp::and_ || e.binary == BinaryOp::or_) return junction(e);
    const DimValue a = run(*e.operands[0]);
    if (a.kind == Kind::wrong || a.kind == Kind::absent) return a;
    const DimValue b = run(*e.operands[1]);
    if (b.kind == Kind::wrong || b.kind == Kind::absent) return b;
    switch (e.binary) {
      case BinaryOp::eq:
        return DimValue::of_truth(same(a, b, e));
      case BinaryOp::ne:
        return DimValue::of_truth(!same(a, b, e));
      case BinaryOp::in:
        return membership(a, b, e);
      case BinaryOp::lt:
      case BinaryOp::le:
      case BinaryOp::gt:
      case BinaryOp::ge:
        return order(a, b, e);
      default:
        return arithmetic(a, b, e);
    }
  }

  DimValue junction(const Expr& e) {
    const DimValue a = run(*e.operands[0]);
    if (a.kind == Kind::wrong || a.kind == Kind::absent) return a;
    const Formula left = d_.truth(a, e.operands[0]->at);
    if (left.is_known() && left.is_true() == (e.binary == BinaryOp::or_))
      return DimValue::of_truth(left);
    const DimValue b = run(*e.operands[1]);
    if (b.kind == Kind::wrong || b.kind == Kind::absent) return b;
    const Formula right = d_.truth(b, e.operands[1]->at);
    return DimValue::of_truth(e.binary == BinaryOp::and_ ? left && right : left || right);
  }

  Formula same(const DimValue& a, const DimValue& b, const Expr& e) {
    if (a.kind == Kind::none || b.kind == Kind::none) {
      if (a.kind == Kind::unknown || b.kind == Kind::unknown) return Formula::atom(print(e));
      return a.kind == b.kind;
    }
    const bool lengths = (a.kind == Kind::integer || a.kind == Kind::unknown) &&
                         (b.kind == Kind::integer || b.kind == Kind::unknown);
    if (lengths && (a.kind == Kind::integer || b.kind == Kind::integer))
      return equals(d_.proof_, as_length(a), as_length(b));
    if (a.kind == Kind::unknown || b.kind == Kind::unknown) {
      // "x == false" of an unknown truth.
      const DimValue& u = a.kind == Kind::unknown ? a : b;
      const DimValue& other = a.kind == Kind::unknown ? b : a;
      if (other.kind == Kind::truth && other.truth.is_known())
        return other.truth.is_true() ? Formula::atom(u.text) : !Formula::atom(u.text);
      return Formula::atom(print(e));
    }
    if (is_numeric(a) && is_numeric(b)) {
      if ((a.kind == Kind::real && !a.known) || (b.kind == Kind::real && !b.known) ||
          (a.kind == Kind::integer && !is_constant(a)) ||
          (b.kind == Kind::integer && !is_constant(b)))
        return Formula::atom(print(e));
      return as_real(a) == as_real(b);
    }
    if (a.kind == Kind::truth && b.kind == Kind::truth)
      return (a.truth && b.truth) || (!a.truth && !b.truth);
    if (a.kind == Kind::text && b.kind == Kind::text) return a.text == b.text;
    if (a.kind == Kind::symbol && b.kind == Kind::symbol) return a.symbol == b.symbol;
    wrong(e.at, fmt::format("a {} and a {} are never equal", kind_name(a.kind), kind_name(b.kind)));
    return false;
  }

  DimValue membership(const DimValue& a, const DimValue& b, const Expr& e) {
    if (b.kind == Kind::unknown) return DimValue::of_truth(Formula::atom(print(e)));
    if (b.kind != Kind::list)
      return wrong(e.operands[1]->at,
                   fmt::format("'in' wants a list, this is a {}", kind_name(b.kind)));
    Formula any(false);
    for (const DimValue& item : b.items) {
      if (a.kind == Kind::unknown && item.kind != Kind::integer)
        return DimValue::of_truth(Formula::atom(print(e)));
      any = any || same(a, item, e);
    }
    return DimValue::of_truth(any);
  }

  DimValue order(const DimValue& a, const DimValue& b, const Expr& e) {
    if (!is_numeric(a) && a.kind != Kind::unknown) return needs_number(a, e.operands[0]->at);
    if (!is_numeric(b) && b.kind != Kind::unknown) return needs_number(b, e.operands[1]->at);
    const bool swap = e.binary == BinaryOp::gt || e.binary == BinaryOp::le;  // a > b is b < a
    const bool contrary =
        e.binary == BinaryOp::le || e.binary == BinaryOp::ge;  // a <= b is not b < a
    const DimValue &x = swap ? b : a, &y = swap ? a : b;
    Formula f;
    if (x.kind == Kind::real || y.kind == Kind::real) {
      const auto known = [](const DimValue& v) {
        return v.kind == Kind::real ? v.known : is_constant(v);
      };
      if (!known(x) || !known(y)) return DimValue::of_truth(Formula::atom(print(e)));
      f = as_real(x) < as_real(y);
    } else {
      f = less(d_.proof_, as_length(x), as_length(y));
    }
    return DimValue::of_truth(contrary ? !f : f);
  }

  DimValue arithmetic(const DimValue& a, const DimValue& b, const Expr& e) {
    if (!is_numeric(a) && a.kind != Kind::unknown) return needs_number(a, e.operands[0]->at);
    if (!is_numeric(b) && b.kind != Kind::unknown) return needs_number(b, e.operands[1]->at);
    if (a.kind == Kind::real || b.kind == Kind::real) return real_arithmetic(a, b, e);
    const Polynomial x = as_length(a), y = as_length(b);
    switch (e.binary) {
      case BinaryOp::add:
        return checked(x + y, e.at);
      case BinaryOp::sub:
        return checked(x - y, e.at);
      case BinaryOp::mul:
        return checked(x * y, e.at);
      case BinaryOp::div:
        return quotient(x, y, e);
      case BinaryOp::mod:
        return remainder(x, y, e);
      default:
        return power(a, b, x, y, e);
    }
  }

  DimValue real_arithmetic(const DimValue& a, const DimValue& b, const Expr& e) {
    const auto known = [](const DimValue& v) {
      return v.kind == Kind::real ? v.known : is_constant(v);
    };
    if (!known(a) || !known(b)) return DimValue::of_real(0, false);
    const double x = as_real(a), y = as_real(b);
    double r = 0;
    switch (e.binary) {
      case BinaryOp::add:
        r = x + y;
        break;
      case BinaryOp::sub:
        r = x - y;
        break;
      case BinaryOp::mul:
        r = x * y;
        break;
      case BinaryOp::div:
        r = x / y;
        break;
      case BinaryOp::pow:
        r = std::pow(x, y);
        break;
      default:
        return wrong(e.at, "% wants whole numbers");
    }
    if (!std::isfinite(r))
      return wrong(e.at, fmt::format("{} {} {} is no number", x, spelling(e.binary), y),
                   ErrorKind::damaged);
    return DimValue::of_real(r);
  }

  DimValue quotient(const Polynomial& x, const Polynomial& y, const Expr& e) {
    if (y == Polynomial(0)) return wrong(e.at, "division by 0", ErrorKind::damaged);
    if (x.is_constant() && y.is_constant()) {
      Polynomial q;
      if (divide_exactly(x, y, q)) return DimValue::of(q);
      return wrong(e.at, fmt::format("{} / {} does not come out even", x.constant(), y.constant()),
                   ErrorKind::unsupported);
    }
    bool even = false;
    const Polynomial q = d_.proof_.quotient_or_unknown(x, y, even);
    if (!even && !in_default_ && d_.note)
      d_.note(e.at, fmt::format("{} / {} need not come out even; add 'require {} % {} == 0'",
                                print(*e.operands[0]), print(*e.operands[1]), print(*e.operands[0]),
                                print(*e.operands[1])));
    return DimValue::of(q);
  }

  DimValue remainder(const Polynomial& x, const Polynomial& y, const Expr& e) {
    if (y == Polynomial(0)) return wrong(e.at, "division by 0", ErrorKind::damaged);
    if (x.is_constant() && y.is_constant()) {
      if (x.constant() < 0 || y.constant() < 0)
        return wrong(e.at, "% wants numbers that are not negative");
      return DimValue::of(x.constant() % y.constant());
    }
    Polynomial q;
    if (d_.proof_.quotient(x, y, q)) return DimValue::of(0);
    return DimValue::unknown(fmt::format("{} % {}", x.print(), y.print()), true);
  }

  DimValue power(const DimValue& a, const DimValue& b, const Polynomial& x, const Polynomial& y,
                 const Expr& e) {
    if (!y.is_constant() || y.constant() < 0 || y.constant() > 64) {
      if (!x.is_constant() || !y.is_constant()) return DimValue::of_real(0, false);
      const double r = std::pow(as_real(a), as_real(b));
      if (!std::isfinite(r))
        return wrong(e.at, fmt::format("{}^{} is no number", x.print(), y.print()),
                     ErrorKind::damaged);
      if (y.constant() > 64) return wrong(e.at, "this number is too large");
      return DimValue::of_real(r);
    }
    Polynomial r(1);
    for (int64_t i = 0; i < y.constant(); ++i) r = r * x;
    return checked(r, e.at);
  }

  // ---- choices ----
  DimValue conditional(const Expr& e) {
    const DimValue c = run(*e.operands[0]);
    if (c.kind == Kind::wrong || c.kind == Kind::absent) return c;
    const Formula f = d_.truth(c, e.operands[0]->at);
    if (f.is_known()) return run(*e.operands[f.is_true() ? 1 : 2]);
    const DimValue a = run(*e.operands[1]), b = run(*e.operands[2]);
    if (a.kind == Kind::wrong || b.kind == Kind::wrong) return {};
    return either(f, a, b, print(e));
  }

  DimValue either(const Formula& f, const DimValue& a, const DimValue& b,
                  const std::string& called) {
    if (a.kind == Kind::integer && b.kind == Kind::integer &&
        d_.proof_.equal(a.integer, b.integer) == Answer::proved)
      return a;
    if (a.kind == Kind::truth && b.kind == Kind::truth)
      return DimValue::of_truth((f && a.truth) || (!f && b.truth));
    if (a.kind == Kind::rotary && b.kind == Kind::rotary) return either_rotary(a, b, called);
    if (a.kind == Kind::real || b.kind == Kind::real) {
      const bool numbers =
          (is_numeric(a) || a.kind == Kind::unknown) && (is_numeric(b) || b.kind == Kind::unknown);
      if (numbers) return DimValue::of_real(0, false);
    }
    return DimValue::unknown(called, true);
  }

  // Stands for one of two that a file decides on.
  DimValue either_rotary(const DimValue& a, const DimValue& b, const std::string& called) {
    if (a.rotary == b.rotary) return a;
    RotarySpec spec = d_.rotaries_[static_cast<size_t>(a.rotary)];
    const Polynomial other = d_.rotaries_[static_cast<size_t>(b.rotary)].dims;
    if (d_.proof_.equal(spec.dims, other) == Answer::proved) return a;
    const Unknown u{kAnonymous, fmt::format("dims of {}", called)};
    d_.proof_.set_dependent(u);
    spec.dims = Polynomial(u);
    d_.rotaries_.push_back(std::move(spec));
    return of_rotary(static_cast<int>(d_.rotaries_.size()) - 1);
  }

  DimValue otherwise(const Expr& e) {
    DimValue a = run(*e.operands[0]);
    if (a.kind == Kind::wrong) return a;
    if (a.kind != Kind::absent && !d_.symbolic()) return a;
    const bool outer = std::exchange(in_default_, true);
    const DimValue b = run(*e.operands[1]);
    in_default_ = outer;
    if (!d_.symbolic()) return b;
    if (b.kind == Kind::wrong) return b;
    const bool plain = is_constant(b) || b.kind == Kind::none || b.kind == Kind::text ||
                       b.kind == Kind::symbol || (b.kind == Kind::truth && b.truth.is_known());
    if (b.kind == Kind::real) return DimValue::of_real(0, false);
    if (b.kind == Kind::truth && a.kind == Kind::truth)
      return DimValue::of_truth(Formula::atom(print(e)));
    return DimValue::unknown(print(e), !plain || a.dependent);
  }

  Dims& d_;
  const Dims::Lookup& variables_;
  bool in_default_ = false;
};

// ---- values ----

DimValue DimValue::of(int64_t v) { return of(Polynomial(v)); }
DimValue DimValue::of(Polynomial p) {
  DimValue v;
  v.kind = Kind::integer;
  v.integer = std::move(p);
  return v;
}
DimValue DimValue::of_real(double r, bool known) {
  DimValue v;
  v.kind = Kind::real;
  v.real = r;
  v.known = known;
  return v;
}
DimValue DimValue::of_truth(Formula f) {
  DimValue v;
  v.kind = Kind::truth;
  v.truth = std::move(f);
  return v;
}
DimValue DimValue::of_none() {
  DimValue v;
  v.kind = Kind::none;
  return v;
}
DimValue DimValue::of_symbol(Symbol s) {
  DimValue v;
  v.kind = Kind::symbol;
  v.symbol = s;
  return v;
}
DimValue DimValue::of_text(std::string s) {
  DimValue v;
  v.kind = Kind::text;
  v.text = std::move(s);
  return v;
}
DimValue DimValue::unknown(std::string called, bool dependent) {
  DimValue v;
  v.kind = Kind::unknown;
  v.text = std::move(called);
  v.dependent = dependent;
  v.order = kAnonymous;
  return v;
}

std::string print(const DimValue& v) {
  switch (v.kind) {
    case Kind::wrong:
      return "?";
    case Kind::absent:
      return fmt::format("(no key '{}')", v.text);
    case Kind::none:
      return "none";
    case Kind::truth:
      return v.truth.print();
    case Kind::integer:
      return v.integer.print();
    case Kind::real:
      return v.known ? fmt::format("{}", v.real) : "?";
    case Kind::text:
      return fmt::format("\"{}\"", v.text);
    case Kind::symbol:
      return std::string(name(v.symbol));
    case Kind::rotary:
      return "rotary";
    case Kind::family:
      return fmt::format("keys(\"{}\")", v.text);
    case Kind::unknown:
      return v.text;
    case Kind::list: {
      std::string s;
      for (const DimValue& i : v.items) s += (s.empty() ? "" : ", ") + print(i);
      return "[" + s + "]";
    }
  }
  return "";
}

// ---- Dims ----

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

bool Dims::is_builtin(std::string_view name) const {
  return std::find(std::begin(kBuiltins), std::end(kBuiltins), name) != std::end(kBuiltins);
}

DimValue Dims::evaluate(const Expr& e, const Lookup& variables) {
  return Evaluator(*this, variables).run(e);
}

DimValue Dims::value(std::string_view name) {
  used_.emplace(name);
  if (const auto known = memo_.find(name); known != memo_.end()) return known->second;
  const DimEntry* entry = circuit_.dim(name);
  if (entry == nullptr || entry->parameter) return {};
  if (!running_.emplace(name).second) {
    report_(entry->name.at, ErrorKind::usage, fmt::format("dim '{}' uses itself", name));
    return {};
  }
  const Lookup none = [](std::string_view) { return nullptr; };
  DimValue v = named(*entry, std::string(name), Evaluator(*this, none).run(*entry->value));
  running_.erase(running_.find(std::string(name)));
  memo_[std::string(name)] = v;
  return v;
}

// A dim gives its name to what only a file knows, so that messages speak of d_model and not of
// key("embedding_length").
DimValue Dims::named(const DimEntry& entry, const std::string& called, DimValue v) {
  if (v.kind == Kind::absent) {
    is_absent(v, entry.value->at);
    return {};
  }
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

bool Dims::is_absent(const DimValue& v, const Location& at) {
  if (v.kind != Kind::absent) return false;
  report_(at, ErrorKind::damaged, fmt::format("key '{}' is missing", v.text));
  return true;
}

Formula Dims::truth(const DimValue& v, const Location& at) {
  switch (v.kind) {
    case Kind::truth:
      return v.truth;
    case Kind::integer:
      return !equals(proof_, v.integer, 0);
    case Kind::unknown:
      return Formula::atom(v.text);
    case Kind::absent:
      is_absent(v, at);
      return false;
    case Kind::wrong:
      return false;
    default:
      break;
  }
  if (!v.source.empty())
    report_(at, ErrorKind::damaged,
            fmt::format("key '{}' is a {}, true or false is needed", v.source, kind_name(v.kind)));
  else
    report_(at, ErrorKind::usage,
            fmt::format("a condition is needed here, this is {}{}",
                        v.kind == Kind::none ? "" : "a ", kind_name(v.kind)));
  return false;
}

bool Dims::integer(const DimValue& v, const Location& at, Polynomial& out) {
  if (v.kind == Kind::integer) {
    out = v.integer;
    return true;
  }
  if (v.kind == Kind::unknown) {
    const Unknown u{v.order, v.text};
    if (v.dependent) proof_.set_dependent(u);
    out = Polynomial(u);
    return true;
  }
  if (v.kind == Kind::real && v.known && v.real == std::floor(v.real) && std::abs(v.real) < 9e15) {
    out = static_cast<int64_t>(v.real);  // 2.0 in a file is 2
    return true;
  }
  if (v.kind == Kind::wrong || is_absent(v, at)) return false;
  if (!v.source.empty())
    report_(at, ErrorKind::damaged,
            fmt::format("key '{}' is a {}, a number is needed", v.source, kind_name(v.kind)));
  else
    report_(
        at, ErrorKind::usage,
        fmt::format("a whole number is needed here, this is {}{}", v.kind == Kind::none ? "" : "a ",
                    v.kind == Kind::real ? "real number" : kind_name(v.kind)));
  return false;
}

bool Dims::is_dims(const Expr& e, const Lookup& variables) const {
  const auto all = [&](const Lookup& scope) {
    for (const ExprPtr& o : e.operands)
      if (!is_dims(*o, scope)) return false;
    for (const Argument& a : e.arguments)
      if (!is_dims(*a.value, scope)) return false;
    return true;
  };
  switch (e.kind) {
    case Expr::Kind::name:
      return variables(e.text) != nullptr || e.text == "arch" || circuit_.dim(e.text) != nullptr;
    case Expr::Kind::slice:
    case Expr::Kind::mix:
      return false;
    case Expr::Kind::each_list: {
      static const DimValue kAny = DimValue::of(0);
      const Lookup inner = [&](std::string_view n) {
        return n == e.variable.text ? &kAny : variables(n);
      };
      return all(inner);
    }
    case Expr::Kind::call:
      if (circuit_.dim(e.text) != nullptr) return true;
      if (std::find(std::begin(kMaths), std::end(kMaths), e.text) != std::end(kMaths))
        return all(variables);
      return is_builtin(e.text);
    default:
      return all(variables);
  }
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

void Dims::evaluate_all() {
  const Lookup none = [](std::string_view) { return nullptr; };
  if (symbolic()) {
    // What divides what, first: dims are quotients of dims.
    for (const DimEntry& entry : circuit_.dims)
      for (const ExprPtr& c : entry.conditions) {
        if (c->kind != Expr::Kind::binary || c->binary != BinaryOp::eq ||
            c->operands[0]->kind != Expr::Kind::binary || c->operands[0]->binary != BinaryOp::mod ||
            c->operands[1]->kind != Expr::Kind::number || c->operands[1]->real != 0)
          continue;
        const Expr& mod = *c->operands[0];
        Polynomial a, b;
        if (integer(evaluate(*mod.operands[0], none), mod.operands[0]->at, a) &&
            integer(evaluate(*mod.operands[1], none), mod.operands[1]->at, b))
          proof_.assume_divides(a, b);
      }
  }
  for (const DimEntry& entry : circuit_.dims) {
    if (entry.kind != DimEntry::Kind::dim) continue;
    if (!entry.parameter) {
      const bool was = used_.contains(entry.name.text);
      value(entry.name.text);
      if (!was) used_.erase(entry.name.text);
    } else if (symbolic()) {
      const DimValue l = DimValue::of(Polynomial(Unknown{kAnonymous - 1, entry.parameter->text}));
      const Lookup inner = [&](std::string_view n) {
        return n == entry.parameter->text ? &l : nullptr;
      };
      evaluate(*entry.value, inner);
    }
  }
  for (const DimEntry& entry : circuit_.dims)
    for (const ExprPtr& c : entry.conditions) require(*c);
}

void Dims::require(const Expr& c) {
  const Lookup none = [](std::string_view) { return nullptr; };
  const DimValue v = evaluate(c, none);
  if (v.kind == Kind::wrong || is_absent(v, c.at)) return;
  const Formula f = truth(v, c.at);
  if (symbolic()) {
    if (f.is_false()) report_(c.at, ErrorKind::usage, fmt::format("'{}' never holds", print(c)));
    if (c.kind == Expr::Kind::binary && c.binary == BinaryOp::eq) {
      const DimValue a = evaluate(*c.operands[0], none), b = evaluate(*c.operands[1], none);
      const auto length = [](const DimValue& x) {
        return x.kind == Kind::integer || x.kind == Kind::unknown;
      };
      Polynomial p, q;
      if (length(a) && length(b) && integer(a, c.at, p) && integer(b, c.at, q))
        proof_.assume_equal(p, q);
    }
    if (!f.is_known()) facts_.push_back(f);
    return;
  }
  if (f.is_true()) return;
  std::string why;
  if (c.kind == Expr::Kind::binary && c.binary != BinaryOp::and_ && c.binary != BinaryOp::or_) {
    const Expr& left = *c.operands[0];
    if (left.kind == Expr::Kind::binary && left.binary == BinaryOp::mod)
      why = fmt::format(": {} % {} = {}", print(evaluate(*left.operands[0], none)),
                        print(evaluate(*left.operands[1], none)), print(evaluate(left, none)));
    else
      why = fmt::format(": {} and {}", print(evaluate(left, none)),
                        print(evaluate(*c.operands[1], none)));
  }
  report_(c.at, ErrorKind::unsupported,
          fmt::format("this file breaks '{}' (line {}){}", print(c), c.at.line, why));
}

}  // namespace etch

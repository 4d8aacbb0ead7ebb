// Expressions of dims: leaves, names and lists.
#include "circuit/diagnostics.h"
#include "circuit/evaluator.h"

namespace etch {

using Kind = DimValue::Kind;

namespace {

constexpr int kMostNested = 400;         // dims that hang on dims, expressions in expressions
constexpr int64_t kMostListed = 100000;  // entries of a list made by an expression

}  // namespace

DimValue Evaluator::run(const Expr& e) {
  if (d_.depth_ >= kMostNested) return wrong(e.at, "dims hang on one another too deeply");
  ++d_.depth_;
  DimValue v = dispatch(e);
  --d_.depth_;
  if (v.at.line == 0) v.at = e.at;
  return v;
}

DimValue Evaluator::wrong(const Location& at, std::string message, ErrorKind kind) {
  d_.report_(at, kind, std::move(message));
  return {};
}

bool Evaluator::refuse(const Location& at, std::string message, ErrorKind kind) {
  d_.report_(at, kind, std::move(message));
  return false;
}

DimValue Evaluator::dispatch(const Expr& e) {
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
    case Expr::Kind::not_:
      return not_(e);
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

DimValue Evaluator::named(const Expr& e) {
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

DimValue Evaluator::list(const Expr& e) {
  DimValue v;
  v.kind = Kind::list;
  for (const ExprPtr& o : e.operands) {
    v.items.push_back(run(*o));
    if (is_missing(v.items.back())) return v.items.back();
  }
  return v;
}

DimValue Evaluator::each_list(const Expr& e) {
  Polynomial first, last;
  if (!d_.integer(run(*e.operands[1]), e.operands[1]->at, first) ||
      !d_.integer(run(*e.operands[2]), e.operands[2]->at, last))
    return {};
  if (!first.is_constant() || !last.is_constant()) return DimValue::unknown(print(e), true);
  DimValue v;
  v.kind = Kind::list;
  if (last.constant() - first.constant() > kMostListed) return wrong(e.at, "this list is too long");
  for (int64_t i = first.constant(); i < last.constant(); ++i) {
    const DimValue bound = DimValue::of(i);
    const Dims::Lookup inner = [&](std::string_view n) {
      return n == e.variable.text ? &bound : variables_(n);
    };
    v.items.push_back(Evaluator(d_, inner).run(*e.operands[0]));
    if (is_missing(v.items.back())) return v.items.back();
  }
  return v;
}

DimValue Evaluator::entry_of(const DimValue& v, const Polynomial& i, const Location& at) {
  if (!i.is_constant())
    return DimValue::unknown(fmt::format("{}[{}]", v.source.empty() ? "list" : v.source, i.print()),
                             true);
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
DimValue Evaluator::index(const Expr& e) {
  const DimValue v = run(*e.operands[0]);
  if (is_missing(v)) return v;
  const DimValue at = run(*e.operands[1]);
  if (is_missing(at)) return at;
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

}  // namespace etch

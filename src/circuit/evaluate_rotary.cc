// rotary(...): how positions turn the heads, as the circuit asks for it.
#include <algorithm>
#include <cmath>

#include "circuit/diagnostics.h"
#include "circuit/evaluator.h"

namespace etch {

using Kind = DimValue::Kind;

namespace {

DimValue of_rotary(size_t i) {
  DimValue v;
  v.kind = Kind::rotary;
  v.rotary = static_cast<int>(i);
  return v;
}

constexpr std::string_view kAttributes[] = {"layout",      "dims",      "base",    "scaling",
                                            "factors",     "short",     "long",    "sections",
                                            "interleaved", "magnitude", "truncate"};

}  // namespace

DimValue Evaluator::rotary(const Expr& e) {
  RotarySpec spec;
  spec.at = e.at;
  bool ok = true;
  for (const Argument& a : e.arguments) ok = rotary_argument(a, spec) && ok;
  for (const std::string_view needed : {"layout", "dims", "base"}) {
    const bool given = std::any_of(e.arguments.begin(), e.arguments.end(),
                                   [&](const Argument& a) { return a.attribute == needed; });
    if (!given && ok) ok = refuse(e.at, fmt::format("rotary needs '{}'", needed));
  }
  if (!ok) return {};
  for (size_t i = 0; i < d_.rotaries_.size(); ++i)
    if (d_.rotaries_[i].at.begin == spec.at.begin && d_.rotaries_[i].dims == spec.dims &&
        d_.rotaries_[i].base == spec.base)
      return of_rotary(i);
  d_.rotaries_.push_back(std::move(spec));
  return of_rotary(d_.rotaries_.size() - 1);
}

bool Evaluator::rotary_argument(const Argument& a, RotarySpec& spec) {
  if (a.attribute.empty())
    return refuse(a.at, "the arguments of rotary have names: rotary(layout: halves, ...)");
  if (std::find(std::begin(kAttributes), std::end(kAttributes), a.attribute) ==
      std::end(kAttributes))
    return refuse(a.at, fmt::format("rotary has no attribute '{}'{}", a.attribute,
                                    suggestion(a.attribute, kAttributes)));
  if (a.attribute == "factors" || a.attribute == "short" || a.attribute == "long")
    return factor_part(a, spec);
  const DimValue v = run(*a.value);
  if (v.kind == Kind::wrong || d_.is_absent(v, a.value->at)) return false;
  return rotary_attribute(a, v, spec);
}

bool Evaluator::factor_part(const Argument& a, RotarySpec& spec) {
  if (a.value->kind != Expr::Kind::name || !d_.part_variables.contains(a.value->text))
    return refuse(a.value->at, fmt::format("'{}' is a part", a.attribute));
  (a.attribute == "factors" ? spec.factors
   : a.attribute == "short" ? spec.short_factors
                            : spec.long_factors) = a.value->text;
  return true;
}

bool Evaluator::rotary_attribute(const Argument& a, const DimValue& v, RotarySpec& spec) {
  const Location& at = a.value->at;
  if (a.attribute == "layout") {
    if (v.kind != Kind::symbol || (v.symbol != Symbol::pairs && v.symbol != Symbol::halves))
      return refuse(at, "'layout' is one of pairs, halves");
    spec.layout = v.symbol;
    return true;
  }
  if (a.attribute == "scaling") {
    if (v.kind == Kind::none) return true;
    if (v.kind != Kind::family)
      return refuse(at, "'scaling' is a family of keys: keys(\"rope.scaling\")");
    spec.scaling = v.text;
    return true;
  }
  if (a.attribute == "interleaved" || a.attribute == "truncate") {
    const Formula f = d_.truth(v, at);
    if (a.attribute == "truncate" && f.is_known()) spec.truncate = f.is_true();
    return true;
  }
  if (a.attribute == "sections") return true;  // for text all components of a position are equal
  if (a.attribute == "dims") return rotary_dims(v, at, spec.dims);
  if (is_open(v)) return true;
  if (!is_numeric(v)) return needs_number(v, at), false;
  const double x = as_real(v);
  if (a.attribute == "magnitude") {
    spec.magnitude = x;
    spec.has_magnitude = true;
    return true;
  }
  spec.base = x;
  if (x > 0 && std::isfinite(x)) return true;
  return refuse(at, fmt::format("a rotary's base is positive, this is {}", x), ErrorKind::damaged);
}

bool Evaluator::rotary_dims(const DimValue& v, const Location& at, Polynomial& dims) {
  if (!d_.integer(v, at, dims)) return false;
  if (!dims.is_constant()) return true;
  const int64_t n = dims.constant();
  if (n > 0 && n % 2 == 0 && n <= 1 << 20) return true;
  return refuse(at, fmt::format("a rotary turns pairs: {} entries cannot be", n),
                ErrorKind::damaged);
}

// Stands for one of two that a file decides on.
DimValue Evaluator::either_rotary(const DimValue& a, const DimValue& b, const std::string& called) {
  if (a.rotary == b.rotary) return a;
  RotarySpec spec = d_.rotaries_[static_cast<size_t>(a.rotary)];
  const Polynomial other = d_.rotaries_[static_cast<size_t>(b.rotary)].dims;
  if (d_.proof_.equal(spec.dims, other) == Answer::proved) return a;
  const Unknown u{kAnonymous, fmt::format("dims of {}", called)};
  d_.proof_.set_dependent(u);
  spec.dims = Polynomial(u);
  d_.rotaries_.push_back(std::move(spec));
  return of_rotary(d_.rotaries_.size() - 1);
}

}  // namespace etch

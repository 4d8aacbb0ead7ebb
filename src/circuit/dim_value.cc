#include "circuit/dim_value.h"

namespace etch {

using Kind = DimValue::Kind;

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"wrong",  "absent", "none",           "truth",
                                         "number", "number", "text",           "symbol",
                                         "list",   "rotary", "family of keys", "value"};
  return kNames[static_cast<int>(kind)];
}

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

}  // namespace etch

// What an expression of dims comes to: a number, a text, a list; without a file, a letter in their
// place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "circuit/ast.h"
#include "circuit/formula.h"
#include "ops/polynomial.h"

namespace etch {

// Unknowns are printed in the order of their dims; behind those come a loop's variable and what has
// no name.
constexpr int kAnonymous = 1 << 16;
constexpr int kLoopVariable = kAnonymous - 1;

struct DimValue {
  enum class Kind : uint8_t {
    wrong,   // an error was reported; nothing more is said about it
    absent,  // a key that the file does not have: `else` may say what to take
    none,
    truth,
    integer,
    real,
    text,
    symbol,
    list,
    rotary,
    family,   // keys("rope.scaling")
    unknown,  // without a file: anything
  };
  Kind kind = Kind::wrong;
  Formula truth;
  Polynomial integer;
  double real = 0;
  bool known = true;  // of a real
  // A text; the key of an absent value; how an unknown is called; the prefix of a family.
  std::string text;
  Symbol symbol = Symbol::none;
  std::vector<DimValue> items;
  int rotary = -1;         // index into Dims::rotaries()
  std::string source;      // full name of the key it comes from, if it is one
  bool dependent = false;  // an unknown tied to others
  int order = kAnonymous;  // an unknown's place in print
  Location at;

  static DimValue of(int64_t v);
  static DimValue of(Polynomial p);
  static DimValue of_real(double v, bool known = true);
  static DimValue of_truth(Formula f);
  static DimValue of_none();
  static DimValue of_symbol(Symbol s);
  static DimValue of_text(std::string s);
  static DimValue unknown(std::string called, bool dependent);
};
std::string print(const DimValue& value);
// The kind as messages name it: "number", "text", "family of keys".
std::string_view kind_name(DimValue::Kind kind);

inline bool is_missing(const DimValue& v) {
  return v.kind == DimValue::Kind::wrong || v.kind == DimValue::Kind::absent;
}
inline bool is_numeric(const DimValue& v) {
  return v.kind == DimValue::Kind::integer || v.kind == DimValue::Kind::real;
}
inline bool is_constant(const DimValue& v) {
  return v.kind == DimValue::Kind::integer && v.integer.is_constant();
}
// A value, perhaps a number, that only a file decides.
inline bool is_open(const DimValue& v) {
  return v.kind == DimValue::Kind::unknown || (v.kind == DimValue::Kind::real && !v.known) ||
         (v.kind == DimValue::Kind::integer && !v.integer.is_constant());
}
// Of a number that is not open.
inline double as_real(const DimValue& v) {
  return v.kind == DimValue::Kind::integer ? static_cast<double>(v.integer.constant()) : v.real;
}
// The index of a layer, while a loop is walked once for all of them.
inline Polynomial any_layer(std::string_view variable) {
  return Polynomial(Unknown{kLoopVariable, std::string(variable)});
}

}  // namespace etch

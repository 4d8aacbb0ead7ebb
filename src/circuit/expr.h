// Dims: the values of a circuit's header expressions, with a file's keys or without. Without, they
// are letters: a key is an unknown, a condition a formula. One evaluator serves both, so what is
// checked is what is bound.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "circuit/ast.h"
#include "circuit/formula.h"
#include "model/model.h"
#include "ops/polynomial.h"
#include "ops/proof.h"

namespace etch {

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
  std::string
      text;  // a text; the key of an absent value; how an unknown is called; the prefix of a family
  Symbol symbol = Symbol::none;
  std::vector<DimValue> items;
  int rotary = -1;         // index into Dims::rotaries()
  std::string source;      // full name of the key it comes from, if it is one
  bool dependent = false;  // an unknown tied to others
  int order = 1 << 16;     // an unknown's place in print
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

// A rotary encoding as the circuit asks for it; circuit/rotary.h makes its numbers.
struct RotarySpec {
  std::string name;  // of the dim
  Location at;
  Symbol layout = Symbol::pairs;
  Polynomial dims;
  double base = 0;
  std::string scaling;                               // key family without the architecture, or ""
  std::string factors, short_factors, long_factors;  // parts, or ""
  double magnitude = 0;
  bool has_magnitude = false;
  bool truncate = true;
};

// Where dims find the parts of a file.
class PartLookup {
 public:
  virtual ~PartLookup() = default;
  // layer: -1 outside each. Nothing if the circuit declares no such part there.
  virtual bool has(std::string_view part, int64_t layer) = 0;
  virtual int64_t rows(std::string_view part, int64_t layer) = 0;
};

class Dims {
 public:
  using Lookup = std::function<const DimValue*(std::string_view)>;
  using Report = std::function<void(const Location&, ErrorKind, std::string)>;

  // model and parts are null without a file.
  Dims(const Circuit& circuit, const Model* model, PartLookup* parts, Report report);

  void set_report(Report report);  // null: nobody listens
  bool symbolic() const { return model_ == nullptr; }
  Proof& proof() { return proof_; }
  const std::vector<RotarySpec>& rotaries() const { return rotaries_; }
  const Circuit& circuit() const { return circuit_; }
  const std::set<std::string>& used() const { return used_; }  // names of dims that something read
  // Notes (open divisions) go here; none are made if it is not set.
  std::function<void(const Location&, std::string)> note;

  // Evaluates every dim once and takes what `require` says: with letters as facts for proofs, with
  // numbers as conditions that must hold.
  void evaluate_all();
  // What may be assumed because of `require`.
  const std::vector<Formula>& facts() const { return facts_; }

  DimValue value(std::string_view dim);  // of a dim without a parameter
  DimValue evaluate(const Expr& e, const Lookup& variables);
  std::string known_values(
      std::string_view per_layer_dim) const;  // those asked for so far: "0: 8, 1: 4"
  // Conversions; a wrong type is reported at `at`.
  Formula truth(const DimValue& v, const Location& at);
  bool integer(const DimValue& v, const Location& at, Polynomial& out);
  bool is_absent(const DimValue& v, const Location& at);  // reports the missing key
  // Is this an expression of dims, loop variables and numbers alone?
  bool is_dims(const Expr& e, const Lookup& variables) const;
  bool is_builtin(std::string_view name) const;
  // Declared part names, for rows and has; the variable a layer part takes its index from.
  std::map<std::string, std::string, std::less<>> part_variables;

 private:
  friend class Evaluator;
  DimValue named(const DimEntry& entry, const std::string& called, DimValue v);
  void require(const Expr& condition);
  const Circuit& circuit_;
  const Model* model_;
  PartLookup* parts_;
  Report report_;
  Proof proof_;
  std::vector<Formula> facts_;
  std::vector<RotarySpec> rotaries_;
  std::map<std::string, DimValue, std::less<>> memo_;
  std::map<std::string, DimValue, std::less<>> keys_;
  std::set<std::string> running_, used_;
  int depth_ = 0;
};

}  // namespace etch

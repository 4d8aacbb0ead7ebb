// Dims: the values of a circuit's header expressions, with a file's keys or without. Without, they
// are letters: a key is an unknown, a condition a formula. One evaluator serves both, so what is
// checked is what is bound.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "circuit/ast.h"
#include "circuit/dim_value.h"
#include "circuit/formula.h"
#include "model/model.h"
#include "ops/proof.h"

namespace etch {

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
  using Lookup = std::function<const DimValue*(std::string_view)>;  // of variables in scope
  using Report = std::function<void(const Location&, ErrorKind, std::string)>;

  static const DimValue* no_variables(std::string_view) { return nullptr; }
  // `value` must outlive what comes back.
  static Lookup only(std::string_view variable, const DimValue& value) {
    return [variable, &value](std::string_view n) { return n == variable ? &value : nullptr; };
  }

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
  DimValue evaluate(const Expr& e) { return evaluate(e, no_variables); }
  // Those of a dim with a parameter that were asked for so far: "0: 8, 1: 4".
  std::string known_values(std::string_view dim) const;
  // Conversions; a wrong type is reported at `at`.
  Formula truth(const DimValue& v, const Location& at);
  bool integer(const DimValue& v, const Location& at, Polynomial& out);
  bool range(const Range& r, Polynomial& first, Polynomial& last,
             const Lookup& variables = no_variables);
  bool is_absent(const DimValue& v, const Location& at);  // reports the missing key
  Polynomial length(const DimValue& v);                   // of an integer or an unknown
  // Is this an expression of dims, loop variables and numbers alone?
  bool is_dims(const Expr& e, const Lookup& variables) const;
  static bool is_builtin(std::string_view name);
  // Declared part names, for rows and has; the variable a layer part takes its index from.
  std::map<std::string, std::string, std::less<>> part_variables;

 private:
  friend class Evaluator;
  DimValue named(const DimEntry& entry, const std::string& called, DimValue v);
  void learn_divisors();
  void require(const Expr& condition);
  void assume(const Expr& condition, const Formula& f);
  std::string values_in(const Expr& condition);
  void report_kind(const DimValue& v, const Location& at, std::string_view of_key,
                   std::string_view here, std::string_view kind = "");
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

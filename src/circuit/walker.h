// The walker behind walk.h: shared by check_circuit() (no file, no sink), bind() (numbers, no sink)
// and walk_flow().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "circuit/binding.h"
#include "circuit/dims.h"
#include "circuit/parts.h"
#include "circuit/walk.h"
#include "ops/shape_rule.h"

namespace etch {

// What a name or an expression of a flow stands for.
struct FlowValue {
  enum class Kind : uint8_t { wrong, operand, dim, expert };
  Kind kind = Kind::wrong;
  Operand operand;
  DimValue dim;
  bool slots = false;          // a wire of a mix body, with a leading axis of chosen experts
  Formula defined;             // when it has been assigned, for a name that only some arms assign
  std::string conflict, open;  // why the arms that assigned it differ, or may: told when it is used
  Location conflict_at;
  std::vector<int> origins;  // where in the text it was assigned: bytes of the names

  static FlowValue of(Operand o) {
    FlowValue v;
    v.kind = Kind::operand;
    v.operand = std::move(o);
    return v;
  }
};

inline bool is_wrong(const FlowValue& v) { return v.kind == FlowValue::Kind::wrong; }
inline bool is_none(const FlowValue& v) {
  return v.kind == FlowValue::Kind::dim && v.dim.kind == DimValue::Kind::none;
}
// A number that is known to be 0.
inline bool is_zero(const FlowValue& v) {
  return v.kind == FlowValue::Kind::dim && is_numeric(v.dim) && !is_open(v.dim) &&
         as_real(v.dim) == 0;
}
// "kv" of "kv[3]".
inline std::string state_of(const Operand& state) {
  return state.name.substr(0, state.name.find('['));
}
// May it stand in the body of a mix, where wires carry an axis of slots in front?
bool takes_slots(Op op);

class Walker {
 public:
  struct Options {
    const Binding* binding = nullptr;  // null without a file
    FlowSink* sink = nullptr;
    Dims::Report report;                                     // errors
    std::function<void(const Location&, std::string)> note;  // what stays open
    // Every call of an operation or def, with its operands that are wires or parts and where they
    // stand.
    std::function<void(const Location&, std::span<const Location>, std::span<const Operand>)> call;
  };

  Walker(Dims& dims, Options options);

  // False if something was reported.
  bool walk(const Flow& flow);

  // What all walks together used and wrote, for the checks of a whole circuit.
  // Parts read otherwise than as a matrix or a table; of these, those that are weights of a norm.
  std::set<std::string> wire_parts, norm_parts;
  std::set<std::string> used_parts, used_states, used_defs, written_states;
  std::set<int> used_origins;       // assignments that something read
  std::map<int, Name> assignments;  // every assignment that was walked
  std::optional<Type> hidden;       // type of the main flow's output of that name

 private:
  using Frame = std::map<std::string, FlowValue, std::less<>>;
  struct Mix {
    std::string variable;
    Operand experts;
  };
  struct Write {
    std::string state;  // "kv[l]"
    std::vector<Formula> path;
    Location at;
  };

  // walk.cc: statements
  bool statements(const std::vector<Statement>& body);
  bool statement(const Statement& s);
  bool assign(const Statement& s);
  void mark_used(const FlowValue& v);
  FlowValue wrong(const Location& at, std::string message, ErrorKind kind = ErrorKind::usage);
  Dims::Lookup lookup() const;
  std::vector<Formula> assumptions() const;
  bool has_sink() const { return options_.sink != nullptr; }

  // walk_ends.cc: inputs and outputs
  bool inputs(const Flow& flow);
  bool outputs(const Flow& flow);
  void fits_output(const Name& output, const Type& type);

  // walk_loops.cc
  bool each(const Statement& s);
  bool each_turn(const Statement& s, const Polynomial& l);
  bool each_once(const Statement& s, const Polynomial& first, const Polynomial& last);
  bool keeps_shape(const Statement& s, const std::string& name, const FlowValue& was, FlowValue& v);

  // walk_choices.cc
  bool branch(const Statement& s);
  FlowValue conditional(const Expr& e);
  bool condition(const Expr& e, Formula& out, Answer& answer);
  template <class Arm>
  auto arm(const Formula& holds, std::string said, Arm walk);
  std::string conditions_here() const;
  void merge(const Statement& s, const Formula& condition, const Frame& before, const Frame& a,
             const Frame& b);
  FlowValue merged(const Location& at, const std::string& name, const Formula& condition,
                   const FlowValue& a, const FlowValue& b);
  bool same_lengths(const FlowValue& a, const FlowValue& b, const std::string& name,
                    std::string& open);
  bool settle(const FlowValue& v);

  // walk_values.cc: names, numbers, operators
  std::vector<FlowValue> evaluate_many(const Expr& e, size_t n);
  FlowValue evaluate(const Expr& e);
  FlowValue by_name(const Expr& e);
  FlowValue index(const Expr& e);
  FlowValue slice(const Expr& e);
  FlowValue binary(const Expr& e);
  bool whole_number(const Expr& e, std::string_view message, Polynomial& out);
  FlowValue of_dim(DimValue v);
  Operand to_operand(const FlowValue& v) const;

  // walk_calls.cc, walk_attributes.cc
  std::vector<FlowValue> call(const Expr& e, size_t n);
  std::vector<FlowValue> inline_def(const Expr& e, const Def& def, size_t n);
  std::vector<FlowValue> apply_op(const Expr& e, Op op, size_t n);
  bool arity(const Expr& e, Op op);
  void tell_call(const Expr& e, const std::vector<FlowValue>& arguments,
                 std::vector<Location> places, const std::vector<NamedOperand>& attributes);
  bool attribute(const Expr& call, const Argument& a, const AttributeInfo& info, Op op,
                 std::vector<NamedOperand>& out);
  std::string misfit_of(std::string_view call, Op op, const AttributeInfo& info,
                        const Operand& o) const;

  // walk_apply.cc
  std::vector<FlowValue> emit(Op op, std::vector<FlowValue> arguments,
                              const std::vector<Location>& places,
                              std::vector<NamedOperand> attributes, size_t n, const Location& at);
  FlowValue emit_one(Op op, std::vector<FlowValue> arguments, const std::vector<Location>& places,
                     const Location& at);
  void tell(const std::vector<ShapeFinding>& findings, const std::vector<Location>& places,
            const Location& at);
  FlowValue new_wire(Type type, bool slots);
  bool send(Op op, std::span<const Operand> operands, std::span<const NamedOperand> attributes,
            std::span<const Operand> wires, const Location& at);
  bool reads_type(Op op, const Operand& o, bool matrix, const Location& at);
  bool reads_types(Op op, const std::vector<Operand>& operands,
                   const std::vector<Location>& places);
  bool reads_types(Op op, const std::vector<NamedOperand>& attributes, const Location& at);
  void note_states(Op op, const std::vector<Operand>& operands, const Location& at);
  void note_write(const Operand& state, const Location& at);

  // walk_experts.cc
  FlowValue mix(const Expr& e);
  std::vector<FlowValue> emit_experts(std::vector<FlowValue> arguments,
                                      const std::vector<Location>& places, const Location& at);
  bool make_room(std::vector<FlowValue>& arguments, const Location& at);

  // walk_parts.cc
  FlowValue part(std::string_view name, const Expr* layer, const Location& at, bool may_be_absent);
  FlowValue bound_part(std::string_view name, int64_t layer, const Location& at,
                       bool may_be_absent);
  FlowValue declared_part(std::string_view name, const Polynomial& layer, const Location& at,
                          bool may_be_absent);
  bool is_declared(std::string_view name, const Formula& anywhere, const std::vector<Formula>& here,
                   const Location& at);
  bool is_present(const PartDeclaration& d, const Polynomial& layer,
                  const std::vector<Formula>& here, const Location& at);
  FlowValue element(const FlowValue& stack, const Expr& index);

  // walk_states.cc
  FlowValue state(const StateEntry& s, const Expr& index);

  Dims& dims_;
  Options options_;
  std::vector<PartDeclaration> declarations_;
  std::map<std::string, std::vector<const PartDeclaration*>, std::less<>> parts_;
  std::map<std::pair<std::string, int>, int> bound_parts_;  // (name, layer) -> index
  std::map<std::string, int, std::less<>> bound_states_;    // "kv[3]" -> index
  Frame frame_;
  std::vector<Formula> path_;            // what holds here: ranges of loops, conditions
  std::vector<std::string> conditions_;  // the same as the author wrote it
  std::vector<int64_t> layers_;          // of enclosing loops
  std::vector<std::string> inlining_;    // defs being inlined
  std::optional<Mix> mix_;
  std::vector<Write> writes_;
  int next_wire_ = 0;
  int64_t steps_ = 0;  // a hostile circuit could unroll forever
  bool failed_ = false;
};

// The size of a state at an index; false if an error was reported. Without a file, `path` decides
// between two constructors.
bool state_type_at(Dims& dims, const StateEntry& s, const Polynomial& layer,
                   const std::vector<Formula>& path, StateType& out,
                   const std::function<void(const Location&, std::string)>& note,
                   const Dims::Report& report);
// Range and `where` of a state.
Formula state_declared_at(Dims& dims, const StateEntry& s, const Polynomial& layer);

}  // namespace etch

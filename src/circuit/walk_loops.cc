// each: turn by turn with numbers, or one turn for all layers with a letter.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
bool Walker::each(const Statement& s) {
  Polynomial first, last;
  constexpr std::string_view kMadeOf = "a range is made of dims";
  if (!whole_number(*s.range.first, kMadeOf, first) || !whole_number(*s.range.last, kMadeOf, last))
    return false;
  if (dims_.symbolic()) return each_once(s, first, last);
  for (int64_t l = first.constant(); l < last.constant(); ++l) {
    layers_.push_back(l);
    const bool ok = each_turn(s, l);
    layers_.pop_back();
    if (!ok) return false;
  }
  return true;
}

bool Walker::each_turn(const Statement& s, const Polynomial& l) {
  std::optional<FlowValue> shadowed;
  if (const auto at = frame_.find(s.variable.text); at != frame_.end()) shadowed = at->second;
  FlowValue variable = of_dim(DimValue::of(l));
  variable.defined = Formula(true);
  frame_[s.variable.text] = variable;
  const bool ok = statements(s.body);
  if (shadowed)
    frame_[s.variable.text] = *shadowed;
  else
    frame_.erase(s.variable.text);
  return ok;
}

// Without a file: one turn for a layer called by the loop's variable; what is carried must come out
// as it went in.
bool Walker::each_once(const Statement& s, const Polynomial& first, const Polynomial& last) {
  const Polynomial l = any_layer(s.variable.text);
  const Frame before = frame_;
  const size_t depth = path_.size();
  std::set<int> used_before = std::exchange(used_origins, {});
  path_.push_back(!less(dims_.proof(), l, first));
  path_.push_back(less(dims_.proof(), l, last));
  bool ok = each_turn(s, l);
  path_.resize(depth);
  for (auto& [name, v] : frame_) {
    const auto was = before.find(name);
    if (was == before.end() || was->second.origins == v.origins) continue;
    // Carried: a turn reads what the turn before assigned.
    const std::vector<int>& from = was->second.origins;
    const bool carried = std::any_of(from.begin(), from.end(),
                                     [&](int origin) { return used_origins.contains(origin); });
    if (carried) {
      mark_used(v);
      ok = keeps_shape(s, name, was->second, v) && ok;
    }
    v.origins.insert(v.origins.end(), from.begin(), from.end());
  }
  used_origins.merge(used_before);
  return ok;
}

bool Walker::keeps_shape(const Statement& s, const std::string& name, const FlowValue& was,
                         FlowValue& v) {
  const auto is_wire = [](const FlowValue& x) {
    return x.kind == FlowValue::Kind::operand && x.operand.is_wire();
  };
  if (!is_wire(was) || !is_wire(v)) return true;
  const Shape a = was.operand.type.shape, b = v.operand.type.shape;
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) {
    const Answer answer = dims_.proof().equal(a[i], b[i]);
    same = answer != Answer::refuted;
    if (answer == Answer::open)
      options_.note(s.at, fmt::format("cannot prove {} == {}; add it to require if it must hold",
                                      a[i].print(), b[i].print()));
  }
  if (same) return true;
  wrong(s.at,
        fmt::format("'{}' is {} before the loop and {} after one turn", name, print(a), print(b)));
  v.kind = FlowValue::Kind::wrong;  // one message is enough
  return false;
}

}  // namespace etch

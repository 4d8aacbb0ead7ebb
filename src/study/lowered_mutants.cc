#include "study/lowered_mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/random.h"
#include "lowered/arguments.h"

namespace etch {
namespace {

constexpr int kTries = 200;  // for one mutant that was not drawn before

bool is_output(std::string_view field, ArgsKind kind) {
  if (kind == ArgsKind::route) return field == "experts" || field == "weights";
  return field == "y" || field == "y.at" || field == "packed" || field == "order" ||
         field == "scratch" || field == "partials";
}

// Fields of an operand behind its place: "x.row_stride" of "x.at", "a_strides[2]" of "a".
bool belongs_to(std::string_view field, std::string_view place) {
  const bool view = place.ends_with(".at");
  const std::string_view base = view ? place.substr(0, place.size() - 3) : place;
  if (!field.starts_with(base) || field == place) return false;
  const std::string_view rest = field.substr(base.size());
  return view ? rest == ".row_stride" || rest == ".inner_stride"
              : rest == "_stride" || rest.starts_with("_strides[");
}

bool same(const Place& a, const Place& b) {
  return a.space == b.space && a.offset == b.offset && a.buffer == b.buffer;
}

class Drawing {
 public:
  Drawing(const Lowered& lowered, uint64_t seed) : lowered_(lowered), random_(seed) {}

  std::optional<LoweredMutant> draw(MutantKind kind) {
    for (int i = 0; i < kTries; ++i) {
      LoweredMutant m;
      m.kind = kind;
      m.prefill = !lowered_.prefill.calls.empty() && random_.below(2) == 1;
      m.number = static_cast<int32_t>(random_.below(std::ssize(list(m).calls)));
      m.call = list(m).calls[static_cast<size_t>(m.number)];
      said_ = random_.below(2) == 1;
      std::string what = edit(m);
      if (what.empty()) continue;
      m.description =
          fmt::format("{} call {} ({}, {}): {}{}", m.prefill ? "prefill" : "decode", m.number,
                      m.call.kernel->name, m.call.origin.what, what, said_ ? "" : ", not said");
      if (drawn_.insert(m.description).second) return m;
    }
    return std::nullopt;
  }

 private:
  const CallList& list(const LoweredMutant& m) const {
    return m.prefill ? lowered_.prefill : lowered_.decode;
  }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(random_.below(std::ssize(all)))];
  }
  static std::string_view field(const Call& call, size_t i) {
    return info(call.kernel->args).fields[i].name;
  }

  // What was changed; "" where this call has no such mutant.
  std::string edit(LoweredMutant& m) {
    switch (m.kind) {
      case MutantKind::other_buffer:
        return other_buffer(m);
      case MutantKind::other_kernel:
        return other_kernel(m);
      case MutantKind::swapped_operands:
        return swapped_operands(m);
      case MutantKind::missing_barrier:
        return missing_barrier(m);
      case MutantKind::other_layer:
        return other_layer(m);
    }
    return "";
  }

  // What the call says of an operand, moved to another place.
  void say(Call& call, std::string_view field, const Place& from, const Place& to) {
    if (!said_) return;
    for (Access& a : is_output(field, call.kernel->args) ? call.writes : call.reads)
      if (a.place.buffer == from.buffer && a.place.offset >= from.offset) {
        const int64_t behind = a.place.offset - from.offset;
        a.place = to;
        a.place.offset += behind;
      }
  }

  std::string other_buffer(LoweredMutant& m) {
    std::vector<size_t> operands;
    for (size_t i = 0; i < m.call.args.size(); ++i)
      if (const Place* p = std::get_if<Place>(&m.call.args[i]); p && p->buffer >= 0)
        operands.push_back(i);
    if (operands.empty()) return "";
    const size_t i = one_of(operands);
    Place& p = std::get<Place>(m.call.args[i]);
    const Place was = p;
    const Buffer& old = lowered_.buffers[static_cast<size_t>(was.buffer)];
    std::vector<int32_t> others;
    for (int32_t b = 0; b < static_cast<int32_t>(lowered_.buffers.size()); ++b) {
      const Buffer& other = lowered_.buffers[static_cast<size_t>(b)];
      if (b != was.buffer && other.space == old.space &&
          (!is_per_list(other.space) || other.prefill == m.prefill))
        others.push_back(b);
    }
    if (others.empty()) return "";
    const int32_t b = one_of(others);
    const Buffer& other = lowered_.buffers[static_cast<size_t>(b)];
    p = {other.space, other.offset + was.offset - old.offset, b};
    say(m.call, field(m.call, i), was, p);
    return fmt::format("{} in '{}' instead of '{}'", field(m.call, i), other.name, old.name);
  }

  std::string other_kernel(LoweredMutant& m) {
    if (m.call.kernel->args == ArgsKind::elementwise) {
      for (size_t i = 0; i < m.call.args.size(); ++i) {
        if (field(m.call, i) != "op") continue;
        auto& op = std::get<int32_t>(m.call.args[i]);
        const int32_t was = op;
        op = static_cast<int32_t>(random_.below(ETCH_EW_COUNT));
        return op == was ? "" : fmt::format("operation {} instead of {}", op, was);
      }
    }
    std::vector<const etch_kernel*> others;
    for (const etch_kernel& k : all_kernels())
      if (k.args == m.call.kernel->args && &k != m.call.kernel) others.push_back(&k);
    if (others.empty()) return "";
    const etch_kernel* was = m.call.kernel;
    m.call.kernel = one_of(others);
    return fmt::format("instead of {}", was->name);
  }

  std::string swapped_operands(LoweredMutant& m) {
    std::vector<size_t> operands;
    for (size_t i = 0; i < m.call.args.size(); ++i)
      if (const Place* p = std::get_if<Place>(&m.call.args[i]); p && p->space != Space::none)
        operands.push_back(i);
    if (operands.size() < 2) return "";
    size_t i = one_of(operands), j = one_of(operands);
    if (i > j) std::swap(i, j);
    const Place a = std::get<Place>(m.call.args[i]), b = std::get<Place>(m.call.args[j]);
    if (i == j || same(a, b) || commutes(m.call, field(m.call, i), field(m.call, j))) return "";
    std::swap(m.call.args[i], m.call.args[j]);
    // Their strides go with them, in order.
    std::vector<size_t> of_a, of_b;
    for (size_t f = 0; f < m.call.args.size(); ++f) {
      if (belongs_to(field(m.call, f), field(m.call, i))) of_a.push_back(f);
      if (belongs_to(field(m.call, f), field(m.call, j))) of_b.push_back(f);
    }
    for (size_t f = 0; f < std::min(of_a.size(), of_b.size()); ++f)
      std::swap(m.call.args[of_a[f]], m.call.args[of_b[f]]);
    if (said_) say_swapped(m.call, i, j, a, b);
    return fmt::format("{} and {} change places", field(m.call, i), field(m.call, j));
  }

  static bool commutes(const Call& call, std::string_view a, std::string_view b) {
    if (call.kernel->args != ArgsKind::elementwise || a != "a" || b != "b") return false;
    const auto op = argument<int32_t>(call, "op");
    return op == ETCH_EW_ADD || op == ETCH_EW_MUL;
  }

  // An operand that is read and one that is written change lists, two of a kind stay in theirs.
  void say_swapped(Call& call, size_t i, size_t j, const Place& a, const Place& b) {
    const bool i_out = is_output(field(call, i), call.kernel->args);
    const bool j_out = is_output(field(call, j), call.kernel->args);
    if (i_out == j_out) return;
    auto& of_a = i_out ? call.writes : call.reads;
    auto& of_b = j_out ? call.writes : call.reads;
    const auto take = [](std::vector<Access>& from, const Place& at) {
      std::vector<Access> taken;
      std::erase_if(from, [&](const Access& x) {
        const bool is =
            at.buffer >= 0 && x.place.buffer == at.buffer && x.place.offset >= at.offset;
        if (is) taken.push_back(x);
        return is;
      });
      return taken;
    };
    const std::vector<Access> taken_a = take(of_a, a), taken_b = take(of_b, b);
    of_b.insert(of_b.end(), taken_a.begin(), taken_a.end());
    of_a.insert(of_a.end(), taken_b.begin(), taken_b.end());
  }

  std::string missing_barrier(LoweredMutant& m) {
    said_ = true;
    if (!m.call.barrier_after || m.number + 1 == std::ssize(list(m).calls)) return "";
    m.call.barrier_after = false;
    return "no barrier behind it";
  }

  // The same call of another layer: of the same line of the circuit, by the same kernel.
  std::string other_layer(LoweredMutant& m) {
    std::vector<const Call*> twins;
    for (const Call& c : list(m).calls)
      if (c.kernel == m.call.kernel && c.origin.location == m.call.origin.location &&
          c.origin.layer != m.call.origin.layer)
        twins.push_back(&c);
    if (twins.empty()) return "";
    const Call& twin = *one_of(twins);
    std::vector<size_t> different;
    for (size_t i = 0; i < m.call.args.size(); ++i) {
      const Place* p = std::get_if<Place>(&m.call.args[i]);
      const bool stored = p && (p->space == Space::file || p->space == Space::constants) &&
                          std::get<Place>(twin.args[i]).space == p->space &&
                          !same(*p, std::get<Place>(twin.args[i]));
      const bool state = field(m.call, i) == "state" &&
                         std::get<int32_t>(m.call.args[i]) != std::get<int32_t>(twin.args[i]);
      if (stored || state) different.push_back(i);
    }
    if (different.empty()) return "";
    const size_t i = one_of(different);
    m.call.args[i] = twin.args[i];
    if (field(m.call, i) == "state" && said_)
      for (auto* accesses : {&m.call.reads, &m.call.writes})
        for (Access& a : *accesses)
          if (a.state >= 0) a.state = std::get<int32_t>(twin.args[i]);
    return fmt::format("{} of layer {}", field(m.call, i), twin.origin.layer);
  }

  const Lowered& lowered_;
  Random random_;
  bool said_ = true;
  std::set<std::string> drawn_;
};

}  // namespace

std::string_view name(MutantKind kind) {
  constexpr std::string_view kNames[] = {"other buffer", "other kernel", "swapped operands",
                                         "missing barrier", "other layer"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<LoweredMutant> draw_lowered_mutants(const Lowered& lowered, int n, uint64_t seed) {
  Drawing drawing(lowered, seed);
  std::vector<LoweredMutant> mutants;
  for (int i = 0; i < n; ++i)
    if (auto m = drawing.draw(static_cast<MutantKind>(i % kMutantKinds)))
      mutants.push_back(std::move(*m));
  return mutants;
}

Lowered with_mutant(const Lowered& lowered, const LoweredMutant& mutant) {
  Lowered changed = lowered;
  CallList& list = mutant.prefill ? changed.prefill : changed.decode;
  list.calls[static_cast<size_t>(mutant.number)] = mutant.call;
  return changed;
}

}  // namespace etch

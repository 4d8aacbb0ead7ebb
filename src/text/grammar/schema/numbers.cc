// Numbers within bounds, multiples of something: a machine over digits.
//
// Read from the left, a number is compared with a bound digit by digit; how many digits stand
// before the point says whether that comparison counts. The remainder of a division is carried
// along.
#include <algorithm>
#include <map>

#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {

constexpr int kMaxWhole = 16, kMaxFraction = 16;  // digits
// So many digits in all are told apart by the doubles that others read them into.
constexpr int kSafeDigits = 15;
constexpr int64_t kMaxDivisor = 5000;

enum Order : int8_t { less = -1, equal = 0, greater = 1 };

// Of 0 or more, without sign: [ low .. high ], in `divisor` / 10^scale.
struct Magnitudes {
  std::optional<Bound> low, high;
  int max_fraction = 0;
  int64_t divisor = 1;
  int scale = 0;
};

struct DigitState {
  enum Phase : int8_t { start, zero, whole, point, fraction } phase = start;
  int n_whole = 0, n_fraction = 0;
  int8_t low = equal, high = equal;  // order of the digits so far to those of the bound
  int64_t remainder = 0;
  auto operator<=>(const DigitState&) const = default;
};

int8_t compare_digit(int8_t so_far, const std::optional<Bound>& bound, bool in_fraction, int index,
                     int digit) {
  if (!bound || so_far != equal) return so_far;
  const std::string& digits = in_fraction ? bound->value.fraction : bound->value.whole;
  if (!in_fraction && index >= std::ssize(digits)) return so_far;  // longer: decided at the point
  const int other = index < std::ssize(digits) ? digits[static_cast<size_t>(index)] - '0' : 0;
  return digit < other ? less : digit > other ? greater : equal;
}

// Once the digits before the point have ended, their number decides first.
int8_t settle(int8_t so_far, const std::optional<Bound>& bound, int n_whole) {
  if (!bound) return so_far;
  const auto n = static_cast<int>(bound->value.whole.size());
  if (n_whole == n) return so_far;
  return static_cast<int8_t>(n_whole < n ? less : greater);
}

int8_t settle_fraction(int8_t so_far, const std::optional<Bound>& bound, int n_fraction) {
  if (!bound || so_far != equal) return so_far;
  return static_cast<int8_t>(
      std::ssize(bound->value.fraction) > n_fraction ? less : equal);  // no zeros at its end
}

bool may_end(const DigitState& s, const Magnitudes& m) {
  if (s.phase == DigitState::start || s.phase == DigitState::point) return false;
  int8_t low = s.low, high = s.high;
  if (s.phase != DigitState::fraction) {
    low = settle(low, m.low, s.n_whole);
    high = settle(high, m.high, s.n_whole);
  }
  low = settle_fraction(low, m.low, s.n_fraction);
  high = settle_fraction(high, m.high, s.n_fraction);
  if (m.low && (low == less || (low == equal && m.low->exclusive))) return false;
  if (m.high && (high == greater || (high == equal && m.high->exclusive))) return false;
  int64_t remainder = s.remainder;
  for (int i = s.n_fraction; i < m.scale; ++i) remainder = remainder * 10 % m.divisor;
  return remainder == 0;
}

std::optional<DigitState> after_digit(const DigitState& s, const Magnitudes& m, int digit) {
  DigitState t = s;
  switch (s.phase) {
    case DigitState::start:
    case DigitState::whole:
      if (s.n_whole >= kMaxWhole) return std::nullopt;
      t.phase = s.phase == DigitState::start && digit == 0 ? DigitState::zero : DigitState::whole;
      t.low = compare_digit(s.low, m.low, false, s.n_whole, digit);
      t.high = compare_digit(s.high, m.high, false, s.n_whole, digit);
      t.n_whole = s.n_whole + 1;
      t.remainder = (s.remainder * 10 + digit) % m.divisor;
      return t;
    case DigitState::zero:
      return std::nullopt;
    case DigitState::point:
    case DigitState::fraction:
      if (s.n_fraction >= m.max_fraction) return std::nullopt;
      t.phase = DigitState::fraction;
      t.low = compare_digit(s.low, m.low, true, s.n_fraction, digit);
      t.high = compare_digit(s.high, m.high, true, s.n_fraction, digit);
      t.n_fraction = s.n_fraction + 1;
      if (s.n_fraction < m.scale) {
        t.remainder = (s.remainder * 10 + digit) % m.divisor;
      } else if (m.divisor > 1 && digit != 0) {
        return std::nullopt;  // finer than the divisor
      }
      return t;
  }
  return std::nullopt;
}

std::optional<CharMachine> machine_of(const Magnitudes& m) {
  CharMachine out;
  std::map<DigitState, int32_t> known;
  std::vector<DigitState> open;
  const auto id_of = [&](const DigitState& s) {
    const auto [place, is_new] = known.try_emplace(s, static_cast<int32_t>(open.size()));
    if (is_new) open.push_back(s);
    return place->second;
  };
  id_of({});
  for (size_t i = 0; i < open.size(); ++i) {
    if (std::ssize(open) > kMaxMachineStates) return std::nullopt;
    const DigitState s = open[i];
    CharMachine::State state{.final = may_end(s, m), .edges = {}};
    if ((s.phase == DigitState::zero || s.phase == DigitState::whole) && m.max_fraction > 0) {
      DigitState t = s;
      t.phase = DigitState::point;
      t.low = settle(s.low, m.low, s.n_whole);
      t.high = settle(s.high, m.high, s.n_whole);
      state.edges.push_back({{'.', '.'}, id_of(t)});
    }
    for (int digit = 0; digit < 10; ++digit) {
      const auto next = after_digit(s, m, digit);
      const auto code = static_cast<uint32_t>('0' + digit);
      if (next) state.edges.push_back({{code, code}, id_of(*next)});
    }
    out.states.push_back(std::move(state));
  }
  return reduced(out);
}

int64_t gcd(int64_t a, int64_t b) { return b == 0 ? a : gcd(b, a % b); }

}  // namespace

Result<Decimal> decimal_of(const Json& number) {
  if (!number.is_number()) return fail(ErrorKind::damaged, "expected a number");
  std::string text =
      number.is_number_float() ? fmt::format("{}", number.get<double>()) : number.dump();
  Decimal d;
  if (text.starts_with('-')) d.negative = true, text.erase(0, 1);
  int64_t exponent = 0;
  if (const size_t e = text.find('e'); e != text.npos) {
    exponent = std::stoll(text.substr(e + 1));  // of a double: three digits at most
    text.erase(e);
  }
  size_t point = text.find('.');
  if (point == text.npos) point = text.size();
  std::string digits = text.substr(0, point) + (point < text.size() ? text.substr(point + 1) : "");
  int64_t n_whole = static_cast<int64_t>(point) + exponent;
  if (n_whole < 0) digits.insert(0, static_cast<size_t>(-n_whole), '0'), n_whole = 0;
  if (n_whole > std::ssize(digits))
    digits.append(static_cast<size_t>(n_whole) - digits.size(), '0');
  d.whole = digits.substr(0, static_cast<size_t>(n_whole));
  d.fraction = digits.substr(static_cast<size_t>(n_whole));
  d.whole.erase(0, std::min(d.whole.find_first_not_of('0'), d.whole.size()));
  if (d.whole.empty()) d.whole = "0";
  d.fraction.erase(d.fraction.find_last_not_of('0') + 1);
  if (d.whole == "0" && d.fraction.empty()) d.negative = false;
  return d;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = a.whole.size() != b.whole.size() ? (a.whole.size() < b.whole.size() ? -1 : 1)
                                               : a.whole.compare(b.whole);
  if (order == 0) order = a.fraction.compare(b.fraction);  // no zeros at the ends
  order = order < 0 ? -1 : order > 0;
  return a.negative ? -order : order;
}

Result<ExpressionId> Compiler::number_expression(const Facets& f) {
  for (const Json& value : f.excluded) {
    if (value.is_number() && !f.integers_only)
      return refuse(f.nodes.front(), "not", "the number {} can only be left out of integers",
                    json_text(value));
  }
  if (!f.low && !f.high && f.multiples.empty() && f.excluded.empty())
    return any_number(f.integers_only);
  Magnitudes m;
  int longest = 1;
  for (const auto* bound : {&f.low, &f.high}) {
    if (*bound) longest = std::max(longest, static_cast<int>((*bound)->value.whole.size()));
  }
  m.max_fraction = f.integers_only ? 0 : std::clamp(kSafeDigits - longest, 0, kMaxFraction);
  // a and b in units of 10^-scale; their least common multiple.
  for (const Decimal& d : f.multiples)
    m.scale = std::max(m.scale, static_cast<int>(d.fraction.size()));
  for (const Decimal& d : f.multiples) {
    const std::string digits =
        d.whole + d.fraction + std::string(static_cast<size_t>(m.scale) - d.fraction.size(), '0');
    int64_t unit = digits.size() > 12 ? kMaxDivisor + 1 : std::stoll(digits);
    if (unit > kMaxDivisor || unit / gcd(unit, m.divisor) * m.divisor > kMaxDivisor) {
      return refuse(f.nodes.front(), "multipleOf",
                    "more than {} steps between two multiples take too many states", kMaxDivisor);
    }
    m.divisor = unit / gcd(unit, m.divisor) * m.divisor;
  }
  const auto too_large = [&] {
    return refuse(f.nodes.front(), "", "its numbers take more than {} states to describe",
                  kMaxMachineStates);
  };
  const auto without_excluded = [&](CharMachine machine) -> Result<CharMachine> {
    std::vector<std::string> texts;
    for (const Json& value : f.excluded) {
      if (!value.is_number()) continue;
      const Decimal d = ETCH_TRY(decimal_of(value));
      if (d.fraction.empty()) texts.push_back(std::string(d.negative ? "-" : "") + d.whole);
    }
    if (texts.empty()) return machine;
    return both(machine, complement(machine_of_texts(texts)));
  };
  std::vector<ExpressionId> signs;
  const Decimal zero{.whole = "0", .fraction = ""};
  // 0 and above.
  if (!f.high || compare(f.high->value, zero) >= 0) {
    m.low = f.low && !f.low->value.negative ? f.low : std::nullopt;
    m.high = f.high;
    const auto machine = machine_of(m);
    if (!machine) return too_large();
    signs.push_back(grammar_.machine(ETCH_TRY(without_excluded(*machine)), false));
  }
  // Below 0: the bounds change places and signs.
  if (!f.low || f.low->value.negative) {
    m.low = f.high && f.high->value.negative ? f.high : std::optional(Bound{zero, true});
    m.high = f.low;
    m.low->value.negative = false;
    if (m.high) m.high->value.negative = false;
    auto machine = machine_of(m);
    if (!machine) return too_large();
    if (!machine->states.empty()) {  // the sign in front
      CharMachine with_sign;
      with_sign.states.push_back({false, {{{'-', '-'}, 1}}});
      for (CharMachine::State s : machine->states) {
        for (auto& e : s.edges) ++e.to;
        with_sign.states.push_back(std::move(s));
      }
      signs.push_back(grammar_.machine(ETCH_TRY(without_excluded(std::move(with_sign))), false));
    }
  }
  return grammar_.choice(std::move(signs));
}

}  // namespace etch::schema

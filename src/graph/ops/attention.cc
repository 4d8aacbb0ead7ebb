// attention and append (circuit-language.md section 9). For each query: scores of what it may see,
// in ascending order of positions, one softmax over them, the sum of their values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

// Keys and values that queries of one sequence may look at.
template <class T>
struct Entries {
  int64_t n = 0, d_k = 0, d_v = 0, v_stride = 0;
  int64_t block = 0;               // of a block cache: entry b stands for block b
  std::vector<int64_t> positions;  // ascending
  std::vector<T> k, v;             // [entries, n, d_k], [entries, n, d_v]; of latents v is k

  const T* key(size_t entry, int64_t head) const {
    return k.data() + (static_cast<int64_t>(entry) * n + head) * d_k;
  }
  const T* value(size_t entry, int64_t head) const {
    const std::vector<T>& from = v.empty() ? k : v;
    return from.data() + (static_cast<int64_t>(entry) * n + head) * v_stride;
  }
};

template <class T>
Entries<T> kept_entries(const Frame<T>& f, int32_t sequence, int state) {
  const StateInfo& type = f.graph.states[static_cast<size_t>(state)];
  const KeptState& kept = f.state(sequence, state);
  const bool latents = type.kind == StateInfo::Kind::latents;
  Entries<T> e{.n = latents ? 1 : type.n, .d_k = type.d_k, .d_v = type.d_v, .block = type.block};
  e.v_stride = latents ? type.d_k : type.d_v;
  for (int64_t i = 0; i < kept.entries; ++i) e.positions.push_back(type.block ? i * type.block : i);
  e.k.assign(kept.k.begin(), kept.k.end());
  e.v.assign(kept.v.begin(), kept.v.end());
  return e;
}

// Rows of the step itself; where values have no rows, the first axis stands for them.
template <class T>
Entries<T> step_entries(Frame<T>& f, const std::vector<RowAt>& rows, int32_t sequence) {
  const Wire<T>& k = f.in(1);
  const Wire<T>& v = f.in(2);
  const std::vector<int64_t>&ks = f.type(1).shape, &vs = f.type(2).shape;
  Entries<T> e{.n = ks[ks.size() - 2], .d_k = ks.back(), .d_v = vs.back(), .v_stride = vs.back()};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].sequence != sequence) continue;
    e.positions.push_back(rows[i].position);
    const int64_t at = static_cast<int64_t>(i);
    e.k.insert(e.k.end(), k.real.begin() + at * e.n * e.d_k,
               k.real.begin() + (at + 1) * e.n * e.d_k);
    e.v.insert(e.v.end(), v.real.begin() + at * e.n * e.d_v,
               v.real.begin() + (at + 1) * e.n * e.d_v);
  }
  return e;
}

// T5's rule: half of the buckets are exact distances, the rest grow logarithmically up to `reach`;
// under `full` the upper half of all buckets is for later positions.
int64_t bucket_of(int64_t distance, int64_t n_buckets, int64_t reach, bool full) {  // j - i
  int64_t first = 0;
  if (full) {
    n_buckets /= 2;
    if (distance > 0) first = n_buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  const int64_t exact = n_buckets / 2;
  if (distance < exact) return first + distance;
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(reach) / static_cast<double>(exact));
  const int64_t bucket =
      exact + static_cast<int64_t>(share * static_cast<double>(n_buckets - exact));
  return first + std::min(bucket, n_buckets - 1);
}

// ALiBi: heads beyond the largest power of two take the odd slopes of twice as many.
double slope_of(double b, int64_t head, int64_t n_heads) {
  int64_t n = 1;
  while (2 * n <= n_heads) n *= 2;
  const double power = head < n
                           ? static_cast<double>(head + 1) / static_cast<double>(n)
                           : static_cast<double>(2 * (head - n) + 1) / static_cast<double>(2 * n);
  return std::exp2(-b * power);
}

struct Mask {
  bool full = false;
  int64_t window = 0, chunk = 0;

  bool sees(int64_t i, int64_t j) const {
    if (!full && j > i) return false;
    if (window > 0 && (full ? 2 * std::abs(i - j) > window : i - j >= window)) return false;
    return chunk <= 0 || i / chunk == j / chunk;
  }
};

// One query head among its entries.
template <class T>
struct Query {
  Frame<T>& f;
  const T* q;
  int64_t position, head, n_heads;

  T score(const Entries<T>& e, size_t entry, bool of_block) const {
    const Node& node = *f.node;
    T s = f.number("scale") * dot(q, e.key(entry, head * e.n / n_heads), e.d_k);
    if (const double cap = node.number("softcap"); cap != 0)
      s = static_cast<T>(cap * std::tanh(static_cast<double>(s) / cap));
    if (of_block) return s;
    const int64_t distance = e.positions[entry] - position;
    if (const Wire<T>* relative = f.named("relative")) {
      const int64_t n_buckets = relative->width / n_heads;
      const bool full = node.symbol("mask", Symbol::causal) == Symbol::full;
      const int64_t bucket = bucket_of(distance, n_buckets, node.integer("reach", 128), full);
      s += relative->row(0)[bucket * n_heads + head];
    }
    if (const double b = node.number("alibi"); b != 0)
      s = std::fma(-static_cast<T>(static_cast<float>(slope_of(b, head, n_heads))),
                   static_cast<T>(std::abs(distance)), s);
    return s;
  }
};

template <class T>
struct Seen {
  T score;
  const T* value;
};

// Softmax over what is seen; a sink adds to the denominator alone.
template <class T>
void mix_values(std::vector<Seen<T>>& seen, const T* sink, int64_t d_v, T* out) {
  std::fill_n(out, d_v, T(0));
  if (seen.empty()) return;
  T m = sink ? *sink : -std::numeric_limits<T>::infinity();
  for (const Seen<T>& s : seen) m = std::max(m, s.score);
  std::vector<T> p;
  for (const Seen<T>& s : seen) p.push_back(exponential(s.score - m));
  T all = total(p.data(), static_cast<int64_t>(p.size()));
  if (sink) all += exponential(*sink - m);
  for (size_t i = 0; i < seen.size(); ++i)
    for (int64_t d = 0; d < d_v; ++d) out[d] = std::fma(p[i], seen[i].value[d], out[d]);
  for (int64_t d = 0; d < d_v; ++d) out[d] /= all;
}

bool holds(const std::vector<int64_t>& sorted, int64_t x) {
  return std::binary_search(sorted.begin(), sorted.end(), x);
}

// The positions that head `head` of row `r` may look at, or null for all.
template <class T>
const std::vector<int64_t>* selection(Frame<T>& f, int64_t r, int64_t head, int64_t n_heads) {
  const Wire<T>* only = f.named("only");
  if (!only) return nullptr;
  return &only->chosen[static_cast<size_t>(only->at(r) + head * only->width / n_heads)];
}

}  // namespace

template <class T>
Status append_rows(Frame<T>& f, int k_input, int v_input) {
  const Wire<T>& k = f.in(k_input);
  const Wire<T>* v = v_input < 0 ? nullptr : &f.in(v_input);
  const StateInfo& type = f.state_type();
  const std::vector<RowAt> rows = f.step.of(f.type(k_input));
  for (size_t r = 0; r < rows.size(); ++r) {
    KeptState& state = f.state(rows[r].sequence);
    const int64_t entry = type.block ? rows[r].position / type.block : rows[r].position;
    if (entry != state.entries)
      return fail(ErrorKind::usage, "{}: sequence {} has {} entries, entry {} comes next",
                  type.name, rows[r].sequence, state.entries, entry);
    const T* row = k.row(static_cast<int64_t>(r));
    state.k.insert(state.k.end(), row, row + k.width);
    if (v)
      state.v.insert(state.v.end(), v->row(static_cast<int64_t>(r)),
                     v->row(static_cast<int64_t>(r)) + v->width);
    ++state.entries;
  }
  return {};
}

template <class T>
Status append(Frame<T>& f) {
  return append_rows(f, 0, f.node->n_arguments() == 2 ? 1 : -1);
}

template <class T>
Status attention(Frame<T>& f) {
  const Node& node = *f.node;
  const int state = node.state(), n_arguments = node.n_arguments();
  if (state >= 0 && n_arguments > 1) ETCH_TRY(append_rows(f, 1, n_arguments == 3 ? 2 : -1));
  const AttributeValue* also_state = node.find("also");
  const StateRef* also = also_state ? std::get_if<StateRef>(also_state) : nullptr;
  const Mask mask = {node.symbol("mask", Symbol::causal) == Symbol::full, node.integer("window"),
                     node.integer("chunk")};
  const Wire<T>& q = f.in(0);
  const Wire<T>* sinks = f.named("sinks");
  Wire<T>& y = f.out();
  const std::vector<int64_t>& shape = f.type(0).shape;
  const int64_t n_heads = shape[shape.size() - 2], d_k = shape.back(),
                d_v = f.out_type().shape.back();

  std::vector<RowAt> rows = f.rows();
  if (f.type(0).rows == Rows::once) {  // a hand-made graph: one sequence, positions from 0
    rows.resize(static_cast<size_t>(shape[0]));
    for (size_t i = 0; i < rows.size(); ++i) rows[i].position = static_cast<int64_t>(i);
  }
  std::map<int32_t, std::pair<Entries<T>, Entries<T>>> by_sequence;  // of the state, and of `also`
  for (const RowAt& at : rows) {
    if (by_sequence.count(at.sequence)) continue;
    auto& [own, joined] = by_sequence[at.sequence];
    own = state >= 0 ? kept_entries(f, at.sequence, state) : step_entries(f, rows, at.sequence);
    if (also) joined = kept_entries(f, at.sequence, also->state);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto& [own, joined] = by_sequence.at(rows[r].sequence);
    const int64_t i = rows[r].position;
    for (int64_t head = 0; head < n_heads; ++head) {
      const int64_t line = static_cast<int64_t>(r) * n_heads + head;
      const Query<T> query = {f, q.real.data() + line * d_k, i, head, n_heads};
      const std::vector<int64_t>* only = selection(f, static_cast<int64_t>(r), head, n_heads);
      std::vector<Seen<T>> seen;
      for (size_t e = 0; e < own.positions.size(); ++e) {
        const int64_t j = own.positions[e];
        if (mask.sees(i, j) && (also || !only || holds(*only, j)))
          seen.push_back({query.score(own, e, false), own.value(e, head * own.n / n_heads)});
      }
      for (size_t e = 0; e < joined.positions.size(); ++e) {
        const int64_t first = joined.positions[e];
        if (first + joined.block <= i + 1 && (!only || holds(*only, first)))
          seen.push_back(
              {query.score(joined, e, true), joined.value(e, head * joined.n / n_heads)});
      }
      mix_values(seen, sinks ? sinks->row(0) + head : nullptr, d_v, y.real.data() + line * d_v);
    }
  }
  return {};
}

template Status append_rows(Frame<float>&, int, int);
template Status append_rows(Frame<double>&, int, int);
ETCH_BOTH_PRECISIONS(append);
ETCH_BOTH_PRECISIONS(attention);

}  // namespace etch::plain

#include "text/grammar/token_masks.h"

#include <algorithm>
#include <set>

#include "text/utf8.h"

namespace etch {

namespace {

constexpr int64_t kMaxSuffixes = 100'000;
constexpr int64_t kMaxWalkItems = 4'000'000;    // of a table, before it forgets
constexpr int64_t kMaxKeptBitBytes = 64 << 20;  // of all states together, before they are forgotten

// All tokens of the trie whose text leads from `start` to a row that lives: on_token(node).
// on_row(node, row) sees every row on the way. A table that is nobody else's may forget rows on the
// way; with another one the walk gives up, and false, once it has grown too much.
template <class OnRow, class OnToken>
bool walk(RowTable& table, bool may_forget, const TokenTrie& trie, RowId start, const OnRow& on_row,
          const OnToken& on_token) {
  const int64_t most = may_forget ? kMaxWalkItems : table.n_items() + kMaxWalkItems / 4;
  std::vector<RowId> path(static_cast<size_t>(trie.max_depth) + 1, kDeadRow);
  path[0] = start;
  const int64_t n = trie.size();
  for (int64_t i = 0; i < n;) {
    const auto k = static_cast<size_t>(i);
    const auto depth = static_cast<size_t>(trie.depth[k]);
    const RowId row = table.step(path[depth - 1], trie.bytes[k]);
    if (row == kDeadRow) {
      i = trie.skip[k];
      continue;
    }
    path[depth] = row;
    on_row(i, row);
    if (trie.first_token[k] != trie.first_token[k + 1]) on_token(i);
    ++i;
    if (table.n_items() > most) {
      if (!may_forget) return false;
      std::fill(path.begin() + static_cast<int64_t>(depth) + 1, path.end(), kDeadRow);
      table.shrink(path);
    }
  }
  return true;
}

}  // namespace

Status ambiguous() {
  return fail(ErrorKind::resources,
              "the grammar is too ambiguous: more than {} ways to read the text so far are open",
              kMaxRowItems);
}

TokenMasks::TokenMasks(Automaton automaton, std::shared_ptr<const GrammarVocabulary> vocabulary)
    : automaton_(std::move(automaton)), vocabulary_(std::move(vocabulary)) {
  // Bytes of one class lead to the same row, so one character stands for all with the same classes.
  std::set<std::vector<uint8_t>> known;
  for (const CharRange range :
       complement(make_char_set({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}}))) {
    for (const Utf8Ranges& r : utf8_ranges(range)) {
      std::vector<std::vector<uint8_t>> texts{{}};
      for (int i = 0; i < r.n; ++i) {
        std::vector<std::vector<uint8_t>> longer;
        int before = -1;
        for (int b = r.low[i]; b <= r.high[i]; ++b) {
          if (automaton_.class_of[static_cast<size_t>(b)] == before) continue;
          before = automaton_.class_of[static_cast<size_t>(b)];
          for (std::vector<uint8_t> t : texts) {
            t.push_back(static_cast<uint8_t>(b));
            longer.push_back(std::move(t));
          }
        }
        texts = std::move(longer);
        if (texts.size() > 4096) break;
      }
      for (std::vector<uint8_t>& t : texts) {
        std::vector<uint8_t> classes;
        for (const uint8_t b : t) classes.push_back(automaton_.class_of[b]);
        if (known.insert(classes).second) plain_texts_.push_back(std::move(t));
      }
    }
  }
  if (plain_texts_.size() > 256) plain_texts_.clear();  // too many kinds to ask about each time
}

Result<std::shared_ptr<TokenMasks>> TokenMasks::make(
    Automaton automaton, std::shared_ptr<const GrammarVocabulary> vocabulary,
    const Tokenizer* tokenizer) {
  const auto missing = automaton.needed_bytes & ~vocabulary->single_bytes();
  for (size_t b = 0; b < 256; ++b) {
    if (!missing[b]) continue;
    const std::string shown = b >= 0x20 && b < 0x7F
                                  ? fmt::format("0x{:02X} ('{}')", b, static_cast<char>(b))
                                  : fmt::format("0x{:02X}", b);
    return fail(ErrorKind::unsupported,
                "the vocabulary has no token for the byte {} alone, which the grammar may need "
                "({} such bytes in all): an answer could get stuck",
                shown, missing.count());
  }
  auto masks =
      std::shared_ptr<TokenMasks>(new TokenMasks(std::move(automaton), std::move(vocabulary)));
  for (const auto& token : masks->automaton_.tokens) {
    int32_t id = token.id;
    if (!token.text.empty()) {
      id = tokenizer != nullptr ? tokenizer->vocabulary().find(token.text) : -1;
      if (id < 0) {
        return fail(ErrorKind::unsupported,
                    "the vocabulary has no token {}, which the grammar names", token.text);
      }
    }
    if (id >= masks->vocabulary_->size()) {
      return fail(ErrorKind::unsupported,
                  "the grammar names token {}, but the vocabulary has only {}", id,
                  masks->vocabulary_->size());
    }
    masks->named_.emplace_back(id, token.negated);
  }
  return masks;
}

// How many plain characters may follow, up to kMaxPlain, where after each all of them lead to one
// and the same row. `is_whole`: behind them no plain character may follow at all, so that every
// token of plain characters is settled.
int32_t TokenMasks::plain_steps(RowTable& table, RowId row, bool& is_whole) const {
  is_whole = false;
  if (plain_texts_.empty()) return 0;
  for (int32_t n = 0;; ++n) {
    RowId common = -1;
    bool alike = true, all_dead = true;
    for (const auto& text : plain_texts_) {
      RowId to = row;
      for (const uint8_t byte : text) {
        to = table.step(to, byte);
        if (to == kDeadRow) break;
        all_dead = false;
        if (table.ends_unknown(to)) alike = false;  // suffixes must be seen
      }
      if (common < 0) common = to;
      alike &= common == to;
    }
    if (n == GrammarVocabulary::kMaxPlain || all_dead) {
      is_whole = true;
      return n;
    }
    if (!alike || common == kDeadRow) return n;
    row = common;
  }
}

std::shared_ptr<const TokenMasks::StateTokens> TokenMasks::of_state(int32_t state) {
  const std::lock_guard guard(lock_);
  const auto known = by_state_.find(state);
  if (known != by_state_.end()) return known->second;
  if (n_bits_kept_ > kMaxKeptBitBytes) {
    by_state_.clear();
    n_bits_kept_ = 0;
  }
  auto made = work_out(state);
  n_bits_kept_ +=
      std::ssize(made->bits) * 8 + std::ssize(made->list) * 4 + made->suffixes.size() * 16;
  by_state_[state] = made;
  return made;
}

std::shared_ptr<const TokenMasks::StateTokens> TokenMasks::work_out(int32_t state) {
  auto out = std::make_shared<StateTokens>();
  const GrammarVocabulary& v = *vocabulary_;
  RowTable table(automaton_);
  const RowId start = table.row_of({{state, RowItem::kUnknown}});
  out->bits.assign(v.n_words(), 0);

  bool is_whole = false;
  const int32_t n_plain = plain_steps(table, start, is_whole);
  if (is_whole) out->bits = v.plain(n_plain);
  const TokenTrie& trie = is_whole ? v.rest() : v.all();

  // Behind the rule: whatever any of its callers could go on with.
  std::vector<RowItem> behind;
  const int32_t rule = automaton_.states[static_cast<size_t>(state)].rule;
  for (const int32_t to : automaton_.followers[static_cast<size_t>(rule)])
    behind.push_back({to, RowItem::kAnywhere});
  RowTable followers(automaton_);
  const RowId follow = followers.row_of(std::move(behind));
  std::vector<std::pair<int32_t, int32_t>> leaving;  // token, bytes that stay in the rule
  std::vector<RowId> path(static_cast<size_t>(trie.max_depth) + 1);
  const auto collect = [&](int64_t node) {
    const int32_t stay = trie.depth[static_cast<size_t>(node)];
    path[static_cast<size_t>(stay)] = follow;
    for (int64_t i = node + 1; i < trie.skip[static_cast<size_t>(node)];) {
      const auto k = static_cast<size_t>(i);
      const auto depth = static_cast<size_t>(trie.depth[k]);
      const RowId row = followers.step(path[depth - 1], trie.bytes[k]);
      if (row == kDeadRow) {
        i = trie.skip[k];
        continue;
      }
      path[depth] = row;
      for (const int32_t id : trie.tokens_of(i)) leaving.emplace_back(id, stay);
      ++i;
    }
  };
  walk(
      table, true, trie, start,
      [&](int64_t node, RowId row) {
        if (!table.ends_unknown(row) || out->needs_whole_walk) return;
        collect(node);
        out->needs_whole_walk =
            std::ssize(leaving) > kMaxSuffixes || followers.n_items() > kMaxWalkItems;
      },
      [&](int64_t node) {
        for (const int32_t id : trie.tokens_of(node)) set_bit(out->bits, id);
      });
  if (table.has_overflowed() || followers.has_overflowed()) out->needs_whole_walk = true;
  if (out->needs_whole_walk) {
    out->bits.clear();
    return out;
  }
  std::vector<std::pair<std::string_view, int32_t>> suffixes;
  for (const auto& [id, stay] : leaving) {
    if (!has_bit(out->bits, id))
      suffixes.emplace_back(v.text(id).substr(static_cast<size_t>(stay)), id);
  }
  out->suffixes = TokenTrie(std::move(suffixes));

  int64_t n = 0;
  for (const uint64_t word : out->bits) n += __builtin_popcountll(word);
  if (n * 4 < std::ssize(out->bits) * 8) {
    for (int32_t id = 0; id < v.size(); ++id) {
      if (has_bit(out->bits, id)) out->list.push_back(id);
    }
    out->bits = {};
  }
  return out;
}

Status TokenMasks::fill(RowTable& table, RowId row, TokenBits& bits) {
  bool overflowed = false;
  const auto set_all = [&](const TokenTrie& trie, RowId from) {
    const auto on_token = [&](int64_t node) {
      for (const int32_t id : trie.tokens_of(node)) set_bit(bits, id);
    };
    const auto ignore = [](int64_t, RowId) {};
    if (&trie != &vocabulary_->all() && walk(table, false, trie, from, ignore, on_token)) return;
    RowTable scratch = table;  // whose rows need not stay
    walk(scratch, true, trie, from, ignore, on_token);
    overflowed |= scratch.has_overflowed();
  };
  bits.assign(vocabulary_->n_words(), 0);
  const std::vector<RowItem> items(table.items(row).begin(), table.items(row).end());
  for (const RowItem item : items) {
    for (const auto& edge : automaton_.tokens_of(item.state)) {
      const auto& [id, negated] = named_token(edge.token);
      if (!negated) {
        set_bit(bits, id);
        continue;
      }
      const bool had = has_bit(bits, id);
      for (const int32_t other : vocabulary_->all().tokens) set_bit(bits, other);
      if (!had) bits[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64));
    }
  }
  for (const RowItem item : items) {
    // Rules that begin here come out of the items that called them.
    if (item.origin == RowItem::kOwn) continue;
    const Automaton::State& state = automaton_.states[static_cast<size_t>(item.state)];
    if (automaton_.bytes_of(item.state).empty() && automaton_.calls_of(item.state).empty())
      continue;
    const auto tokens = of_state(item.state);
    if (tokens->needs_whole_walk) {
      set_all(vocabulary_->all(), row);
      break;
    }
    for (size_t w = 0; w < tokens->bits.size(); ++w) bits[w] |= tokens->bits[w];
    for (const int32_t id : tokens->list) set_bit(bits, id);
    if (tokens->suffixes.size() > 0 && item.origin >= 0)
      set_all(tokens->suffixes, table.after_rule(state.rule, item.origin));
  }
  if (table.may_end(row)) {
    for (const int32_t id : vocabulary_->ends()) set_bit(bits, id);
  }
  if (overflowed || table.has_overflowed()) return ambiguous();
  return {};
}

}  // namespace etch

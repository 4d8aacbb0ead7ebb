// Matcher: a text on its way through a grammar, token by token; says which tokens may come next.
// TextMatcher: the same by bytes, without a vocabulary.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/grammar/token_masks.h"

namespace etch {

class Matcher {
 public:
  explicit Matcher(std::shared_ptr<TokenMasks> masks);
  Matcher(const Matcher& other);
  Matcher(Matcher&&) noexcept = default;

  // Tokens that may come next, one bit each; those that end the text among them if it may end.
  // Valid until the next call. At least one bit is set, unless the text must end and no token ends
  // it.
  Result<std::span<const uint64_t>> mask();
  // Fails (ErrorKind::usage) for a token that may not come; the place stays as it is.
  Status accept(int32_t id);
  void rollback(int64_t n);  // takes back the last n tokens
  void reset();

  bool may_end() const { return table_.may_end(places_.back()); }
  bool must_end() const { return !table_.can_go_on(places_.back()); }  // or has ended
  bool has_ended() const { return places_.back() == kDeadRow; }
  int64_t n_accepted() const { return static_cast<int64_t>(places_.size()) - 1; }
  const TokenMasks& masks() const { return *masks_; }

 private:
  Result<RowId> place_after(int32_t id);
  void forget_rows();

  std::shared_ptr<TokenMasks> masks_;
  RowTable table_;
  std::vector<RowId> places_;                                          // after each token
  std::unordered_map<RowId, std::shared_ptr<TokenBits>> known_masks_;  // of this table's rows
  std::shared_ptr<TokenBits> current_;
};

class TextMatcher {
 public:
  explicit TextMatcher(const Automaton& automaton);

  // Takes bytes until one does not fit; gives how many fitted. Fails where it gets too ambiguous.
  Result<int64_t> push(std::string_view bytes);
  bool may_end() const { return table_.may_end(place_); }
  // The bytes that may come next.
  std::bitset<256> next_bytes();
  // What may come next as people read it: "',', '}' or a digit" is beyond it: ranges of characters,
  // and names of tokens.
  std::string describe_next();

 private:
  RowTable table_;
  RowId place_;
};

}  // namespace etch

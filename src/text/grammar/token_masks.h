// TokenMasks: which tokens may come next, for one grammar and one vocabulary.
//
// What a token does in a state of the automaton depends on the state alone, unless the token runs
// out of the state's rule: then what is left of its text must fit behind the caller, whoever that
// is. So each state is worked out once:
//
//   state           "inside a string"
//   tokens          all that stay in it:  a  the  {"  ...
//   suffixes        what is left of those that leave it:  ,  ,"  }]  ...  with their tokens
//
// A mask is the union of the states' tokens, and of the suffixes that the callers of this place
// take, which are few. Shared by all texts of that grammar; its working-out is guarded by a lock.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "text/grammar/grammar_vocabulary.h"
#include "text/grammar/rows.h"

namespace etch {

class TokenMasks {
 public:
  // Refuses a vocabulary that cannot write a byte the grammar may need (ErrorKind::unsupported),
  // and token names it does not know.
  static Result<std::shared_ptr<TokenMasks>> make(
      Automaton automaton, std::shared_ptr<const GrammarVocabulary> vocabulary,
      const Tokenizer* tokenizer);

  struct StateTokens {
    TokenBits bits;  // tokens that stay in the rule; empty where a list is shorter
    std::vector<int32_t> list;
    TokenTrie suffixes;
    bool needs_whole_walk = false;  // too many tokens leave the rule: ask the whole place instead
  };
  std::shared_ptr<const StateTokens> of_state(int32_t state);

  // Sets the bits of what may come at `row`. Adds rows to the table. Fails where the place is too
  // ambiguous.
  Status fill(RowTable& table, RowId row, TokenBits& bits);

  const Automaton& automaton() const { return automaton_; }
  const GrammarVocabulary& vocabulary() const { return *vocabulary_; }
  // Tokens that the edge names: one, or all writable ones but that.
  const std::pair<int32_t, bool>& named_token(int32_t index) const {
    return named_[static_cast<size_t>(index)];
  }

 private:
  TokenMasks(Automaton automaton, std::shared_ptr<const GrammarVocabulary> vocabulary);
  std::shared_ptr<const StateTokens> work_out(int32_t state);
  int32_t plain_steps(RowTable& table, RowId row, bool& is_whole) const;

  Automaton automaton_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  std::vector<std::pair<int32_t, bool>> named_;    // id, any other
  std::vector<std::vector<uint8_t>> plain_texts_;  // one plain character of each kind, in bytes
  std::mutex lock_;
  std::unordered_map<int32_t, std::shared_ptr<const StateTokens>> by_state_;
  int64_t n_bits_kept_ = 0;
};

Status ambiguous();  // the error of a place with too many items

}  // namespace etch

#include "text/special_tokens.h"

#include <algorithm>
#include <map>

namespace etch {

namespace {

struct RoleText {
  int32_t SpecialIds::*member;
  std::string_view text;
};

constexpr RoleText kRoles[] = {
#define ETCH_ROLE(member, text) {&SpecialIds::member, text},
#define ETCH_END(text)
#include "text/special_tokens.def"
#undef ETCH_ROLE
#undef ETCH_END
};

constexpr std::string_view kEnds[] = {
#define ETCH_ROLE(member, text)
#define ETCH_END(text) text,
#include "text/special_tokens.def"
#undef ETCH_ROLE
#undef ETCH_END
};

constexpr int32_t SpecialIds::*kRoleMembers[] = {
    &SpecialIds::eot,        &SpecialIds::eom,          &SpecialIds::fim_prefix,
    &SpecialIds::fim_suffix, &SpecialIds::fim_middle,   &SpecialIds::fim_pad,
    &SpecialIds::fim_repo,   &SpecialIds::fim_separator};

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return lower;
}

bool is_end(const Vocabulary& v, std::string_view text) {
  const int32_t id = v.find(text);
  return id >= 0 && v.is_end_of_generation(id);
}

void drop_end(Vocabulary& v, std::string_view text, TokenKind kind) {
  const int32_t id = v.find(text);
  if (id < 0) return;
  v.attributes[id] &= static_cast<uint8_t>(~Vocabulary::is_end);
  v.attributes[id] |= Vocabulary::structural;
  v.kinds[id] = kind;
}

void find_roles(Vocabulary& v) {
  for (int32_t SpecialIds::*member : kRoleMembers) {
    if (v.special.*member >= 0) continue;
    int32_t lowest = -1;
    for (const RoleText& role : kRoles) {
      if (role.member != member) continue;
      const int32_t id = v.find(role.text);
      if (id >= 0 && (lowest < 0 || id < lowest)) lowest = id;
    }
    v.special.*member = lowest;
    if (lowest >= 0) v.kinds[lowest] = TokenKind::control;
  }
}

void find_ends(Vocabulary& v) {
  const auto mark = [&](int32_t id) {
    if (id >= 0) v.attributes[id] |= Vocabulary::is_end;
  };
  mark(v.special.fim_pad);
  mark(v.special.fim_repo);
  mark(v.special.fim_separator);
  for (const std::string_view text : kEnds) {
    const int32_t id = v.find(text);
    if (id < 0) continue;
    mark(id);
    v.kinds[id] = TokenKind::control;
  }
  mark(v.special.eos);
  mark(v.special.eot);
  mark(v.special.eom);
}

// gpt-oss and Solar Open end a message, not the answer, with <|end|>, and their markers have to be
// seen in the text; Gemma 4 and PLaMo have a </s> that is a tag of markup.
void repair_families(Vocabulary& v) {
  for (const std::string_view text : {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"}) {
    const int32_t id = v.find(text);
    if (id < 0) continue;
    v.kinds[id] = TokenKind::user_defined;
    v.attributes[id] |= Vocabulary::structural;
  }
  const bool calls = is_end(v, "<|call|>") || is_end(v, "<|calls|>");
  if (is_end(v, "<|end|>") && calls && (is_end(v, "<|return|>") || is_end(v, "<|flush|>"))) {
    drop_end(v, "<|end|>", TokenKind::user_defined);
  }
  if (is_end(v, "</s>") && (is_end(v, "<|tool_response>") || v.find("<|plamo:eos|>") >= 0)) {
    drop_end(v, "</s>", TokenKind::normal);
  }
}

// Files do not carry the lstrip and rstrip flags of the original tokenizers; three families need
// them.
void set_strips(Vocabulary& v, std::string_view model_name, std::string_view architecture) {
  const auto contains = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  const auto strip_left = [&](std::string_view text) {
    const int32_t id = v.find(text);
    if (id >= 0) v.attributes[id] |= Vocabulary::strips_left;
  };
  const std::string name = lower_ascii(model_name);
  if (contains(v.pre, "jina-v2-de") || contains(v.pre, "jina-v2-es") ||
      contains(v.pre, "jina-v2-code") || contains(v.pre, "mmbert") ||
      contains(architecture, "nomic-bert-moe") || contains(architecture, "jina-bert-v3")) {
    strip_left("<mask>");
  } else if (contains(name, "phi-3") || contains(name, "phi3")) {
    for (int32_t id = 0; id < v.size(); ++id) {
      const TokenKind kind = v.kinds[id];
      const std::string_view text = v.text(id);
      const bool special = kind == TokenKind::control || kind == TokenKind::user_defined ||
                           kind == TokenKind::unknown;
      if (text == "</s>" ||
          (special && text != "<unk>" && text != "<s>" && text != "<|endoftext|>")) {
        v.attributes[id] |= Vocabulary::strips_right;
      }
    }
  } else if (contains(name, "modern-bert")) {
    strip_left("[MASK]");
  }
}

bool is_c_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

void find_special_tokens(Vocabulary& v, std::string_view model_name,
                         std::string_view architecture) {
  find_roles(v);
  find_ends(v);
  repair_families(v);
  set_strips(v, model_name, architecture);
}

SpecialMatcher::SpecialMatcher(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kinds[id];
    const bool plain = kind == TokenKind::user_defined;
    if (!plain && kind != TokenKind::control && kind != TokenKind::unknown) continue;
    const std::string_view text = vocabulary.text(id);
    if (text.empty()) continue;
    const bool structural = vocabulary.attributes[id] & Vocabulary::structural;
    candidates_.push_back({text, id, 0, plain, plain && !structural});
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.text.size() != b.text.size() ? a.text.size() > b.text.size() : a.id < b.id;
  });
  for (size_t i = 0; i < candidates_.size(); ++i) candidates_[i].order = static_cast<int32_t>(i);
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.text != b.text ? a.text < b.text : a.id < b.id;
  });
  by_order_.resize(candidates_.size());
  first_.assign(257, 0);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    by_order_[candidates_[i].order] = static_cast<int32_t>(i);
    ++first_[static_cast<uint8_t>(candidates_[i].text[0]) + 1];
  }
  for (int b = 0; b < 256; ++b) first_[b + 1] += first_[b];
}

// The candidates that are prefixes of the rest of the text, shortest first: the sorted list is
// narrowed byte by byte to those that agree so far; one that ends at this depth stands first among
// them.
const SpecialMatcher::Candidate* SpecialMatcher::match(std::string_view text, size_t at,
                                                       int32_t after, bool parse_special,
                                                       const MarkedText* marks) const {
  const uint8_t b = static_cast<uint8_t>(text[at]);
  auto low = candidates_.begin() + first_[b], high = candidates_.begin() + first_[b + 1];
  const Candidate* best = nullptr;
  for (size_t depth = 1; low != high; ++depth) {
    for (; low != high && low->text.size() == depth; ++low) {
      if (low->order <= after || (best && best->text.size() == depth)) continue;
      if (!low->plain && !parse_special) continue;
      if (!low->outside && marks &&
          marks->is_outside(static_cast<int64_t>(at), static_cast<int64_t>(at + depth))) {
        continue;
      }
      best = &*low;
    }
    if (at + depth >= text.size()) break;
    const uint8_t next = static_cast<uint8_t>(text[at + depth]);
    low = std::lower_bound(low, high, next, [depth](const Candidate& c, uint8_t byte) {
      return static_cast<uint8_t>(c.text[depth]) < byte;
    });
    high = std::upper_bound(low, high, next, [depth](uint8_t byte, const Candidate& c) {
      return byte < static_cast<uint8_t>(c.text[depth]);
    });
  }
  return best;
}

std::vector<Fragment> SpecialMatcher::partition(std::string_view text, bool parse_special,
                                                const std::vector<TextRange>& outside) const {
  std::vector<Fragment> fragments;
  if (text.empty()) return fragments;
  MarkedText marked;
  marked.outside = outside;
  const MarkedText* marks = outside.empty() ? nullptr : &marked;

  // Places wait under the order of the longest candidate that fits there. A place that loses to an
  // earlier choice without being covered tries the next shorter candidate, which waits under a
  // later order.
  std::map<int32_t, std::vector<uint32_t>> waiting;
  for (size_t at = 0; at < text.size(); ++at) {
    const uint8_t b = static_cast<uint8_t>(text[at]);
    if (first_[b] == first_[b + 1]) continue;
    if (const Candidate* c = match(text, at, -1, parse_special, marks)) {
      waiting[c->order].push_back(static_cast<uint32_t>(at));
    }
  }
  std::vector<bool> taken(waiting.empty() ? 0 : text.size());
  while (!waiting.empty()) {
    const int32_t order = waiting.begin()->first;
    std::vector<uint32_t> places = std::move(waiting.begin()->second);
    waiting.erase(waiting.begin());
    std::sort(places.begin(), places.end());
    const Candidate& c = candidates_[by_order_[order]];
    for (const uint32_t at : places) {
      size_t begin = at, end = at + c.text.size();
      if (taken[begin]) continue;
      if (taken[end - 1]) {  // whatever covers part of this covers one end: it is at least as long
        if (const Candidate* next = match(text, at, order, parse_special, marks)) {
          waiting[next->order].push_back(at);
        }
        continue;
      }
      fragments.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(end), c.id});
      const uint8_t attributes = vocabulary_.attributes[c.id];
      if (attributes & Vocabulary::strips_left) {
        while (begin > 0 && !taken[begin - 1] && is_c_space(text[begin - 1])) --begin;
      }
      if (attributes & Vocabulary::strips_right) {
        while (end < text.size() && !taken[end] && is_c_space(text[end])) ++end;
      }
      for (size_t i = begin; i < end; ++i) taken[i] = true;
    }
  }

  // Between the tokens, what is not taken is raw.
  if (fragments.empty()) return {{0, static_cast<int64_t>(text.size()), -1}};
  std::sort(fragments.begin(), fragments.end(),
            [](const Fragment& a, const Fragment& b) { return a.begin < b.begin; });
  std::vector<Fragment> all;
  int64_t at = 0;
  const auto add_raw = [&](int64_t begin, int64_t end) {
    while (begin < end && taken[begin]) ++begin;  // stripped white space
    while (begin < end && taken[end - 1]) --end;
    if (begin < end) all.push_back({begin, end, -1});
  };
  for (const Fragment& f : fragments) {
    add_raw(at, f.begin);
    all.push_back(f);
    at = f.end;
  }
  add_raw(at, static_cast<int64_t>(text.size()));
  return all;
}

}  // namespace etch

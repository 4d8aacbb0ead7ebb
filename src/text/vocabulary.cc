#include "text/vocabulary.h"

#include "text/pretokenize.h"
#include "text/special_tokens.h"
#include "text/text_hash.h"
#include "text/tokenizers/algorithm.h"

namespace etch {

namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 27;

struct IdKey {
  std::string_view key;
  int32_t SpecialIds::*member;
};
constexpr IdKey kIdKeys[] = {
    {"bos_token_id", &SpecialIds::bos},
    {"eos_token_id", &SpecialIds::eos},
    {"eot_token_id", &SpecialIds::eot},
    {"eom_token_id", &SpecialIds::eom},
    {"unknown_token_id", &SpecialIds::unknown},
    {"seperator_token_id", &SpecialIds::separator},  // spelt so in files
    {"padding_token_id", &SpecialIds::padding},
    {"mask_token_id", &SpecialIds::mask},
    {"fim_pre_token_id", &SpecialIds::fim_prefix},
    {"fim_suf_token_id", &SpecialIds::fim_suffix},
    {"fim_mid_token_id", &SpecialIds::fim_middle},
    {"fim_pad_token_id", &SpecialIds::fim_pad},
    {"fim_rep_token_id", &SpecialIds::fim_repo},
    {"fim_sep_token_id", &SpecialIds::fim_separator},
    {"prefix_token_id", &SpecialIds::fim_prefix},  // older names; they win
    {"suffix_token_id", &SpecialIds::fim_suffix},
    {"middle_token_id", &SpecialIds::fim_middle},
};

const KeyValue* key(const Model& model, std::string_view name) {
  return model.key(fmt::format("tokenizer.ggml.{}", name));
}

// Keys a user may get wrong are warnings, not errors: the default stays.
void read_truth(const Model& model, std::string_view name, bool& value, Vocabulary& v) {
  const KeyValue* k = key(model, name);
  if (!k) return;
  if (const auto truth = k->truth()) {
    value = *truth;
  } else {
    v.warnings.push_back(
        fmt::format("tokenizer.ggml.{} is {}, expected a boolean; ignored", name, k->print()));
  }
}

void read_ids(const Model& model, Vocabulary& v) {
  for (const IdKey& row : kIdKeys) {
    const KeyValue* k = key(model, row.key);
    if (!k) continue;
    const auto id = k->integer();
    if (id && *id >= 0 && *id < v.size()) {
      v.special.*row.member = static_cast<int32_t>(*id);
    } else {
      v.warnings.push_back(
          fmt::format("tokenizer.ggml.{} is {}, outside the vocabulary of {} tokens; ignored",
                      row.key, k->print(), v.size()));
    }
  }
}

Status read_texts(const Model& model, Vocabulary& v) {
  const KeyValue* tokens = key(model, "tokens");
  if (!tokens || tokens->type != ValueType::array || tokens->element != ValueType::string) {
    return fail(ErrorKind::damaged, "tokenizer.ggml.tokens {}, expected an array of strings",
                tokens ? "is " + tokens->print() : "is missing");
  }
  if (tokens->count > kMaxTokens || tokens->bytes.size() > (size_t{1} << 31)) {
    return fail(ErrorKind::unsupported,
                "the vocabulary has {} tokens in {} bytes; etch reads up to {} in 2 GiB",
                tokens->count, tokens->bytes.size(), kMaxTokens);
  }
  v.arena.reserve(tokens->bytes.size() + 16);
  v.offsets.reserve(static_cast<size_t>(tokens->count) + 1);
  v.offsets.push_back(0);
  tokens->each_text([&](int64_t i, std::string_view text) {
    if (text.empty()) {
      v.arena += fmt::format("[EMPTY_{}]", i);
    } else {
      v.arena += text;
    }
    v.offsets.push_back(static_cast<uint32_t>(v.arena.size()));
  });
  v.kinds.assign(v.offsets.size() - 1, TokenKind::normal);
  v.attributes.assign(v.kinds.size(), 0);
  return {};
}

// An array of numbers with one entry a token at least; null if the file has none.
Result<const KeyValue*> per_token(const Model& model, std::string_view name, const Vocabulary& v) {
  const KeyValue* k = key(model, name);
  if (!k) return nullptr;
  const bool number = k->type == ValueType::array && k->element != ValueType::string &&
                      k->element != ValueType::array && k->element != ValueType::boolean;
  if (!number || k->count < v.size()) {
    return fail(ErrorKind::damaged,
                "tokenizer.ggml.{} is {}, expected one number for each of {} tokens", name,
                k->print(), v.size());
  }
  return k;
}

Status read_kinds_and_scores(const Model& model, Vocabulary& v) {
  if (const KeyValue* kinds = ETCH_TRY(per_token(model, "token_type", v))) {
    for (int64_t i = 0; i < v.size(); ++i) {
      const int64_t kind = kinds->integer_at(i).value_or(0);
      v.kinds[i] = kind >= 0 && kind <= 6 ? static_cast<TokenKind>(kind) : TokenKind::undefined;
    }
  }
  if (const KeyValue* scores = ETCH_TRY(per_token(model, "scores", v))) {
    v.scores.resize(static_cast<size_t>(v.size()));
    for (int64_t i = 0; i < v.size(); ++i) {
      const float score = static_cast<float>(scores->real_at(i).value_or(0));
      v.scores[i] = score == score ? score : 0;  // no NaN: scores are sorted
    }
  }
  return {};
}

void read_suppressed(const Model& model, Vocabulary& v) {
  const KeyValue* k = key(model, "suppress_tokens");
  if (!k || k->type != ValueType::array) return;
  for (int64_t i = 0; i < k->count; ++i) {
    const auto id = k->integer_at(i);
    if (id && *id >= 0 && *id < v.size()) v.suppressed.push_back(static_cast<int32_t>(*id));
  }
}

// Flags that hang on the name of the split patterns. Files from before that name came up have none.
void apply_pre(const Model& model, const TokenizerKind& kind, Vocabulary& v) {
  if (const KeyValue* k = key(model, "pre")) v.pre = k->text().value_or("");
  if (!kind.uses_pre) return;
  if (kind.model == "gemma4") {
    v.pre = "gemma4";
  } else if (v.pre.empty()) {
    v.warnings.push_back(
        "the file does not say how its texts are split (no tokenizer.ggml.pre): using 'default', "
        "which may differ from "
        "what the model was trained with; a newer conversion of the model names it");
    v.pre = "default";
  } else if (!find_pretokenizer(v.pre)) {
    v.warnings.push_back(
        fmt::format("tokenizer.ggml.pre is '{}', which etch does not know: using 'default', "
                    "results will be worse than the model "
                    "deserves",
                    v.pre));
    v.pre = "default";
  }
  const PretokenizerName& pre = *find_pretokenizer(v.pre);
  v.byte_level = !pre.has(PretokenizerName::raw);
  v.escape_whitespaces = pre.has(PretokenizerName::raw);
  if (pre.has(PretokenizerName::keeps_spaces)) v.clean_spaces = false;
  if (pre.has(PretokenizerName::adds_bos)) v.add_bos = true;
  if (pre.has(PretokenizerName::adds_sep)) v.add_sep = true;
  if (pre.has(PretokenizerName::no_bos)) v.special.bos = -1;
}

Status read_dummies(const Model& model, Vocabulary& v) {
  const KeyValue* k = model.arch_key("vocab_size");
  const int64_t n = k ? k->integer().value_or(-1) : 0;
  if (n < 0 || n > kMaxTokens) {
    return fail(ErrorKind::damaged, "vocab_size is {}, expected a count up to {}", k->print(),
                kMaxTokens);
  }
  v.offsets.assign(static_cast<size_t>(n) + 1, 0);
  v.kinds.assign(static_cast<size_t>(n), TokenKind::undefined);
  v.attributes.assign(static_cast<size_t>(n), 0);
  return {};
}

}  // namespace

std::string_view name(TokenKind kind) {
  constexpr std::string_view names[] = {"undefined",    "normal", "unknown", "control",
                                        "user_defined", "unused", "byte"};
  return names[static_cast<size_t>(kind)];
}

bool Vocabulary::is_special(int32_t id) const {
  const TokenKind k = kind(id);
  return k == TokenKind::control || k == TokenKind::unknown;
}

int32_t Vocabulary::find(std::string_view wanted) const {
  if (slots.empty()) return -1;
  const uint64_t hash = text_hash(wanted);
  const uint64_t tag = hash & 0xFFFFFFFF00000000u;
  const size_t mask = slots.size() - 1;
  for (size_t i = hash & mask; slots[i] != 0; i = (i + 1) & mask) {
    if ((slots[i] & 0xFFFFFFFF00000000u) != tag) continue;
    const int32_t id = static_cast<int32_t>(slots[i] & 0xFFFFFFFFu) - 1;
    if (text(id) == wanted) return id;
  }
  return -1;
}

void Vocabulary::index_texts() {
  size_t capacity = 16;
  while (capacity < kinds.size() * 2) capacity *= 2;
  slots.assign(capacity, 0);
  const size_t mask = capacity - 1;
  int64_t repeated = 0;
  std::string_view example;
  for (int32_t id = 0; id < size(); ++id) {
    const std::string_view own = text(id);
    const uint64_t hash = text_hash(own);
    const uint64_t tag = hash & 0xFFFFFFFF00000000u;
    size_t i = hash & mask;
    for (; slots[i] != 0; i = (i + 1) & mask) {
      if ((slots[i] & 0xFFFFFFFF00000000u) != tag) continue;
      if (text(static_cast<int32_t>(slots[i] & 0xFFFFFFFFu) - 1) == own) {
        ++repeated;
        example = own;
        break;
      }
    }
    slots[i] = tag | (static_cast<uint32_t>(id) + 1u);
  }
  if (repeated > 0) {
    warnings.push_back(fmt::format(
        "{} tokens repeat the text of another one, the last '{}'; text becomes the highest id",
        repeated, example));
  }
}

Result<std::unique_ptr<Vocabulary>> read_vocabulary(const Model& model) {
  const KeyValue* named = key(model, "model");
  const std::optional<std::string_view> kind_name = named ? named->text() : std::nullopt;
  if (!kind_name) {
    return fail(ErrorKind::unsupported, "the file has no vocabulary: tokenizer.ggml.model {}",
                named ? "is no text" : "is missing");
  }
  const TokenizerKind* kind = find_tokenizer_kind(*kind_name);
  if (!kind) {
    return fail(ErrorKind::unsupported, "tokenizer.ggml.model is '{}'; etch knows {}", *kind_name,
                known_tokenizer_kinds());
  }
  auto v = std::make_unique<Vocabulary>();
  v->model = kind->model;
  if (kind->model == "none") {
    ETCH_TRY(read_dummies(model, *v));
    return v;
  }
  ETCH_TRY(read_texts(model, *v));
  ETCH_TRY(read_kinds_and_scores(model, *v));
  v->index_texts();

  v->special = kind->special;
  v->add_space_prefix = kind->add_space_prefix;
  v->clean_spaces = kind->clean_spaces;
  v->add_bos = kind->add_bos, v->add_eos = kind->add_eos, v->add_sep = kind->add_sep;
  v->escape_whitespaces = !kind->uses_pre;
  apply_pre(model, *kind, *v);
  for (int32_t SpecialIds::*member :
       {&SpecialIds::bos, &SpecialIds::eos, &SpecialIds::unknown, &SpecialIds::separator,
        &SpecialIds::padding, &SpecialIds::mask}) {
    if (v->special.*member >= v->size())
      v->special.*member = -1;  // a default outside a small vocabulary
  }
  read_ids(model, *v);
  read_truth(model, "add_bos_token", v->add_bos, *v);
  read_truth(model, "add_eos_token", v->add_eos, *v);
  read_truth(model, "add_sep_token", v->add_sep, *v);
  read_truth(model, "add_space_prefix", v->add_space_prefix, *v);
  if (kind->model == "gemma4") v->add_bos = true;  // files of this kind say otherwise and are wrong
  read_suppressed(model, *v);

  const KeyValue* model_name = model.key("general.name");
  find_special_tokens(*v, model_name ? model_name->text().value_or("") : "", model.architecture());
  for (const auto& [adds, id, what] : {std::tuple{&v->add_bos, v->special.bos, "BOS"},
                                       std::tuple{&v->add_eos, v->special.eos, "EOS"}}) {
    if (!*adds || id >= 0) continue;
    v->warnings.push_back(
        fmt::format("the file asks for a {} token but names none; none is added", what));
    *adds = false;
  }
  return v;
}

}  // namespace etch

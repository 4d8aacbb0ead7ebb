// tokenizer.json: the vocabulary as etch reads it out of the file's keys. Token i is element i.
#include <nlohmann/json.hpp>

#include "study/sidecar_parts.h"

namespace etch {
namespace {

using nlohmann::ordered_json;

ordered_json special_json(const SpecialIds& ids) {
  ordered_json j = ordered_json::object();
  const std::pair<const char*, int32_t> all[] = {
      {"bos", ids.bos},
      {"eos", ids.eos},
      {"eot", ids.eot},
      {"eom", ids.eom},
      {"unknown", ids.unknown},
      {"separator", ids.separator},
      {"padding", ids.padding},
      {"mask", ids.mask},
      {"fim_prefix", ids.fim_prefix},
      {"fim_suffix", ids.fim_suffix},
      {"fim_middle", ids.fim_middle},
      {"fim_pad", ids.fim_pad},
      {"fim_repo", ids.fim_repo},
      {"fim_separator", ids.fim_separator},
  };
  for (const auto& [what, id] : all)
    if (id >= 0) j[what] = id;
  return j;
}

}  // namespace

std::string print_tokenizer_json(const Model& model, const Vocabulary& v) {
  ordered_json j;
  j["schema"] = "etch.tokenizer/1";
  j["model"] = v.model;
  j["pre"] = v.pre;
  j["rules"] = {{"add_bos", v.add_bos},           {"add_eos", v.add_eos},
                {"add_sep", v.add_sep},           {"add_space_prefix", v.add_space_prefix},
                {"clean_spaces", v.clean_spaces}, {"escape_whitespaces", v.escape_whitespaces},
                {"byte_level", v.byte_level}};
  j["special"] = special_json(v.special);
  j["end_of_generation"] = ordered_json::array();
  for (int32_t id = 0; id < v.size(); ++id)
    if (v.is_end_of_generation(id)) j["end_of_generation"].push_back(id);
  j["suppressed"] = v.suppressed;
  j["n_tokens"] = v.size();
  j["tokens"] = ordered_json::array();
  for (int32_t id = 0; id < v.size(); ++id) j["tokens"].push_back(exact_text(v.text(id)));
  j["kinds"] = ordered_json::array();  // as in the file: 1 normal, 2 unknown, 3 control, ...
  for (const TokenKind k : v.kinds) j["kinds"].push_back(static_cast<int>(k));
  j["scores"] = v.scores;
  j["merges"] = ordered_json::array();
  if (const KeyValue* merges = model.key("tokenizer.ggml.merges"))
    merges->each_text([&](int64_t, std::string_view t) { j["merges"].push_back(exact_text(t)); });
  return file_text(j);
}

}  // namespace etch

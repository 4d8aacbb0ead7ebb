// etch tokenize: text to token ids and back.
#include <memory>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cli/input_text.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace etch::cli {
namespace {

struct Flags {
  std::string model, decode;
  TextFlags text;
  bool json = false, no_bos = false, no_special = false, decodes = false;
};

Result<int> decode(const Tokenizer& tokenizer, const Flags& flags) {
  const std::vector<int32_t> ids = ETCH_TRY(parse_ids(flags.decode));
  for (int32_t id : ids) {
    if (id >= tokenizer.n_vocab()) {
      return fail(ErrorKind::usage, "there is no token {}; the vocabulary has {}", id,
                  tokenizer.n_vocab());
    }
  }
  const std::string text = tokenizer.decode(ids, {.special = !flags.no_special});
  if (flags.json) {
    ETCH_TRY(put_json({{"schema", "etch.tokens/1"}, {"token_ids", ids}, {"text", text}}));
  } else {
    ETCH_TRY(put(text));  // byte for byte, so that it can be piped
  }
  return 0;
}

Result<int> encode(const Tokenizer& tokenizer, const Flags& flags, const std::string& text) {
  const std::vector<int32_t> ids = ETCH_TRY(
      tokenizer.encode(text, {.add_special = !flags.no_bos, .parse_special = !flags.no_special}));
  if (flags.json) {
    std::vector<std::string> pieces;
    for (int32_t id : ids) pieces.push_back(tokenizer.token_bytes(id, true));
    ETCH_TRY(put_json({{"schema", "etch.tokens/1"}, {"token_ids", ids}, {"pieces", pieces}}));
    return 0;
  }
  std::vector<std::vector<std::string>> rows;
  for (int32_t id : ids)
    rows.push_back({fmt::format("{}", id), quote(tokenizer.token_bytes(id, true))});
  ETCH_TRY(put(table(rows, "rl")));
  return 0;
}

Result<int> run(const Parser& parser, const Flags& flags) {
  const Model model = ETCH_TRY(read_model(flags.model));
  const auto tokenizer = ETCH_TRY(make_tokenizer(model).context(flags.model));
  for (const std::string& w : tokenizer->warnings()) print_warning(w);
  if (parser.given("--decode")) return decode(*tokenizer, flags);
  auto text = ETCH_TRY(given_text(parser, flags.text));
  if (!text) text = ETCH_TRY(standard_input());
  return encode(*tokenizer, flags, *text);
}

}  // namespace

Action setup_tokenize(Parser& parser) {
  parser.describe("Text to token ids, one a line with its text; or ids back to text.",
                  "  etch tokenize model.gguf -p \"Hello, world\"\n"
                  "  etch tokenize model.gguf -f text.txt --json\n"
                  "  etch tokenize model.gguf --decode 504,2365,282");
  auto flags = std::make_shared<Flags>();
  parser.text("model", flags->model, "FILE", "GGUF file");
  parser.require("model");
  add_text_options(parser, flags->text);
  parser.text("--decode", flags->decode, "IDS", "token ids to turn into text");
  parser.flag("--no-bos", flags->no_bos, "add neither BOS nor EOS");
  parser.flag("--no-special", flags->no_special, "texts of control tokens are plain text");
  parser.flag("--json", flags->json, "as JSON (etch.tokens/1)");
  return [flags, &parser] { return run(parser, *flags); };
}

}  // namespace etch::cli

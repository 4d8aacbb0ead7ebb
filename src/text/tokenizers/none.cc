// none: a model that speaks ids, not text.
#include "text/tokenizers/algorithm.h"

namespace etch {

namespace {

class None : public TokenizerAlgorithm {
 public:
  Status encode(std::string_view, std::vector<int32_t>&) const override {
    return fail(ErrorKind::unsupported,
                "this model has no vocabulary (tokenizer.ggml.model is 'none'): give it token ids");
  }
};

}  // namespace

Result<std::unique_ptr<TokenizerAlgorithm>> make_none(const Model&, const Vocabulary&) {
  return std::make_unique<None>();
}

}  // namespace etch

// A made-up model of one of etch's circuits as a file in a folder: random weights, a vocabulary of
// bytes, a chat template. Whole enough for every verb that runs a model.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "circuit/library.h"
#include "gguf/write_gguf.h"
#include "study/synth_model.h"
#include "support/tiny_gguf.h"

namespace etch::test {

inline std::shared_ptr<const Circuit> embedded_circuit(std::string_view name) {
  auto library = load_library();
  EXPECT_TRUE(library.has_value());
  auto circuit = library->find(name);
  EXPECT_NE(circuit, nullptr) << name;
  return circuit;
}

// Three special tokens and the 256 bytes, as SentencePiece models have them.
inline void set_byte_vocabulary(GgufContents& contents, int64_t n_vocab) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> kinds = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(fmt::format("<0x{:02X}>", byte));
    kinds.push_back(6);
  }
  while (std::ssize(tokens) < n_vocab) {
    tokens.push_back(fmt::format("word{}", tokens.size()));
    kinds.push_back(1);
  }
  contents.set("tokenizer.ggml.model", "llama");
  contents.set("tokenizer.ggml.tokens", tokens);
  contents.set("tokenizer.ggml.token_type", kinds);
  contents.set("tokenizer.ggml.scores", std::vector<float>(tokens.size(), 0.0f));
  contents.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  contents.set("tokenizer.ggml.eos_token_id", uint32_t{2});
  contents.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
  contents.set("tokenizer.chat_template",
               "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}");
}

struct TinyModelOptions {
  SynthOptions synth = {.types = {DType::q4_0, DType::q8_0}, .n_vocab = 262, .n_layers = 2};
  std::string name = "tiny";
};

// Writes it; the path of the file.
inline std::string write_tiny_model(const std::string& path, std::string_view circuit,
                                    const TinyModelOptions& options = {}) {
  auto bytes = synth_gguf(*embedded_circuit(circuit), options.synth);
  EXPECT_TRUE(bytes.has_value()) << (bytes ? "" : bytes.error().message);
  auto file = read_gguf(mapping_of(std::move(*bytes)));
  EXPECT_TRUE(file.has_value());
  GgufContents contents;
  for (const Key& k : file->keys) contents.set(k.name, k.value);
  contents.set("general.name", options.name);
  set_byte_vocabulary(contents, options.synth.n_vocab);
  for (const TensorInfo& t : file->tensors)
    contents.add_tensor(t.name, t.dtype, t.dims, file->data(t));
  const Status written = write_gguf(path, contents);
  EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message);
  return path;
}

}  // namespace etch::test

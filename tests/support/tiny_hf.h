// Tiny random models with the logits of other people's implementation (data/tiny-hf of the
// reference data): one folder each.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/shared_dir.h"

namespace etch::test {

struct TinyHf {
  std::string name, arch, model;  // model: path of the GGUF
  bool gguf_tells_all = false;
  double tolerance = 0;  // of max |difference| / standard deviation of the reference
  std::vector<std::vector<int32_t>> token_ids;
  std::vector<std::vector<int32_t>> encoder_token_ids;  // of encoder-decoders, for each sequence
  std::vector<float> logits;                            // of the first sequence, [tokens, n_vocab]
  std::vector<float> hidden;                            // encoders: [tokens, n_embd]
  std::vector<float> pooled_mean, pooled_cls;
  std::vector<std::vector<int32_t>> argmax;
  std::vector<std::vector<double>> argmax_margin;
  size_t greedy_from = 0;  // which sequence greedy continues
  std::vector<int32_t> greedy_ids;
  std::vector<double> greedy_margin;
};

inline std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::string bytes = read_text(path);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

inline TinyHf read_tiny_hf(const std::filesystem::path& folder) {
  const nlohmann::json json = nlohmann::json::parse(read_text(folder / "expected.json"));
  TinyHf t;
  t.name = folder.filename().string();
  t.model = (folder / "model.gguf").string();
  if (json["arch"].is_string()) t.arch = json["arch"];
  t.gguf_tells_all = json["gguf_tells_all"];
  t.tolerance = json["tolerance"];
  t.token_ids = json["token_ids"];
  if (json.contains("encoder_token_ids")) t.encoder_token_ids = json["encoder_token_ids"];
  if (json.contains("pooled_mean")) t.pooled_mean = json["pooled_mean"].get<std::vector<float>>();
  if (json.contains("pooled_cls")) t.pooled_cls = json["pooled_cls"].get<std::vector<float>>();
  if (json.contains("logits")) {
    t.logits = read_floats(folder / json["logits"].get<std::string>());
    t.argmax = json["argmax"];
    t.argmax_margin = json["argmax_margin"];
  }
  if (json.contains("hidden")) t.hidden = read_floats(folder / json["hidden"].get<std::string>());
  if (json.contains("greedy")) {
    t.greedy_from = json["greedy"]["from"];
    t.greedy_ids = json["greedy"]["ids"].get<std::vector<int32_t>>();
    t.greedy_margin =
        json["greedy"].value("margin", std::vector<double>(t.greedy_ids.size(), HUGE_VAL));
  }
  return t;
}

// Where they are: all of them with the reference data, else the three in the repository.
inline const std::filesystem::path& tiny_hf_dir() {
  static const std::filesystem::path found = [] {
    const auto dir = shared_file("data/tiny-hf");
    return dir ? *dir : std::filesystem::path(ETCH_SOURCE_DIR) / "tests/data/tiny-hf";
  }();
  return found;
}

// In the order of their names.
inline std::vector<std::string> tiny_hf_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(tiny_hf_dir()))
    if (std::filesystem::exists(entry.path() / "model.gguf"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline TinyHf tiny_hf(const std::string& name) { return read_tiny_hf(tiny_hf_dir() / name); }

inline double standard_deviation(const std::vector<float>& x) {
  double sum = 0, squares = 0;
  for (const float v : x) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  const double n = static_cast<double>(x.size()), mean = sum / n;
  return std::sqrt(squares / n - mean * mean);
}

// max |a - b| / standard deviation of the reference b.
template <class Numbers>
double distance(const Numbers& a, const std::vector<float>& b) {
  if (a.size() != b.size()) {
    ADD_FAILURE() << a.size() << " numbers, the reference has " << b.size();
    return HUGE_VAL;
  }
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest / standard_deviation(b);
}

}  // namespace etch::test

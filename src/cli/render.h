// What etch says and how: results on stdout, everything else on stderr; colour on a terminal only.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace etch::cli {

// Writes to stdout at once. Fails when nobody reads any more (with an empty message: that is
// nobody's mistake) or the disk is full.
Status put(std::string_view text);
Status put_json(const nlohmann::ordered_json& json);

bool is_terminal(std::FILE* stream);
bool has_colour(std::FILE* stream);  // a terminal, and NO_COLOR is not set

enum class Colour { none, red, yellow, bold, dim };
std::string coloured(std::string_view text, Colour colour, std::FILE* stream);

// error: the first line
//   further lines as they are
void print_error(const Error& error);
void print_warning(std::string_view message);
void print_note(std::string_view message);

// How far a long piece of work is, on stderr, if that is a terminal and the work takes more than a
// second.
class Progress {
 public:
  Progress(std::string_view what, int64_t total);
  ~Progress();
  void update(int64_t done);

 private:
  std::string what_;
  int64_t total_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// Columns of text, the numbers among them to the right.
std::string table(const std::vector<std::vector<std::string>>& rows,
                  std::string_view alignment);  // "lrr"

std::string human_bytes(int64_t bytes);  // "93.8 MiB"
std::string human_count(int64_t n);      // "134.5 M"

}  // namespace etch::cli

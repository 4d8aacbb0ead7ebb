// Parser: the options of one verb, over CLI11, which stays in parser.cc (it is slow to compile and
// throws).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace etch::cli {

class Parser {
 public:
  explicit Parser(std::string_view verb);
  ~Parser();

  // The words in front of the options in the help: what the verb does, and examples.
  void describe(std::string_view text, std::string_view examples);
  void group(std::string_view name) { group_ = name; }  // heading of the options that follow

  // Values must outlive parse(). `spelling` is "-p,--prompt"; a word without dashes stands by its
  // place.
  void text(const char* spelling, std::string& value, const char* type, std::string_view help);
  // Of several values: given again and again, or in one, between separators (0: none).
  void texts(const char* spelling, std::vector<std::string>& values, const char* type,
             std::string_view help, char separator = 0);
  void number(const char* spelling, int64_t& value, std::string_view help, int64_t least,
              int64_t most = int64_t{1} << 30);
  void numbers(const char* spelling, std::vector<int64_t>& values, std::string_view help,
               int64_t least);  // 1,2,3
  void real(const char* spelling, float& value, std::string_view help);
  void flag(const char* spelling, bool& value, std::string_view help);
  void require(const char* name);

  // ErrorKind::usage, or false where help was asked for.
  Result<bool> parse(int argc, char** argv);
  bool given(const char* name) const;
  std::string help() const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::string group_ = "Options";
};

}  // namespace etch::cli

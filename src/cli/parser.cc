#include "cli/parser.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/utf8.h"

namespace etch::cli {

namespace {

// As CLI::Range, but without a word in the help.
CLI::Validator between(int64_t least, int64_t most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        int64_t value = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = problem == std::errc{} && end == text.data() + text.size();
        if (is_number && least <= value && value <= most) return "";
        return fmt::format("{} is no whole number from {} to {}", quote(text), least, most);
      },
      "");
}

}  // namespace

Parser::Parser(std::string_view verb)
    : app_(std::make_unique<CLI::App>("", "etch " + std::string(verb))) {
  app_->get_formatter()->column_width(28);
  app_->get_formatter()->label("REQUIRED", "");
  app_->get_formatter()->label("POSITIONALS", "Arguments");
}
Parser::~Parser() = default;

void Parser::describe(std::string_view text, std::string_view examples) {
  app_->description(fmt::format("{}\n\nExamples:\n{}\n", text, examples));
}

void Parser::text(const char* spelling, std::string& value, const char* type,
                  std::string_view help) {
  app_->add_option(spelling, value, std::string(help))->type_name(type)->group(group_);
}
void Parser::texts(const char* spelling, std::vector<std::string>& values, const char* type,
                   std::string_view help, char separator) {
  app_->add_option(spelling, values, std::string(help))
      ->type_name(type)
      ->group(group_)
      ->delimiter(separator)
      ->allow_extra_args(false);
}
void Parser::number(const char* spelling, int64_t& value, std::string_view help, int64_t least,
                    int64_t most) {
  app_->add_option(spelling, value, std::string(help))
      ->check(between(least, most))
      ->type_name("N")
      ->group(group_);
}
void Parser::numbers(const char* spelling, std::vector<int64_t>& values, std::string_view help,
                     int64_t least) {
  app_->add_option(spelling, values, std::string(help))
      ->delimiter(',')
      ->check(between(least, int64_t{1} << 30))
      ->type_name("N,...")
      ->group(group_);
}
void Parser::real(const char* spelling, float& value, std::string_view help) {
  app_->add_option(spelling, value, std::string(help))->type_name("X")->group(group_);
}
void Parser::flag(const char* spelling, bool& value, std::string_view help) {
  app_->add_flag(spelling, value, std::string(help))->group(group_);
}
void Parser::require(const char* name) { app_->get_option(name)->required(); }

Result<bool> Parser::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& e) {
    return fail(ErrorKind::usage, "{}\n  `{} --help` lists the options", e.what(),
                app_->get_name());
  }
}

bool Parser::given(const char* name) const { return app_->count(name) > 0; }
std::string Parser::help() const {
  std::string text = app_->help();
  // A page has few lines: what stands by its place needs no heading, and one empty line between
  // groups is enough.
  constexpr std::string_view kHeading = "\n\nPositionals:";
  if (const size_t at = text.find(kHeading); at != text.npos) text.erase(at, kHeading.size());
  for (size_t at; (at = text.find("\n\n\n")) != text.npos;) text.erase(at, 1);
  if (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace etch::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "circuit/ast.h"
#include "circuit/diagnostics.h"
#include "circuit/lex.h"

namespace etch {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::filesystem::path> all_circuits() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(ETCH_SOURCE_DIR "/circuits"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The words of a text without what its layout decides: commas that end a line of `ignore`.
std::vector<std::string> words(const std::string& text) {
  Diagnostics d("", text);
  std::vector<std::string> out;
  bool ignore = false;
  for (const Token& t : lex(text, d)) {
    if (t.starts_line && t.at.column == 1) ignore = t.text == "ignore";
    if (!(ignore && t.text == ",")) out.emplace_back(t.text);
  }
  return out;
}

TEST(Parse, EveryCircuitPrintsBackWordForWord) {
  const auto paths = all_circuits();
  ASSERT_GE(paths.size(), 17u);
  for (const auto& path : paths) {
    const std::string text = read_text(path);
    const auto circuit = parse_circuit(text, "circuits/" + path.filename().string());
    ASSERT_TRUE(circuit.has_value()) << circuit.error().message;
    const std::string printed = print(*circuit);
    EXPECT_EQ(words(text), words(printed)) << path;
    const auto again = parse_circuit(printed, "printed");
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(print(*again), printed) << path;
  }
}

std::string errors_of(const std::string& text) {
  const auto circuit = parse_circuit(text, "x.circuit");
  return circuit.has_value() ? "" : circuit.error().message;
}

TEST(Parse, OperatorsBindAsInTheGrammar) {
  const auto c = parse_circuit(
      "circuit a 1\nmatch true\ndims { x = -a^2 * b + c == d and not e in f or g ? h : i else j }\n"
      "flow(tokens) { y = x }\n",
      "x.circuit");
  ASSERT_TRUE(c.has_value()) << c.error().message;
  const Expr& otherwise = *c->dims[0].value;
  ASSERT_EQ(otherwise.kind, Expr::Kind::otherwise);
  const Expr& conditional = *otherwise.operands[0];
  ASSERT_EQ(conditional.kind, Expr::Kind::conditional);
  const Expr& or_ = *conditional.operands[0];
  ASSERT_EQ(or_.binary, BinaryOp::or_);
  const Expr& and_ = *or_.operands[0];
  ASSERT_EQ(and_.binary, BinaryOp::and_);
  EXPECT_EQ(and_.operands[1]->kind, Expr::Kind::not_);
  const Expr& sum = *and_.operands[0]->operands[0];
  ASSERT_EQ(sum.binary, BinaryOp::add);
  const Expr& negated = *sum.operands[0]->operands[0];
  ASSERT_EQ(negated.kind, Expr::Kind::negate);
  EXPECT_EQ(negated.operands[0]->binary, BinaryOp::pow);
}

TEST(Parse, ALineEndsAStatementUnlessABracketIsOpen) {
  EXPECT_EQ(errors_of("circuit a 1\nmatch true\nflow(tokens) {\n x = a +\n  b\n y = f(a,\n b\n )\n "
                      "z = mix e in r {\n b\n }\n}\n"),
            "");
  EXPECT_EQ(errors_of("circuit a 1\nmatch true\nflow(tokens) {\n x = a b\n}\n"),
            "x.circuit:4:8: error: expected the end of the line here, in an assignment\n x = a b\n "
            "      ^");
  EXPECT_EQ(errors_of("circuit a 1\nmatch true\nflow(tokens) {\n x = a\n + b\n y = c\n}\n"),
            "x.circuit:5:2: error: expected a name here, in a statement\n + b\n ^");
}

TEST(Parse, AllSyntaxErrorsAreReportedTogether) {
  const std::string message = errors_of(
      "circuit a 1\nmatch true\ndims {\n  a = (1 + \n  b = 2 ]\n  softmax = 3\n}\nflow(tokens) {\n "
      " x = f(a b)\n  y = \n  z = 1\n}\n");
  EXPECT_THAT(message,
              testing::HasSubstr("x.circuit:5:5: error: expected ')' here, in parentheses"));
  EXPECT_THAT(message, testing::HasSubstr(
                           "x.circuit:6:3: error: 'softmax' is a symbol and cannot be a name"));
  EXPECT_THAT(
      message,
      testing::HasSubstr("x.circuit:9:11: error: expected ',' or ')' here, in the arguments of f"));
  EXPECT_THAT(message, testing::HasSubstr("x.circuit:10:6: error: expected a value here"));
}

TEST(Parse, HostileDepthAndSizeAreRefused) {
  const std::string head = "circuit a 1\nmatch true\nflow(tokens) {\n x = ";
  EXPECT_THAT(errors_of(head + std::string(100000, '(')), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(errors_of(head + std::string(100000, '[')), testing::HasSubstr("nested too deeply"));
  std::string sum = "a";
  for (int i = 0; i < 10000; ++i) sum += "+a";
  EXPECT_THAT(errors_of(head + sum + "\n}\n"), testing::HasSubstr("nested too deeply"));
  std::string ifs = "circuit a 1\nmatch true\nflow(tokens) {\n";
  for (int i = 0; i < 1000; ++i) ifs += "if a { ";
  EXPECT_THAT(errors_of(ifs), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(errors_of(std::string(2 << 20, ' ')), testing::HasSubstr("the most is"));
}

TEST(Diagnostics, SuggestsTheNearestName) {
  const std::string_view known[] = {"rmsnorm", "layernorm", "rope"};
  EXPECT_EQ(suggestion("rms_norm", known), "; did you mean 'rmsnorm'?");
  EXPECT_EQ(suggestion("attention", known), "");
}

}  // namespace
}  // namespace etch

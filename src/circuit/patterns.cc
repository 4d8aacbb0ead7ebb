#include "circuit/patterns.h"

#include <functional>

#include "circuit/rotary.h"

namespace etch {
namespace {

using Visit = std::function<void(const Expr&)>;

void visit(const Expr* e, const Visit& f) {
  if (e == nullptr) return;
  f(*e);
  for (const ExprPtr& o : e->operands) visit(o.get(), f);
  for (const Argument& a : e->arguments) visit(a.value.get(), f);
}
void visit(const std::vector<ExprPtr>& all, const Visit& f) {
  for (const ExprPtr& e : all) visit(e.get(), f);
}
void visit(const Range& r, const Visit& f) {
  visit(r.first.get(), f);
  visit(r.last.get(), f);
}
void visit(const std::vector<PartItem>& items, const Visit& f) {
  for (const PartItem& i : items) {
    visit(i.part.shape, f);
    visit(i.part.stored, f);
    visit(i.part.otherwise_index.get(), f);
    visit(i.range, f);
    visit(i.condition.get(), f);
    visit(i.items, f);
    visit(i.otherwise, f);
  }
}
void visit(const std::vector<Statement>& statements, const Visit& f) {
  for (const Statement& s : statements) {
    visit(s.value.get(), f);
    visit(s.range, f);
    visit(s.body, f);
    visit(s.otherwise, f);
  }
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  // Greedy, going back to the last star: linear but for stars, and never worse than the product of
  // the lengths.
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void each_expr(const Circuit& c, const std::function<void(const Expr&)>& f) {
  visit(c.match.get(), f);
  for (const DimEntry& d : c.dims) {
    visit(d.value.get(), f);
    visit(d.conditions, f);
  }
  visit(c.parts, f);
  for (const StateEntry& s : c.states) {
    visit(s.range, f);
    visit(s.where.get(), f);
    visit(s.value.get(), f);
  }
  for (const Def& d : c.defs) {
    visit(d.body, f);
    visit(d.results, f);
  }
  for (const Flow& flow : c.flows) visit(flow.body, f);
  for (const Ignore& i : c.ignores) visit(i.range, f);
}

std::vector<std::string> keys_of(const Circuit& circuit) {
  std::vector<std::string> keys;
  each_expr(circuit, [&](const Expr& e) {
    if (e.kind != Expr::Kind::call || e.arguments.size() != 1 ||
        e.arguments[0].value->kind != Expr::Kind::text)
      return;
    const std::string& text = e.arguments[0].value->text;
    if (e.text == "key") keys.push_back(text);
    if (e.text == "keys")
      for (std::string& k : scaling_keys(text)) keys.push_back(std::move(k));
  });
  return keys;
}

}  // namespace etch

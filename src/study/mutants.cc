#include "study/mutants.h"

#include <algorithm>

#include "circuit/check.h"

namespace etch {
namespace {

class Mutants {
 public:
  explicit Mutants(const Circuit& circuit) : c_(circuit) {}

  std::vector<Mutant> run() {
    for (const DimEntry& e : c_.dims) {
      if (e.kind == DimEntry::Kind::dim || e.conditions.size() == 1)
        take_out(e.at, "dims");
      else
        for (size_t i = 0; i < e.conditions.size(); ++i) condition(e, i);
    }
    parts(c_.parts);
    for (const StateEntry& s : c_.states) take_out(s.at, "state");
    for (const Def& d : c_.defs) {
      take_out(d.at, "def");
      statements(d.body, "def " + d.name.text);
    }
    for (const Flow& f : c_.flows)
      statements(f.body, f.name.text.empty() ? "flow" : "flow " + f.name.text);
    swaps();
    std::stable_sort(out_.begin(), out_.end(),
                     [](const Mutant& a, const Mutant& b) { return a.line < b.line; });
    return std::move(out_);
  }

 private:
  std::string source(const Location& at) const {
    return c_.text.substr(static_cast<size_t>(at.begin), static_cast<size_t>(at.end - at.begin));
  }

  // One line for people, whatever was taken out.
  static std::string short_text(std::string s) {
    const size_t end = s.find('\n');
    if (end != std::string::npos) s = s.substr(0, end) + " ...";
    if (s.size() > 90) s = s.substr(0, 87) + "...";
    return s;
  }

  void take_out(const Location& at, const std::string& where) {
    Mutant m{fmt::format("without '{}' ({})", short_text(source(at)), where), at.line, c_.text};
    m.text.erase(static_cast<size_t>(at.begin), static_cast<size_t>(at.end - at.begin));
    out_.push_back(std::move(m));
  }

  // One of several conditions of a require, with its comma.
  void condition(const DimEntry& e, size_t i) {
    const Location& at = e.conditions[i]->at;
    const bool last = i + 1 == e.conditions.size();
    const int begin = last ? e.conditions[i - 1]->at.end : at.begin;
    const int end = last ? at.end : e.conditions[i + 1]->at.begin;
    Mutant m{fmt::format("without 'require {}' (dims)", short_text(source(at))), at.line, c_.text};
    m.text.erase(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    out_.push_back(std::move(m));
  }

  void parts(const std::vector<PartItem>& items) {
    for (const PartItem& i : items) {
      take_out(i.at, "parts");
      parts(i.items);
      parts(i.otherwise);
    }
  }

  void statements(const std::vector<Statement>& body, const std::string& where) {
    for (const Statement& s : body) {
      take_out(s.at, where);
      statements(s.body, where);
      statements(s.otherwise, where);
    }
  }

  void swaps() {
    for (const auto& [a, b] : use_of(c_).alike) {
      const std::string first = source(a), second = source(b);
      if (first == second || a.begin < 0 || b.begin < a.end) continue;
      Mutant m{fmt::format("{} <-> {}", short_text(first), short_text(second)), a.line, {}};
      m.text = c_.text.substr(0, static_cast<size_t>(a.begin)) + second +
               c_.text.substr(static_cast<size_t>(a.end), static_cast<size_t>(b.begin - a.end)) +
               first + c_.text.substr(static_cast<size_t>(b.end));
      out_.push_back(std::move(m));
    }
  }

  const Circuit& c_;
  std::vector<Mutant> out_;
};

}  // namespace

std::vector<Mutant> mutants_of(const Circuit& circuit) { return Mutants(circuit).run(); }

}  // namespace etch

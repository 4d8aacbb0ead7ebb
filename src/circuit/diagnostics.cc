#include "circuit/diagnostics.h"

#include <algorithm>

namespace etch {
namespace {

constexpr std::string_view kSeverities[] = {"note", "warning", "error"};
constexpr int kMostPrinted = 100;  // a hostile text may break a rule in every line

std::string_view line_of(std::string_view text, int byte) {
  const size_t at = std::min(static_cast<size_t>(byte), text.size());
  size_t begin = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = text.find('\n', at);
  if (end == std::string_view::npos) end = text.size();
  std::string_view line = text.substr(begin, end - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// Spaces up to a column, tabs kept so that the caret stands below its letter.
std::string indent_to(std::string_view line, int column) {
  std::string out;
  int at = 1;
  for (const char c : line) {
    if ((c & 0xC0) == 0x80) continue;  // inside a character
    if (at++ >= column) break;
    out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

// Letters to insert, delete, replace or exchange with a neighbour.
int distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

void Diagnostics::add(Severity severity, const Location& at, std::string message) {
  for (const Diagnostic& d : items_)
    if (d.severity == severity && d.at.begin == at.begin && d.message == message) return;
  items_.push_back({severity, at, std::move(message)});
}

int Diagnostics::count(Severity severity) const {
  return static_cast<int>(std::count_if(
      items_.begin(), items_.end(), [&](const Diagnostic& d) { return d.severity == severity; }));
}

bool Diagnostics::has_errors() const { return count(Severity::error) > 0; }

std::string Diagnostics::print(Severity least) const {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& d : items_)
    if (d.severity >= least) sorted.push_back(&d);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::pair(a->at.line, a->at.column) < std::pair(b->at.line, b->at.column);
  });
  std::string out;
  int printed = 0;
  for (const Diagnostic* d : sorted) {
    if (printed++ == kMostPrinted) {
      out += fmt::format("\nand {} more", sorted.size() - kMostPrinted);
      break;
    }
    if (!out.empty()) out += '\n';
    out += fmt::format("{}:{}:{}: {}: {}", file_, d->at.line, d->at.column,
                       kSeverities[static_cast<int>(d->severity)], d->message);
    const std::string_view line = line_of(text_, d->at.begin);
    if (!line.empty() && line.size() < 400)
      out += fmt::format("\n{}\n{}^", line, indent_to(line, d->at.column));
  }
  return out;
}

Status Diagnostics::status(ErrorKind kind) const {
  if (!has_errors()) return {};
  return fail(kind, "{}", print(Severity::error));
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > 100) return "";
  std::string_view best;
  int best_distance = static_cast<int>(word.size()) / 3 + 1;
  for (const std::string_view k : known) {
    if (k == word || k.size() > word.size() + best_distance ||
        k.size() + best_distance < word.size())
      continue;
    const int d = distance(word, k);
    if (d < best_distance) best = k, best_distance = d;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view best = nearest(word, known);
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

}  // namespace etch

// Parts, one declaration and layer after the other; what is missing is told at the end.
#include "circuit/bind_parts.h"

#include <algorithm>

#include "circuit/part_binder.h"

namespace etch {
namespace {

constexpr int64_t kMostLayers = 100000;

}  // namespace

void PartBinder::run() {
  for (const PartDeclaration& d : declarations_) {
    if (d.each == nullptr) {
      if (declared_at(dims_, d, 0).is_true()) place(d, -1);
      continue;
    }
    Polynomial first, last;
    if (!dims_.range(d.each->range, first, last)) return;
    if (last.constant() - first.constant() > kMostLayers) {
      findings_.add(ErrorKind::damaged,
                    fmt::format("{} layers of part '{}'", last.constant() - first.constant(),
                                d.part->name.text));
      return;
    }
    for (int64_t l = first.constant(); l < last.constant(); ++l)
      if (declared_at(dims_, d, l).is_true()) place(d, l);
  }
  for (const Waiting& w : waiting_) settle(w);
  tell_missing();
  std::stable_sort(parts_.begin(), parts_.end(),
                   [](const BoundPart& a, const BoundPart& b) { return a.layer < b.layer; });
}

void PartBinder::place(const PartDeclaration& d, int64_t layer) {
  const std::string& name = d.part->name.text;
  if (!placed_.insert({name, layer}).second) {
    findings_.add(ErrorKind::usage,
                  fmt::format("part '{}' is declared twice for layer {} (line {})", name, layer,
                              d.part->at.line));
    return;
  }
  BoundPart p;
  p.name = name;
  p.layer = static_cast<int>(layer);
  p.role = d.part->role;
  if (!lengths_at(d.part->shape, d, layer, p.data.shape)) return;
  const bool found =
      from_own_tensor(d, layer, p) || from_pack(d, layer, p) || from_each(d, layer, p);
  if (found) {
    if (!broken_) add_bias(d, layer, p);
    if (!broken_) add_scale(p);
    if (!std::exchange(broken_, false)) add(std::move(p));
    return;
  }
  if (d.part->otherwise) {
    waiting_.push_back({&d, layer});
    return;
  }
  if (d.part->optional || group_is_absent(d, layer)) return;
  miss(tensor_names(d, layer)[0], or_instead(d, layer));
}

void PartBinder::add(BoundPart p) {
  placed_parts_[{p.name, p.layer}] = parts_.size();
  parts_.push_back(std::move(p));
}

std::string PartBinder::or_instead(const PartDeclaration& d, int64_t layer) const {
  std::string s;
  const auto add = [&](const std::string& name) { s += (s.empty() ? "" : ", ") + name; };
  const std::vector<std::string> names = tensor_names(d, layer);
  for (size_t i = 1; i < names.size(); ++i) add(names[i]);
  if (d.pack != nullptr) add(pack_name(d, layer));
  if (d.part->or_each) add(with_indices(*d.part->or_each, d.variable(), layer, 0));
  return s;
}

void PartBinder::miss(const std::string& tensor, const std::string& nor) {
  const std::string pattern = starred(tensor);
  for (Missing& m : missing_)
    if (m.pattern == pattern) {
      ++m.count;
      return;
    }
  missing_.push_back({pattern, tensor, nor});
}

void PartBinder::tell_missing() {
  for (const Missing& m : missing_) {
    std::string line = fmt::format("tensor '{}' is missing{}", m.first,
                                   m.nor.empty() ? "" : fmt::format(" (nor {})", m.nor));
    if (m.count > 1)
      line += fmt::format(", and in {} more layer{}", m.count - 1, m.count == 2 ? "" : "s");
    findings_.add(ErrorKind::damaged, std::move(line));
  }
}

void bind_parts(Dims& dims, const Circuit& circuit, const Model& model,
                std::vector<BoundPart>& parts, std::set<std::string_view>& consumed,
                BindFindings& findings) {
  PartBinder(dims, circuit, model, parts, consumed, findings).run();
}

}  // namespace etch

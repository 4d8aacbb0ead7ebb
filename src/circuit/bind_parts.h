// Parts and the tensors of a file: which belongs to which.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "circuit/binding.h"
#include "circuit/dims.h"
#include "circuit/parts.h"

namespace etch {

// What does not fit, in the order it is found; the worst kind is the kind of the whole.
struct BindFindings {
  struct Line {
    ErrorKind kind;
    std::string message;
  };
  std::vector<Line> lines;
  void add(ErrorKind kind, std::string message);
  Status status() const;
};

// rows(part) and has(part), by names alone: a dim may decide whether a part is declared.
class ModelParts final : public PartLookup {
 public:
  ModelParts(const Circuit& circuit, const Model& model);
  bool has(std::string_view part, int64_t layer) override;
  int64_t rows(std::string_view part, int64_t layer) override;

 private:
  const Model& model_;
  std::vector<PartDeclaration> declarations_;
  std::multimap<std::string, const PartDeclaration*, std::less<>> by_name_;
};

// Binds every declared part; what is missing or has another shape or an unreadable type is told,
// all of it. `consumed` gets the tensors that are spoken for.
void bind_parts(Dims& dims, const Circuit& circuit, const Model& model,
                std::vector<BoundPart>& parts, std::set<std::string_view>& consumed,
                BindFindings& findings);

}  // namespace etch

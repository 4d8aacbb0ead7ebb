// The binder behind bind_parts(): each declared part meets its tensor, or rows of one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "circuit/bind_parts.h"
#include "model/shape.h"

namespace etch {

class PartBinder {
 public:
  PartBinder(Dims& dims, const Circuit& circuit, const Model& model, std::vector<BoundPart>& parts,
             std::set<std::string_view>& consumed, BindFindings& findings)
      : dims_(dims),
        circuit_(circuit),
        model_(model),
        parts_(parts),
        consumed_(consumed),
        findings_(findings),
        declarations_(declarations(circuit)) {}

  void run();

 private:
  struct Waiting {  // absent, with something to take instead
    const PartDeclaration* declaration;
    int64_t layer;
  };
  struct Missing {
    std::string pattern, first, nor;
    int64_t count = 1;
  };

  // bind_parts.cc
  void place(const PartDeclaration& d, int64_t layer);
  void add(BoundPart p);
  std::string or_instead(const PartDeclaration& d, int64_t layer) const;
  void miss(const std::string& tensor, const std::string& nor);
  void tell_missing();

  // bind_tensors.cc: true if the part was found there; broken_ if it cannot be used
  bool from_own_tensor(const PartDeclaration& d, int64_t layer, BoundPart& p);
  bool from_pack(const PartDeclaration& d, int64_t layer, BoundPart& p);
  bool from_each(const PartDeclaration& d, int64_t layer, BoundPart& p);
  bool fits(const Weight& w, const PartDeclaration& d, int64_t layer,
            const std::vector<int64_t>& wanted);
  bool readable(const Weight& w);
  void set_offsets(PartData& data, const Weight& w, int64_t skip, int64_t bytes);
  std::vector<const PartDeclaration*> pack_of(const PartDeclaration& d) const;
  bool has_optional(const PartDeclaration& d) const;
  bool rows_of_pack(const PartDeclaration& d, int64_t layer, bool with_optional, int64_t& before,
                    int64_t& all, bool& own);
  bool lengths_at(const std::vector<ExprPtr>& lengths, const PartDeclaration& d, int64_t layer,
                  std::vector<int64_t>& out);
  std::string source_text(const std::vector<ExprPtr>& lengths) const;
  bool broken(ErrorKind kind, std::string message);
  bool wrong_shape(const Weight& w, const std::vector<int64_t>& wanted,
                   const std::string& written = "");

  // bind_beside.cc
  void add_bias(const PartDeclaration& d, int64_t layer, BoundPart& p);
  void add_scale(BoundPart& p);
  bool is_norm(const std::string& part);
  void take(const Weight& w);
  const Weight* beside(const Weight& w, std::string_view ending);
  bool is_named(std::string_view tensor);

  // bind_instead.cc
  bool group_is_absent(const PartDeclaration& d, int64_t layer);
  void settle(const Waiting& w);
  bool layer_of_other(const PartDeclaration& d, const PartDeclaration& other, int64_t& layer);
  void stand_in(const BoundPart& source, const Waiting& w);

  Dims& dims_;
  const Circuit& circuit_;
  const Model& model_;
  std::vector<BoundPart>& parts_;
  std::set<std::string_view>& consumed_;
  BindFindings& findings_;
  std::vector<PartDeclaration> declarations_;
  std::set<std::pair<std::string, int64_t>> placed_;
  std::map<std::pair<std::string, int>, size_t> placed_parts_;
  std::vector<Waiting> waiting_;
  std::vector<Missing> missing_;
  std::set<std::string> named_;
  std::optional<std::set<std::string>> norm_parts_;
  // Rows before the part just found in a pack, and of the whole pack.
  std::pair<int64_t, int64_t> packed_rows_{0, 0};
  bool broken_ = false;  // the part just found does not fit; it was told
};

}  // namespace etch

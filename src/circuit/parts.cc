#include "circuit/parts.h"

namespace etch {
namespace {

void collect(const std::vector<PartItem>& items, PartDeclaration around,
             std::vector<PartDeclaration>& out) {
  for (const PartItem& i : items) {
    PartDeclaration d = around;
    switch (i.kind) {
      case PartItem::Kind::part:
        d.part = &i.part;
        out.push_back(std::move(d));
        break;
      case PartItem::Kind::pack:
        d.pack = &i;
        collect(i.items, std::move(d), out);
        break;
      case PartItem::Kind::branch: {
        PartDeclaration other = d;
        d.guards.push_back({&i, false});
        other.guards.push_back({&i, true});
        collect(i.items, std::move(d), out);
        collect(i.otherwise, std::move(other), out);
        break;
      }
      case PartItem::Kind::each:
        d.guards.push_back({&i, false});
        d.each = &i;
        collect(i.items, std::move(d), out);
        break;
    }
  }
}

void replace_all(std::string& s, std::string_view what, std::string_view with) {
  for (size_t at = s.find(what); at != std::string::npos; at = s.find(what, at + with.size()))
    s.replace(at, what.size(), with);
}

}  // namespace

bool PartDeclaration::may_be_absent() const {
  return part->optional || optional_group() != nullptr;
}

const PartItem* PartDeclaration::optional_group() const {
  for (const Guard& g : guards)
    if (g.item->kind == PartItem::Kind::each && g.item->optional) return g.item;
  return nullptr;
}

std::vector<PartDeclaration> declarations(const Circuit& circuit) {
  std::vector<PartDeclaration> out;
  collect(circuit.parts, {}, out);
  return out;
}

Formula declared_at(Dims& dims, const PartDeclaration& d, const Polynomial& layer) {
  const DimValue l = DimValue::of(layer);
  const Dims::Lookup scope = Dims::only(d.variable(), l);
  Formula all(true);
  for (const PartDeclaration::Guard& g : d.guards) {
    const PartItem& i = *g.item;
    if (i.kind == PartItem::Kind::each) {
      Polynomial first, last;
      if (!dims.range(i.range, first, last, scope)) return false;
      all = all && !less(dims.proof(), layer, first) && less(dims.proof(), layer, last);
      if (all.is_false()) return all;  // a `where` speaks of the layers of its range
    }
    if (i.condition != nullptr) {
      const Formula c = dims.truth(dims.evaluate(*i.condition, scope), i.condition->at);
      all = all && (g.otherwise ? !c : c);
    }
    if (all.is_false()) return all;
  }
  return all;
}

bool shape_at(Dims& dims, const std::vector<ExprPtr>& lengths, std::string_view variable,
              const Polynomial& layer, std::vector<Polynomial>& out) {
  const DimValue l = DimValue::of(layer);
  const Dims::Lookup scope = Dims::only(variable, l);
  out.resize(lengths.size());
  bool ok = true;
  for (size_t i = 0; i < lengths.size(); ++i)
    ok = dims.integer(dims.evaluate(*lengths[i], scope), lengths[i]->at, out[i]) && ok;
  return ok;
}

std::string with_indices(std::string_view name, std::string_view variable, int64_t layer,
                         int64_t element) {
  std::string s(name);
  if (!variable.empty()) replace_all(s, fmt::format("{{{}}}", variable), fmt::format("{}", layer));
  if (element >= 0) replace_all(s, "{e}", fmt::format("{}", element));
  return s;
}

std::string starred(std::string_view name) {
  std::string s;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    const bool number =
        end > i && (i == 0 || name[i - 1] == '.') && (end == name.size() || name[end] == '.');
    if (number) {
      s += '*';
      i = end;
    } else {
      s += name[i++];
    }
  }
  return s;
}

std::vector<std::string> tensor_names(const PartDeclaration& d, int64_t layer) {
  std::vector<std::string> names;
  for (const std::string& as : d.part->as) names.push_back(with_indices(as, d.variable(), layer));
  if (names.empty())
    names.push_back(d.each != nullptr ? fmt::format("blk.{}.{}.weight", layer, d.part->name.text)
                                      : d.part->name.text + ".weight");
  return names;
}

std::string pack_name(const PartDeclaration& d, int64_t layer) {
  if (d.pack == nullptr) return "";
  return d.each != nullptr ? fmt::format("blk.{}.{}.weight", layer, d.pack->name.text)
                           : d.pack->name.text + ".weight";
}

std::string bias_name(std::string_view weight) {
  constexpr std::string_view kEnd = ".weight";
  if (weight.size() > kEnd.size() && weight.substr(weight.size() - kEnd.size()) == kEnd)
    weight.remove_suffix(kEnd.size());
  return std::string(weight) + ".bias";
}

}  // namespace etch

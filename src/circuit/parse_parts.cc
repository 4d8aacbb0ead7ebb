// The sections dims and parts.
#include "circuit/parser.h"

namespace etch {
namespace {

constexpr std::string_view kRoles[] = {"query", "key", "value", "out",
                                       "gate",  "up",  "down",  "keep"};

}  // namespace

void Parser::dims() {
  next();
  section_block("dims", [&] { return dim(); });
}

bool Parser::dim() {
  DimEntry e;
  e.at = peek().at;
  if (take("require")) {
    e.kind = DimEntry::Kind::require;
    do {
      if (!expression(e.conditions.emplace_back())) return false;
    } while (take_here(","));
  } else {
    if (!name(e.name, "dims")) return false;
    if (take_here("(")) {
      e.parameter.emplace();
      if (!name(*e.parameter, "the index of a dim") || !expect(")", "the index of a dim"))
        return false;
    }
    if (!expect("=", fmt::format("the definition of {}", e.name.text))) return false;
    if (!expression(e.value)) return false;
  }
  e.at = since(e.at);
  if (!end_statement("dims")) return false;
  circuit_.dims.push_back(std::move(e));
  return true;
}

bool Parser::range(Range& r) {
  if (!expression(r.first) || !expect("..", "a range")) return false;
  return expression(r.last);
}

void Parser::parts() {
  next();
  section_block("parts", [&] { return part_item(circuit_.parts, false); });
}

bool Parser::part_item(std::vector<PartItem>& items, bool in_pack) {
  PartItem item;
  item.at = peek().at;
  if (!in_pack && take("pack")) {
    item.kind = PartItem::Kind::pack;
    if (!name(item.name, "pack")) return false;
    if (!block("pack", [&] { return part_item(item.items, true); })) return false;
  } else if (!in_pack && take("if")) {
    item.kind = PartItem::Kind::branch;
    if (!expression(item.condition)) return false;
    if (!block("if", [&] { return part_item(item.items, false); })) return false;
    if (take("else")) {
      item.has_else = true;
      if (!block("else", [&] { return part_item(item.otherwise, false); })) return false;
    }
  } else if (!in_pack && take("each")) {
    item.kind = PartItem::Kind::each;
    if (!name(item.name, "each") || !expect("in", "each") || !range(item.range)) return false;
    if (take_here("where") && !expression(item.condition)) return false;
    item.optional = take_here("optional");
    if (!block("each", [&] { return part_item(item.items, false); })) return false;
  } else {
    if (!part(item.part)) return false;
    if (!end_statement(fmt::format("the part {}", item.part.name.text))) return false;
  }
  item.at = since(item.at);
  items.push_back(std::move(item));
  return true;
}

bool Parser::shape(std::vector<ExprPtr>& lengths, std::string_view in) {
  if (!expect("[", in)) return false;
  return comma_list("]", in, [&] { return expression(lengths.emplace_back()); });
}

bool Parser::part(Part& p) {
  p.at = peek().at;
  if (!name(p.name, "parts")) return false;
  const std::string in = fmt::format("the part {}", p.name.text);
  if (!shape(p.shape, fmt::format("the shape of {}", p.name.text))) return false;
  for (;;) {
    if (take_here("bias"))
      p.bias = BiasRule::present;
    else if (take_here("bias?"))
      p.bias = BiasRule::perhaps;
    else if (take_here("optional"))
      p.optional = true;
    else if (take("else")) {
      p.otherwise.emplace();
      if (!name(*p.otherwise, in)) return false;
      if (take_here("[")) {
        ++brackets_;
        const bool ok = expression(p.otherwise_index);
        --brackets_;
        if (!ok || !expect("]", in)) return false;
      }
    } else if (take_here("as")) {
      do {
        if (!text(p.as.emplace_back(), in)) return false;
      } while (take_here(","));
    } else if (take_here("or_each")) {
      if (!text(p.or_each.emplace(), in)) return false;
    } else if (take_here("stored")) {
      if (!shape(p.stored, in)) return false;
    } else if (take_here("role")) {
      const Token& t = next();
      for (const std::string_view r : kRoles)
        if (t.text == r) p.role = r;
      if (p.role.empty())
        return error(t.at, "a role is one of query, key, value, out, gate, up, down, keep");
    } else {
      break;
    }
  }
  p.at = since(p.at);
  return true;
}

}  // namespace etch

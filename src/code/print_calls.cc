#include "code/print_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "lowered/arguments.h"

namespace etch {
namespace {

constexpr std::string_view kRowsOf[] = {"ETCH_ONCE", "ETCH_TOKENS", "ETCH_OUTPUTS"};
constexpr std::string_view kActivations[] = {"ETCH_ACT_NONE", "ETCH_ACT_SILU", "ETCH_ACT_GELU",
                                             "ETCH_ACT_GELU_TANH", "ETCH_ACT_RELU"};
constexpr std::string_view kRopeLayouts[] = {"ETCH_ROPE_PAIRS", "ETCH_ROPE_HALVES"};
constexpr std::string_view kElementwise[] = {
    "ETCH_EW_ADD",      "ETCH_EW_SUB",      "ETCH_EW_MUL",      "ETCH_EW_DIV",
    "ETCH_EW_MOD",      "ETCH_EW_SILU_MUL", "ETCH_EW_GELU_MUL", "ETCH_EW_GELU_TANH_MUL",
    "ETCH_EW_RELU_MUL", "ETCH_EW_SILU",     "ETCH_EW_GELU",     "ETCH_EW_GELU_TANH",
    "ETCH_EW_RELU",     "ETCH_EW_SIGMOID",  "ETCH_EW_TANH",     "ETCH_EW_EXP",
    "ETCH_EW_LN",       "ETCH_EW_SQRT",     "ETCH_EW_FLOOR",    "ETCH_EW_SQUARE",
    "ETCH_EW_SOFTPLUS", "ETCH_EW_CLAMP",    "ETCH_EW_SOFTCAP",  "ETCH_EW_COPY"};
static_assert(std::size(kElementwise) == ETCH_EW_COUNT);

template <size_t n>
std::string enumerator(const std::string_view (&names)[n], int32_t value) {
  return value >= 0 && value < static_cast<int32_t>(n) ? std::string(names[value])
                                                       : fmt::format("{}", value);
}

std::string_view call_macro(Split split) {
  return split == Split::items ? "ETCH_SHARE" : split == Split::one ? "ETCH_ALONE" : "ETCH_REPEAT";
}

std::string_view memory_of(Space s) {
  return s == Space::thread ? "w->own" : s == Space::output ? "w->outputs" : "w->arena";
}
std::string_view memory_name(Space s) { return s == Space::thread ? "own" : name(s); }

// Lengths of calls that come with no weight, by the dims that circuits give them.
struct LengthName {
  std::string_view field;
  std::array<std::string_view, 5> expressions;
};
constexpr LengthName kLengthNames[] = {
    {"n_q", {"n_heads"}},
    {"n_kv", {"n_kv_heads", "n_heads"}},
    {"n", {"n_kv_heads", "n_heads"}},
    {"d_k", {"d_head", "d_k", "d_head_k", "d_qk"}},
    {"d_v", {"d_head", "d_v", "d_head_v"}},
    {"pairs", {"n_rot / 2", "d_rot / 2", "d_rope / 2", "d_head / 2"}},
    {"window", {"window"}},
    {"chunk", {"chunk"}},
    {"n_experts", {"n_experts"}},
    {"n_used", {"n_used", "n_experts_used"}},
    {"top", {"n_used", "n_experts_used"}},
};

std::string base_of(std::string_view buffer) {
  return std::string(buffer.substr(0, buffer.find(" (")));
}

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// "ffn_gate", "ffn_up" -> "ffn_gate_up"
std::string join_parts(const std::string& a, const std::string& b) {
  size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  while (same > 0 && a[same - 1] != '_') --same;
  return a + "_" + b.substr(same);
}

}  // namespace

std::string print_float(float f) {
  if (std::isinf(f)) return f < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  std::string text = fmt::format("{}", f);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

CallPrinter::CallPrinter(const Lowered& lowered, const Folded& folded, const FoldedList& list,
                         const Names& names)
    : lowered_(lowered), folded_(folded), list_(list), names_(names) {}

// ---- names

const CodeOptions::Tensor* CallPrinter::tensor_of(const Call& call) const {
  for (const Arg& arg : call.args) {
    const Place* p = std::get_if<Place>(&arg);
    if (p && p->space == Space::file)
      if (const auto* t = names_.tensor_at(p->offset)) return t;
  }
  return nullptr;
}

// A wire that is only called by the operation that made it ("linear.3") is called by the weights it
// was multiplied by.
void CallPrinter::learn_names(int32_t first, int32_t last) {
  for (int32_t c = first; c < last; ++c) {
    const Call& call = list_.source->calls[static_cast<size_t>(c)];
    const std::string& what = call.origin.what;
    const size_t equals = what.find(" = ");
    if (equals == std::string::npos || call.kernel->args != ArgsKind::matmul) continue;
    const std::string wire = what.substr(0, equals);
    const std::string op = what.substr(equals + 3, what.find('(', equals) - equals - 3);
    if (without_number(wire) != op) continue;
    const auto part = [&](std::string_view field) {
      const Place& p = argument<Place>(call, field);
      const auto* t = p.space == Space::file ? names_.tensor_at(p.offset) : nullptr;
      return t ? identifier(t->part) : std::string();
    };
    const std::string weight = part("weight"), gate = part("gate");
    if (weight.empty()) continue;
    wires_[wire] = gate.empty() ? weight + "_out" : join_parts(gate, weight);
  }
}

std::string CallPrinter::wire(const Buffer& buffer) const {
  const std::string base = base_of(buffer.name);
  const auto known = wires_.find(base);
  std::string called = known != wires_.end() ? known->second : without_number(base);
  const std::string rest = buffer.name.substr(base.size());
  return identifier(called + " " + rest);
}

const std::string& CallPrinter::local(const Place& p) {
  for (const LocalBuffer& b : locals_)
    if (b.place.space == p.space && b.place.offset == p.offset && b.place.buffer == p.buffer)
      return b.name;
  std::string base = "buffer";
  if (p.buffer >= 0) {
    const Buffer& buffer = lowered_.buffers[static_cast<size_t>(p.buffer)];
    base = wire(buffer);
    if (p.offset != buffer.offset) base += fmt::format("_at_{}", p.offset - buffer.offset);
  }
  const auto is_used = [&](const std::string& name) {
    return names_.is_taken(name) || std::any_of(locals_.begin(), locals_.end(),
                                                [&](const auto& b) { return b.name == name; });
  };
  std::string called = base;
  for (int i = 2; is_used(called); ++i) called = fmt::format("{}_{}", base, i);
  locals_.push_back({std::move(called), p});
  return locals_.back().name;
}

std::string CallPrinter::rename(std::string_view what, int32_t layer) const {
  std::string out;
  const std::string own = fmt::format("[{}]", layer);
  for (size_t i = 0; i < what.size();) {
    if (layer >= 0 && what.substr(i).starts_with(own)) {
      out += "[l]";
      i += own.size();
      continue;
    }
    size_t end = i;
    while (end < what.size() && is_word_char(what[end])) ++end;
    if (end == i) {
      out += what[i++];
      continue;
    }
    const std::string word(what.substr(i, end - i));
    const auto known = wires_.find(word);
    const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    const bool is_operation = end < what.size() && what[end] == '(';
    out += is_operation || number  ? word
           : known != wires_.end() ? known->second
                                   : without_number(word);
    i = end;
  }
  return out;
}

std::string CallPrinter::tensor_name(const CodeOptions::Tensor& t,
                                     const LayerFunction* kind) const {
  std::string name = t.name;
  if (kind != nullptr && t.layer >= 0) {
    const std::string number = fmt::format(".{}.", t.layer);
    if (const size_t at = name.find(number); at != std::string::npos)
      name.replace(at, number.size(), ".*.");
  }
  std::string lengths;
  for (const std::string& n : t.lengths) lengths += (lengths.empty() ? "" : ", ") + n;
  return fmt::format("{} {} [{}]", name, t.dtype, lengths);
}

// ---- arguments

std::string CallPrinter::column(const LayerFunction* kind, OpenArg arg) {
  if (kind == nullptr) return "";
  const auto it = kind->columns.find(arg);
  if (it == kind->columns.end()) return "";
  const Column& c = folded_.columns[static_cast<size_t>(it->second)];
  if (c.is_row) {
    used_row_ = true;
    return "l";
  }
  used_table_ = true;
  return "at->" + c.name;
}

std::string CallPrinter::place(const Place& p, const LayerFunction* kind, OpenArg arg) {
  switch (p.space) {
    case Space::file: {
      std::string at = column(kind, arg);
      if (at.empty()) {
        const auto* t = names_.tensor_at(p.offset);
        if (t) globals_.insert(p.offset);
        at = t ? names_.global_name(*t) : fmt::format("{}", p.offset);
      }
      return fmt::format("weight(w, {})", at);
    }
    case Space::constants: {
      const std::string at = column(kind, arg);
      used_constants_ = true;
      return fmt::format("constant(w, {})", at.empty() ? fmt::format("{}", p.offset) : at);
    }
    case Space::none:
    case Space::input:
      return "0";
    default: {
      const std::string at = column(kind, arg);
      return at.empty() ? local(p) : fmt::format("(void*)({} + {})", memory_of(p.space), at);
    }
  }
}

std::string CallPrinter::length(const Call& call, std::string_view field, int64_t value) const {
  std::vector<std::string> candidates;
  const auto* t = tensor_of(call);
  const auto rows_of = [&](std::string_view operand) {
    const Place& p = argument<Place>(call, operand);
    const auto it = row_lengths_.find(p.buffer);
    return it == row_lengths_.end() ? std::string() : it->second;
  };
  const auto from_end = [&](size_t i) {
    if (t && t->lengths.size() > i) candidates.push_back(t->lengths[t->lengths.size() - 1 - i]);
  };
  if (field == "n_out" || field == "n_table") from_end(1);
  if (field == "n_in" || field == "d") from_end(0);
  if (field == "d") {
    if (call.kernel->args == ArgsKind::quantize || call.kernel->args == ArgsKind::norm ||
        call.kernel->args == ArgsKind::gather)
      candidates.push_back(rows_of("x.at"));
    candidates.emplace_back("d_head");
  }
  for (const LengthName& l : kLengthNames)
    if (l.field == field)
      candidates.insert(candidates.end(), l.expressions.begin(), l.expressions.end());
  for (const std::string& c : candidates)
    if (!c.empty())
      if (auto text = names_.expression(c, value)) return *text;

  // Strides of rows of floats: four bytes times a length of this call.
  if (field.find("stride") == std::string_view::npos || value % 4 != 0) return "";
  std::vector<std::string> lengths;
  if (t && call.kernel->args != ArgsKind::attend)  // its tensors are biases, of other lengths
    for (size_t i = 0; i < t->lengths.size(); ++i)
      lengths.push_back(t->lengths[t->lengths.size() - 1 - i]);
  if (field == "y_stride" || field == "residual_stride")
    std::reverse(lengths.begin(), lengths.end());
  const size_t dot = field.find('.');
  if (dot != std::string_view::npos)
    if (std::string own = rows_of(std::string(field.substr(0, dot)) + ".at"); !own.empty())
      lengths.insert(lengths.begin(), own);
  if (call.kernel->args == ArgsKind::attend || call.kernel->args == ArgsKind::append) {
    const bool query = field.starts_with("q.") || field.starts_with("y.");
    for (const std::string_view n : {query ? "n_heads" : "n_kv_heads", "n_heads"})
      lengths.push_back(fmt::format("{} * d_head", n));
    lengths.emplace_back("d_head");
  }
  for (const std::string& l : lengths) {
    const auto text = names_.expression(l, value / 4);
    if (!text) continue;
    const bool sum = text->find_first_of("+-/") != std::string::npos;
    return sum ? fmt::format("4 * ({})", *text) : fmt::format("4 * {}", *text);
  }
  return "";
}

std::string CallPrinter::number(const Call& call, const LayerFunction* kind, OpenArg arg,
                                size_t field) {
  const ArgField& f = info(call.kernel->args).fields[field];
  const Arg& value = call.args[field];
  if (const auto* x = std::get_if<float>(&value)) return *x == 0 ? "" : print_float(*x);
  if (const auto* l = std::get_if<int64_t>(&value)) {
    if (std::string at = column(kind, arg); !at.empty()) return at;
    if (*l == 0) return "";
    const std::string named = length(call, f.name, *l);
    return named.empty() ? fmt::format("{}", *l) : named;
  }
  const int32_t n = std::get<int32_t>(value);
  if (f.name == "state") {
    const std::string at = column(kind, arg);
    return !at.empty() ? at : n == 0 ? "" : fmt::format("{}", n);
  }
  if (f.type == ArgField::Type::rows_of) return enumerator(kRowsOf, n);
  if (call.kernel->args == ArgsKind::elementwise && f.name == "op")
    return enumerator(kElementwise, n);
  if (n == 0) return "";
  if (f.name == "activation") return enumerator(kActivations, n);
  if (f.name == "layout") return enumerator(kRopeLayouts, n);
  const std::string named = length(call, f.name, n);
  return named.empty() ? fmt::format("{}", n) : named;
}

// Declares the matrix fetched ahead; gives its name, "" if there is none.
std::string CallPrinter::ahead(const Call& call, const LayerFunction* kind, int32_t here,
                               std::string& out) {
  const int32_t next = next_of(call);
  if (next < 0) return "";
  const Call& other = list_.source->calls[static_cast<size_t>(next)];
  CallText item = {.name = "ETCH_NEXT", .arguments = {}};
  const auto add = [&](std::string text) { item.arguments.push_back(std::move(text)); };
  const auto* t = tensor_of(call);
  std::string called = "after_" + (t ? identifier(t->part) : std::string("this"));
  for (int i = 2; !declared_.insert(called).second; ++i) {
    const std::string base = "after_" + (t ? identifier(t->part) : std::string("this"));
    called = fmt::format("{}_{}", base, i);
  }
  add(called);
  const auto open = [&](NextField f) {
    return column(kind, {here, static_cast<int32_t>(call.args.size()) + f});
  };
  // A product of the same layer is named as it is where it is called.
  const int32_t there = next - first_;
  const auto& fields = info(other.kernel->args).fields;
  const auto matrix = [&](std::string_view field, NextField f) {
    const Place& p = argument<Place>(other, field);
    if (p.space == Space::none) return;
    std::string at = open(f);
    if (!at.empty()) return add(fmt::format(".{} = weight(w, {})", field, at));
    int32_t i = 0;
    while (fields[static_cast<size_t>(i)].name != field) ++i;
    add(fmt::format(".{} = {}", field, place(p, kind, {there, i})));
  };
  const auto size = [&](std::string_view field, NextField f) {
    std::string text = open(f);
    const auto n = argument<int64_t>(other, field);
    if (text.empty()) text = length(other, field, n);
    add(fmt::format(".{} = {}", field, text.empty() ? fmt::format("{}", n) : text));
  };
  matrix("weight", kNextWeight);
  matrix("gate", kNextGate);
  size("n_out", kNextRows);
  size("row_bytes", kNextRowBytes);
  out += lay_out_call(item, 2, ";");
  return called;
}

void CallPrinter::learn_rows(const Call& call) {
  const auto set = [&](std::string_view operand, std::string text) {
    if (text.empty()) return;
    const Place& p = argument<Place>(call, operand);
    if (p.buffer >= 0) row_lengths_[p.buffer] = std::move(text);
  };
  switch (call.kernel->args) {
    case ArgsKind::matmul:
      set("y", length(call, "n_out", argument<int64_t>(call, "n_out")));
      break;
    case ArgsKind::embed:
    case ArgsKind::norm:
    case ArgsKind::gather:
      set("y.at", length(call, "d", argument<int64_t>(call, "d")));
      break;
    case ArgsKind::attend: {
      const int64_t n = argument<int64_t>(call, "n_q") * argument<int64_t>(call, "d_v");
      if (auto text = names_.expression("n_heads * d_head", n)) set("y.at", *text);
      break;
    }
    default:
      break;
  }
}

// ---- calls

std::string CallPrinter::range(const Access& access) const {
  if (access.state >= 0) {
    const std::string& name = lowered_.states[static_cast<size_t>(access.state)].name;
    return rename(name, list_.source->calls[static_cast<size_t>(first_)].origin.layer);
  }
  const Place& p = access.place;
  if (p.space == Space::file || p.space == Space::constants || p.space == Space::none) return "";
  std::string called = "tokens";
  if (p.buffer >= 0) called = wire(lowered_.buffers[static_cast<size_t>(p.buffer)]);
  return fmt::format("{} ({} {} .. {})", called, memory_name(p.space), p.offset,
                     p.offset + access.bytes);
}

std::string CallPrinter::print_comment(int32_t c, const LayerFunction* kind) const {
  const Call& call = list_.source->calls[static_cast<size_t>(c)];
  const auto node = [&]() -> std::string {
    if (call.origin.node < 0) return "";
    if (kind == nullptr || kind->rows.size() < 2) return fmt::format("n{}  ", call.origin.node);
    // Nodes of neighbouring layers are the same distance apart, unless kinds alternate.
    std::vector<int64_t> nodes;
    for (const Segment& s : list_.segments)
      if (s.kind == list_.segments[0].kind || s.row >= 0)
        if (std::find(kind->rows.begin(), kind->rows.end(), s.row) != kind->rows.end())
          nodes.push_back(
              list_.source->calls[static_cast<size_t>(s.first + c - first_)].origin.node);
    const int64_t step = (nodes[1] - nodes[0]) / (kind->rows[1] - kind->rows[0]);
    const int64_t base = nodes[0] - step * kind->rows[0];
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i] != base + step * kind->rows[i]) return fmt::format("n{}, ...  ", nodes[0]);
    return fmt::format("n{}{}{}l  ", base, step < 0 ? "-" : "+", std::abs(step));
  }();
  std::string first = node + rename(call.origin.what, call.origin.layer);
  if (!call.origin.location.empty()) first += "  " + call.origin.location;
  std::string text = lay_out_comment(first, 2, 2);

  std::string second;
  const auto add = [&](std::string_view separator, std::string what) {
    if (what.empty()) return;
    if (!second.empty()) second += separator;
    second += what;
  };
  for (const Arg& arg : call.args) {
    const Place* p = std::get_if<Place>(&arg);
    const auto* t = p && p->space == Space::file ? names_.tensor_at(p->offset) : nullptr;
    if (t) add(", ", tensor_name(*t, kind));
  }
  std::vector<std::string> reads, writes;
  for (const Access& a : call.reads) reads.push_back(range(a));
  for (const Access& a : call.writes) writes.push_back(range(a));
  const auto join = [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& s : all)
      if (!s.empty()) text += (text.empty() ? "" : ", ") + s;
    return text;
  };
  add("; ", join(reads));
  if (const std::string to = join(writes); !to.empty())
    second += (second.empty() ? "-> " : " -> ") + to;
  return second.empty() ? text : text + lay_out_comment("  " + second, 2, 2);
}

std::string CallPrinter::print_call(int32_t c, const LayerFunction* kind) {
  const Call& call = list_.source->calls[static_cast<size_t>(c)];
  const int32_t here = c - first_;
  std::string before;
  CallText item = {.name = std::string(call_macro(call.split)), .arguments = {}};
  const auto add = [&](std::string text) { item.arguments.push_back(std::move(text)); };
  add("w");
  add(std::string(call.kernel->name));
  const auto& fields = info(call.kernel->args).fields;
  const auto value = [&](size_t i) -> std::string {
    const OpenArg arg = {here, static_cast<int32_t>(i)};
    if (const Place* p = std::get_if<Place>(&call.args[i])) {
      if (p->space == Space::none) return "";
      const std::string text = place(*p, kind, arg);
      // Views are read and written; this one is read.
      const bool constant = p->space == Space::file || p->space == Space::constants;
      return constant && fields[i].name.ends_with(".at") ? "(void*)" + text : text;
    }
    return number(call, kind, arg, i);
  };
  const auto or_zero = [](std::string text) { return text.empty() ? std::string("0") : text; };
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string_view field = fields[i].name;
    if (const size_t dot = field.find('.'); dot != std::string_view::npos) {
      // A view is its address and two strides; rows are what they count and how many of it.
      const std::string_view group = field.substr(0, dot);
      const size_t n = group == "rows" ? 2 : 3;
      const std::string at = value(i);
      if (!at.empty()) {
        std::string all = at;
        for (size_t k = 1; k < n; ++k) all += ", " + or_zero(value(i + k));
        add(fmt::format(".{} = {{{}}}", group, all));
      }
      i += n - 1;
    } else if (const size_t bracket = field.find('['); bracket != std::string_view::npos) {
      std::string all;
      bool empty = true;
      for (size_t k = 0; k < 4; ++k) {
        const std::string text = value(i + k);
        empty = empty && text.empty();
        all += (k == 0 ? "" : ", ") + or_zero(text);
      }
      if (!empty) add(fmt::format(".{} = {{{}}}", field.substr(0, bracket), all));
      i += 3;
    } else if (fields[i].type == ArgField::Type::call) {
      if (const std::string next = ahead(call, kind, here, before); !next.empty())
        add(fmt::format(".{} = &{}", field, next));
    } else if (const std::string text = value(i); !text.empty()) {
      add(fmt::format(".{} = {}", field, text));
    }
  }
  learn_rows(call);
  std::string out = print_comment(c, kind) + before + lay_out_call(item, 2, ";");
  if (call.barrier_after) out += "  etch_meet(w);\n";
  return out;
}

std::string CallPrinter::print(int32_t first, int32_t last, const LayerFunction* kind) {
  first_ = first;
  learn_names(first, last);
  std::string out;
  for (int32_t c = first; c < last; ++c) out += (c > first ? "\n" : "") + print_call(c, kind);
  return out;
}

std::string CallPrinter::take_declarations() {
  std::vector<CommentedLine> lines;
  for (const LocalBuffer& b : locals_) {
    std::string comment = std::string(memory_name(b.place.space));
    if (b.place.buffer >= 0) {
      const Buffer& buffer = lowered_.buffers[static_cast<size_t>(b.place.buffer)];
      comment = std::string(name(buffer.representation));
      const auto grows = [&](int64_t bytes, std::string_view with) {
        if (bytes != 0) comment += fmt::format(", {} bytes {}", bytes, with);
      };
      grows(buffer.size.per_row, "a row");
      grows(buffer.size.per_output, "an output row");
      if (buffer.size.per_row == 0 && buffer.size.per_output == 0)
        comment += fmt::format(", {} bytes", buffer.bytes);
    }
    lines.push_back(
        {fmt::format("void* const {} = {} + {};", b.name, memory_of(b.place.space), b.place.offset),
         comment});
  }
  locals_.clear();
  declared_.clear();
  return lay_out_lines(lines, 2);
}

}  // namespace etch

// report.html: the circuit, the binding, the calls and the memory of a model on one page that needs
// nothing else. Every name on it may come from a stranger's file, so every text is escaped.
#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "base/utf8.h"
#include "circuit/ast.h"
#include "lowered/kinds.h"
#include "study/sidecar_parts.h"

namespace etch {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.5 sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222;"
    "background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "pre,td,th{font:13px/1.4 monospace}pre{overflow-x:auto;background:#f6f6f4;padding:1rem}"
    "table{border-collapse:collapse}td,th{padding:.1rem .8rem .1rem 0;text-align:left;"
    "vertical-align:top}td.n{text-align:right}tr:nth-child(even){background:#f6f6f4}"
    "div.t{overflow-x:auto}summary{cursor:pointer}nav a{margin-right:1rem}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}pre,"
    "tr:nth-child(even){background:#202020}a{color:#8bf}}";

std::string escape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const int length = utf8_length(text.substr(i));
    const auto c = static_cast<unsigned char>(text[i]);
    if (length == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      out += "\uFFFD";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(i, static_cast<size_t>(length));
    }
    i += static_cast<size_t>(std::max(1, length));
  }
  return out;
}

// Rows of texts; the first one is the head. `numbers`: letters l and r, as of tables on a terminal.
class Table {
 public:
  Table(std::string_view alignment, std::initializer_list<std::string_view> head)
      : alignment_(alignment) {
    out_ = "<div class=t><table><tr>";
    for (const std::string_view h : head) out_ += "<th>" + escape(h) + "</th>";
    out_ += "</tr>\n";
  }
  void row(const std::vector<std::string>& cells) {
    out_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i)
      out_ +=
          fmt::format("<td{}>{}</td>", alignment_[i] == 'r' ? " class=n" : "", escape(cells[i]));
    out_ += "</tr>\n";
  }
  std::string end() const { return out_ + "</table></div>\n"; }

 private:
  std::string_view alignment_;
  std::string out_;
};

std::string heading(std::string_view id, std::string_view text) {
  return fmt::format("<h2 id={}>{}</h2>\n", id, text);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string dims_table(const Binding& b) {
  Table t("llr", {"dim", "value and where it comes from", "line"});
  for (const BoundDim& d : b.dims)
    t.row({d.name, d.value + (d.source.empty() ? "" : "  (" + d.source + ")"),
           fmt::format("{}", d.line)});
  return t.end();
}

std::string parts_table(const Binding& b) {
  Table t("llllr", {"part", "tensor", "type", "shape", "offset"});
  for (const BoundPart& p : b.parts)
    t.row({p.layer < 0 ? p.name : fmt::format("{}[{}]", p.name, p.layer), p.tensor,
           std::string(name(p.data.dtype)), shape_text(p.data.shape),
           p.data.offsets.empty() ? "" : with_commas(p.data.offsets[0])});
  return t.end();
}

std::string layers_line(const LayerKind& kind) {
  return fmt::format("layers {}: {} calls, {} barriers each", fmt::join(kind.layers, " "),
                     kind.n_calls, kind.n_barriers);
}

std::string calls_table(const CallList& list) {
  std::string out;
  for (const LayerKind& k : layer_kinds(list)) out += "<p>" + escape(layers_line(k)) + "</p>\n";
  Table t("rlll", {"call", "kernel", "computes", "tensor"});
  for (size_t i = 0; i < list.calls.size(); ++i) {
    const Call& c = list.calls[i];
    t.row({fmt::format("{}", i), std::string(c.kernel->name), c.origin.what, c.origin.tensor});
  }
  return out + t.end();
}

}  // namespace

std::string print_report(const Compiled& compiled) {
  const Binding& b = *compiled.binding;
  const Lowered& l = *compiled.lowered;
  const KeyValue* named = compiled.model->key("general.name");
  const std::string title(named ? named->text().value_or("a model") : "a model");
  std::string out =
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>" +
      escape(title) + "</title>\n<style>" + std::string(kStyle) + "</style></head><body>\n";
  out += fmt::format(
      "<h1>{}</h1>\n<p>architecture {}, circuit {}; {} layers, {} wide, {} tokens</p>\n",
      escape(title), escape(compiled.model->architecture()), escape(b.circuit->file), b.n_layers,
      b.d_model, b.n_vocab);
  out +=
      "<nav><a href=#circuit>circuit</a><a href=#dims>dims</a><a href=#parts>parts</a>"
      "<a href=#memory>memory</a><a href=#decode>decode</a><a href=#prefill>prefill</a></nav>\n";
  out += heading("circuit", "Circuit") + "<pre>" + escape(b.circuit->text) + "</pre>\n";
  out += heading("dims", "Dims") + dims_table(b);
  for (const std::string& w : b.warnings) out += "<p>warning: " + escape(w) + "</p>\n";
  out += heading("parts", "Parts and tensors") + parts_table(b);
  out +=
      heading("memory", "Memory over time") + "<pre>" + escape(print_plan(compiled)) + "</pre>\n";
  out += heading("decode", "Decode") + calls_table(l.decode);
  out += heading("prefill", "Prefill") + calls_table(l.prefill);
  return out + "</body></html>\n";
}

}  // namespace etch

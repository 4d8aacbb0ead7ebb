#include "code/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lowered/arguments.h"

namespace etch {
namespace {

// A tensor, a constant, or which of several rotary tables: the same operation in every layer.
bool is_open(const Place& p, std::string_view field) {
  return p.space == Space::file || p.space == Space::constants ||
         (field == "table" && p.space != Space::none);
}
bool is_open_number(std::string_view field) {
  return field == "state" || field == "window" || field == "chunk";
}
int64_t number_of(const Arg& arg) {
  const auto* l = std::get_if<int64_t>(&arg);
  return l ? *l : std::get<int32_t>(arg);
}

// The calls of a segment with everything left open that a table can hold.
std::string open_text(const CallList& list, const Segment& s) {
  std::string text;
  for (int32_t c = s.first; c < s.last; ++c) {
    const Call& call = list.calls[static_cast<size_t>(c)];
    text += fmt::format("\n{} {} {}", call.kernel->name, static_cast<int>(call.split),
                        call.barrier_after);
    const ArgsInfo& args = info(call.kernel->args);
    for (size_t i = 0; i < call.args.size(); ++i) {
      text += ' ';
      if (const Place* p = std::get_if<Place>(&call.args[i])) {
        text += is_open(*p, args.fields[i].name) ? std::string(name(p->space))
                                                 : fmt::format("{}:{}", name(p->space), p->offset);
      } else if (std::holds_alternative<int64_t>(call.args[i]) ||
                 std::holds_alternative<int32_t>(call.args[i])) {
        text +=
            is_open_number(args.fields[i].name) ? "?" : fmt::format("{}", number_of(call.args[i]));
      } else if (const auto* f = std::get_if<float>(&call.args[i])) {
        text += fmt::format("{}", *f);
      } else {
        // Inside the layer the place of the next product is part of the kind, outside it is open.
        const int32_t next = std::get<CallRef>(call.args[i]).call;
        const bool inside = next >= s.first && next < s.last;
        text += next < 0 ? "-" : inside ? fmt::format("+{}", next - s.first) : "next";
        if (next >= 0 && !inside) {
          const Call& other = list.calls[static_cast<size_t>(next)];
          text += argument<Place>(other, "gate").space == Space::none ? "" : "&";
        }
      }
    }
  }
  return text;
}

class Folder {
 public:
  Folder(const Lowered& lowered, const Names& names) : lowered_(lowered), names_(names) {}

  Result<Folded> run() {
    out_.decode = cut(lowered_.decode, "decode");
    out_.prefill = cut(lowered_.prefill, "prefill");
    for (FoldedList* list : {&out_.decode, &out_.prefill}) {
      std::vector<int32_t> layers;
      for (const Segment& s : list->segments)
        if (s.layer >= 0) layers.push_back(s.layer);
      if (list == &out_.decode) {
        out_.layers = std::move(layers);
      } else if (!list->segments.empty() && layers != out_.layers) {
        return fail(ErrorKind::internal,
                    "decode and prefill go through the layers in different orders");
      }
    }
    for (FoldedList* list : {&out_.decode, &out_.prefill}) find_kinds(*list);
    for (FoldedList* list : {&out_.decode, &out_.prefill})
      for (LayerFunction& kind : list->kinds) open_columns(*list, kind);
    for (FoldedList* list : {&out_.decode, &out_.prefill}) tell_kinds_apart(*list);
    for (Column& c : out_.columns) {
      c.is_row = c.is_number;
      for (size_t r = 0; r < c.values.size(); ++r)
        if (c.set[r] && c.values[r] != static_cast<int64_t>(r)) c.is_row = false;
    }
    return std::move(out_);
  }

 private:
  static FoldedList cut(const CallList& source, std::string name) {
    FoldedList list;
    list.source = &source;
    list.name = std::move(name);
    int32_t row = 0;
    for (int32_t i = 0; i < std::ssize(source.calls); ++i) {
      const int32_t layer = source.calls[static_cast<size_t>(i)].origin.layer;
      if (list.segments.empty() || list.segments.back().layer != layer) {
        list.segments.push_back({.layer = layer, .row = layer < 0 ? -1 : row++, .first = i});
      }
      list.segments.back().last = i + 1;
    }
    list.row_count = row;
    return list;
  }

  static void find_kinds(FoldedList& list) {
    std::vector<std::string> texts;
    for (Segment& s : list.segments) {
      if (s.layer < 0) continue;
      std::string text = open_text(*list.source, s);
      const auto at = std::find(texts.begin(), texts.end(), text);
      s.kind = static_cast<int32_t>(at - texts.begin());
      if (at == texts.end()) {
        texts.push_back(std::move(text));
        list.kinds.push_back({.name = "", .model = s, .rows = {}, .columns = {}});
      }
      list.kinds[static_cast<size_t>(s.kind)].rows.push_back(s.row);
    }
    // The last layer often is a kind of its own: of its rows only those that want outputs go on.
    const bool has_last = list.kinds.size() > 1 && list.kinds.back().rows.size() == 1 &&
                          list.kinds.back().rows[0] == list.row_count - 1;
    const size_t n_others = list.kinds.size() - (has_last ? 1 : 0);
    for (size_t k = 0; k < list.kinds.size(); ++k) {
      LayerFunction& kind = list.kinds[k];
      kind.name = k == n_others ? list.name + "_last_layer"
                  : n_others > 1
                      ? fmt::format("{}_layer_{}", list.name, static_cast<char>('a' + k % 26))
                      : list.name + "_layer";
      if (k >= 26 && k != n_others) kind.name += fmt::format("{}", k / 26);
    }
  }

  const Segment& segment_of(const FoldedList& list, int32_t row) const {
    return *std::find_if(list.segments.begin(), list.segments.end(),
                         [&](const Segment& s) { return s.row == row; });
  }

  // A column for every open number of a kind, and its values.
  void open_columns(const FoldedList& list, LayerFunction& kind) {
    const int32_t n_calls = kind.model.last - kind.model.first;
    for (int32_t c = 0; c < n_calls; ++c) {
      const Call& call = list.source->calls[static_cast<size_t>(kind.model.first + c)];
      const ArgsInfo& args = info(call.kernel->args);
      const auto same = [&](int32_t row) -> const Call& {
        return list.source->calls[static_cast<size_t>(segment_of(list, row).first + c)];
      };
      for (int32_t i = 0; i < std::ssize(call.args); ++i) {
        const auto a = static_cast<size_t>(i);
        if (const Place* p = std::get_if<Place>(&call.args[a]);
            p && is_open(*p, args.fields[a].name)) {
          const CodeOptions::Tensor* t =
              p->space == Space::file ? names_.tensor_at(p->offset) : nullptr;
          open(kind, {c, i}, t ? identifier(t->part) : identifier(args.fields[a].name), false,
               t != nullptr && t->layer >= 0,
               [&](int32_t row) { return std::get<Place>(same(row).args[a]).offset; });
        } else if (is_open_number(args.fields[a].name)) {
          const auto value_of = [&](int32_t row) { return number_of(same(row).args[a]); };
          const int64_t value = number_of(call.args[a]);
          const bool is_state = args.fields[a].name == "state" && touches_state(call);
          std::string called(args.fields[a].name);
          if (is_state) called = lowered_.states.at(static_cast<size_t>(value)).name;
          open(kind, {c, i}, identifier(called.substr(0, called.find('['))), true, is_state,
               value_of);
        }
      }
      const int32_t next = next_of(call);
      if (next < 0 || (next >= kind.model.first && next < kind.model.last)) continue;
      const auto field = [&](int32_t row, NextField f) -> int64_t {
        const Call& other = list.source->calls[static_cast<size_t>(next_of(same(row)))];
        switch (f) {
          case kNextWeight:
            return argument<Place>(other, "weight").offset;
          case kNextGate:
            return argument<Place>(other, "gate").offset;
          case kNextRows:
            return argument<int64_t>(other, "n_out");
          default:
            return argument<int64_t>(other, "row_bytes");
        }
      };
      const std::string_view names[] = {"next", "next_gate", "next_rows", "next_row_bytes"};
      const Call& ahead = list.source->calls[static_cast<size_t>(next)];
      for (int f = 0; f < kNextFields; ++f) {
        if (f == kNextGate && argument<Place>(ahead, "gate").space == Space::none) continue;
        open(kind, {c, static_cast<int32_t>(call.args.size()) + f}, std::string(names[f]),
             f >= kNextRows, f < kNextRows,
             [&](int32_t row) { return field(row, static_cast<NextField>(f)); });
      }
    }
  }

  static bool touches_state(const Call& call) {
    const auto touches = [](const Access& a) { return a.state >= 0; };
    return std::any_of(call.reads.begin(), call.reads.end(), touches) ||
           std::any_of(call.writes.begin(), call.writes.end(), touches);
  }

  // What is the same in all layers of the kind needs no column, unless it belongs to layers anyway.
  template <class ValueOf>
  void open(LayerFunction& kind, OpenArg arg, const std::string& name, bool is_number,
            bool of_layers, ValueOf value_of) {
    std::vector<int64_t> values;
    for (const int32_t row : kind.rows) values.push_back(value_of(row));
    const bool differ =
        std::any_of(values.begin(), values.end(), [&](int64_t v) { return v != values.front(); });
    if (!differ && !of_layers) return;
    for (int attempt = 1;; ++attempt) {
      const std::string called = attempt == 1 ? name : fmt::format("{}_{}", name, attempt);
      if (const auto column = fill(called, is_number, kind.rows, values)) {
        kind.columns[arg] = *column;
        return;
      }
    }
  }

  // Puts values into the column of that name, unless it has others there.
  std::optional<int32_t> fill(const std::string& name, bool is_number,
                              const std::vector<int32_t>& rows,
                              const std::vector<int64_t>& values) {
    auto it = std::find_if(out_.columns.begin(), out_.columns.end(),
                           [&](const Column& c) { return c.name == name; });
    if (it == out_.columns.end()) {
      const size_t n = out_.layers.size();
      it = out_.columns.insert(it, {.name = name,
                                    .is_number = is_number,
                                    .values = std::vector<int64_t>(n),
                                    .set = std::vector<bool>(n)});
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto r = static_cast<size_t>(rows[i]);
      if (it->set[r] && it->values[r] != values[i]) return std::nullopt;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto r = static_cast<size_t>(rows[i]);
      it->set[r] = true;
      it->values[r] = values[i];
    }
    return static_cast<int32_t>(it - out_.columns.begin());
  }

  // Where kinds alternate more often than is told by a few loops, a column says which one a layer
  // is.
  void tell_kinds_apart(FoldedList& list) {
    int32_t runs = 0, before = -1;
    for (const Segment& s : list.segments) {
      if (s.layer >= 0 && s.kind != before) ++runs;
      before = s.kind;
    }
    if (runs <= kMostLoops) return;
    std::vector<int32_t> rows;
    std::vector<int64_t> kinds;
    for (const Segment& s : list.segments) {
      if (s.layer < 0) continue;
      rows.push_back(s.row);
      kinds.push_back(s.kind);
    }
    for (const std::string name : {"kind", "prefill_kind"}) {
      if (const auto column = fill(name, true, rows, kinds)) {
        list.kind_column = *column;
        return;
      }
    }
  }

  const Lowered& lowered_;
  const Names& names_;
  Folded out_;
};

}  // namespace

int32_t next_of(const Call& call) {
  if (call.kernel->args != ArgsKind::matmul) return -1;
  return argument<CallRef>(call, "next").call;
}

Result<Folded> fold(const Lowered& lowered, const Names& names) {
  return Folder(lowered, names).run();
}

}  // namespace etch

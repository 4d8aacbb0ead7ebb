#include "code/print_c.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "code/fold.h"
#include "code/layout.h"
#include "code/names.h"
#include "code/print_calls.h"
#include "lowered/arguments.h"

namespace etch {
namespace {

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  }
  return out + "\"";
}

// Nothing in it ends a comment line or splices it with the next.
std::string for_comment(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += static_cast<unsigned char>(c) < 32 || c == '\\' || c == 127 ? ' ' : c;
  return out;
}

// What a reader meets in every function.
constexpr std::string_view kWords[] = {
    "w               this thread on its way: file, arena, memory of its own, outputs",
    "ETCH_SHARE      a call whose items are shared out among the threads",
    "ETCH_REPEAT     every thread does all of the call, in memory of its own: sooner than meeting",
    "ETCH_ALONE      one thread does all of the call",
    "etch_meet       the threads wait for one another",
    "ETCH_NEXT       the matrix behind this one, whose first rows are fetched meanwhile",
    ".x = {x, 8, 4}  rows of floats: where, bytes to the next row, bytes to the next head in it",
    ".rows = {.., 2} two rows for each of the step's tokens (or of its outputs)",
    "q8_32, q8_256   rows as 8-bit numbers with a scale for every 32 or 256",
    "at              row l of the table `layers`",
};

class Printer {
 public:
  Printer(const Lowered& lowered, const CodeOptions& options)
      : lowered_(lowered), options_(options), names_(options) {}

  Result<std::string> print() {
    folded_ = ETCH_TRY(fold(lowered_, names_));
    std::string functions;
    for (const FoldedList* list : {&folded_.decode, &folded_.prefill})
      if (!list->segments.empty()) functions += print_list(*list);
    std::string out = print_head();
    out += print_kernels();
    out += print_lengths();
    out += print_offsets();
    out += print_layers();
    out += print_access();
    out += functions;
    out += print_states();
    out += print_description();
    out += kInterface;
    return out;
  }

 private:
  std::string print_head() const {
    std::string out;
    const auto say = [&](std::string_view text) { out += lay_out_comment(text, 0); };
    say(for_comment(fmt::format("{}: printed by etch {} from {} and {}.", options_.model,
                                options_.etch_version, options_.file, options_.circuit)));
    say("");
    say("A step runs N rows, each a token of some text, and gives logits for R of them. Steps of "
        "up to " +
        fmt::format(
            "{} rows go through decode(), larger ones through prefill(): the same numbers, ",
            lowered_.decode.max_rows) +
        "by kernels for few rows or for many. Every thread walks through all calls and takes its "
        "share of "
        "each; where one must see what others wrote, they meet.");
    say("");
    say("Above each call stand its node and line of the circuit, the weights, and the memory it "
        "reads and writes. To use the model from a program, see model.h.");
    say("");
    for (const std::string_view line : kWords) say(line);
    out += "#include \"etch/model_abi.h\"\n\n";
    return out;
  }

  std::string print_kernels() const {
    std::set<std::pair<std::string_view, std::string_view>> used;
    for (const CallList* list : {&lowered_.decode, &lowered_.prefill})
      for (const Call& call : list->calls)
        used.emplace(info(call.kernel->args).name, call.kernel->name);
    std::string out = "// The kernels, in versions for every instruction set.\n";
    for (const auto& [args, kernel] : used)
      out += fmt::format("ETCH_KERNEL({}, {});\n", kernel, args);
    return out + "\n";
  }

  std::string print_lengths() const {
    if (names_.dims().empty()) return "";
    std::vector<CommentedLine> lines;
    for (const CodeOptions::Dim& d : names_.dims())
      lines.push_back({fmt::format("{} = {},", d.name, d.value), for_comment(d.source)});
    return "enum {\n" + lay_out_lines(lines, 2) + "};\n\n";
  }

  std::string print_offsets() const {
    std::vector<CommentedLine> lines;
    for (const int64_t offset : globals_) {
      const CodeOptions::Tensor& t = *names_.tensor_at(offset);
      std::string lengths;
      for (const std::string& n : t.lengths) lengths += (lengths.empty() ? "" : ", ") + n;
      lines.push_back({fmt::format("static const int64_t {} = {};", names_.global_name(t), offset),
                       for_comment(fmt::format("{} {} [{}]", t.name, t.dtype, lengths))});
    }
    if (lines.empty()) return "";
    return "// Where tensors begin in the file.\n" + lay_out_lines(lines, 0) + "\n";
  }

  // The columns that are printed: those that are not just the number of their row.
  std::vector<const Column*> printed_columns() const {
    std::vector<const Column*> columns;
    for (const Column& c : folded_.columns)
      if (!c.is_row) columns.push_back(&c);
    return columns;
  }

  std::string print_layers() const {
    const auto columns = printed_columns();
    if (columns.empty()) return "";
    std::string out =
        "// Where the tensors of each layer begin in the file, and what else differs from layer to "
        "layer.\n";
    if (std::any_of(columns.begin(), columns.end(),
                    [](const Column* c) { return c->name == "next"; }))
      out +=
          "// next: the matrix behind the layer's last one, whose first rows are fetched while "
          "that is at work.\n";
    out += "static const struct layer {\n";
    for (const bool number : {false, true}) {
      std::string line = number ? "  int32_t" : "  int64_t";
      const size_t bare = line.size();
      for (const Column* c : columns) {
        if (c->is_number != number) continue;
        if (line.size() + c->name.size() + 2 > kColumns) {
          out += line + "\n";
          line = "     ";
        }
        line += " " + c->name + ",";
      }
      if (line.size() == bare) continue;
      line.back() = ';';
      out += line + "\n";
    }
    out += fmt::format("}} layers[{}] = {{\n    // clang-format off\n", row_count());
    std::vector<const Column*> ordered;
    for (const bool number : {false, true})
      for (const Column* c : columns)
        if (c->is_number == number) ordered.push_back(c);
    std::vector<size_t> widths;
    std::string head = "    //";
    for (const Column* c : ordered) {
      size_t w = c->name.size() + (c == ordered.front() ? 1 : 0);
      for (const int64_t v : c->values) w = std::max(w, fmt::format("{}", v).size());
      widths.push_back(w);
      head += fmt::format("{:>{}}", c->name, ordered.front() == c ? w - 1 : w + 2);
    }
    out += head + "\n";
    for (size_t r = 0; r < folded_.layers.size(); ++r) {
      out += "    {";
      for (size_t i = 0; i < ordered.size(); ++i)
        out += fmt::format("{}{:>{}}", i == 0 ? "" : ", ", ordered[i]->values[r], widths[i]);
      out += "},\n";
    }
    return out + "    // clang-format on\n};\n\n";
  }

  std::string row_count() const {
    const auto n = static_cast<int64_t>(folded_.layers.size());
    return names_.dim("n_layers") == n ? "n_layers" : fmt::format("{}", n);
  }

  std::string print_access() const {
    std::string out =
        "// Weights are read where they lie in the mapping of the file.\n"
        "static const void* weight(const etch_worker* w, int64_t offset) { return w->file + "
        "offset; }\n\n";
    if (!uses_constants_) return out;
    out += print_constants();
    return out +
           "static const void* constant(const etch_worker* w, int64_t offset) { return "
           "w->constants + "
           "offset; }\n\n";
  }

  std::string print_constants() const {
    const size_t words = (lowered_.constants.size() + 3) / 4;
    std::string out =
        "// Constants that were computed when the model was compiled (rotary frequencies, biases), "
        "as bits.\n"
        "// clang-format off\n";
    out +=
        fmt::format("static const uint32_t constants[{}] __attribute__((aligned(64))) = {{", words);
    for (size_t i = 0; i < words; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, lowered_.constants.data() + 4 * i,
                  std::min<size_t>(4, lowered_.constants.size() - 4 * i));
      out += fmt::format("{}0x{:08x},", i % 8 == 0 ? "\n    " : " ", word);
    }
    return out + "\n};\n// clang-format on\n\n";
  }

  std::string print_list(const FoldedList& list) {
    // What stands outside of layers is printed by a printer of its own: its buffers are those of
    // the function around the loops.
    CallPrinter around(lowered_, folded_, list, names_), layers(lowered_, folded_, list, names_);
    std::string functions, body;
    std::vector<bool> is_printed(list.kinds.size()), takes_row(list.kinds.size());
    for (size_t i = 0; i < list.segments.size();) {
      const Segment& s = list.segments[i];
      if (!body.empty()) body += "\n";
      if (s.layer < 0) {
        body += around.print(s.first, s.last, nullptr);
        ++i;
        continue;
      }
      size_t end = i;
      for (; end < list.segments.size() && list.segments[end].layer >= 0; ++end) {
        const auto kind = static_cast<size_t>(list.segments[end].kind);
        if (is_printed[kind]) continue;
        is_printed[kind] = true;
        functions += print_kind(layers, list.kinds[kind], takes_row, kind);
      }
      body += print_loops(list, i, end, takes_row);
      i = end;
    }
    for (const CallPrinter* p : {&around, &layers}) {
      globals_.insert(p->globals().begin(), p->globals().end());
      uses_constants_ = uses_constants_ || p->has_used_constants();
    }
    return functions + fmt::format("static void {}(etch_worker* w) {{\n{}\n{}}}\n\n", list.name,
                                   around.take_declarations(), body);
  }

  std::string print_kind(CallPrinter& calls, const LayerFunction& kind,
                         std::vector<bool>& takes_row, size_t index) const {
    const std::string body = calls.print(kind.model.first, kind.model.last, &kind);
    const std::string declarations = calls.take_declarations();
    const CallPrinter::Uses uses = calls.take_uses();
    takes_row[index] = uses.table || uses.row;
    std::string which;
    if (kind.rows.size() != folded_.layers.size()) {
      // Neighbours as a range.
      for (size_t i = 0; i < kind.rows.size();) {
        size_t last = i;
        while (last + 1 < kind.rows.size() && kind.rows[last + 1] == kind.rows[last] + 1) ++last;
        const auto layer = [&](size_t r) {
          return folded_.layers[static_cast<size_t>(kind.rows[r])];
        };
        which += last - i < 2 ? fmt::format(" {}", layer(i))
                              : fmt::format(" {} to {}", layer(i), layer(last));
        i = last - i < 2 ? i + 1 : last + 1;
      }
      which = lay_out_comment(fmt::format("Layer{}{}.", kind.rows.size() > 1 ? "s" : "", which), 0);
    }
    return fmt::format("{}static void {}(etch_worker* w{}) {{\n{}{}\n{}}}\n\n", which, kind.name,
                       takes_row[index] ? ", int32_t l" : "",
                       uses.table ? "  const struct layer* const at = &layers[l];\n" : "",
                       declarations, body);
  }

  // The layers of segments first .. end - 1: a loop for each run of a kind, or one with a switch.
  std::string print_loops(const FoldedList& list, size_t first, size_t end,
                          const std::vector<bool>& takes_row) const {
    const auto call_of = [&](int32_t kind, std::string_view row) {
      const auto k = static_cast<size_t>(kind);
      return takes_row[k] ? fmt::format("{}(w, {});", list.kinds[k].name, row)
                          : fmt::format("{}(w);", list.kinds[k].name);
    };
    const auto head = [&](int32_t from, int32_t to) {
      const bool all = to == std::ssize(folded_.layers);
      return fmt::format("  for (int32_t l = {}; l < {}; ++l)", from,
                         all ? row_count() : fmt::format("{}", to));
    };
    std::string out;
    int32_t runs = 0;
    std::set<int32_t> kinds;
    for (size_t i = first; i < end; ++i) {
      runs += i == first || list.segments[i].kind != list.segments[i - 1].kind;
      kinds.insert(list.segments[i].kind);
    }
    if (runs > kMostLoops) {
      const Column& column = folded_.columns[static_cast<size_t>(list.kind_column)];
      out = head(list.segments[first].row, list.segments[end - 1].row + 1) +
            fmt::format(" {{\n    switch ({}) {{\n",
                        column.is_row ? "l" : "layers[l]." + column.name);
      for (const int32_t k : kinds)
        out += fmt::format("      case {}:\n        {}\n        break;\n", k, call_of(k, "l"));
      return out + "    }\n  }\n";
    }
    for (size_t i = first; i < end;) {
      size_t last = i;
      while (last + 1 < end && list.segments[last + 1].kind == list.segments[i].kind) ++last;
      const int32_t from = list.segments[i].row, kind = list.segments[i].kind;
      out += last == i ? "  " + call_of(kind, fmt::format("{}", from)) + "\n"
                       : head(from, list.segments[last].row + 1) + " " + call_of(kind, "l") + "\n";
      i = last + 1;
    }
    return out;
  }

  std::string print_states() const {
    if (lowered_.states.empty()) return "";
    std::string out =
        "// What a text keeps between steps: how many states of which kind, bytes of each, "
        "window.\n";
    out += "static const etch_states states[] = {\n    // clang-format off\n";
    const auto text = [](const State& s) {
      const bool cache = s.kind == State::Kind::cache;
      const int64_t bytes = (cache ? s.page_bytes : s.bytes);
      return fmt::format("{}, {}, {}", cache ? "ETCH_CACHE" : "ETCH_MEMORY", bytes, s.window);
    };
    for (size_t i = 0; i < lowered_.states.size();) {
      size_t end = i;
      while (end < lowered_.states.size() && text(lowered_.states[end]) == text(lowered_.states[i]))
        ++end;
      out += fmt::format("    {{{}, {}}},\n", end - i, text(lowered_.states[i]));
      i = end;
    }
    return out + "    // clang-format on\n};\n\n";
  }

  std::string print_description() const {
    const Limits& l = lowered_.limits;
    int64_t n_vocab = 0, logits = -1, n_tokens = 0;
    for (const Output& o : lowered_.outputs) {
      if (o.name != "logits") continue;
      n_vocab = elements(o.shape);
      logits = lowered_.buffers[static_cast<size_t>(o.buffer)].offset;
    }
    for (const Call& call : lowered_.decode.calls)
      if (call.kernel->args == ArgsKind::embed && argument<Place>(call, "ids").space == Space::none)
        n_tokens = argument<int64_t>(call, "n_table");
    std::string out = "static const etch_model description = {\n";
    const auto set = [&](std::string_view field, const auto& value) {
      out += fmt::format("    .{} = {},\n", field, value);
    };
    set("abi", "ETCH_MODEL_ABI_VERSION");
    set("kv", static_cast<int>(l.kv));
    set("etch", quoted(options_.etch_version));
    set("name", quoted(options_.model));
    set("plan", fmt::format("0x{:016x}", plan_hash(lowered_)));
    set("n_ctx", l.n_ctx);
    set("n_rows",
        lowered_.prefill.calls.empty() ? lowered_.decode.max_rows : lowered_.prefill.max_rows);
    set("n_outputs", l.n_outputs);
    set("n_threads", l.n_threads);
    set("n_vocab", n_vocab);
    set("n_tokens", n_tokens);
    set("logits", logits);
    set("arena_bytes", lowered_.arena_bytes);
    set("own_bytes", lowered_.thread_bytes);
    set("output_bytes", lowered_.output_bytes);
    set("constant_bytes", uses_constants_ ? lowered_.constants.size() : 0);
    if (uses_constants_) set("constants", "constants");
    set("file_bytes", options_.file_bytes);
    set("header_bytes", options_.header_bytes);
    set("file_sample", fmt::format("0x{:016x}", options_.file_sample));
    set("n_states", lowered_.states.size());
    set("n_decode_rows", lowered_.decode.max_rows);
    if (!lowered_.states.empty()) set("states", "states");
    set("decode", "decode");
    if (!lowered_.prefill.calls.empty()) set("prefill", "prefill");
    return out + "};\n\n";
  }

  static constexpr std::string_view kInterface = R"(// The functions of model.h.
#define EXPORT __attribute__((visibility("default")))

EXPORT const etch_model* model_description(void) { return &description; }
EXPORT const char* model_error(int32_t status) { return etch_status_text(status); }

EXPORT int64_t model_bytes(int32_t n_threads) { return etch_engine_bytes(&description, n_threads); }
EXPORT int32_t model_open(etch_engine** model, void* memory, const char* path, int32_t n_threads,
                          const char* isa) {
  return etch_engine_open(&description, model, memory, path, n_threads, isa);
}
EXPORT int32_t model_start(etch_engine** model, void* memory, const void* file, int64_t bytes,
                           int32_t n_threads, const char* isa) {
  return etch_engine_start(&description, model, memory, file, bytes, n_threads, isa);
}
EXPORT void model_stop(etch_engine* model) { etch_engine_stop(model); }
EXPORT int32_t model_run(etch_engine* model, const etch_step* step) {
  return etch_engine_run(model, step);
}
EXPORT const float* model_logits(const etch_engine* model) { return etch_engine_logits(model); }

EXPORT int64_t model_text_bytes(int64_t n_positions) {
  return etch_text_bytes(&description, n_positions);
}
EXPORT int32_t model_text_begin(etch_engine* model, etch_text** text, void* memory,
                                int64_t n_positions) {
  return etch_text_begin(model, text, memory, n_positions);
}
EXPORT int32_t model_text_append(etch_engine* model, etch_text* text, const int32_t* tokens,
                                 int32_t n_tokens, const float** logits) {
  return etch_text_append(model, text, tokens, n_tokens, logits);
}
EXPORT int64_t model_text_length(const etch_text* text) { return etch_text_length(text); }
EXPORT int32_t model_text_truncate(etch_text* text, int64_t n_positions) {
  return etch_text_truncate(text, n_positions);
}
)";

  const Lowered& lowered_;
  const CodeOptions& options_;
  Names names_;
  Folded folded_;
  std::set<int64_t> globals_;
  bool uses_constants_ = false;
};

}  // namespace

Result<std::string> print_c(const Lowered& lowered, const CodeOptions& options) {
  if (!lowered.has_tokens || !lowered.inputs.empty() || !lowered.weight_bases.empty()) {
    return fail(ErrorKind::unsupported,
                "this graph takes inputs or weights from memory\n  only models that are whole in a "
                "file are printed as C");
  }
  return Printer(lowered, options).print();
}

}  // namespace etch

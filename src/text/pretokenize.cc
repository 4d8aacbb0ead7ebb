#include "text/pretokenize.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>

#include "base/check.h"

namespace etch {

namespace {

struct SplitRow {
  std::string_view group, pattern;
};

constexpr SplitRow kSplits[] = {
#define ETCH_SPLIT(group, pattern) {group, pattern},
#define ETCH_PRE(...)
#include "text/pretokenizers.def"
#undef ETCH_SPLIT
#undef ETCH_PRE
};

constexpr unsigned ignores_merges = PretokenizerName::ignores_merges;
constexpr unsigned adds_bos = PretokenizerName::adds_bos;
constexpr unsigned adds_sep = PretokenizerName::adds_sep;
constexpr unsigned keeps_spaces = PretokenizerName::keeps_spaces;
constexpr unsigned raw = PretokenizerName::raw;
constexpr unsigned marks_words = PretokenizerName::marks_words;
constexpr unsigned whole_newlines = PretokenizerName::whole_newlines;
constexpr unsigned no_bos = PretokenizerName::no_bos;
constexpr unsigned composes = PretokenizerName::composes;

constexpr PretokenizerName kNames[] = {
#define ETCH_SPLIT(...)
#define ETCH_PRE(name, group, flags) {name, group, flags},
#include "text/pretokenizers.def"
#undef ETCH_SPLIT
#undef ETCH_PRE
};

// The property White_Space. PCRE2's own \s also takes U+180E, which is none since Unicode 6.3.
constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// \s and \S, also inside a class, written out.
std::string expand_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's' && in_class) {
        out += kWhiteSpace;
      } else if (next == 's') {
        out += fmt::format("[{}]", kWhiteSpace);
      } else if (next == 'S' && !in_class) {
        out += fmt::format("[^{}]", kWhiteSpace);
      } else {
        out += c;
        out += next;
      }
      continue;
    }
    if (c == '[' && !in_class) {
      in_class = true;
    } else if (c == ']' && in_class) {
      in_class = false;
    }
    out += c;
  }
  return out;
}

struct CodeFree {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
struct MatchDataFree {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct MatchContextFree {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

constexpr std::string_view kThrees = "@threes ";

}  // namespace

struct Pretokenizer::Step {
  std::string_view pattern;  // as in the table
  bool threes = false;
  bool jit = false;
  std::unique_ptr<pcre2_code, CodeFree> code;
};

namespace {

// Appends the ends of the pieces of text[begin, end).
class Cutter {
 public:
  Cutter(const pcre2_code* code, bool jit, bool threes, std::string_view pattern)
      : code_(code),
        jit_(jit),
        threes_(threes),
        pattern_(pattern),
        match_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    // No pattern of the table looks at a character more than a few times, but a run of millions of
    // spaces is walked back once for `\s*[\r\n]+`; PCRE2's default limit of ten million steps would
    // be an error there.
    pcre2_set_match_limit(context_.get(), UINT32_MAX);
    pcre2_set_heap_limit(context_.get(), 1 << 19);  // KiB, for the interpreter
  }

  Status cut(std::string_view text, uint32_t begin, uint32_t end, std::vector<uint32_t>& ends) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + begin);
    const size_t size = end - begin;
    size_t at = 0, piece = 0;  // where to search from; where the piece that is still open begins
    while (at < size) {
      const int found = match(subject, size, at);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) return failed(found);
      const size_t* range = pcre2_get_ovector_pointer(match_.get());
      const size_t first = range[0], last = range[1];
      if (last == first) {  // no pattern of the table matches nothing; a step over one character
                            // keeps this finite
        at = first + 1;
        while (at < size && (subject[at] & 0xC0) == 0x80) ++at;
        continue;
      }
      if (first > piece) ends.push_back(static_cast<uint32_t>(begin + first));
      if (threes_) cut_threes(subject, begin, first, last, ends);
      ends.push_back(static_cast<uint32_t>(begin + last));
      at = piece = last;
    }
    if (piece < size) ends.push_back(end);
    return {};
  }

 private:
  int match(PCRE2_SPTR subject, size_t size, size_t at) {
    if (jit_) {
      const int found = pcre2_jit_match(code_, subject, size, at, PCRE2_NO_UTF_CHECK, match_.get(),
                                        context_.get());
      if (found != PCRE2_ERROR_JIT_STACKLIMIT) return found;
    }
    // The interpreter keeps its backtracking on the heap.
    return pcre2_match(code_, subject, size, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match_.get(),
                       context_.get());
  }

  // 1234567 -> 1 234 567; the end of the last group is the caller's.
  static void cut_threes(PCRE2_SPTR subject, uint32_t begin, size_t first, size_t last,
                         std::vector<uint32_t>& ends) {
    int64_t characters = 0;
    for (size_t i = first; i < last; ++i) characters += (subject[i] & 0xC0) != 0x80;
    int64_t before = 0;
    for (size_t i = first; i < last; ++i) {
      if ((subject[i] & 0xC0) == 0x80) continue;
      if (i > first && (characters - before) % 3 == 0)
        ends.push_back(static_cast<uint32_t>(begin + i));
      ++before;
    }
  }

  Status failed(int code) const {
    char why[128];
    pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(why), sizeof(why));
    return fail(ErrorKind::resources, "splitting the text into words with '{}' failed: {}",
                pattern_, why);
  }

  const pcre2_code* code_;
  bool jit_, threes_;
  std::string_view pattern_;
  std::unique_ptr<pcre2_match_data, MatchDataFree> match_;
  std::unique_ptr<pcre2_match_context, MatchContextFree> context_;
};

}  // namespace

Pretokenizer::Pretokenizer() = default;
Pretokenizer::~Pretokenizer() = default;

const PretokenizerName* find_pretokenizer(std::string_view name) {
  for (const PretokenizerName& row : kNames) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Result<std::unique_ptr<Pretokenizer>> make_pretokenizer(std::string_view group) {
  std::unique_ptr<Pretokenizer> made(new Pretokenizer());
  for (const SplitRow& row : kSplits) {
    if (row.group != group) continue;
    Pretokenizer::Step step;
    step.pattern = row.pattern;
    step.threes = row.pattern.starts_with(kThrees);
    const std::string pattern =
        expand_white_space(step.threes ? row.pattern.substr(kThrees.size()) : row.pattern);
    int error = 0;
    size_t offset = 0;
    step.code.reset(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE, &error,
                      &offset, nullptr));
    ETCH_CHECK(step.code != nullptr, "pattern '{}' of group '{}' does not compile: error {} at {}",
               pattern, group, error, offset);
    step.jit = pcre2_jit_compile(step.code.get(), PCRE2_JIT_COMPLETE) ==
               0;  // absent on some machines: slower
    made->steps_.push_back(std::move(step));
  }
  ETCH_CHECK(!made->steps_.empty(), "no split group '{}'", group);
  return made;
}

Status Pretokenizer::split(std::string_view text, std::vector<uint32_t>& ends) const {
  ends.clear();
  if (text.empty()) return {};
  ends.push_back(static_cast<uint32_t>(text.size()));
  std::vector<uint32_t> cut;
  for (const Step& step : steps_) {
    Cutter cutter(step.code.get(), step.jit, step.threes, step.pattern);
    cut.clear();
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
      ETCH_TRY(cutter.cut(text, begin, end, cut));
      begin = end;
    }
    ends.swap(cut);
  }
  return {};
}

}  // namespace etch

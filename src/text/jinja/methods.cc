// Methods of texts, lists and dicts.
#include <algorithm>
#include <charconv>

#include "text/jinja/functions.h"
#include "text/jinja/print.h"
#include "text/jinja/text_functions.h"
#include "text/utf8.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

namespace {

Result<Value> strip_method(Interpreter& in, const Value& v, const Call& call, bool left,
                           bool right) {
  const std::string chars = ETCH_TRY(text_argument(in, call, 0, ""));
  return in.make_text(strip(v.marked(), is_given(call, 0) ? &chars : nullptr, left, right));
}

Result<Value> split_method(Interpreter& in, const Value& v, const Call& call, bool from_right) {
  const std::string separator = ETCH_TRY(text_argument(in, call, 0, ""));
  const int64_t most = ETCH_TRY(integer_argument(in, call, 1, -1));
  const bool given = is_given(call, 0);
  if (given && separator.empty()) return in.fail(Kind::runtime, "empty separator");
  ETCH_TRY(in.step(static_cast<int64_t>(v.str().size()) / 16 + 1));
  std::vector<Value> parts;
  for (MarkedText& part : split(v.marked(), given ? &separator : nullptr, most, from_right)) {
    parts.push_back(ETCH_TRY(in.make_text(std::move(part))));
  }
  return in.make_list(std::move(parts));
}

// startswith and endswith take one text or a tuple of them.
Result<Value> has_end(Interpreter& in, const Value& v, const Call& call,
                      bool (*has)(std::string_view, std::string_view)) {
  if (!call.has(0)) return in.type_error("a text is missing");
  if (call[0].is(Type::undefined)) return in.undefined_error(call[0]);
  if (call[0].is(Type::text)) return Value::boolean(has(v.str(), call[0].str()));
  if (!call[0].is(Type::tuple)) {
    return in.type_error("first arg must be str or a tuple of str, not {}",
                         python_name(call[0].type()));
  }
  for (const Value& end : call[0].items()) {
    if (!end.is(Type::text))
      return in.type_error("tuple must only contain str, not {}", python_name(end.type()));
    if (has(v.str(), end.str())) return Value::boolean(true);
  }
  return Value::boolean(false);
}

int64_t character_index(const std::string& text, size_t byte) {
  return byte == std::string::npos ? -1 : count_characters(std::string_view(text).substr(0, byte));
}

Result<Value> partition(Interpreter& in, const Value& v, const Call& call, bool from_right) {
  const std::string separator = ETCH_TRY(text_argument(in, call, 0, ""));
  if (separator.empty()) return in.fail(Kind::runtime, "empty separator");
  const MarkedText& text = v.marked();
  const size_t found = from_right ? text.text.rfind(separator) : text.text.find(separator);
  const int64_t size = static_cast<int64_t>(text.text.size());
  std::vector<Value> parts;
  if (found == std::string::npos) {
    parts = {v, Value::text(""), Value::text("")};
    if (from_right) std::swap(parts[0], parts[2]);
  } else {
    const int64_t at = static_cast<int64_t>(found),
                  end = at + static_cast<int64_t>(separator.size());
    parts = {Value::text(text.slice(0, at)), Value::text(text.slice(at, end)),
             Value::text(text.slice(end, size))};
  }
  return in.make_list(std::move(parts), Type::tuple);
}

}  // namespace

Result<Value> method_strip(Interpreter& in, const Value& v, Call& call) {
  return strip_method(in, v, call, true, true);
}
Result<Value> method_lstrip(Interpreter& in, const Value& v, Call& call) {
  return strip_method(in, v, call, true, false);
}
Result<Value> method_rstrip(Interpreter& in, const Value& v, Call& call) {
  return strip_method(in, v, call, false, true);
}
Result<Value> method_split(Interpreter& in, const Value& v, Call& call) {
  return split_method(in, v, call, false);
}
Result<Value> method_rsplit(Interpreter& in, const Value& v, Call& call) {
  return split_method(in, v, call, true);
}
Result<Value> method_partition(Interpreter& in, const Value& v, Call& call) {
  return partition(in, v, call, false);
}
Result<Value> method_rpartition(Interpreter& in, const Value& v, Call& call) {
  return partition(in, v, call, true);
}

Result<Value> method_splitlines(Interpreter& in, const Value& v, Call& call) {
  std::vector<Value> lines;
  for (MarkedText& line : split_lines(v.marked(), truth_argument(call, 0, false))) {
    lines.push_back(ETCH_TRY(in.make_text(std::move(line))));
  }
  return in.make_list(std::move(lines));
}

Result<Value> method_startswith(Interpreter& in, const Value& v, Call& call) {
  return has_end(in, v, call,
                 [](std::string_view text, std::string_view end) { return text.starts_with(end); });
}
Result<Value> method_endswith(Interpreter& in, const Value& v, Call& call) {
  return has_end(in, v, call,
                 [](std::string_view text, std::string_view end) { return text.ends_with(end); });
}

Result<Value> method_removeprefix(Interpreter& in, const Value& v, Call& call) {
  const std::string prefix = ETCH_TRY(text_argument(in, call, 0, ""));
  const int64_t size = static_cast<int64_t>(v.str().size());
  return v.str().starts_with(prefix)
             ? in.make_text(v.marked().slice(static_cast<int64_t>(prefix.size()), size))
             : v;
}
Result<Value> method_removesuffix(Interpreter& in, const Value& v, Call& call) {
  const std::string suffix = ETCH_TRY(text_argument(in, call, 0, ""));
  const int64_t kept =
      static_cast<int64_t>(v.str().size() - std::min(suffix.size(), v.str().size()));
  return v.str().ends_with(suffix) ? in.make_text(v.marked().slice(0, kept)) : v;
}

Result<Value> method_replace(Interpreter& in, const Value& v, Call& call) {
  for (size_t i = 0; i < 2; ++i) {
    if (call.has(i) && call[i].is(Type::undefined)) return in.undefined_error(call[i]);
    if (!call.has(i) || !call[i].is(Type::text)) {
      return in.type_error("replace() argument {} must be str, not {}", i + 1,
                           python_name(call[i].type()));
    }
  }
  return in.apply_filter(
      "replace", v,
      Arguments{call.has(2) ? call.values : std::vector<Value>{call[0], call[1]}, {}});
}

Result<Value> method_upper(Interpreter& in, const Value& v, Call&) {
  return in.make_text(rewritten(v.marked(), upper(v.str())));
}
Result<Value> method_lower(Interpreter& in, const Value& v, Call&) {
  return in.make_text(rewritten(v.marked(), lower(v.str())));
}
Result<Value> method_title(Interpreter& in, const Value& v, Call&) {
  return in.make_text(rewritten(v.marked(), title_method(v.str())));
}
Result<Value> method_capitalize(Interpreter& in, const Value& v, Call&) {
  return in.make_text(rewritten(v.marked(), capitalize(v.str())));
}

Result<Value> method_zfill(Interpreter& in, const Value& v, Call& call) {
  const int64_t width = std::min<int64_t>(ETCH_TRY(integer_argument(in, call, 0, 0)), 4096);
  const int64_t pad = std::max<int64_t>(width - count_characters(v.str()), 0);
  const int64_t sign = v.str().starts_with('-') || v.str().starts_with('+') ? 1 : 0;
  MarkedText out = v.marked().slice(0, sign);
  out.append(std::string(static_cast<size_t>(pad), '0'), false);
  out.append(v.marked().slice(sign, static_cast<int64_t>(v.str().size())));
  return in.make_text(std::move(out));
}

Result<Value> method_find(Interpreter& in, const Value& v, Call& call) {
  return Value::integer(
      character_index(v.str(), v.str().find(ETCH_TRY(text_argument(in, call, 0, "")))));
}
Result<Value> method_rfind(Interpreter& in, const Value& v, Call& call) {
  return Value::integer(
      character_index(v.str(), v.str().rfind(ETCH_TRY(text_argument(in, call, 0, "")))));
}
Result<Value> method_index(Interpreter& in, const Value& v, Call& call) {
  const size_t found = v.str().find(ETCH_TRY(text_argument(in, call, 0, "")));
  if (found == std::string::npos) return in.fail(Kind::runtime, "substring not found");
  return Value::integer(character_index(v.str(), found));
}
Result<Value> method_count(Interpreter& in, const Value& v, Call& call) {
  const std::string wanted = ETCH_TRY(text_argument(in, call, 0, ""));
  if (wanted.empty()) return Value::integer(count_characters(v.str()) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = v.str().find(wanted, at)) != std::string::npos; at += wanted.size())
    ++count;
  return Value::integer(count);
}

Result<Value> method_join(Interpreter& in, const Value& v, Call& call) {
  if (!call.has(0)) return in.type_error("join() takes exactly one argument (0 given)");
  MarkedText out;
  bool first = true;
  for (const Value& item : ETCH_TRY(in.iterate(call[0]))) {
    if (!item.is(Type::text))
      return in.type_error("sequence item: expected str instance, {} found",
                           python_name(item.type()));
    if (!first) out.append(v.marked());
    first = false;
    out.append(item.marked());
    if (static_cast<int64_t>(out.text.size()) > in.options().limits.bytes) break;
  }
  return in.make_text(std::move(out));
}

// '{} {0} {name} {{'.format(...): fields without conversions or formats.
Result<Value> method_format(Interpreter& in, const Value& v, Call& call) {
  const MarkedText& pattern = v.marked();
  const std::string& p = pattern.text;
  MarkedText out;
  size_t automatic = 0;
  for (size_t at = 0; at < p.size();) {
    const size_t brace = std::min(p.find_first_of("{}", at), p.size());
    out.append(pattern.slice(static_cast<int64_t>(at), static_cast<int64_t>(brace)));
    if (brace == p.size()) break;
    if (brace + 1 < p.size() && p[brace + 1] == p[brace]) {
      out.append(pattern.slice(static_cast<int64_t>(brace), static_cast<int64_t>(brace) + 1));
      at = brace + 2;
      continue;
    }
    const size_t end = p.find('}', brace);
    if (p[brace] == '}' || end == std::string::npos)
      return in.fail(Kind::runtime, "single '{}' in format string", p[brace]);
    const std::string field = p.substr(brace + 1, end - brace - 1);
    if (field.find_first_of("!:.[") != std::string::npos) {
      return in.fail(Kind::runtime, "format(): the field '{}' is not supported", field);
    }
    at = end + 1;
    const Value* value = nullptr;
    size_t index = automatic;
    const bool number =
        field.empty() ||
        (field.size() < 6 && field.find_first_not_of("0123456789") == std::string::npos);
    if (!field.empty() && number) index = static_cast<size_t>(std::stoi(field));
    if (field.empty()) ++automatic;
    if (number) {
      if (index < call.rest.positional.size()) value = &call.rest.positional[index];
    } else {
      for (const auto& [name, given] : call.rest.named) {
        if (name == field) value = &given;
      }
    }
    if (!value) return in.fail(Kind::runtime, "format(): no argument for '{{{}}}'", field);
    out.append(print_str(*value));
    if (static_cast<int64_t>(out.text.size()) > in.options().limits.bytes) break;
  }
  return in.make_text(std::move(out));
}

Result<Value> method_items(Interpreter& in, const Value& v, Call&) {
  std::vector<Value> pairs;
  for (const auto& [key, item] : v.as_dict().entries)
    pairs.push_back(Value::list({key, item}, Type::tuple));
  return in.make_list(std::move(pairs), Type::view);
}
Result<Value> method_keys(Interpreter& in, const Value& v, Call&) {
  return in.make_list(ETCH_TRY(in.iterate(v)), Type::view);
}
Result<Value> method_values(Interpreter& in, const Value& v, Call&) {
  std::vector<Value> values;
  for (const auto& [key, item] : v.as_dict().entries) values.push_back(item);
  return in.make_list(std::move(values), Type::view);
}
Result<Value> method_get(Interpreter& in, const Value& v, Call& call) {
  if (!call.has(0)) return in.type_error("get expected at least 1 argument, got 0");
  if (const Value* found = v.as_dict().find(call[0])) return *found;
  return call.has(1) ? call[1] : Value::none();
}
Result<Value> method_copy(Interpreter&, const Value& v, Call&) { return v; }

Result<Value> method_list_count(Interpreter& in, const Value& v, Call& call) {
  if (!call.has(0)) return in.type_error("count() takes exactly one argument (0 given)");
  return Value::integer(std::count_if(v.items().begin(), v.items().end(),
                                      [&](const Value& i) { return i.equals(call[0]); }));
}
Result<Value> method_list_index(Interpreter& in, const Value& v, Call& call) {
  if (!call.has(0)) return in.type_error("index expected at least 1 argument, got 0");
  for (size_t i = 0; i < v.items().size(); ++i) {
    if (v.items()[i].equals(call[0])) return Value::integer(static_cast<int64_t>(i));
  }
  return in.fail(Kind::runtime, "{} is not in list", print_repr(call[0]).text);
}

}  // namespace etch::jinja

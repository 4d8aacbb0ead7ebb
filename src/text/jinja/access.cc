// What values are made of: attributes, items, slices, and what a loop sees.
#include <algorithm>

#include "text/jinja/interpreter.h"
#include "text/jinja/print.h"
#include "text/utf8.h"

namespace etch::jinja {

using Kind = TemplateProblem::Kind;

namespace {

// Python's rule for a[start:stop:step] on n items: the places taken, in order.
std::vector<int64_t> slice_places(int64_t n, const Value& start, const Value& stop, int64_t step) {
  const auto bound = [&](const Value& v, int64_t missing) {
    if (v.is(Type::none)) return missing;
    int64_t i = v.as_integer();
    if (i < 0) i = i < -n ? -1 : i + n;
    return step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
  };
  std::vector<int64_t> places;
  if (step > 0) {
    const int64_t last = bound(stop, n);
    for (int64_t i = bound(start, 0); i<last; i = step> n ? last : i + step) places.push_back(i);
  } else {
    const int64_t last = bound(stop, -1);
    for (int64_t i = bound(start, n - 1); i > last; i = step < -n ? last : i + step)
      places.push_back(i);
  }
  return places;
}

}  // namespace

// The method first, then the key: so `d.items` is the method even if there is a key of that name.
Result<Value> Interpreter::attribute(const Value& base, std::string_view name) {
  if (base.is(Type::undefined)) return undefined_error(base);
  const auto missing = [&] {
    return Value::undefined(
        fmt::format("'{} object' has no attribute '{}'", python_name(base.type()), name));
  };
  if (base.is(Type::callable)) {
    Value value = base.as_callable().attribute(*this, name);
    return value.is(Type::undefined) && value.weak().expired() ? missing() : value;
  }
  if (base.is(Type::space)) {
    const Value* found = base.as_space().find(name);
    return found ? *found : missing();
  }
  if (const Native* method = find_method(base.type(), name)) {
    return Value::callable(std::make_shared<NativeCallable>(*method, base));
  }
  if (is_mutating_method(base.type(), name)) {
    return fail(Kind::sandbox,
                "access to attribute '{}' of '{}' object is unsafe: values cannot be changed", name,
                python_name(base.type()));
  }
  if (base.is(Type::dict)) {
    if (const Value* found = base.as_dict().find(name)) return *found;
  }
  return missing();
}

Result<Value> Interpreter::item(const Value& base, const Value& key) {
  if (base.is(Type::undefined)) return undefined_error(base);
  if (base.is(Type::dict)) {
    if (const Value* found = base.as_dict().find(key)) return *found;
  } else if ((base.is_sequence() || base.is(Type::text)) && key.is_integral()) {
    const int64_t n = base.is(Type::text) ? -1 : static_cast<int64_t>(base.items().size());
    int64_t i = key.as_integer();
    if (n >= 0) {
      if (i < 0) i += n;
      if (i >= 0 && i < n) return base.items()[static_cast<size_t>(i)];
    } else {
      const Value stop = i == -1 ? Value::none() : Value::integer(i + 1);
      const Value one = ETCH_TRY(slice(base, key, stop, Value::none()));
      if (!one.str().empty()) return one;
    }
  }
  if (key.is(Type::text)) {
    // Not there as a key: methods can be had so too.
    if (!base.is(Type::dict) || find_method(base.type(), key.str()))
      return attribute(base, key.str());
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", key.str()));
  }
  return Value::undefined(
      fmt::format("{} object has no element {}", python_name(base.type()), print_repr(key).text));
}

Result<Value> Interpreter::slice(const Value& base, const Value& start, const Value& stop,
                                 const Value& step_value) {
  if (base.is(Type::undefined)) return undefined_error(base);
  for (const Value* v : {&start, &stop, &step_value}) {
    if (v->is(Type::undefined)) return undefined_error(*v);
    if (!v->is(Type::none) && !v->is_integral()) {
      return type_error("slice indices must be integers or None, not {}", python_name(v->type()));
    }
  }
  const int64_t by = step_value.is(Type::none) ? 1 : step_value.as_integer();
  if (by == 0) return fail(Kind::runtime, "slice step cannot be zero");
  if (base.is_sequence()) {
    const auto& items = base.items();
    std::vector<Value> taken;
    for (const int64_t i : slice_places(static_cast<int64_t>(items.size()), start, stop, by)) {
      taken.push_back(items[static_cast<size_t>(i)]);
    }
    ETCH_TRY(step(static_cast<int64_t>(taken.size())));
    return make_list(std::move(taken), base.type());
  }
  if (!base.is(Type::text))
    return type_error("'{}' object is not subscriptable", python_name(base.type()));
  const MarkedText& text = base.marked();
  std::vector<int64_t> starts;  // of each character, and the end
  for (size_t at = 0; at < text.text.size(); at += decode_utf8(text.text, at).bytes)
    starts.push_back(static_cast<int64_t>(at));
  const int64_t n = static_cast<int64_t>(starts.size());
  starts.push_back(static_cast<int64_t>(text.text.size()));
  ETCH_TRY(step(n / 16 + 1));
  const std::vector<int64_t> places = slice_places(n, start, stop, by);
  if (by == 1) {
    return make_text(places.empty()
                         ? MarkedText()
                         : text.slice(starts[places.front()], starts[places.back() + 1]));
  }
  MarkedText taken;
  for (const int64_t i : places) taken.append(text.slice(starts[i], starts[i + 1]));
  return make_text(std::move(taken));
}

Result<std::vector<Value>> Interpreter::iterate(const Value& value) {
  if (value.is(Type::lazy)) return value.take_items();
  if (value.holds_items()) {
    ETCH_TRY(charge(static_cast<int64_t>(value.items().size() * sizeof(Value))));
    return value.items();
  }
  std::vector<Value> items;
  if (value.is(Type::undefined)) return items;
  if (value.is(Type::dict)) {
    for (const auto& [key, item] : value.as_dict().entries) items.push_back(key);
    return items;
  }
  if (value.is(Type::text)) {
    const MarkedText& text = value.marked();
    ETCH_TRY(step(static_cast<int64_t>(text.text.size())));
    for (size_t at = 0; at < text.text.size();) {
      const int32_t bytes = decode_utf8(text.text, at).bytes;
      items.push_back(ETCH_TRY(
          make_text(text.slice(static_cast<int64_t>(at), static_cast<int64_t>(at) + bytes))));
      at += bytes;
    }
    return items;
  }
  return type_error("'{}' object is not iterable", python_name(value.type()));
}

}  // namespace etch::jinja

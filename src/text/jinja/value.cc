#include "text/jinja/value.h"

#include <algorithm>

#include "text/jinja/callable.h"

namespace etch::jinja {

namespace {

// A double and an integer are equal as numbers, not after rounding one to the other's type.
bool numbers_equal(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_integer() == b.as_integer();
  const double x = a.as_real(), y = b.as_real();
  if (x != y) return false;
  if (a.is(Type::real) && b.is(Type::real)) return true;
  const int64_t i = a.is(Type::real) ? b.as_integer() : a.as_integer();
  return x < 9223372036854775808.0 && x >= -9223372036854775808.0 && static_cast<int64_t>(x) == i;
}

bool items_equal(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [](const Value& x, const Value& y) { return x.equals(y); });
}

bool dicts_equal(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other && entry.second.equals(*other);
  });
}

}  // namespace

std::string_view python_name(Type type) {
  switch (type) {
    case Type::absent:
    case Type::undefined:
      return "Undefined";
    case Type::none:
      return "NoneType";
    case Type::boolean:
      return "bool";
    case Type::integer:
      return "int";
    case Type::real:
      return "float";
    case Type::text:
      return "str";
    case Type::list:
      return "list";
    case Type::tuple:
      return "tuple";
    case Type::dict:
      return "dict";
    case Type::lazy:
      return "generator";
    case Type::view:
      return "dict_items";
    case Type::range:
      return "range";
    case Type::space:
      return "Namespace";
    case Type::callable:
      return "function";
  }
  return "object";
}

const Value* Dict::find(std::string_view key) const {
  const auto found = texts.find(std::string(key));
  return found == texts.end() ? nullptr : &entries[found->second].second;
}

const Value* Dict::find(const Value& key) const {
  if (key.is(Type::text)) return find(key.str());
  for (const auto& [own, value] : entries) {
    if (!own.is(Type::text) && own.equals(key)) return &value;
  }
  return nullptr;
}

void Dict::set(const Value& key, Value value) {
  depth = std::max(depth, value.depth() + 1);
  if (const Value* found = find(key)) {
    const_cast<Value&>(*found) = std::move(value);
    return;
  }
  if (key.is(Type::text)) texts.emplace(key.str(), entries.size());
  entries.emplace_back(key, std::move(value));
}

Value Value::absent() {
  Value v;
  v.type_ = Type::absent;
  return v;
}

Value Value::undefined(std::string why) {
  Value v;
  v.object_ = std::make_shared<std::string>(std::move(why));
  return v;
}

Value Value::none() {
  Value v;
  v.type_ = Type::none;
  return v;
}

Value Value::boolean(bool b) {
  Value v;
  v.type_ = Type::boolean;
  v.boolean_ = b;
  return v;
}

Value Value::integer(int64_t i) {
  Value v;
  v.type_ = Type::integer;
  v.integer_ = i;
  return v;
}

Value Value::real(double d) {
  Value v;
  v.type_ = Type::real;
  v.real_ = d;
  return v;
}

Value Value::text(MarkedText text) {
  Value v;
  v.type_ = Type::text;
  v.object_ = std::make_shared<MarkedText>(std::move(text));
  return v;
}

Value Value::escaped(MarkedText text) {
  Value v = Value::text(std::move(text));
  v.boolean_ = true;
  return v;
}

Value Value::text(std::string_view own) {
  MarkedText t;
  t.text = own;
  return text(std::move(t));
}

Value Value::list(std::vector<Value> items, Type type) {
  auto list = std::make_shared<List>();
  for (const Value& item : items) list->depth = std::max(list->depth, item.depth() + 1);
  list->items = std::move(items);
  Value v;
  v.type_ = type;
  v.object_ = std::move(list);
  return v;
}

Value Value::dict(Dict dict) {
  Value v;
  v.type_ = Type::dict;
  v.object_ = std::make_shared<Dict>(std::move(dict));
  return v;
}

Value Value::space(Dict attributes) {
  Value v = dict(std::move(attributes));
  v.type_ = Type::space;
  return v;
}

Value Value::callable(std::shared_ptr<Callable> callable) {
  Value v;
  v.type_ = Type::callable;
  v.object_ = std::move(callable);
  return v;
}

Callable& Value::as_callable() const { return *static_cast<Callable*>(object_.get()); }
std::shared_ptr<Callable> Value::shared_callable() const {
  return std::static_pointer_cast<Callable>(object_);
}

const std::string& Value::why() const {
  static const std::string kNothing = "the value is undefined";
  return object_ ? *static_cast<const std::string*>(object_.get()) : kNothing;
}

std::vector<Value> Value::take_items() const {
  return std::exchange(static_cast<List*>(object_.get())->items, {});
}

bool Value::truth() const {
  switch (type_) {
    case Type::absent:
    case Type::undefined:
    case Type::none:
      return false;
    case Type::boolean:
      return boolean_;
    case Type::integer:
      return integer_ != 0;
    case Type::real:
      return real_ != 0;
    case Type::text:
      return !str().empty();
    case Type::list:
    case Type::tuple:
    case Type::view:
    case Type::range:
      return !items().empty();
    case Type::dict:
      return !as_dict().entries.empty();
    case Type::lazy:
    case Type::space:
    case Type::callable:
      return true;
  }
  return false;
}

bool Value::equals(const Value& other) const {
  if (is_number() && other.is_number()) return numbers_equal(*this, other);
  if (type_ != other.type_) return false;
  switch (type_) {
    case Type::absent:
    case Type::undefined:
    case Type::none:
      return true;
    case Type::text:
      return str() == other.str();
    case Type::list:
    case Type::tuple:
    case Type::range:
      return items_equal(items(), other.items());
    case Type::dict:
      return dicts_equal(as_dict(), other.as_dict());
    default:
      return object_ == other.object_;
  }
}

int32_t Value::depth() const {
  if (holds_items()) return static_cast<const List*>(object_.get())->depth;
  return type_ == Type::dict ? as_dict().depth : 0;
}

}  // namespace etch::jinja

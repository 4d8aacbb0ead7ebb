// Value: what an expression of a template evaluates to. The types are Python's, as far as templates
// can see them.
//
// Values are cheap to copy: numbers lie in them, everything else is shared. Texts, lists, tuples
// and dicts never change once made (the sandbox forbids it); only a namespace does. So values form
// no cycle but through namespaces, which the interpreter empties at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/marked_text.h"

namespace etch::jinja {

enum class Type : uint8_t {
  absent,     // an argument that was not given; no template ever sees it
  undefined,  // a variable, attribute or item that is not there
  none,
  boolean,
  integer,
  real,
  text,
  list,
  tuple,
  dict,
  lazy,      // what map, select and their like give: runs through once, has no length and no items
  view,      // dict.items(), .keys(), .values(): runs through any number of times, has no items
  range,     // range(): an unchangeable list with another name
  space,     // namespace(): attributes that templates may set
  callable,  // macro, method, function, loop, ...
};
std::string_view python_name(Type type);  // "str", "NoneType", ...

class Value;
class Callable;

struct List {
  std::vector<Value> items;
  int32_t depth = 1;  // of nesting: 1 + that of the deepest item
};

// In the order of insertion, as Python keeps it.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<std::string, size_t> texts;  // keys that are texts -> place in entries
  int32_t depth = 1;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(const Value& key, Value value);
};

class Value {
 public:
  Value() = default;  // undefined, of no name
  static Value absent();
  static Value undefined(std::string why);  // "'x' is undefined"
  static Value none();
  static Value boolean(bool b);
  static Value integer(int64_t i);
  static Value real(double d);
  static Value text(MarkedText text);
  static Value text(std::string_view own);  // the template's own
  static Value list(std::vector<Value> items,
                    Type type = Type::list);  // also tuple, lazy, view, range
  static Value dict(Dict dict);
  static Value space(Dict attributes);
  static Value callable(std::shared_ptr<Callable> callable);

  Type type() const { return type_; }
  bool is(Type type) const { return type_ == type; }
  bool is_number() const {
    return type_ == Type::integer || type_ == Type::real || type_ == Type::boolean;
  }
  bool is_integral() const { return type_ == Type::integer || type_ == Type::boolean; }
  bool is_sequence() const {
    return type_ == Type::list || type_ == Type::tuple || type_ == Type::range;
  }
  bool holds_items() const { return is_sequence() || type_ == Type::lazy || type_ == Type::view; }

  int64_t as_integer() const { return type_ == Type::boolean ? boolean_ : integer_; }
  double as_real() const { return type_ == Type::real ? real_ : static_cast<double>(as_integer()); }
  bool as_boolean() const { return boolean_; }
  bool is_escaped() const {
    return type_ == Type::text && boolean_;
  }  // came out of the filters safe or escape
  static Value escaped(MarkedText text);
  const MarkedText& marked() const { return *static_cast<const MarkedText*>(object_.get()); }
  const std::string& str() const { return marked().text; }
  const std::vector<Value>& items() const { return static_cast<const List*>(object_.get())->items; }
  const Dict& as_dict() const {
    return *static_cast<const Dict*>(object_.get());
  }  // of a dict or a namespace
  Dict& as_space() const { return *static_cast<Dict*>(object_.get()); }
  Callable& as_callable() const;
  const std::string& why() const;  // of an undefined
  std::shared_ptr<Callable> shared_callable() const;
  std::weak_ptr<void> weak() const { return object_; }
  // The items of a lazy value, which is empty from then on.
  std::vector<Value> take_items() const;
  const void* identity() const { return object_.get(); }

  bool truth() const;
  bool equals(const Value& other) const;
  int32_t depth() const;  // of nesting, 0 for what holds nothing

 private:
  Type type_ = Type::undefined;
  union {
    bool boolean_;
    int64_t integer_ = 0;
    double real_;
  };
  std::shared_ptr<void> object_;
};

}  // namespace etch::jinja

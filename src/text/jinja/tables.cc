// The tables of filters, tests, methods and global functions.
#include "text/jinja/interpreter.h"

namespace etch::jinja {

#define ETCH_FILTER(name, parameters, function) \
  Result<Value> function(Interpreter&, const Value&, Call&);
#include "text/jinja/filters.def"
#undef ETCH_FILTER
#define ETCH_TEST(name, parameters, function) \
  Result<Value> function(Interpreter&, const Value&, Call&);
#include "text/jinja/tests.def"
#undef ETCH_TEST
#define ETCH_METHOD(type, name, parameters, function) \
  Result<Value> function(Interpreter&, const Value&, Call&);
#define ETCH_MUTATES(type, name)
#include "text/jinja/methods.def"
#undef ETCH_METHOD
#undef ETCH_MUTATES
#define ETCH_GLOBAL(name, parameters, function) \
  Result<Value> function(Interpreter&, const Value&, Call&);
#include "text/jinja/globals.def"
#undef ETCH_GLOBAL

namespace {

constexpr Native kFilters[] = {
#define ETCH_FILTER(name, parameters, function) {name, parameters, function},
#include "text/jinja/filters.def"
#undef ETCH_FILTER
};

constexpr Native kTests[] = {
#define ETCH_TEST(name, parameters, function) {name, parameters, function},
#include "text/jinja/tests.def"
#undef ETCH_TEST
};

constexpr Native kGlobals[] = {
#define ETCH_GLOBAL(name, parameters, function) {name, parameters, function},
#include "text/jinja/globals.def"
#undef ETCH_GLOBAL
};

struct Method {
  Type type;
  Native native;
};

constexpr Method kMethods[] = {
#define ETCH_METHOD(type, name, parameters, function) {Type::type, {name, parameters, function}},
#define ETCH_MUTATES(type, name)
#include "text/jinja/methods.def"
#undef ETCH_METHOD
#undef ETCH_MUTATES
};

struct Mutating {
  Type type;
  std::string_view name;
};

constexpr Mutating kMutating[] = {
#define ETCH_METHOD(type, name, parameters, function)
#define ETCH_MUTATES(type, name) {Type::type, name},
#include "text/jinja/methods.def"
#undef ETCH_METHOD
#undef ETCH_MUTATES
};

template <size_t n>
const Native* find(const Native (&table)[n], std::string_view name) {
  for (const Native& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

const Native* find_filter(std::string_view name) { return find(kFilters, name); }
const Native* find_test(std::string_view name) { return find(kTests, name); }
const Native* find_global(std::string_view name) { return find(kGlobals, name); }

const Native* find_method(Type type, std::string_view name) {
  for (const Method& row : kMethods) {
    if (row.type == type && row.native.name == name) return &row.native;
  }
  return nullptr;
}

bool is_mutating_method(Type type, std::string_view name) {
  for (const Mutating& row : kMutating) {
    if (row.type == type && row.name == name) return true;
  }
  return false;
}

}  // namespace etch::jinja

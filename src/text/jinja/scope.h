// Guards of an interpretation: what they change is put back when they are left, however that
// happens.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "text/jinja/interpreter.h"

namespace etch::jinja {

struct Nesting {
  explicit Nesting(int64_t& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  int64_t& depth_;
};

struct ScopeGuard {
  ScopeGuard(std::shared_ptr<Scope>& scope, std::shared_ptr<Scope> inner)
      : scope_(scope), before_(std::exchange(scope, std::move(inner))) {}
  ~ScopeGuard() { scope_ = std::move(before_); }
  std::shared_ptr<Scope>& scope_;
  std::shared_ptr<Scope> before_;
};

inline std::shared_ptr<Scope> inner_scope(const std::shared_ptr<Scope>& outer) {
  auto scope = std::make_shared<Scope>();
  scope->outer = outer;
  return scope;
}

}  // namespace etch::jinja

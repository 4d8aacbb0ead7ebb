#include "circuit/rotary.h"

#include <algorithm>
#include <cmath>

namespace etch {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr std::string_view kKnown[] = {"type",
                                       "factor",
                                       "original_context_length",
                                       "attn_factor",
                                       "yarn_ext_factor",
                                       "yarn_attn_factor",
                                       "yarn_beta_fast",
                                       "yarn_beta_slow",
                                       "yarn_log_multiplier",
                                       "finetuned",
                                       "alpha"};

// The keys of one scaling family.
struct Scaling {
  const Model& model;
  std::string prefix;

  Result<double> number(std::string_view name, double otherwise) const {
    const std::string key = fmt::format("{}.{}", prefix, name);
    const KeyValue* v = model.arch_key(key);
    if (v == nullptr) return otherwise;
    const auto x = v->real();
    if (!x || !std::isfinite(*x))
      return fail(ErrorKind::damaged, "key '{}.{}' is {}, a number is needed", model.architecture(),
                  key, v->print());
    return *x;
  }
};

// Both ends of the ramp between pairs that turn often enough to be kept and those that are
// stretched.
double turns_pair(double turns, double d, double base, double original_context) {
  return d * std::log(original_context / (2 * kPi * turns)) / (2 * std::log(base));
}

Status yarn(const RotarySpec& spec, const Scaling& keys, double s, double a,
            double original_context, std::vector<double>& f, double& m) {
  const double d = static_cast<double>(spec.dims.constant());
  const double e = ETCH_TRY(keys.number("yarn_ext_factor", 1));
  const double attn = ETCH_TRY(keys.number("yarn_attn_factor", 1));
  const double fast = ETCH_TRY(keys.number("yarn_beta_fast", 32));
  const double slow = ETCH_TRY(keys.number("yarn_beta_slow", 1));
  const double u = ETCH_TRY(keys.number("yarn_log_multiplier", 0));
  double lo = turns_pair(fast, d, spec.base, original_context),
         hi = turns_pair(slow, d, spec.base, original_context);
  if (spec.truncate) {
    lo = std::floor(lo);
    hi = std::ceil(hi);
  }
  lo = std::max(0.0, lo);
  hi = std::min(d - 1, hi);
  for (size_t i = 0; i < f.size(); ++i) {
    const double w =
        e * (1 - std::clamp((static_cast<double>(i) - lo) / std::max(0.001, hi - lo), 0.0, 1.0));
    f[i] *= (1 - w) / s + w;
  }
  m = u != 0 ? a * (1 + 0.1 * std::log(s)) / (1 + 0.1 * u * std::log(s))
             : a * attn * (1 + 0.1 * std::log(s));
  return {};
}

}  // namespace

std::vector<std::string> scaling_keys(const std::string& family) {
  std::vector<std::string> keys;
  for (const std::string_view k : kKnown) keys.push_back(fmt::format("{}.{}", family, k));
  const size_t dot = family.rfind('.');
  keys.push_back((dot == std::string::npos ? "" : family.substr(0, dot + 1)) + "scale_linear");
  return keys;
}

Result<Rotary> make_rotary(const RotarySpec& spec, const Model& model, const RotaryFactors& factors,
                           int64_t n_ctx) {
  Rotary r;
  r.name = spec.name;
  r.layout = spec.layout;
  r.dims = spec.dims.constant();
  const double d = static_cast<double>(r.dims);
  std::vector<double> f(static_cast<size_t>(r.dims / 2));
  for (size_t i = 0; i < f.size(); ++i)
    f[i] = std::pow(spec.base, -2.0 * static_cast<double>(i) / d);
  const auto divide = [&](const std::vector<float>& by) -> Status {
    if (by.size() != f.size())
      return fail(ErrorKind::damaged, "rotary '{}' turns {} pairs and has {} factors", spec.name,
                  f.size(), by.size());
    for (size_t i = 0; i < f.size(); ++i) {
      if (!(by[i] > 0))
        return fail(ErrorKind::damaged, "rotary '{}': factor {} is {}", spec.name, i, by[i]);
      f[i] /= static_cast<double>(by[i]);
    }
    return {};
  };
  if (!factors.all.empty()) ETCH_TRY(divide(factors.all));
  double m = 1;
  if (!spec.scaling.empty()) {
    const Scaling keys{model, spec.scaling};
    const bool has_pair = !factors.short_context.empty() && !factors.long_context.empty();
    std::string type = has_pair ? "longrope" : "linear";
    if (const KeyValue* v = model.arch_key(spec.scaling + ".type")) {
      const auto text = v->text();
      if (!text)
        return fail(ErrorKind::damaged, "key '{}.{}.type' is no text", model.architecture(),
                    spec.scaling);
      type = *text;
    }
    const KeyValue* context = model.arch_key("context_length");
    const double trained = context != nullptr ? context->real().value_or(0) : 0;
    const double original_context = ETCH_TRY(keys.number("original_context_length", trained));
    const double a = ETCH_TRY(keys.number("attn_factor", 1));
    double s = ETCH_TRY(keys.number("factor", 0));
    if (s == 0) {
      const std::vector<std::string> known = scaling_keys(spec.scaling);
      const KeyValue* old = model.arch_key(known.back());
      s = old != nullptr ? old->real().value_or(1) : 1;
      if (s == 0) s = 1;  // written by old converters for "not scaled"
    }
    if (!(s > 0) || !std::isfinite(s))
      return fail(ErrorKind::damaged, "rope scaling factor {} is not positive", s);
    if (type == "linear") {
      for (double& x : f) x /= s;
      m = a;
    } else if (type == "yarn") {
      if (!(original_context > 0) || spec.base == 1)
        return fail(ErrorKind::damaged,
                    "rope scaling yarn needs original_context_length or context_length");
      ETCH_TRY(yarn(spec, keys, s, a, original_context, f, m));
    } else if (type == "longrope") {
      if (!has_pair)
        return fail(ErrorKind::damaged, "rope scaling longrope needs the factors {} and {}",
                    spec.short_factors.empty() ? "short" : spec.short_factors,
                    spec.long_factors.empty() ? "long" : spec.long_factors);
      ETCH_TRY(divide(static_cast<double>(n_ctx) > original_context ? factors.long_context
                                                                    : factors.short_context));
      m = a;
    } else if (type != "none") {
      return fail(ErrorKind::unsupported,
                  "rope scaling type '{}' is not known (none, linear, yarn, longrope)", type);
    }
  }
  if (spec.has_magnitude) m = spec.magnitude;
  r.magnitude = static_cast<float>(m);
  for (const double x : f) r.frequencies.push_back(static_cast<float>(x));
  return r;
}

}  // namespace etch

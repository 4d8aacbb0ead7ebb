// A report of parity as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "study/parity.h"
#include "study/sidecar_parts.h"

namespace etch {
namespace {

using nlohmann::ordered_json;

ordered_json number(double x) {  // JSON has no infinity
  return std::isfinite(x) ? ordered_json(x) : ordered_json(fmt::format("{}", x));
}

ordered_json numbers(const std::vector<float>& list) {
  ordered_json j = ordered_json::array();
  for (const float x : list) j.push_back(number(x));
  return j;
}

ordered_json json_of(const ComparedValue& v, bool with_excerpt) {
  const Difference& d = v.difference;
  ordered_json j = {{"step", v.step},
                    {"node", v.node},
                    {"layer", v.layer},
                    {"location", v.location},
                    {"what", v.what},
                    {"tensor", v.tensor},
                    {"rows", d.rows},
                    {"width", d.width},
                    {"different", d.n_different},
                    {"max_abs", number(d.max_abs)},
                    {"mean_abs", number(d.mean_abs)},
                    {"cosine", number(d.cosine)},
                    {"typical", number(d.typical)},
                    {"beyond", v.differs}};
  if (with_excerpt) {
    j["worst"] = {
        {"row", d.worst_row}, {"element", d.worst_element}, {"a", number(d.a)}, {"b", number(d.b)}};
    j["near"] = {{"a", numbers(d.a_near)}, {"b", numbers(d.b_near)}};
  }
  return j;
}

}  // namespace

std::string print_parity_json(const ParityReport& report) {
  ordered_json j = {{"schema", "etch.parity/1"},
                    {"a", report.a},
                    {"b", report.b},
                    {"promise", name(report.promise)},
                    {"tolerance", number(report.tolerance)},
                    {"tokens", report.n_tokens},
                    {"steps", report.n_steps},
                    {"compared", report.values.size()},
                    {"rerouted", report.n_rerouted},
                    {"only_a", report.n_only_a},
                    {"only_b", report.n_only_b},
                    {"beyond", report.n_different}};
  const ComparedValue* first = report.first();
  j["first"] = first ? json_of(*first, true) : ordered_json();
  j["values"] = ordered_json::array();
  for (const ComparedValue& v : report.values) j["values"].push_back(json_of(v, false));
  return file_text(j);
}

}  // namespace etch

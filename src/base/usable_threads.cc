// How many threads a machine really offers.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/team.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace etch {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// "max 100000" or "200000 100000" of version 2; quota and period of version 1.
double quota_of(const std::string& quota, const std::string& period) {
  const double q = std::strtod(quota.c_str(), nullptr);
  const double p = std::strtod(period.c_str(), nullptr);
  return q > 0 && p > 0 ? q / p : 0;
}

double tightest(double a, double b) { return a > 0 && (b <= 0 || a < b) ? a : b; }

}  // namespace

double cgroup_cpus(const std::string& root) {
  double cpus = 0;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // hierarchy:controllers:path
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (!v2 && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string mount = root + (v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
    for (std::string path = line.substr(second + 1);;) {
      const std::string folder = mount + path;
      if (v2) {
        std::istringstream fields(first_line(folder + "/cpu.max"));
        std::string quota, period;
        fields >> quota >> period;
        cpus = tightest(quota_of(quota, period), cpus);
      } else {
        cpus = tightest(quota_of(first_line(folder + "/cpu.cfs_quota_us"),
                                 first_line(folder + "/cpu.cfs_period_us")),
                        cpus);
      }
      const size_t slash = path.rfind('/');
      if (path == "/" || slash == std::string::npos) break;
      path.erase(slash);
    }
  }
  return cpus;
}

int32_t physical_cores(const std::string& root, const uint64_t* cpus, int32_t n_words) {
  std::set<std::string> cores;
  for (int32_t cpu = 0; cpu < 64 * n_words; ++cpu) {
    if ((cpus[cpu / 64] >> (cpu % 64) & 1) == 0) continue;
    const std::string topology =
        root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const std::string core = first_line(topology + "core_id");
    // A machine that does not tell: every CPU is a core.
    cores.insert(core.empty() ? "cpu " + std::to_string(cpu)
                              : first_line(topology + "physical_package_id") + " " + core);
  }
  return static_cast<int32_t>(cores.size());
}

int32_t usable_threads() {
  int32_t cores = 1;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    uint64_t words[CPU_SETSIZE / 64] = {};
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) words[cpu / 64] |= uint64_t{1} << (cpu % 64);
    cores = physical_cores("", words, CPU_SETSIZE / 64);
  }
#endif
  const double quota = cgroup_cpus("");
  if (quota > 0 && quota < cores) {
    cores = static_cast<int32_t>(quota);
    if (cores < quota) ++cores;
  }
  return cores < 1 ? 1 : cores;
}

}  // namespace etch

// One cache line per thread, one writer per line:
//
//   thread      0          1          2
//             [e][s]     [e][s]     [e][s]       e = how often it came to a barrier
//
// A thread raises its own e and waits until every other e has caught up, so a barrier costs one
// line transfer each way (about 50 ns between two cores of a cluster). Whoever has waited too long
// announces itself in `sleepers` and sleeps on `wake`; whoever raises an e looks at `sleepers`
// behind it. Both sides use sequentially consistent operations, so one of them sees the other.
#include "base/team.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace {

constexpr auto kSpin = std::chrono::microseconds(30);

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Round to nearest, keep subnormals, trap nothing.
class FloatMode {
 public:
#if defined(__x86_64__)
  FloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatMode() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  FloatMode() {
    fegetenv(&saved_);
    fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { fesetenv(&saved_); }

 private:
  fenv_t saved_;
#endif
 public:
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;
};

// Sleep and wake-up of threads that have spun for long enough.
class Bell {
 public:
  // Waits until ready() holds. It reads atomics with sequential consistency.
  template <class Ready>
  void wait(Ready ready) {
    if (ready()) return;
    auto deadline = std::chrono::steady_clock::time_point::max();
    for (int turn = 0;; ++turn) {
      relax();
      if (ready()) return;
      if (turn % 64 != 63) continue;
      const auto now = std::chrono::steady_clock::now();
      if (turn == 63) deadline = now + kSpin;
      if (now >= deadline) break;
    }
    sleepers_.fetch_add(1);
    for (;;) {
      const uint32_t seen = wake_.load();
      if (ready()) break;
      wake_.wait(seen);
    }
    sleepers_.fetch_sub(1);
  }
  // Called behind each store that may make somebody ready.
  void ring() {
    if (sleepers_.load() == 0) return;
    wake_.fetch_add(1);
    wake_.notify_all();
  }

 private:
  std::atomic<int32_t> sleepers_{0};
  std::atomic<uint32_t> wake_{0};
};

}  // namespace

struct etch_team {
  struct alignas(128) Flag {  // two lines: neighbours are fetched in pairs
    std::atomic<uint32_t> epoch{0};
  };
  struct Start {
    etch_team* team;
    int32_t index;
  };

  int32_t n_threads = 0;
  std::unique_ptr<Flag[]> flags;
  std::vector<pthread_t> threads;  // 1 .. n_threads - 1
  std::vector<Start> starts;
  alignas(128) std::atomic<uint32_t> job{0};  // raised for each run
  void (*f)(void*, int32_t) = nullptr;        // null: leave
  void* context = nullptr;
  alignas(128) Bell bell;

  void barrier(int32_t thread) {
    if (n_threads == 1) return;
    const uint32_t mine = flags[thread].epoch.load(std::memory_order_relaxed) + 1;
    flags[thread].epoch.store(mine);
    bell.ring();
    for (int32_t other = 0; other < n_threads; ++other)
      bell.wait([&] { return static_cast<int32_t>(flags[other].epoch.load() - mine) >= 0; });
  }

  void work(int32_t index) {
    const FloatMode mode;
    for (uint32_t done = 0;; ++done) {
      bell.wait([&] { return job.load() != done; });
      if (f == nullptr) return;
      f(context, index);
      barrier(index);
    }
  }

  void begin(void (*function)(void*, int32_t), void* argument) {
    f = function;
    context = argument;
    job.fetch_add(1);
    bell.ring();
  }
};

etch_team* etch_team_create(int32_t n_threads) {
  if (n_threads < 1) return nullptr;
  std::unique_ptr<etch_team> team(new (std::nothrow) etch_team);
  if (team == nullptr) return nullptr;
  team->flags.reset(new (std::nothrow) etch_team::Flag[static_cast<size_t>(n_threads)]);
  if (team->flags == nullptr) return nullptr;
  team->starts.resize(static_cast<size_t>(n_threads));
  team->n_threads = n_threads;
  for (int32_t i = 1; i < n_threads; ++i) {
    etch_team::Start& start = team->starts[static_cast<size_t>(i)];
    start = {team.get(), i};
    const auto run = [](void* s) -> void* {
      const auto* const begun = static_cast<etch_team::Start*>(s);
      begun->team->work(begun->index);
      return nullptr;
    };
    pthread_t id;
    if (pthread_create(&id, nullptr, run, &start) != 0) {
      etch_team_destroy(team.release());
      return nullptr;
    }
    team->threads.push_back(id);
  }
  return team.release();
}

void etch_team_destroy(etch_team* team) {
  if (team == nullptr) return;
  team->begin(nullptr, nullptr);
  for (const pthread_t id : team->threads) pthread_join(id, nullptr);
  delete team;
}

int32_t etch_team_threads(const etch_team* team) { return team->n_threads; }

void etch_team_run(etch_team* team, void (*f)(void* context, int32_t thread), void* context) {
  const FloatMode mode;
  if (team->n_threads > 1) team->begin(f, context);
  f(context, 0);
  team->barrier(0);
}

void etch_team_barrier(etch_team* team, int32_t thread) { team->barrier(thread); }

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

// One cache line per thread, one writer per line:
//
//   thread      0          1          2
//             [e][s]     [e][s]     [e][s]       e = how often it came to a barrier
//
// A thread raises its own e and waits until every other e has caught up, so a barrier costs one
// line transfer each way (about 50 ns between two cores of a cluster). Whoever has waited too long
// announces itself in `sleepers` and sleeps on `wake`; whoever raises an e looks at `sleepers`
// behind it. Both sides use sequentially consistent operations, so one of them sees the other.
//
// This file also goes into the libraries of printed models, which have no runtime of C++: it takes
// its memory with malloc's family and sleeps by the system's own call.
#include "base/team.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace {

constexpr int64_t kSpinNanoseconds = 30'000;

int64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Sleeps until somebody wakes those who sleep on `word`, unless it is no longer `seen`.
void sleep_on(std::atomic<uint32_t>& word, uint32_t seen) {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
#else
  word.wait(seen);
#endif
}
void wake_all(std::atomic<uint32_t>& word) {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
#else
  word.notify_all();
#endif
}

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
    int64_t deadline = INT64_MAX;
    for (int turn = 0;; ++turn) {
      relax();
      if (ready()) return;
      if (turn % 64 != 63) continue;
      const int64_t now = nanoseconds();
      if (turn == 63) deadline = now + kSpinNanoseconds;
      if (now >= deadline) break;
    }
    sleepers_.fetch_add(1);
    for (;;) {
      const uint32_t seen = wake_.load();
      if (ready()) break;
      sleep_on(wake_, seen);
    }
    sleepers_.fetch_sub(1);
  }
  // Called behind each store that may make somebody ready.
  void ring() {
    if (sleepers_.load() == 0) return;
    wake_.fetch_add(1);
    wake_all(wake_);
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
  int32_t n_started = 0;  // threads 1 .. n_started run
  Flag* flags = nullptr;
  pthread_t* threads = nullptr;
  Start* starts = nullptr;
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

namespace {

// n default-made objects, or null.
template <class T>
T* make(size_t n) {
  const size_t bytes =
      (n * sizeof(T) + alignof(etch_team) - 1) / alignof(etch_team) * alignof(etch_team);
  void* const memory = std::aligned_alloc(alignof(etch_team), bytes);
  if (memory == nullptr) return nullptr;
  for (size_t i = 0; i < n; ++i) new (static_cast<T*>(memory) + i) T();
  return static_cast<T*>(memory);
}

void free_team(etch_team* team) {
  std::free(team->flags);
  std::free(team->threads);
  std::free(team->starts);
  std::free(team);
}

void* start_thread(void* start) {
  const auto* const begun = static_cast<etch_team::Start*>(start);
  begun->team->work(begun->index);
  return nullptr;
}

}  // namespace

etch_team* etch_team_create(int32_t n_threads) {
  if (n_threads < 1) return nullptr;
  auto* const team = make<etch_team>(1);
  if (team == nullptr) return nullptr;
  const auto n = static_cast<size_t>(n_threads);
  team->n_threads = n_threads;
  team->flags = make<etch_team::Flag>(n);
  team->threads = make<pthread_t>(n);
  team->starts = make<etch_team::Start>(n);
  if (team->flags == nullptr || team->threads == nullptr || team->starts == nullptr) {
    free_team(team);
    return nullptr;
  }
  for (int32_t i = 1; i < n_threads; ++i) {
    team->starts[i] = {team, i};
    if (pthread_create(&team->threads[i], nullptr, start_thread, &team->starts[i]) != 0) {
      etch_team_destroy(team);
      return nullptr;
    }
    team->n_started = i;
  }
  return team;
}

void etch_team_destroy(etch_team* team) {
  if (team == nullptr) return;
  team->begin(nullptr, nullptr);
  for (int32_t i = 1; i <= team->n_started; ++i) pthread_join(team->threads[i], nullptr);
  free_team(team);
}

int32_t etch_team_threads(const etch_team* team) { return team->n_threads; }

void etch_team_run(etch_team* team, void (*f)(void* context, int32_t thread), void* context) {
  const FloatMode mode;
  if (team->n_threads > 1) team->begin(f, context);
  f(context, 0);
  team->barrier(0);
}

void etch_team_barrier(etch_team* team, int32_t thread) { team->barrier(thread); }

#include "base/team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace etch {
namespace {

struct Shared {
  etch_team* team;
  std::vector<int> steps;  // per thread, read by the others behind a barrier
  std::atomic<int> wrong{0};
  int rounds;
  bool slow = false;
};

void count_rounds(void* context, int32_t thread) {
  auto& s = *static_cast<Shared*>(context);
  for (int round = 1; round <= s.rounds; ++round) {
    if (s.slow && thread == round % etch_team_threads(s.team))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    s.steps[static_cast<size_t>(thread)] = round;
    etch_team_barrier(s.team, thread);
    for (const int other : s.steps)
      if (other != round) ++s.wrong;
    etch_team_barrier(s.team, thread);
  }
}

class Teams : public testing::TestWithParam<int> {};

TEST_P(Teams, barriers_hold_everybody_until_the_last_has_come) {
  etch_team* const team = etch_team_create(GetParam());
  ASSERT_NE(team, nullptr);
  ASSERT_EQ(etch_team_threads(team), GetParam());
  Shared s{team, std::vector<int>(static_cast<size_t>(GetParam())), {}, 300};
  for (int run = 0; run < 5; ++run) etch_team_run(team, count_rounds, &s);
  EXPECT_EQ(s.wrong, 0);
  EXPECT_THAT(s.steps, testing::Each(300));
  etch_team_destroy(team);
}

TEST_P(Teams, sleepers_are_woken) {
  etch_team* const team = etch_team_create(GetParam());
  Shared s{team, std::vector<int>(static_cast<size_t>(GetParam())), {}, 20};
  s.slow = true;  // longer than anybody spins
  etch_team_run(team, count_rounds, &s);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  etch_team_run(team, count_rounds, &s);
  EXPECT_EQ(s.wrong, 0);
  etch_team_destroy(team);
}

INSTANTIATE_TEST_SUITE_P(threads, Teams, testing::Values(1, 2, 3, 7));

TEST(Team, refuses_less_than_one_thread) {
  EXPECT_EQ(etch_team_create(0), nullptr);
  EXPECT_EQ(etch_team_create(-1), nullptr);
  etch_team_destroy(nullptr);
}

#if defined(__x86_64__)
TEST(Team, sets_the_float_mode_of_every_thread_and_restores_the_caller_s) {
  _mm_setcsr(0x1f80 | 0x8040 | 0x6000);  // flush to zero, subnormals are zero, round towards zero
  etch_team* const team = etch_team_create(3);
  unsigned modes[3] = {};
  etch_team_run(
      team,
      [](void* context, int32_t thread) {
        static_cast<unsigned*>(context)[thread] = _mm_getcsr() & 0xffc0;
      },
      modes);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(0x1f80);
  EXPECT_THAT(modes, testing::Each(0x1f80u));
  EXPECT_EQ(after & 0xffc0, 0x1f80u | 0x8040u | 0x6000u);
  etch_team_destroy(team);
}
#endif

// A root folder with the files of /sys and /proc that matter.
class Machine : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/machine_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(Machine, counts_hyper_threads_of_a_core_once) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    put(topology + "core_id", std::to_string(cpu % 2) + "\n");
    put(topology + "physical_package_id", std::to_string(cpu / 4) + "\n");
  }
  const uint64_t all = 0xff, first_package = 0x0f, one_core = 0x05;
  EXPECT_EQ(physical_cores(root_, &all, 1), 4);
  EXPECT_EQ(physical_cores(root_, &first_package, 1), 2);
  EXPECT_EQ(physical_cores(root_, &one_core, 1), 1);
}

TEST_F(Machine, counts_cpus_where_the_topology_is_unknown) {
  const uint64_t words[2] = {3, 1};
  EXPECT_EQ(physical_cores(root_, words, 2), 3);
}

TEST_F(Machine, takes_the_tightest_quota_on_the_way_to_the_top) {
  put("/proc/self/cgroup", "0::/a/b\n");
  put("/sys/fs/cgroup/cpu.max", "max 100000\n");
  put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  put("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpus(root_), 1.5);
}

TEST_F(Machine, reads_quotas_of_the_first_version) {
  put("/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
  put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpus(root_), 0.5);
}

TEST_F(Machine, is_unlimited_without_a_quota) {
  EXPECT_EQ(cgroup_cpus(root_), 0);
  put("/proc/self/cgroup", "0::/\nnonsense\n0::nothing\n");
  put("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpus(root_), 0);
}

TEST(Machine_itself, offers_at_least_one_thread) {
  EXPECT_GE(usable_threads(), 1);
  EXPECT_LE(usable_threads(), static_cast<int32_t>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace etch

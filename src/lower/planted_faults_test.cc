// The checks of finished plans are worth something only if they find faults: here are plans that
// are right but for one thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/lower.h"
#include "lowered/verify.h"
#include "support/model_graphs.h"

namespace etch {
namespace {

using ::testing::HasSubstr;

class PlantedFaults : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    model_graphs::Weights weights(false);
    model_graphs::Shape shape = model_graphs::tiny({});
    shape.bias = true;
    Result<Lowered> l = lower(*model_graphs::make(shape, weights), Target{}, {});
    ASSERT_TRUE(l) << l.error().message;
    lowered = std::move(*l);
    ASSERT_TRUE(verify(lowered));
  }
  CallList& list() { return GetParam() ? lowered.prefill : lowered.decode; }
  std::string finding() const {
    const Status s = verify(lowered);
    if (s) return "nothing";
    EXPECT_EQ(s.error().kind, ErrorKind::internal);
    return s.error().message;
  }
  size_t find(ArgsKind kind, size_t nth = 0) {
    for (size_t i = 0; i < list().calls.size(); ++i)
      if (list().calls[i].kernel->args == kind && nth-- == 0) return i;
    ADD_FAILURE() << "no such call";
    return 0;
  }
  Buffer& buffer_of(const Access& a) {
    return lowered.buffers[static_cast<size_t>(a.place.buffer)];
  }

  Lowered lowered;
};

TEST_P(PlantedFaults, every_barrier_is_needed_and_missed) {
  for (Call& call : list().calls) {
    if (!call.barrier_after) continue;
    call.barrier_after = false;
    const Status races = check_races(lowered);
    ASSERT_FALSE(races) << call.origin.what;
    EXPECT_THAT(races.error().message, HasSubstr("without a barrier"));
    call.barrier_after = true;
  }
}

TEST_P(PlantedFaults, a_missing_call_is_a_read_of_what_nobody_wrote) {
  for (const ArgsKind kind :
       {ArgsKind::embed, ArgsKind::matmul, ArgsKind::attend, ArgsKind::rotary}) {
    SetUp();
    list().calls[find(kind)].writes.clear();
    EXPECT_NE(finding(), "nothing") << info(kind).name;
  }
}

TEST_P(PlantedFaults, buffers_that_live_together_may_not_share_a_byte) {
  // Every pair of buffers of the first layer's attention and the stream beside it.
  int moved = 0;
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      Buffer& a = lowered.buffers[i];
      const Buffer& b = lowered.buffers[j];
      if (a.space != Space::arena || b.space != a.space || a.prefill != GetParam() ||
          b.prefill != a.prefill || a.first_call > b.last_call || b.first_call > a.last_call)
        continue;
      if (b.offset + a.bytes > lowered.arena_bytes) continue;
      const int64_t offset = a.offset;
      a.offset = b.offset;
      EXPECT_FALSE(check_overlaps(lowered)) << a.name << " at " << b.name;
      a.offset = offset;
      ++moved;
    }
  }
  EXPECT_GT(moved, 20);
  EXPECT_TRUE(check_overlaps(lowered));
}

// The whole plan agrees that the result of attention stands where the stream x stands.
TEST_P(PlantedFaults, a_buffer_on_top_of_another_is_read_after_it_was_overwritten) {
  const int32_t moved = list().calls[find(ArgsKind::attend)].writes[0].place.buffer;
  const int32_t onto = list().calls[find(ArgsKind::embed)].writes[0].place.buffer;
  const int64_t by = lowered.buffers[static_cast<size_t>(onto)].offset -
                     lowered.buffers[static_cast<size_t>(moved)].offset;
  lowered.buffers[static_cast<size_t>(moved)].offset += by;
  for (Call& c : list().calls) {
    for (Arg& arg : c.args)
      if (Place* p = std::get_if<Place>(&arg); p != nullptr && p->buffer == moved) p->offset += by;
    for (auto* accesses : {&c.reads, &c.writes})
      for (Access& a : *accesses)
        if (a.place.buffer == moved) a.place.offset += by;
  }
  EXPECT_THAT(finding(), HasSubstr("has overwritten"));
  EXPECT_FALSE(check_overlaps(lowered));
}

TEST_P(PlantedFaults, kernels_read_what_they_say) {
  Call& product = list().calls[find(ArgsKind::matmul)];
  for (const Access& a : product.reads) {
    if (buffer_of(a).representation == Representation::f32) continue;
    buffer_of(a).representation = Representation::f32;
    EXPECT_THAT(finding(), HasSubstr("wants"));
    return;
  }
  FAIL() << "no quantised input";
}

TEST_P(PlantedFaults, arguments_are_of_their_type_and_inside_their_memory) {
  const size_t i = find(ArgsKind::matmul);
  const Call good = list().calls[i];
  Call& call = list().calls[i];
  call.args[0] = int64_t{5};
  EXPECT_THAT(finding(), HasSubstr("is of another type"));
  call = good;
  call.args.pop_back();
  EXPECT_THAT(finding(), HasSubstr("arguments"));
  call = good;
  call.args[0] = Place{Space::file, int64_t{-8}, -1};
  EXPECT_THAT(finding(), HasSubstr("the file has"));
  call = good;
  call.args[0] = Place{Space::constants, 1 << 20, -1};
  EXPECT_THAT(finding(), HasSubstr("of constants"));
  call = good;
  std::get<Place>(call.args[2]).offset += 1 << 24;
  EXPECT_THAT(finding(), HasSubstr("outside"));
  call = good;
  call.args.back() = CallRef{static_cast<int32_t>(i)};
  EXPECT_THAT(finding(), HasSubstr("does not come later"));
  call = good;
  call.kernel = nullptr;
  EXPECT_THAT(finding(), HasSubstr("has no kernel"));
  call = good;
  EXPECT_EQ(finding(), "nothing");
}

TEST_P(PlantedFaults, buffers_are_aligned_and_inside_their_space) {
  for (Buffer& b : lowered.buffers) {
    if (b.prefill != GetParam() || b.space != Space::arena) continue;
    b.offset += 4;
    EXPECT_NE(finding(), "nothing");
    b.offset -= 4;
    b.offset += 1 << 30;
    EXPECT_THAT(finding(), HasSubstr("ends at"));
    b.offset -= 1 << 30;
  }
}

TEST_P(PlantedFaults, lives_are_what_the_calls_make_them) {
  for (Buffer& b : lowered.buffers) {
    if (b.prefill != GetParam() || !is_per_list(b.space)) continue;
    ++b.first_call;
    EXPECT_THAT(finding(), HasSubstr("says it lives"));
    --b.first_call;
  }
}

TEST_P(PlantedFaults, every_thread_writes_its_own_memory_only) {
  for (Call& c : list().calls) {
    if (c.kernel->args != ArgsKind::matmul) continue;
    c.split = Split::every_thread;
    EXPECT_NE(finding(), "nothing");
    break;
  }
}

TEST_P(PlantedFaults, what_one_thread_wrote_in_its_own_memory_is_not_for_others) {
  if (GetParam()) GTEST_SKIP() << "prefill keeps nothing in the threads";
  const size_t i = find(ArgsKind::quantize);
  ASSERT_EQ(list().calls[i].split, Split::every_thread);
  list().calls[i].split = Split::items;
  EXPECT_THAT(finding(), HasSubstr("overwritten"));
}

TEST_P(PlantedFaults, an_output_nobody_writes_is_missed) {
  list().calls.pop_back();
  for (Call& c : list().calls)
    if (std::get_if<CallRef>(&c.args.back()) != nullptr) c.args.back() = CallRef{};
  EXPECT_NE(finding(), "nothing");
}

INSTANTIATE_TEST_SUITE_P(Lists, PlantedFaults, ::testing::Bool(),
                         [](const auto& list) { return list.param ? "prefill" : "decode"; });

}  // namespace
}  // namespace etch

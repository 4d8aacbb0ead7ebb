#include "session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "session/non_finite.h"
#include "support/count_allocations.h"
#include "support/counting_model.h"

namespace etch {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Session> make(const counting::Shape& shape = {},
                              SessionOptions options = {.n_threads = 2}) {
  options.isa = ETCH_SCALAR;
  auto session = Session::create(counting::make(shape), {}, options);
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}

// Which argument of an attend call says where its result goes.
size_t attend_y() {
  const auto fields = info(ArgsKind::attend).fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == "y.at") return i;
  }
  return 0;
}

int32_t token(int64_t position) { return static_cast<int32_t>(1 + position * 7 % 50); }

// Feeds tokens up to position `end` in steps of `chunk` rows; gives the first logit of every
// position.
std::vector<float> feed(Session& session, SequenceId id, int64_t end, int64_t chunk,
                        int32_t shift = 0) {
  std::vector<float> all;
  while (session.length(id) < end) {
    std::vector<BatchRow> rows;
    for (int64_t p = session.length(id); p < end && static_cast<int64_t>(rows.size()) < chunk;
         ++p) {
      rows.push_back({token(p) + shift, id, static_cast<int32_t>(p), true});
    }
    auto result = session.step(rows);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) break;
    for (int64_t i = 0; i < result->n_outputs; ++i)
      all.push_back(result->logits[static_cast<size_t>(2 * i)]);
  }
  return all;
}

std::vector<float> expected(int64_t n, int64_t window = 0, int32_t shift = 0) {
  std::vector<float> all;
  for (int64_t p = 0; p < n; ++p) {
    float sum = 0;
    for (int64_t j = window > 0 ? std::max<int64_t>(0, p - window + 1) : 0; j <= p; ++j) {
      sum += static_cast<float>(j + 1) * static_cast<float>(token(j) + shift);
    }
    all.push_back(sum);
  }
  return all;
}

TEST(Session, gives_the_same_for_any_chunking_and_any_number_of_threads) {
  for (const int32_t threads : {1, 2, 3, 8}) {
    for (const int64_t chunk : {1, 5, 16, 17, 64}) {
      auto session = make({}, {.n_threads = threads});
      const SequenceId id = *session->create_sequence();
      EXPECT_EQ(feed(*session, id, 300, chunk), expected(300))
          << threads << " threads, chunks of " << chunk;
    }
  }
}

TEST(Session, runs_several_sequences_in_one_step_as_each_alone) {
  SessionOptions options = {.n_threads = 2};
  options.kv_budget_bytes = plan_memory(*counting::make(), options).kv * 2;
  auto session = make({}, options);
  const SequenceId a = *session->create_sequence(), b = *session->create_sequence();
  feed(*session, a, 130, 64);
  std::vector<BatchRow> rows;
  for (int32_t p = 0; p < 20; ++p) rows.push_back({token(p) + 3, b, p, p == 19});
  rows.push_back({token(130), a, 130, true});
  auto result = session->step(rows);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->n_outputs, 2);
  EXPECT_EQ(result->logits[0], expected(20, 0, 3).back());
  EXPECT_EQ(result->logits[2], expected(131).back());
}

TEST(Session, forks_share_pages_until_one_writes) {
  SessionOptions options = {.n_threads = 1};
  options.kv_budget_bytes = plan_memory(*counting::make(), options).kv * 2;
  auto session = make({}, options);
  const SequenceId a = *session->create_sequence();
  feed(*session, a, 200, 64);
  const SequenceId b = *session->fork(a, 150);
  EXPECT_EQ(session->length(b), 150);
  EXPECT_EQ(feed(*session, a, 210, 64).back(), expected(210).back());
  std::vector<BatchRow> rows = {{900, b, 150, true}};
  const float there = session->step(rows)->logits[0];
  EXPECT_EQ(there, expected(150).back() + 151 * 900);
  EXPECT_EQ(feed(*session, a, 220, 64).back(), expected(220).back());
  session->remove(a);
  rows = {{1, b, 151, true}};
  EXPECT_EQ(session->step(rows)->logits[0], there + 152);
}

TEST(Session, goes_back_and_on_differently) {
  auto session = make();
  const SequenceId id = *session->create_sequence();
  feed(*session, id, 300, 64);
  ASSERT_TRUE(session->truncate(id, 100));
  EXPECT_EQ(feed(*session, id, 300, 13).back(), expected(300).back());
  std::vector<int32_t> wanted(session->tokens(id).begin(), session->tokens(id).end());
  wanted[250] = 800;
  EXPECT_EQ(*session->reuse_prefix(id, wanted), 250);
  wanted.resize(100);
  EXPECT_EQ(*session->reuse_prefix(id, wanted), 99) << "the last token runs again for its logits";
}

TEST(Session, windows_let_go_of_pages_and_say_when_there_is_no_way_back) {
  auto session = make({.n_ctx = 4096, .window = 100});
  const SequenceId id = *session->create_sequence();
  EXPECT_EQ(feed(*session, id, 2000, 64), expected(2000, 100));
  EXPECT_TRUE(session->truncate(id, 1999));
  const Status back = session->truncate(id, 1000);
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().message, HasSubstr("let go of"));
  std::vector<int32_t> wanted(session->tokens(id).begin(), session->tokens(id).end());
  wanted[500] = 800;
  EXPECT_EQ(*session->reuse_prefix(id, wanted), 0);
  EXPECT_EQ(feed(*session, id, 300, 64), expected(300, 100));
}

TEST(Session, a_failed_step_leaves_every_sequence_as_it_was_and_names_the_node) {
  auto session = make();
  const SequenceId id = *session->create_sequence();
  feed(*session, id, 127, 64);
  std::vector<BatchRow> rows = {{1, id, 127, true}, {counting::kPoison, id, 128, true}};
  auto result = session->step(rows);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::damaged);
  EXPECT_THAT(result.error().message, HasSubstr("position 128 of sequence 0 (token 999)"));
  EXPECT_THAT(result.error().message, HasSubstr("node n7"));
  EXPECT_THAT(result.error().message, HasSubstr("circuits/counting.circuit:3"));
  EXPECT_EQ(session->length(id), 127);
  EXPECT_EQ(feed(*session, id, 300, 64).back(), expected(300).back());
}

TEST(Session, a_cancelled_step_leaves_every_sequence_as_it_was) {
  auto session = make();
  const SequenceId id = *session->create_sequence();
  feed(*session, id, 100, 64);
  session->cancel();
  std::vector<BatchRow> rows = {{1, id, 100, true}};
  auto result = session->step(rows);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::cancelled);
  session->clear_cancel();
  session->on_call = [&](const Call&, double) { session->cancel(); };
  EXPECT_FALSE(session->step(rows));
  session->on_call = nullptr;
  session->clear_cancel();
  EXPECT_EQ(feed(*session, id, 300, 64).back(), expected(300).back());
}

TEST(Session, refuses_batches_that_make_no_sense) {
  auto session = make({.n_ctx = 130, .n_outputs = 2});
  const SequenceId id = *session->create_sequence();
  const auto message = [&](std::vector<BatchRow> rows) {
    auto result = session->step(rows);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_THAT(message({}), HasSubstr("no rows"));
  EXPECT_THAT(message({{1, 5, 0}}), HasSubstr("there is no sequence 5"));
  EXPECT_THAT(message({{1, -1, 0}}), HasSubstr("there is no sequence -1"));
  EXPECT_THAT(message({{1, id, 1}}),
              HasSubstr("continues at position 0, the row is for position 1"));
  EXPECT_THAT(message({{1, id, 0}, {1, id, 2}}), HasSubstr("continues at position 1"));
  EXPECT_THAT(message({{-1, id, 0}}), HasSubstr("there is no token -1; the model has 1000"));
  EXPECT_THAT(message({{1000, id, 0}}), HasSubstr("there is no token 1000"));
  EXPECT_THAT(message(std::vector<BatchRow>(65)), HasSubstr("a step takes at most 64"));
  EXPECT_THAT(message({{1, id, 0, true}, {1, id, 1, true}, {1, id, 2, true}}),
              HasSubstr("more than 2 rows"));
  const SequenceId other = *session->create_sequence();
  EXPECT_THAT(message({{1, id, 0}, {1, other, 0}, {1, id, 1}}), HasSubstr("do not stand together"));
  session->remove(other);
  EXPECT_THAT(message({{1, other, 0}}), HasSubstr("there is no sequence"));
  for (int32_t p = 0; p < 130; ++p) EXPECT_EQ(message({{1, id, p}}), "accepted");
  EXPECT_THAT(message({{1, id, 130}}), HasSubstr("the context of 130 positions is full"));
  EXPECT_EQ(session->length(id), 130);
}

TEST(Session, says_when_no_page_is_left) {
  auto session = make({.n_ctx = 256});
  const SequenceId a = *session->create_sequence(), b = *session->create_sequence();
  feed(*session, a, 200, 64);
  std::vector<BatchRow> rows = {{1, b, 0, true}, {token(200), a, 200, true}};
  auto result = session->step(rows);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("no page is left for state 'kv[0]'"));
  EXPECT_EQ(session->length(b), 0);
  EXPECT_EQ(feed(*session, a, 256, 64).back(), expected(256).back());
}

TEST(Session, saves_and_restores) {
  for (const int64_t window : {0, 100}) {
    auto session = make({.window = window});
    SequenceId id = *session->create_sequence();
    feed(*session, id, 500, 64);
    const std::vector<uint8_t> saved = *session->save(id);
    session->remove(id);
    id = *session->create_sequence();
    const Status restored = session->restore(id, saved);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(session->length(id), 500);
    EXPECT_EQ(feed(*session, id, 600, 64).back(), expected(600, window).back());
    for (const size_t cut : {size_t{0}, size_t{7}, size_t{40}, saved.size() - 1}) {
      EXPECT_FALSE(session->restore(id, std::span(saved).first(cut)));
    }
    auto other = make({.window = 300});
    EXPECT_FALSE(other->restore(*other->create_sequence(), saved));
    auto small = make({.n_ctx = 400, .window = window});
    EXPECT_FALSE(small->restore(*small->create_sequence(), saved));
    EXPECT_EQ(session->length(id), 600) << "a refused text changes nothing";
  }
}

int64_t anonymous_bytes() {  // all mappings without a name
  std::ifstream maps("/proc/self/maps");
  int64_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    std::string range, mode, offset, device, inode, path;
    in >> range >> mode >> offset >> device >> inode >> path;
    if (!path.empty() || inode != "0") continue;
    const auto dash = range.find('-');
    total += std::stoll(range.substr(dash + 1), nullptr, 16) -
             std::stoll(range.substr(0, dash), nullptr, 16);
  }
  return total;
}

TEST(Session, maps_what_was_planned_to_the_byte) {
  for (const bool guard : {false, true}) {
    auto lowered = counting::make({.n_ctx = 100'000, .window = 2000});
    const SessionOptions options = {.n_threads = 1, .isa = ETCH_SCALAR, .guard = guard};
    const MemoryPlan plan = plan_memory(*lowered, options);
    const int64_t before = anonymous_bytes();
    auto session = Session::create(lowered, {}, options);
    ASSERT_TRUE(session);
    EXPECT_EQ(anonymous_bytes() - before, plan.total);
    EXPECT_EQ((*session)->memory().total, plan.total);
    EXPECT_EQ(plan.total, plan.kv + plan.arena);
  }
}

TEST(Session, steps_without_allocating) {
  auto session = make({.n_ctx = 4096, .window = 100}, {.n_threads = 3});
  const SequenceId id = *session->create_sequence();
  std::vector<BatchRow> rows(40);
  const auto step = [&](int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      rows[static_cast<size_t>(i)] = {5, id, static_cast<int32_t>(session->length(id) + i), true};
    }
    return session->step(std::span(rows).first(static_cast<size_t>(n))).has_value();
  };
  ASSERT_TRUE(step(1));
  const int64_t before = n_allocations;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(step(1));
    ASSERT_TRUE(step(40));
  }
  EXPECT_EQ(n_allocations - before, 0);
}

TEST(Session, without_a_guard_or_with_one_gives_the_same) {
  auto session = make({}, {.n_threads = 3, .guard = true});
  const SequenceId id = *session->create_sequence();
  EXPECT_EQ(feed(*session, id, 300, 40), expected(300));
  EXPECT_EQ(feed(*session, id, 320, 1).back(), expected(320).back());
}

TEST(Session, a_guard_names_the_call_that_writes_behind_its_buffer) {
  static const etch_kernel kLong =
      counting::kernel("count_long_attend", ArgsKind::attend,
                       [](const void* args, const etch_thread* t, int64_t first, int64_t last) {
                         counting::attend(args, t, first, last);
                         if (last == t->step->n_rows) {
                           counting::row_of(static_cast<const etch_attend*>(args)->y, last)[0] = 1;
                         }
                       });
  auto lowered = counting::make();
  for (CallList* list : {&lowered->decode, &lowered->prefill}) list->calls[2].kernel = &kLong;
  auto session = Session::create(lowered, {}, {.n_threads = 2, .isa = ETCH_SCALAR, .guard = true});
  ASSERT_TRUE(session);
  const SequenceId id = *(*session)->create_sequence();
  std::vector<BatchRow> rows = {{1, id, 0, true}};
  auto result = (*session)->step(rows);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::internal);
  EXPECT_THAT(result.error().message, HasSubstr("call 2 (count_long_attend)"));
  EXPECT_THAT(result.error().message, HasSubstr("'y'"));
  rows.clear();
  for (int32_t p = 0; p < 64; ++p) rows.push_back({1, id, p, true});
  result = (*session)->step(rows);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("0 bytes behind the end of 'y'"));
  EXPECT_EQ((*session)->length(id), 0);
}

// A session of the counting model one call of which has another kernel.
std::unique_ptr<Session> with_kernel(size_t call, const etch_kernel& kernel, bool guard,
                                     std::shared_ptr<Lowered> lowered = counting::make()) {
  for (CallList* list : {&lowered->decode, &lowered->prefill}) list->calls[call].kernel = &kernel;
  auto session = Session::create(lowered, {}, {.n_threads = 2, .isa = ETCH_SCALAR, .guard = guard});
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}

// Appends as it should and writes a byte at `offset` of the first page of each row's sequence.
template <int offset, int from_position>
void append_astray(const void* args, const etch_thread* t, int64_t first, int64_t last) {
  counting::append(args, t, first, last);
  for (int64_t r = first; r < last; ++r) {
    if (t->step->positions[r] == from_position)
      t->step->states[t->step->run_of_row[r]][0][offset] ^= 1;
  }
}

TEST(Session, a_guard_names_the_call_that_writes_behind_a_page) {
  static const etch_kernel kLong =
      counting::kernel("count_long_append", ArgsKind::append, append_astray<128 * 4 + 3, 5>);
  static const etch_kernel kEarly =
      counting::kernel("count_early_append", ArgsKind::append, append_astray<-1, 5>);
  for (const bool before : {false, true}) {
    auto session = with_kernel(1, before ? kEarly : kLong, true);
    const SequenceId id = *session->create_sequence();
    EXPECT_EQ(feed(*session, id, 5, 5).size(), 5u);
    const std::vector<BatchRow> rows = {{1, id, 5, true}};
    const auto result = session->step(rows);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::internal);
    EXPECT_THAT(result.error().message,
                HasSubstr(before ? "call 1 (count_early_append) wrote where it should not: 1 bytes "
                                   "before page 0 of state 'kv[0]'"
                                 : "call 1 (count_long_append) wrote where it should not: 3 bytes "
                                   "behind the end of page 0 of state 'kv[0]'"));
  }
}

TEST(Session, a_guard_says_that_a_full_page_was_changed) {
  static const etch_kernel kMeddling =
      counting::kernel("count_meddling_append", ArgsKind::append, append_astray<9, 130>);
  auto session = with_kernel(1, kMeddling, true);
  const SequenceId id = *session->create_sequence();
  EXPECT_EQ(feed(*session, id, 130, 50).size(), 130u);
  const std::vector<BatchRow> rows = {{1, id, 130, true}};
  const auto result = session->step(rows);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message,
              HasSubstr("changed what state 'kv[0]' holds of positions 0 to 127"));
}

TEST(Session, a_guard_lets_positions_that_were_never_written_be_nan) {
  static const etch_kernel kFar = counting::kernel(
      "count_far_attend", ArgsKind::attend,
      [](const void* args, const etch_thread* t, int64_t first, int64_t last) {
        const auto& a = *static_cast<const etch_attend*>(args);
        counting::attend(args, t, first, last);
        for (int64_t r = first; r < last; ++r)
          counting::row_of(a.y, r)[0] = reinterpret_cast<const float*>(t->step->states[0][0])[100];
      });
  auto session = with_kernel(2, kFar, true);
  const SequenceId id = *session->create_sequence();
  const std::vector<BatchRow> rows = {{1, id, 0, true}};
  const auto result = session->step(rows);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("not finite at position 0 of sequence"));
}

TEST(Session, a_guard_fills_what_is_dead_with_nan) {
  static const etch_kernel kLate = counting::kernel(
      "count_late_gather", ArgsKind::gather,
      [](const void* args, const etch_thread* t, int64_t first, int64_t last) {
        counting::gather(args, t, first, last);
      },
      true);
  auto lowered = counting::make();
  // The last call reads x, which lives no longer than the call before.
  Call& last = lowered->decode.calls.back();
  last.kernel = &kLate;
  last.args[0] = Place{Space::arena, 0, 0};
  auto session = Session::create(lowered, {}, {.n_threads = 1, .isa = ETCH_SCALAR, .guard = true});
  ASSERT_TRUE(session);
  const SequenceId id = *(*session)->create_sequence();
  std::vector<BatchRow> rows = {{1, id, 0, true}};
  auto result = (*session)->step(rows);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("not finite"));
}

TEST(Session, refuses_more_threads_than_it_was_planned_for) {
  auto lowered = counting::make();
  lowered->limits.n_threads = 2;
  EXPECT_TRUE(Session::create(lowered, {}, {.n_threads = 1, .isa = ETCH_SCALAR}));
  EXPECT_TRUE(Session::create(lowered, {}, {.n_threads = 2, .isa = ETCH_SCALAR}));
  const auto refused = Session::create(lowered, {}, {.n_threads = 3, .isa = ETCH_SCALAR});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().message,
              HasSubstr("the session has 3 threads, its plan is for at most 2"));
}

TEST(Session, outputs_that_are_not_finite_are_an_error_of_their_position) {
  static const etch_kernel kBlowing =
      counting::kernel("count_blowing_attend", ArgsKind::attend,
                       [](const void* args, const etch_thread* t, int64_t first, int64_t last) {
                         counting::attend(args, t, first, last);
                         for (int64_t r = first; r < last; ++r) {
                           if (t->step->positions[r] != 21) continue;
                           counting::row_of(static_cast<const etch_attend*>(args)->y, r)[1] =
                               std::numeric_limits<float>::infinity();
                         }
                       });
  for (const int64_t chunk : {1, 11}) {
    auto lowered = counting::make();
    for (CallList* list : {&lowered->decode, &lowered->prefill}) {
      Call& attend = list->calls[2];  // says what it writes
      const Place y = std::get<Place>(attend.args[attend_y()]);
      attend.writes.push_back(
          {.place = y, .bytes = lowered->buffers[static_cast<size_t>(y.buffer)].bytes});
      attend.origin.node = 8;
      attend.origin.tensor = "blk.0.attn_v.weight";
    }
    auto session = with_kernel(2, kBlowing, false, lowered);
    const SequenceId id = *session->create_sequence();
    EXPECT_EQ(feed(*session, id, 20, 20).size(), 20u);
    std::vector<BatchRow> rows;
    for (int32_t p = 20; p < 20 + (chunk == 1 ? 1 : 20); ++p) rows.push_back({3, id, p, true});
    if (chunk == 1) {
      ASSERT_TRUE(session->step(rows));
      rows = {{3, id, 21, true}};
    }
    const auto result = session->step(rows);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::damaged);
    EXPECT_THAT(
        result.error().message,
        HasSubstr("not finite at position 21 of sequence 0 (token 3)\n  met by node n8 with "
                  "blk.0.attn_v.weight"));
    EXPECT_EQ(session->length(id), rows[0].position);
  }
}

TEST(NonFinite, is_found_wherever_it_stands) {
  for (size_t n = 1; n < 40; ++n) {
    std::vector<float> x(n, std::numeric_limits<float>::max());
    EXPECT_TRUE(all_finite(x));
    for (size_t i = 0; i < n; ++i) {
      for (const float bad :
           {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
            std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> y = x;
        y[i] = bad;
        EXPECT_FALSE(all_finite(y)) << i << " of " << n;
      }
    }
  }
}

}  // namespace
}  // namespace etch

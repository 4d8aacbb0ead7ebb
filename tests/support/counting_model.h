// A hand-written Lowered with kernels of a few lines, whose results are known on paper: logits of
// position p are [sum over the visible positions j of (j + 1) * token_j,  the token].
//
//   embed  x[r] = token         append  page[p % 128] = x       attend  y[r] = the sum       gather
//   logits = y of the wanted rows
//
// It has one state that sees everything and, if asked, one with a window.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "lowered/lowered.h"

namespace etch::counting {

constexpr int64_t kVocab = 1000;
constexpr int32_t kPoison = 999;  // embed marks its row as failed

inline float* row_of(const etch_view& v, int64_t r) {
  return reinterpret_cast<float*>(v.at + r * v.row_stride);
}

inline int64_t rows_items(const void*, const etch_thread* t) { return t->step->n_rows; }
inline int64_t output_items(const void*, const etch_thread* t) { return t->step->n_outputs; }

inline void embed(const void* args, const etch_thread* t, int64_t first, int64_t last) {
  const auto& a = *static_cast<const etch_embed*>(args);
  for (int64_t r = first; r < last; ++r) {
    *row_of(a.y, r) = static_cast<float>(t->step->tokens[r]);
    if (t->step->tokens[r] == kPoison) t->step->failed[r] = t->call + 1;
  }
}

inline void append(const void* args, const etch_thread* t, int64_t first, int64_t last) {
  const auto& a = *static_cast<const etch_append*>(args);
  for (int64_t r = first; r < last; ++r) {
    const int32_t p = t->step->positions[r];
    uint8_t* const* table = t->step->states[a.state * t->step->n_runs + t->step->run_of_row[r]];
    reinterpret_cast<float*>(table[p / 128])[p % 128] = *row_of(a.k, r);
  }
}

inline void attend(const void* args, const etch_thread* t, int64_t first, int64_t last) {
  const auto& a = *static_cast<const etch_attend*>(args);
  for (int64_t r = first; r < last; ++r) {
    const int32_t p = t->step->positions[r];
    uint8_t* const* table = t->step->states[a.state * t->step->n_runs + t->step->run_of_row[r]];
    float sum = 0;
    for (int64_t j = a.window > 0 ? std::max<int64_t>(0, p - a.window + 1) : 0; j <= p; ++j) {
      sum += static_cast<float>(j + 1) * reinterpret_cast<const float*>(table[j / 128])[j % 128];
    }
    row_of(a.y, r)[0] = sum;
    row_of(a.y, r)[1] = static_cast<float>(t->step->tokens[r]);
  }
}

inline void gather(const void* args, const etch_thread* t, int64_t first, int64_t last) {
  const auto& a = *static_cast<const etch_gather*>(args);
  for (int64_t i = first; i < last; ++i) {
    for (int64_t d = 0; d < a.d; ++d) row_of(a.y, i)[d] = row_of(a.x, t->step->output_rows[i])[d];
  }
}

inline etch_kernel kernel(std::string_view name, ArgsKind args, etch_kernel_fn f,
                          bool of_outputs = false) {
  etch_kernel k;
  k.name = name;
  k.args = args;
  k.items = of_outputs ? output_items : rows_items;
  for (auto& fn : k.fn) fn = f;
  return k;
}
inline const etch_kernel kEmbed = kernel("count_embed", ArgsKind::embed, embed);
inline const etch_kernel kAppend = kernel("count_append", ArgsKind::append, append);
inline const etch_kernel kAttend = kernel("count_attend", ArgsKind::attend, attend);
inline const etch_kernel kGather = kernel("count_gather", ArgsKind::gather, gather, true);

// A call with all arguments null or zero but those named.
inline Call call(const etch_kernel& k,
                 std::initializer_list<std::pair<std::string_view, Arg>> given) {
  Call c;
  c.kernel = &k;
  c.barrier_after = true;
  for (const ArgField& f : info(k.args).fields) {
    switch (f.type) {
      case ArgField::Type::pointer:
        c.args.push_back(Place{});
        break;
      case ArgField::Type::i64:
        c.args.push_back(int64_t{0});
        break;
      case ArgField::Type::f32:
        c.args.push_back(0.0f);
        break;
      case ArgField::Type::call:
        c.args.push_back(CallRef{});
        break;
      case ArgField::Type::i32:
      case ArgField::Type::rows_of:
        c.args.push_back(int32_t{0});
        break;
    }
    for (const auto& [name, value] : given) {
      if (f.name == name) c.args.back() = value;
    }
  }
  return c;
}

struct Shape {
  int64_t n_ctx = 1024, n_rows = 64, n_outputs = 64;
  int64_t window = 0;  // of the second state; 0: there is none
};

inline std::shared_ptr<Lowered> make(const Shape& shape = {}) {
  auto l = std::make_shared<Lowered>();
  l->name = "counting";
  l->limits = {
      .n_ctx = shape.n_ctx, .n_rows = shape.n_rows, .n_outputs = shape.n_outputs, .n_threads = 8};
  l->states.push_back({.name = "kv[0]", .page_bytes = 128 * 4});
  if (shape.window > 0) {
    l->states.push_back({.name = "kv[1]", .page_bytes = 128 * 4, .window = shape.window});
  }
  const auto state = static_cast<int32_t>(l->states.size() - 1);  // what the logits are made of
  for (const bool prefill : {false, true}) {
    const int64_t n = prefill ? shape.n_rows : int64_t{ETCH_DECODE_ROWS};
    const auto b = static_cast<int32_t>(l->buffers.size());
    const auto buffer = [&](std::string_view name, int64_t offset, int64_t row, int first,
                            int last) {
      l->buffers.push_back({.name = std::string(name),
                            .offset = offset,
                            .bytes = n * row,
                            .size = {.per_row = row},
                            .first_call = first,
                            .last_call = last,
                            .prefill = prefill});
      return Place{Space::arena, offset, static_cast<int32_t>(l->buffers.size() - 1)};
    };
    const int64_t x_bytes = (n * 4 + 63) / 64 * 64;
    const Place x = buffer("x", 0, 4, 0, 2);
    const Place y = buffer("y", x_bytes, 8, 2, 3);
    if (!prefill) {
      l->outputs.push_back({.name = "logits", .buffer = b + 2, .shape = {2}});
      l->buffers.push_back({.name = "logits",
                            .space = Space::output,
                            .bytes = shape.n_outputs * 8,
                            .size = {.per_output = 8}});
      l->output_bytes = shape.n_outputs * 8;
    }
    const Place logits{Space::output, 0, 2};
    CallList& list = prefill ? l->prefill : l->decode;
    list.max_rows = n;
    list.calls.push_back(
        call(kEmbed, {{"y.at", x}, {"y.row_stride", int64_t{4}}, {"n_table", kVocab}}));
    list.calls.push_back(call(kAppend, {{"k.at", x}, {"k.row_stride", int64_t{4}}, {"state", 0}}));
    if (state == 1) {
      list.calls.back().barrier_after = false;
      list.calls.push_back(
          call(kAppend, {{"k.at", x}, {"k.row_stride", int64_t{4}}, {"state", 1}}));
      l->buffers[static_cast<size_t>(x.buffer)].last_call = 3;
      l->buffers[static_cast<size_t>(y.buffer)].first_call = 3;
      l->buffers[static_cast<size_t>(y.buffer)].last_call = 4;
    }
    list.calls.push_back(call(kAttend, {{"y.at", y},
                                        {"y.row_stride", int64_t{8}},
                                        {"state", int32_t{state}},
                                        {"window", shape.window}}));
    list.calls.push_back(call(kGather, {{"x.at", y},
                                        {"x.row_stride", int64_t{8}},
                                        {"y.at", logits},
                                        {"y.row_stride", int64_t{8}},
                                        {"d", int64_t{2}}}));
    for (Call& c : list.calls) {
      c.origin = {.node = 7,
                  .location = "circuits/counting.circuit:3",
                  .what = std::string(c.kernel->name)};
    }
    l->arena_bytes = std::max(l->arena_bytes, x_bytes + (n * 8 + 63) / 64 * 64);
  }
  return l;
}

}  // namespace etch::counting

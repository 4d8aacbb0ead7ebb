#include "session/arena.h"

#include <cstring>

#include "base/check.h"
#include "session/guard.h"

namespace etch {
namespace {

// The top byte of a file offset chooses its base (Lowered::weight_bases).
constexpr int kBaseShift = 56;

const uint8_t* file_address(const Lowered& lowered, const uint8_t* file, int64_t offset) {
  const auto base = static_cast<uint64_t>(offset) >> kBaseShift;
  if (base == 0) return file + offset;
  ETCH_CHECK(base <= lowered.weight_bases.size(), "weight base {} of {}", base,
             lowered.weight_bases.size());
  return lowered.weight_bases[base - 1] + (offset & ((int64_t{1} << kBaseShift) - 1));
}

}  // namespace

const ArenaLayout::Part& ArenaLayout::part(Space space) const {
  switch (space) {
    case Space::constants:
      return constants;
    case Space::input:
      return inputs;
    case Space::output:
      return outputs;
    case Space::arena:
      return arena;
    case Space::thread:
      return thread;
    case Space::none:
    case Space::file:
      break;
  }
  ETCH_CHECK(false, "no part for {}", name(space));
}

ArenaLayout lay_out_arena(const Lowered& lowered, int32_t n_threads, bool guard) {
  ArenaLayout l;
  l.n_threads = n_threads;
  l.constants.bytes = static_cast<int64_t>(lowered.constants.size());
  l.inputs.bytes = lowered.input_bytes;
  l.outputs.bytes = lowered.output_bytes;
  l.arena.bytes = lowered.arena_bytes;
  l.thread.bytes = lowered.thread_bytes;
  if (guard) {
    GuardPlaces places = place_with_red_zones(lowered);
    l.inputs.bytes = places.input_bytes;
    l.outputs.bytes = places.output_bytes;
    l.arena.bytes = places.arena_bytes;
    l.thread.bytes = places.thread_bytes;
    l.moved = std::move(places.offsets);
  }
  for (ArenaLayout::Part* p : {&l.constants, &l.inputs, &l.outputs, &l.arena, &l.thread}) {
    p->bytes = round_up(p->bytes, kMapGranule);
    p->offset = l.bytes;
    l.bytes += p->bytes;
  }
  l.bytes += l.thread.bytes * (n_threads - 1);
  return l;
}

Result<Arena> Arena::create(const Lowered& lowered, std::span<const uint8_t> file,
                            int32_t n_threads, bool guard) {
  Arena a;
  a.lowered_ = &lowered;
  a.file_ = file.data();
  a.layout_ = lay_out_arena(lowered, n_threads, guard);
  a.memory_ = ETCH_TRY(AnonymousMemory::map(a.layout_.bytes, "the arena"));
  if (!lowered.constants.empty()) {
    std::memcpy(a.part(Space::constants), lowered.constants.data(), lowered.constants.size());
  }
  return a;
}

uint8_t* Arena::part(Space space, int32_t thread) const {
  const ArenaLayout::Part& p = layout_.part(space);
  return memory_.data() + p.offset + (space == Space::thread ? p.bytes * thread : 0);
}

uint8_t* Arena::buffer(int32_t buffer, int32_t thread) const {
  const Buffer& b = lowered_->buffers[static_cast<size_t>(buffer)];
  return resolve({.space = b.space, .offset = b.offset, .buffer = buffer}, thread);
}

uint8_t* Arena::resolve(const Place& place, int32_t thread) const {
  if (place.space == Space::none) return nullptr;
  if (place.space == Space::file) {
    return const_cast<uint8_t*>(file_address(*lowered_, file_, place.offset));
  }
  int64_t offset = place.offset;
  if (!layout_.moved.empty() && place.space != Space::constants) {
    ETCH_CHECK(place.buffer >= 0, "a place at {} of {} names no buffer", place.offset,
               name(place.space));
    const auto b = static_cast<size_t>(place.buffer);
    offset += layout_.moved[b] - lowered_->buffers[b].offset;
  }
  return part(place.space, thread) + offset;
}

}  // namespace etch

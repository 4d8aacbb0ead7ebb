#include "lowered/verify.h"

#include <fmt/core.h>

#include <array>

#include "lowered/spans.h"

namespace etch {
namespace {

constexpr int kMemoryBits = 56;  // of a file offset: below them the offset, above the weight base

// One list of calls, checked from its first call to its last.
class ListCheck {
 public:
  ListCheck(const Lowered& lowered, bool prefill)
      : lowered_(lowered), list_(prefill ? lowered.prefill : lowered.decode), prefill_(prefill) {}

  Status run() {
    for (size_t b = 0; b < lowered_.buffers.size(); ++b)
      if (lowered_.buffers[b].space == Space::input)
        paint(lowered_.buffers[b], static_cast<int32_t>(b));
    for (index_ = 0; index_ < static_cast<int32_t>(list_.calls.size()); ++index_) {
      const Call& call = list_.calls[static_cast<size_t>(index_)];
      if (call.kernel == nullptr) return wrong("has no kernel");
      ETCH_TRY(check_args(call));
      for (const Access& a : call.reads) ETCH_TRY(check_access(a));
      for (const Access& a : call.writes) ETCH_TRY(check_access(a));
      ETCH_TRY(check_representations(call));
      ETCH_TRY(check_memory(call));
    }
    if (list_.max_rows == 0) return {};
    for (const Output& o : lowered_.outputs) {
      const Buffer& b = lowered_.buffers[static_cast<size_t>(o.buffer)];
      if (b.space == Space::output && spaces_[at(Space::output)].colour_at(b.offset) != o.buffer)
        return fail(ErrorKind::internal, "{}: output '{}' is never written", which(), o.name);
    }
    return {};
  }

 private:
  std::string_view which() const { return prefill_ ? "prefill" : "decode"; }
  static size_t at(Space s) { return static_cast<size_t>(s); }

  template <class... Args>
  tl::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    const Call& call = list_.calls[static_cast<size_t>(index_)];
    return fail(ErrorKind::internal, "{}: call {} ({}, {}) {}", which(), index_,
                call.kernel == nullptr ? "?" : call.kernel->name, call.origin.what,
                fmt::format(format, std::forward<Args>(args)...));
  }

  void paint(const Buffer& b, int32_t colour) {
    spaces_[at(b.space)].paint({b.offset, b.offset + b.bytes}, colour);
  }

  // ---- arguments

  Status check_args(const Call& call) const {
    const ArgsInfo& args = info(call.kernel->args);
    if (call.args.size() != args.fields.size())
      return wrong("has {} arguments, {} has {}", call.args.size(), args.name, args.fields.size());
    for (size_t i = 0; i < args.fields.size(); ++i) {
      const ArgField& field = args.fields[i];
      if (call.args[i].index() != variant_of(field.type))
        return wrong("argument '{}' is of another type", field.name);
      if (const Place* p = std::get_if<Place>(&call.args[i])) {
        ETCH_TRY(check_place(*p, field.name));
        ETCH_TRY(check_covered(call, *p, field.name));
      }
      if (const CallRef* next = std::get_if<CallRef>(&call.args[i])) ETCH_TRY(check_next(*next));
      if (field.type == ArgField::Type::rows_of && (std::get<int32_t>(call.args[i]) < ETCH_ONCE ||
                                                    std::get<int32_t>(call.args[i]) > ETCH_OUTPUTS))
        return wrong("'{}' is no kind of rows", field.name);
    }
    return {};
  }

  static size_t variant_of(ArgField::Type type) {
    switch (type) {
      case ArgField::Type::pointer:
        return 0;
      case ArgField::Type::i64:
        return 1;
      case ArgField::Type::i32:
      case ArgField::Type::rows_of:
        return 2;
      case ArgField::Type::f32:
        return 3;
      case ArgField::Type::call:
        return 4;
    }
    return 0;
  }

  Status check_next(CallRef next) const {
    if (next.call < 0) return {};
    if (next.call <= index_ || next.call >= static_cast<int32_t>(list_.calls.size()))
      return wrong("is followed by call {}, which does not come later", next.call);
    const etch_kernel* k = list_.calls[static_cast<size_t>(next.call)].kernel;
    if (k == nullptr || k->args != ArgsKind::matmul)
      return wrong("is followed by call {}, which is no matmul", next.call);
    return {};
  }

  Status check_place(const Place& p, std::string_view field) const {
    switch (p.space) {
      case Space::none:
        return p.offset == 0 && p.buffer < 0 ? Status{}
                                             : wrong("'{}' is nowhere, with an offset", field);
      case Space::file: {
        const auto base = static_cast<size_t>(p.offset >> kMemoryBits);
        if (p.offset < 0 || base > lowered_.weight_bases.size() ||
            (base == 0 && p.offset > lowered_.file_bytes))
          return wrong("'{}' is at {}, the file has {} bytes", field, p.offset,
                       lowered_.file_bytes);
        return {};
      }
      case Space::constants:
        if (p.offset < 0 || p.offset >= static_cast<int64_t>(lowered_.constants.size()))
          return wrong("'{}' is at {} of {} bytes of constants", field, p.offset,
                       lowered_.constants.size());
        return {};
      default:
        break;
    }
    if (p.buffer < 0 || p.buffer >= static_cast<int32_t>(lowered_.buffers.size()))
      return wrong("'{}' is in no buffer", field);
    const Buffer& b = lowered_.buffers[static_cast<size_t>(p.buffer)];
    if (b.space != p.space)
      return wrong("'{}' says {}, '{}' is in {}", field, name(p.space), b.name, name(b.space));
    if (is_per_list(b.space) && b.prefill != prefill_)
      return wrong("'{}' is in '{}' of the other list", field, b.name);
    if (p.offset < b.offset || p.offset >= b.offset + b.bytes)
      return wrong("'{}' is at {}, outside '{}' ({} bytes at {})", field, p.offset, b.name, b.bytes,
                   b.offset);
    return {};
  }

  // What a call is pointed at it must also say that it touches.
  Status check_covered(const Call& call, const Place& p, std::string_view field) const {
    if (p.buffer < 0) return {};
    for (const auto* accesses : {&call.reads, &call.writes})
      for (const Access& a : *accesses)
        if (a.place.buffer == p.buffer && p.offset >= a.place.offset &&
            p.offset < a.place.offset + a.bytes)
          return {};
    return wrong("does not say that it touches '{}' ('{}')",
                 lowered_.buffers[static_cast<size_t>(p.buffer)].name, field);
  }

  Status check_access(const Access& a) const {
    if (a.state >= 0) {
      if (a.state < static_cast<int32_t>(lowered_.states.size())) return {};
      return wrong("touches state {} of {}", a.state, lowered_.states.size());
    }
    if (a.place.buffer < 0) return wrong("touches no buffer");
    ETCH_TRY(check_place(a.place, "access"));
    const Buffer& b = lowered_.buffers[static_cast<size_t>(a.place.buffer)];
    if (a.bytes <= 0 || a.place.offset + a.bytes > b.offset + b.bytes)
      return wrong("touches {} bytes at {}, '{}' ends at {}", a.bytes, a.place.offset, b.name,
                   b.offset + b.bytes);
    if (a.stride < 0 || a.piece < 0 || (a.stride > 0 && a.piece == 0))
      return wrong("touches '{}' in pieces of {} every {}", b.name, a.piece, a.stride);
    return {};
  }

  // ---- representations

  Status check_representations(const Call& call) const {
    const ArgsInfo& args = info(call.kernel->args);
    for (size_t i = 0; i < args.fields.size(); ++i) {
      const Place* p = std::get_if<Place>(&call.args[i]);
      if (p == nullptr || p->buffer < 0) continue;
      const Buffer& b = lowered_.buffers[static_cast<size_t>(p->buffer)];
      const std::string_view field = args.fields[i].name;
      const Representation wanted = representation_of(*call.kernel, field);
      if (field != "scratch" && field != "partials" && b.representation != wanted)
        return wrong("wants '{}' as {}, '{}' is {}", field, name(wanted), b.name,
                     name(b.representation));
    }
    return {};
  }

  // The quantised end of a kernel is its x or what it packs; ids are whole numbers; the rest is
  // f32.
  static Representation representation_of(const etch_kernel& kernel, std::string_view field) {
    const bool product = kernel.args == ArgsKind::matmul || kernel.args == ArgsKind::expert_matmul;
    if (product && field == "x") return kernel.input;
    if (field == "packed") return kernel.output;
    if (field == "ids" || field == "experts" || field == "order" || field == "chosen")
      return Representation::i32;
    return Representation::f32;
  }

  // ---- memory

  Status check_memory(const Call& call) {
    for (const Access& a : call.reads) {
      if (a.place.buffer < 0) continue;
      std::optional<int64_t> missing;
      each_span(a, [&](Span s) {
        missing = spaces_[at(a.place.space)].first_other(s, a.place.buffer);
        return !missing;
      });
      if (!missing) continue;
      const Buffer& b = lowered_.buffers[static_cast<size_t>(a.place.buffer)];
      const auto other = spaces_[at(a.place.space)].colour_at(*missing);
      if (!other)
        return wrong("reads byte {} of '{}', which nobody wrote", *missing - b.offset, b.name);
      return wrong("reads byte {} of '{}', which '{}' has overwritten", *missing - b.offset, b.name,
                   *other >= 0 ? lowered_.buffers[static_cast<size_t>(*other)].name : "scratch");
    }
    for (const Access& a : call.writes) {
      if (a.place.buffer < 0) continue;
      // What one thread alone wrote into its own memory is nothing to read for later calls.
      const bool scratch = a.place.space == Space::thread && call.split != Split::every_thread;
      const int32_t colour = scratch ? -1 : a.place.buffer;
      each_span(a, [&](Span s) {
        spaces_[at(a.place.space)].paint(s, colour);
        return true;
      });
    }
    return {};
  }

  const Lowered& lowered_;
  const CallList& list_;
  const bool prefill_;
  int32_t index_ = 0;
  std::array<Coloured, 8> spaces_;
};

int64_t space_bytes(const Lowered& lowered, Space space) {
  switch (space) {
    case Space::arena:
      return lowered.arena_bytes;
    case Space::thread:
      return lowered.thread_bytes;
    case Space::input:
      return lowered.input_bytes;
    case Space::output:
      return lowered.output_bytes;
    default:
      return -1;
  }
}

Status check_buffer(const Lowered& lowered, const Buffer& b) {
  const int64_t room = space_bytes(lowered, b.space);
  if (room < 0) return fail(ErrorKind::internal, "buffer '{}' is in {}", b.name, name(b.space));
  if (b.offset < 0 || b.bytes < 0 || b.offset + b.bytes > room)
    return fail(ErrorKind::internal, "buffer '{}' ends at {}, the {} has {} bytes", b.name,
                b.offset + b.bytes, name(b.space), room);
  if (b.offset % kBufferAlignment != 0)
    return fail(ErrorKind::internal, "buffer '{}' begins at {}", b.name, b.offset);
  return {};
}

}  // namespace

Status verify(const Lowered& lowered) {
  for (const Buffer& b : lowered.buffers) ETCH_TRY(check_buffer(lowered, b));
  const auto n_buffers = static_cast<int32_t>(lowered.buffers.size());
  for (const Output& o : lowered.outputs)
    if (o.buffer < 0 || o.buffer >= n_buffers)
      return fail(ErrorKind::internal, "output '{}' has no buffer", o.name);
  for (const Input& i : lowered.inputs)
    if (i.buffer < 0 || i.buffer >= n_buffers)
      return fail(ErrorKind::internal, "input '{}' has no buffer", i.name);
  ETCH_TRY(ListCheck(lowered, false).run());
  ETCH_TRY(ListCheck(lowered, true).run());
  ETCH_TRY(check_races(lowered));
  return check_overlaps(lowered);
}

}  // namespace etch

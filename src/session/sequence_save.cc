// A sequence as bytes, and back. Numbers are little-endian as the machine's.
//
//   "etchseq1" | n_states i64 | length i64 | per state: kind kv n d_k d_v window page_bytes (i64
//   each) | tokens i32[length] | per state: the pages that the next row can see, whole, in order
#include <array>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "session/sequence.h"

namespace etch {
namespace {

constexpr std::string_view kMagic = "etchseq1";
constexpr int64_t kPage = ETCH_PAGE_POSITIONS;

void put(std::vector<uint8_t>& out, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  out.insert(out.end(), p, p + bytes);
}
void put(std::vector<uint8_t>& out, int64_t v) { put(out, &v, sizeof v); }

std::array<int64_t, 7> shape_of(const State& s, int64_t page_bytes) {
  return {static_cast<int64_t>(s.kind),
          static_cast<int64_t>(s.kv),
          s.n,
          s.d_k,
          s.d_v,
          s.window,
          page_bytes};
}

}  // namespace

void Sequence::save(std::vector<uint8_t>& out) const {
  put(out, kMagic.data(), kMagic.size());
  put(out, static_cast<int64_t>(tables_.size()));
  put(out, length());
  for (size_t s = 0; s < tables_.size(); ++s) {
    for (int64_t v : shape_of(state(s), pool_->page_bytes(static_cast<int32_t>(s)))) put(out, v);
  }
  put(out, tokens_.data(), tokens_.size() * sizeof(int32_t));
  for (size_t s = 0; s < tables_.size(); ++s) {
    const auto [first, last] = kept_pages(s, length());
    for (int64_t b = first; b < last; ++b) {
      put(out, tables_[s][static_cast<size_t>(b)],
          static_cast<size_t>(pool_->page_bytes(static_cast<int32_t>(s))));
    }
  }
}

Status Sequence::restore(std::span<const uint8_t> saved) {
  ByteReader in(saved);
  if (in.text(kMagic.size()) != kMagic)
    return fail(ErrorKind::damaged, "not a saved sequence of etch");
  const auto n_states = in.read<int64_t>();
  const auto n = in.read<int64_t>();
  if (n_states != static_cast<int64_t>(tables_.size())) {
    return fail(ErrorKind::damaged, "the saved sequence has {} states, this model has {}", n_states,
                tables_.size());
  }
  if (n < 0 || n > lowered_->limits.n_ctx) {
    return fail(
        ErrorKind::resources,
        "the saved sequence has {} positions, the context ends at {}\n  a larger --ctx holds it", n,
        lowered_->limits.n_ctx);
  }
  int64_t pages_bytes = 0;
  for (size_t s = 0; s < tables_.size(); ++s) {
    const int64_t page_bytes = pool_->page_bytes(static_cast<int32_t>(s));
    for (int64_t expected : shape_of(state(s), page_bytes)) {
      if (in.read<int64_t>() != expected) {
        return fail(
            ErrorKind::damaged,
            "state '{}' of the saved sequence has another shape or type\n  it belongs to another "
            "model, or was saved with another --kv",
            state(s).name);
      }
    }
    const auto [first, last] = kept_pages(s, n);
    pages_bytes += (last - first) * page_bytes;
  }
  const auto token_bytes = in.run(static_cast<uint64_t>(n) * sizeof(int32_t));
  if (!in.ok() || static_cast<int64_t>(in.left()) != pages_bytes) {
    return fail(ErrorKind::damaged, "the saved sequence has {} bytes where {} follow its header",
                in.left(), pages_bytes);
  }
  truncate(0);
  for (size_t s = 0; s < tables_.size(); ++s) {
    const auto id = static_cast<int32_t>(s);
    const auto [first, last] = kept_pages(s, n);
    for (int64_t b = first; b < last; ++b) {
      uint8_t* page = pool_->allocate(id);
      if (!page) {
        forget();
        return fail(ErrorKind::resources, "no page is left for state '{}'", state(s).name);
      }
      const auto bytes = in.run(static_cast<uint64_t>(pool_->page_bytes(id)));
      std::memcpy(page, bytes.data(), bytes.size());
      tables_[s][static_cast<size_t>(b)] = page;
    }
  }
  tokens_.resize(static_cast<size_t>(n));
  std::memcpy(tokens_.data(), token_bytes.data(), token_bytes.size());
  return {};
}

}  // namespace etch

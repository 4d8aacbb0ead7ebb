// ByteReader reads numbers and runs of bytes from untrusted memory. It checks every bound and
// remembers the first failure, so that twenty fields are twenty lines and one check at the end.
// After a failure every read gives zero.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace etch {

template <class T>
T byte_swap(T v) {
  unsigned char b[sizeof(T)], r[sizeof(T)];
  std::memcpy(b, &v, sizeof(T));
  for (size_t i = 0; i < sizeof(T); ++i) r[i] = b[sizeof(T) - 1 - i];
  std::memcpy(&v, r, sizeof(T));
  return v;
}

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes, bool swapped = false)
      : bytes_(bytes), swapped_(swapped) {}

  template <class T>
  T read() {
    T v{};
    if (!take(sizeof(T))) return v;
    std::memcpy(&v, bytes_.data() + pos_ - sizeof(T), sizeof(T));
    return swapped_ ? byte_swap(v) : v;
  }
  std::span<const uint8_t> run(uint64_t n) {
    if (!take(n)) return {};
    return bytes_.subspan(static_cast<size_t>(pos_) - n, n);
  }
  std::string_view text(uint64_t n) {
    auto r = run(n);
    return {reinterpret_cast<const char*>(r.data()), r.size()};
  }
  void skip(uint64_t n) { take(n); }

  bool ok() const { return !failed_; }
  uint64_t pos() const { return pos_; }
  uint64_t left() const { return bytes_.size() - pos_; }
  uint64_t failed_at() const { return failed_at_; }  // offset of the first read that did not fit
  uint64_t failed_need() const { return failed_need_; }  // how many bytes it wanted
  void set_swapped(bool swapped) { swapped_ = swapped; }

 private:
  bool take(uint64_t n) {
    if (failed_) return false;
    if (n > bytes_.size() - pos_) {
      failed_ = true;
      failed_at_ = pos_;
      failed_need_ = n;
      return false;
    }
    pos_ += n;
    return true;
  }
  std::span<const uint8_t> bytes_;
  uint64_t pos_ = 0;
  uint64_t failed_at_ = 0, failed_need_ = 0;
  bool failed_ = false;
  bool swapped_ = false;
};

}  // namespace etch

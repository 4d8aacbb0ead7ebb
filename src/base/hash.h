// Hashes of bytes, as text. XXH3-128 (fast, about as fast as memory) tells whether bits are the
// same; SHA-256 also holds against somebody who wants them to seem so, and is what hubs publish of
// their files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace etch {

std::string xxh3_hex(std::span<const uint8_t> bytes);    // 32 hexadecimal digits
std::string sha256_hex(std::span<const uint8_t> bytes);  // 64
std::string xxh3_hex(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

// The same for bytes that come in pieces.
class Xxh3 {
 public:
  Xxh3();
  Xxh3(Xxh3&&) noexcept;
  Xxh3& operator=(Xxh3&&) noexcept;
  ~Xxh3();
  void add(std::span<const uint8_t> bytes);
  std::string hex() const;  // of all so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  void add(std::span<const uint8_t> bytes);
  std::string hex();  // once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etch

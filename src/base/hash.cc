#include "base/hash.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include "base/check.h"

namespace etch {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string hex_of(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

std::string xxh3_hex(std::span<const uint8_t> bytes) {
  return hex_of(XXH3_128bits(bytes.data(), bytes.size()));
}
std::string xxh3_hex(std::string_view bytes) { return xxh3_hex(bytes_of(bytes)); }

std::string sha256_hex(std::span<const uint8_t> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}
std::string sha256_hex(std::string_view bytes) { return sha256_hex(bytes_of(bytes)); }

struct Xxh3::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) {
  ETCH_CHECK(state_->xxh != nullptr, "no memory for a hash");
  XXH3_128bits_reset(state_->xxh);
}
Xxh3::Xxh3(Xxh3&&) noexcept = default;
Xxh3& Xxh3::operator=(Xxh3&&) noexcept = default;
Xxh3::~Xxh3() = default;
void Xxh3::add(std::span<const uint8_t> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}
std::string Xxh3::hex() const { return hex_of(XXH3_128bits_digest(state_->xxh)); }

struct Sha256::State {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  const bool begun = state_->evp && EVP_DigestInit_ex(state_->evp, EVP_sha256(), nullptr) == 1;
  ETCH_CHECK(begun, "the library of hashes has no SHA-256");
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;
void Sha256::add(std::span<const uint8_t> bytes) {
  EVP_DigestUpdate(state_->evp, bytes.data(), bytes.size());
}
std::string Sha256::hex() {
  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(state_->evp, digest, &length);
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace etch

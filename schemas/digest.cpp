#include "schemas/digest.hpp"

#include <array>
#include <memory>

#include <openssl/evp.h>

namespace headwater {
namespace {

std::string hex_digest(const EVP_MD *algorithm, std::string_view prefix, std::string_view bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_DigestInit_ex(context.get(), algorithm, nullptr);
  EVP_DigestUpdate(context.get(), prefix.data(), prefix.size());
  EVP_DigestUpdate(context.get(), bytes.data(), bytes.size());
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  std::string text;
  text.reserve(std::size_t{length} * 2);
  for (unsigned int i = 0; i < length; ++i) {
    text.push_back("0123456789abcdef"[digest[i] >> 4U]);
    text.push_back("0123456789abcdef"[digest[i] & 15U]);
  }
  return text;
}

} // namespace

std::string sha256_hex(std::string_view bytes) {
  return hex_digest(EVP_sha256(), {}, bytes);
}

std::string sha1_hex(std::string_view bytes) {
  return hex_digest(EVP_sha1(), {}, bytes);
}

std::string git_blob_id(std::string_view bytes) {
  std::string header = "blob " + std::to_string(bytes.size());
  header.push_back('\0');
  return hex_digest(EVP_sha1(), header, bytes);
}

} // namespace headwater

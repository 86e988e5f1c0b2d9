#include "daemon/read/gguf.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  // A size told from the whole must be the size that reading it gives.
  const auto size_told = headwater::read::gguf_header_size(bytes);
  const auto header = headwater::read::read_gguf_header(bytes);
  if (header.has_value() != (size_told && *size_told) ||
      (header && header->header_bytes != **size_told))
    __builtin_trap();
  return 0;
}

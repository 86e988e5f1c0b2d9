#include "daemon/read/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  // What is read of a whole file is read of its header alone as well.
  const auto header = headwater::read::read_safetensors_header(bytes);
  const auto whole =
      headwater::read::read_safetensors_header(bytes, static_cast<std::int64_t>(size));
  if (whole && (!header || whole->tensors != header->tensors))
    __builtin_trap();
  return 0;
}

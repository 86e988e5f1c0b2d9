#include "daemon/read/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(headwater::read::read_safetensors_header(bytes));
  return 0;
}

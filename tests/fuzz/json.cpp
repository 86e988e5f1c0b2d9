// JSON from upstream: any bytes are a value within the limits or an error with a message.

#include "schemas/json.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto json =
      headwater::parse_json(std::string_view(reinterpret_cast<const char *>(data), size));
  if (!json && json.error().message.empty())
    std::abort();
  return 0;
}

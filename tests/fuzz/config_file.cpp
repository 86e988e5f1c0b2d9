// The config file: any text is read or refused, and what is read prints as text that reads back the
// same.

#include "daemon/service/config.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  if (size > 4096)
    return 0;
  const auto config = headwater::service::parse_config(text, "fuzz.toml");
  if (!config)
    return 0;
  const auto again =
      headwater::service::parse_config(headwater::service::show_config(*config), "shown.toml");
  if (!again || again->watches != config->watches || again->rules != config->rules)
    std::abort();
  return 0;
}

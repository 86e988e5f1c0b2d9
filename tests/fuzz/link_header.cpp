// The Link field and the addresses in it: any bytes give a URL that reads back as itself, or
// nothing.

#include "daemon/net/url.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string text(data, data + size);
  static const auto base =
      headwater::net::parse_url("https://hub.example/api/models/a/b/commits/main?p=0");
  const auto link = headwater::net::find_link(text, "next");
  for (const std::string &reference : {link.value_or(""), text}) {
    const auto url = headwater::net::resolve_url(*base, reference);
    if (!url)
      continue;
    const auto again = headwater::net::parse_url(url->str());
    if (!again || *again != *url)
      std::abort();
  }
  return 0;
}

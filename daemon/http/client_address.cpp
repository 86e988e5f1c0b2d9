#include "daemon/http/client_address.hpp"

#include <algorithm>
#include <string_view>

namespace headwater::http {
namespace {

constexpr std::size_t longest_address = 60;

bool is_local(std::string_view address) {
  return address.empty() || address == "::1" || address.starts_with("127.") ||
         address.starts_with("::ffff:127.");
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

} // namespace

std::string client_address(const net::Request &request,
                           const std::vector<std::string> &trusted_proxies) {
  const auto trusted = [&](std::string_view address) {
    return std::ranges::find(trusted_proxies, address) != trusted_proxies.end();
  };
  std::string_view client = request.remote_address;
  if (!trusted(client))
    return std::string(is_local(client) ? std::string_view() : client);
  // A client may send fields of its own; each proxy adds behind them.
  std::string forwarded;
  for (const auto &[name, value] : request.headers)
    if (net::same_name(name, "X-Forwarded-For"))
      forwarded += (forwarded.empty() ? "" : ",") + value;
  std::string_view left = forwarded;
  while (!left.empty() && trusted(client)) {
    const std::size_t comma = left.rfind(',');
    const std::string_view last =
        trimmed(comma == std::string_view::npos ? left : left.substr(comma + 1));
    left = comma == std::string_view::npos ? std::string_view() : left.substr(0, comma);
    if (last.empty() || last.size() > longest_address)
      break;
    client = last;
  }
  return std::string(trusted(client) && is_local(client) ? std::string_view() : client);
}

} // namespace headwater::http

#include "daemon/net/proxy.hpp"

#include "daemon/net/message.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/evp.h>

namespace headwater::net {
namespace {

/// An address as 16 bytes, an IPv4 one in its mapped form (::ffff:a.b.c.d).
using AddressBytes = std::array<unsigned char, 16>;
constexpr AddressBytes mapped_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

std::optional<AddressBytes> read_address(std::string_view text) {
  const std::string host(text.substr(0, text.find('%'))); // a zone changes nothing here
  AddressBytes bytes = mapped_prefix;
  if (::inet_pton(AF_INET, host.c_str(), bytes.data() + 12) == 1)
    return bytes;
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1)
    return bytes;
  return std::nullopt;
}

bool in_network(const AddressBytes &address, const AddressBytes &network, unsigned bits) {
  for (unsigned i = 0; i < bits; ++i)
    if (((address[i / 8] ^ network[i / 8]) >> (7 - i % 8) & 1) != 0)
      return false;
  return true;
}

/// "10.0.0.0/8", "fd00::/8"; nothing for another text.
struct Network {
  AddressBytes address;
  unsigned bits;
};
std::optional<Network> read_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  const std::optional<AddressBytes> address = read_address(text.substr(0, slash));
  if (error != std::errc{} || end != digits.data() + digits.size() || !address)
    return std::nullopt;
  if (text.find(':') == std::string_view::npos)
    bits += 96;
  if (bits > 128)
    return std::nullopt;
  return Network{*address, bits};
}

/// The IANA registries of special-purpose addresses (RFC 6890 and what amended it), those that are
/// not reachable globally.
constexpr std::array special_networks = {
    "0.0.0.0/8",      "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12",  "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15",  "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",    "::/96",
    "64:ff9b:1::/48", "100::/64",        "2001::/23",      "2001:db8::/32",  "2002::/16",
    "3fff::/20",      "5f00::/16",       "fc00::/7",       "fe80::/9",       "ff00::/8",
};

std::string from_environment(const char *upper, const char *lower) {
  for (const char *name : {lower, upper})
    if (const char *value = std::getenv(name); value != nullptr && *value != '\0')
      return value;
  return {};
}

std::string base64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const std::basic_string<unsigned char> bytes(text.begin(), text.end());
  std::basic_string<unsigned char> encoded(out.size(), '\0');
  const int size = EVP_EncodeBlock(encoded.data(), bytes.data(), static_cast<int>(bytes.size()));
  return std::string(encoded.begin(), encoded.begin() + size);
}

bool listed(std::string_view entry, const Url &url) {
  if (entry == "*")
    return true;
  const std::optional<AddressBytes> address = read_address(url.host);
  if (const std::optional<Network> network = read_network(entry))
    return address && in_network(*address, network->address, network->bits);
  if (const std::optional<AddressBytes> listed_address = read_address(entry))
    return address == listed_address;
  if (const std::size_t colon = entry.rfind(':'); colon != std::string_view::npos) {
    if (entry.substr(colon + 1) != std::to_string(url.port))
      return false;
    entry = entry.substr(0, colon);
  }
  if (entry.starts_with("*."))
    entry.remove_prefix(1);
  if (entry.starts_with('.'))
    entry.remove_prefix(1);
  if (entry.empty() || entry.size() > url.host.size())
    return false;
  const std::string_view tail = std::string_view(url.host).substr(url.host.size() - entry.size());
  const bool whole_labels =
      tail.size() == url.host.size() || url.host[url.host.size() - tail.size() - 1] == '.';
  return same_name(tail, entry) && whole_labels;
}

bool bypassed(std::string_view no_proxy, const Url &url) {
  while (!no_proxy.empty()) {
    const std::size_t end = no_proxy.find_first_of(", \t");
    const std::string_view entry = no_proxy.substr(0, end);
    no_proxy = end == std::string_view::npos ? std::string_view{} : no_proxy.substr(end + 1);
    if (!entry.empty() && listed(entry, url))
      return true;
  }
  return false;
}

} // namespace

bool is_loopback_host(std::string_view host) {
  if (same_name(host, "localhost") ||
      (host.size() > 10 && same_name(host.substr(host.size() - 10), ".localhost")))
    return true;
  const std::optional<AddressBytes> address = read_address(host);
  if (!address)
    return false;
  static constexpr AddressBytes v6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return *address == v6 || (in_network(*address, mapped_prefix, 96) && (*address)[12] == 127);
}

bool is_public_address(std::string_view text) {
  std::optional<AddressBytes> address = read_address(text);
  if (!address)
    return false;
  // 64:ff9b::/96 carries an IPv4 address to a translator: what counts is where that leads.
  static const std::optional<Network> translated = read_network("64:ff9b::/96");
  if (translated && in_network(*address, translated->address, translated->bits))
    std::copy(mapped_prefix.begin(), mapped_prefix.begin() + 12, address->begin());
  return std::ranges::none_of(special_networks, [&](const char *special) {
    const std::optional<Network> network = read_network(special);
    return network && in_network(*address, network->address, network->bits);
  });
}

Result<std::optional<Proxy>> choose_proxy(const ClientOptions &options, const Url &url) {
  const std::string &setting = url.scheme == "https" ? options.https_proxy : options.http_proxy;
  if (setting.empty() || is_loopback_host(url.host) || bypassed(options.no_proxy, url))
    return std::optional<Proxy>{};
  std::string text = setting;
  if (text.find("://") == std::string::npos)
    text = "http://" + text;
  Proxy proxy;
  const std::size_t start = text.find("://") + 3;
  if (const std::size_t at = text.substr(0, text.find('/', start)).rfind('@');
      at != std::string::npos && at >= start) {
    const std::optional<Target> user = split_target("/" + text.substr(start, at - start));
    if (!user || user->segments.size() != 1)
      return fail(Errc::bad_input, "the user name in the proxy setting is not percent-encoded: "
                                   "write @, / and % as %40, %2F and %25");
    proxy.authorization = "Basic " + base64(user->segments.front());
    text.erase(start, at + 1 - start);
  }
  const Result<Url> parsed = parse_url(text);
  if (!parsed)
    return fail(Errc::bad_input, "the proxy setting is not a URL: " + parsed.error().message);
  if (parsed->scheme != "http")
    return fail(Errc::bad_input,
                fmt::format("a proxy is spoken to over http://, not {}://: change HTTPS_PROXY",
                            parsed->scheme));
  proxy.host = parsed->host;
  proxy.port = parsed->port;
  return std::optional<Proxy>(std::move(proxy));
}

ClientOptions client_options_from_environment() {
  ClientOptions options;
  options.https_proxy = from_environment("HTTPS_PROXY", "https_proxy");
  // Upper-case HTTP_PROXY is what a CGI server makes of a request's "Proxy:" field, but a daemon is
  // no CGI script.
  options.http_proxy = from_environment("HTTP_PROXY", "http_proxy");
  options.no_proxy = from_environment("NO_PROXY", "no_proxy");
  options.ca_file = from_environment("SSL_CERT_FILE", "ssl_cert_file");
  return options;
}

} // namespace headwater::net

#pragma once

#include "daemon/net/client.hpp"
#include "daemon/net/url.hpp"
#include "schemas/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace headwater::net {

/// An HTTP proxy to go through.
struct Proxy {
  std::string host;
  std::uint16_t port = 0;
  std::string authorization = {}; ///< "Basic ..." or ""
  friend bool operator==(const Proxy &, const Proxy &) = default;
};

/// The proxy that the options ask for on the way to `url`; nothing for a direct connection, which a
/// loopback host and one that no_proxy lists ("*", "example.com" and what is below it, "host:port",
/// an address, "10.0.0.0/8") always get. Errors: bad_input for a proxy setting that cannot be used.
Result<std::optional<Proxy>> choose_proxy(const ClientOptions &options, const Url &url);

/// True for "localhost", names below it and loopback addresses.
bool is_loopback_host(std::string_view host);

/// True for an address that anybody on the internet means the same by: not loopback, private,
/// link-local, unique-local, shared (100.64.0.0/10), multicast, reserved or one of these inside an
/// IPv6 form. False for what is no address.
bool is_public_address(std::string_view address);

} // namespace headwater::net

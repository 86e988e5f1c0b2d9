#pragma once

#include "daemon/net/message.hpp"

#include <string>
#include <vector>

namespace headwater::http {

/// Whose request it is: the address that connected, or, where that is one of `trusted_proxies`, the
/// last one in X-Forwarded-For that is not (RFC 7239 describes why only the last can be believed).
/// For counting alone: it is never shown. "" where nobody can be told apart: a Unix socket, or a
/// proxy on this machine that is not named as trusted.
std::string client_address(const net::Request &request,
                           const std::vector<std::string> &trusted_proxies);

} // namespace headwater::http

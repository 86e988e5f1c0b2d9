#pragma once

#include "daemon/net/message.hpp"
#include "schemas/result.hpp"

#include <chrono>
#include <string>

namespace headwater::net {

/// One blocking request to a server on a Unix socket. Errors: transient when nobody listens there
/// (message names the socket and says what to do), malformed, too_large over `max_body_bytes`.
Result<Response> request_over_unix_socket(const std::string &socket_path, const Request &request,
                                          std::chrono::seconds timeout,
                                          std::uint64_t max_body_bytes);

} // namespace headwater::net

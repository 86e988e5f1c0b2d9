#pragma once

#include "daemon/net/server.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <string>

namespace headwater::net {

/// A listening socket. Whoever takes the descriptor closes it.
struct Listener {
  int descriptor = -1;
  int family = 0;              ///< AF_INET, AF_INET6 or AF_UNIX
  std::uint16_t port = 0;      ///< 0 for a Unix socket
  std::string bound_path = {}; ///< the socket file that we made
};

/// Opens what the options name: an inherited socket, a Unix socket (0660; a file left by a process
/// that is gone is replaced, a live one is not), or an address and port. Errors: bad_input with the
/// mend.
Result<Listener> open_listener(const ServerOptions &options);

/// Removes a socket file that nobody listens on any more.
void remove_socket_file(const std::string &path);

} // namespace headwater::net

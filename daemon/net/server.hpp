#pragma once

#include "daemon/net/message.hpp"
#include "schemas/result.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace headwater::net {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;     ///< 0 = any free port
  int inherited_socket = -1;  ///< a listening socket from socket activation
  std::string unix_path = {}; ///< listen on this Unix socket instead (mode 0660)
  std::size_t max_body_bytes = 4U << 20U;
  std::size_t max_header_bytes = 32U << 10U;
  std::size_t max_connections = 512;
  unsigned threads = 2;
  std::chrono::seconds idle_timeout{30};
};

/// An HTTP/1.1 server on threads of its own. Destroying it stops it and waits for requests in hand.
class Server {
public:
  /// Listens before it returns. Errors: bad_input that names the address and what to do (port in
  /// use, no right).
  static Result<std::unique_ptr<Server>> start(const ServerOptions &options, Handler handler);
  virtual ~Server() = default;
  /// The port that it listens on, 0 for a Unix socket.
  virtual std::uint16_t port() const = 0;
  /// Stops accepting, lets requests in hand end for at most `grace`, then closes.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

} // namespace headwater::net

#pragma once

#include "daemon/net/client.hpp"
#include "daemon/net/proxy.hpp"
#include "daemon/net/url.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace headwater::net {

/// What all TLS connections of a client share: the trusted certificates.
struct TlsContext;
/// `ca_file` "" = the system's. Errors: bad_input for a file that cannot be read.
Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string &ca_file);

/// Whom a connection leads to.
struct Peer {
  Url url;
  std::optional<Proxy> proxy = {};
  bool public_only = false; ///< refuse an address that is not public (rule for redirects)
  std::chrono::milliseconds timeout{};
};

struct WireRequest {
  std::string method;
  Url url;
  Headers headers;
  std::string body;
  std::uint64_t max_body_bytes = 0;
  bool stop_at_limit = false;
  std::chrono::milliseconds timeout{};
};

struct WireAnswer {
  int status = 0;
  Headers headers;
  std::string body;
};

struct Exchange {
  Result<WireAnswer> answer;
  bool nothing_came =
      false; ///< it failed before the first byte of an answer: a kept connection was stale
};

/// One connection to one origin, used by one coroutine at a time. Everything runs on the executor
/// it was made with.
class Connection {
public:
  /// `tls` null for plain http.
  static std::unique_ptr<Connection> make(const boost::asio::any_io_executor &executor, Peer peer,
                                          std::shared_ptr<TlsContext> tls);
  virtual ~Connection() = default;
  /// Resolves, connects, goes through the proxy and shakes hands, all within the peer's timeout
  /// (the system's resolver keeps its own). Errors: transient; malformed for a refused address.
  virtual boost::asio::awaitable<Result<void>> open() = 0;
  /// One request and its answer. An answer may take the request's timeout, and beyond that a second
  /// for each 128 KiB.
  virtual boost::asio::awaitable<Exchange> exchange(WireRequest request) = 0;
  /// True while another request may follow on it.
  virtual bool reusable() = 0;
  /// True when the far end is a public address; behind a proxy, when the name asked for is not
  /// plainly another.
  virtual bool leads_to_public() const = 0;
  /// Ends what is under way with an error.
  virtual void close() = 0;
};

} // namespace headwater::net

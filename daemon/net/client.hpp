#pragma once

#include "daemon/net/message.hpp"
#include "schemas/result.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace headwater::net {

struct ClientOptions {
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds request_timeout{60'000};
  std::size_t max_connections_per_host = 8;
  int max_redirects = 5;
  std::string user_agent = "headwater";
  std::string ca_file = {};     ///< "" = the system's
  std::string https_proxy = {}; ///< as the environment gives them; loopback endpoints never use one
  std::string http_proxy = {};
  std::string no_proxy = {};
};

/// Reads HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE (either case) into options.
ClientOptions client_options_from_environment();

struct ClientRequest {
  std::string method = "GET";
  std::string url;
  Headers headers = {};
  std::string body = {};
  std::string bearer_token =
      {}; ///< sent to `url`'s own origin only, never along a redirect to another
  std::uint64_t max_body_bytes = 8U
                                 << 20U; ///< a longer answer is too_large; nothing beyond is read
  bool follow_redirects = true;          ///< by DESIGN.md rule 3
  bool stop_at_limit = false; ///< give the first max_body_bytes and close instead of failing (a
                              ///< server that ignores Range)
};

struct ClientResponse {
  int status = 0;
  Headers headers = {}; ///< of the last answer
  /// Of the redirects that the first origin answered (X-Linked-ETag, X-Repo-Commit); empty when
  /// there were none. A field of several of them is the first one's.
  Headers first_headers = {};
  std::string body = {};
  std::string url = {}; ///< where the last answer came from
};

/// Keep-alive HTTP(S) client. Errors: transient (network, timeout, TLS), too_large, malformed,
/// bad_input (url), gone never: a status is not an error here.
class Client {
public:
  static std::unique_ptr<Client> make(boost::asio::any_io_executor executor, ClientOptions options);
  virtual ~Client() = default;
  virtual boost::asio::awaitable<Result<ClientResponse>> send(ClientRequest request) = 0;
  /// Closes idle and busy connections; pending sends end with transient.
  virtual void close() = 0;
};

} // namespace headwater::net

#pragma once

#include "daemon/hub/client.hpp"
#include "daemon/hub/rate_budget.hpp"
#include "daemon/net/client.hpp"
#include "schemas/json.hpp"
#include "schemas/result.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

namespace headwater::hub {

/// Says whether a 200 or 206 is what was asked for; a transient or malformed error makes it asked
/// again.
using Check = std::function<Result<void>(const net::ClientResponse &)>;

/// One thing to ask the hub. `target` is what follows the endpoint ("/api/models/...").
struct Ask {
  std::string target;
  std::string_view bucket = "api"; ///< which published limit it counts against
  std::string range = {};          ///< "bytes=0-99" or ""
  std::string accept_encoding = "gzip";
  std::uint64_t max_bytes = 0;
  bool stop_at_limit = false;
  Check check = {};
};

/// Asks one hub, within its limits, again where that helps. All on one strand.
class HttpSession {
public:
  HttpSession(const boost::asio::strand<boost::asio::any_io_executor> &strand, HubOptions options);

  /// A success (200 or 206) that passed its check, or what the answer means (errors.hpp).
  boost::asio::awaitable<Result<net::ClientResponse>> ask(Ask question);
  /// The target of the next page, on the configured endpoint only, "" on the last. Errors:
  /// malformed.
  Result<std::string> next_page(const net::ClientResponse &answer) const;
  const HubOptions &options() const { return options_; }
  /// Waits as before the retry number `retry`; false when the session was closed meanwhile.
  boost::asio::awaitable<bool> wait_a_moment(int retry);
  /// What the last call that was not answered is waiting out; "" once one was. Thread-safe.
  std::string trouble() const;
  void close();

private:
  void set_trouble(std::string what);
  boost::asio::awaitable<bool> pause(std::chrono::milliseconds time);

  boost::asio::strand<boost::asio::any_io_executor> strand_;
  HubOptions options_;
  std::unique_ptr<net::Client> client_;
  RateBudget rate_;
  RetryBudget retry_budget_;
  std::minstd_rand random_{std::random_device{}()};
  std::set<boost::asio::steady_timer *> pauses_;
  bool closed_ = false;
  mutable std::mutex trouble_mutex_;
  std::string trouble_;
};

} // namespace headwater::hub

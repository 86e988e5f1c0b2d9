#pragma once

#include "daemon/net/events.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace headwater::store {
class Store;
}

namespace headwater::http {

/// Listeners of /events. Each is told where the stream of deltas stands when it connects, what it
/// missed since its Last-Event-ID, and then every delta of a public repo once it is stored. Any
/// thread may call any member.
class EventHub {
public:
  explicit EventHub(std::size_t max_listeners = 256) : max_listeners_(max_listeners) {}

  /// A new listener, or null when there are too many. `last_id` is the Last-Event-ID it sent, ""
  /// for none.
  std::shared_ptr<net::EventChannel> listen(store::Store &store, const std::string &last_id);
  /// Sends the deltas stored since the last call. To be called after each commit.
  void announce(store::Store &store);
  /// A comment to every listener, so that dead connections are noticed; about every 20 s.
  void keep_alive();
  /// Ends all listeners (shutdown).
  void close();
  std::size_t listeners() const;

private:
  void send_all(const std::string &text);

  mutable std::mutex mutex_;
  std::size_t max_listeners_;
  std::int64_t last_serial_ = -1;
  std::vector<std::shared_ptr<net::EventChannel>> channels_;
};

} // namespace headwater::http

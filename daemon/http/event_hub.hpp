#pragma once

#include "daemon/net/events.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace headwater::http {

class PublicStore;

/// Listeners of /events. Each is told where the stream of deltas stands when it connects, what it
/// missed since its Last-Event-ID, and then every delta of a public repo once it is stored. Any
/// thread may call any member.
class EventHub {
public:
  explicit EventHub(std::size_t max_listeners = 256, std::size_t max_of_one = 32)
      : max_listeners_(max_listeners), max_of_one_(max_of_one) {}

  /// A new listener, or null when there are too many, in all or of `client` ("" is not counted).
  /// `last_id` is the Last-Event-ID it sent, "" for none.
  std::shared_ptr<net::EventChannel> listen(const PublicStore &store, const std::string &last_id,
                                            const std::string &client = {});
  /// Sends the deltas stored since the last call, then those of the advisories `changed` (new, or
  /// other in substance: closed, public at last) that no delta of them named. To be called after
  /// each commit.
  void announce(const PublicStore &store, const std::vector<std::string> &changed = {});
  /// A comment to every listener, so that dead connections are noticed; about every 20 s.
  void keep_alive();
  /// Ends all listeners (shutdown).
  void close();
  std::size_t listeners() const;

private:
  struct Listener {
    std::shared_ptr<net::EventChannel> channel;
    std::string client;
  };
  /// The advisories that the deltas sent name.
  std::set<std::string> send_deltas(const PublicStore &store);
  void send_all(const std::string &text);

  mutable std::mutex mutex_;
  std::size_t max_listeners_;
  std::size_t max_of_one_;
  std::int64_t last_serial_ = -1;
  std::vector<Listener> listeners_;
};

} // namespace headwater::http

#pragma once

#include "daemon/net/message.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace headwater::net {

/// What one listener of server-sent events is still to be sent. Any thread may call any member. The
/// queue is bounded: a listener that falls further behind is cut off (it reconnects with
/// Last-Event-ID and reads what it missed).
class EventChannel {
public:
  /// @param max_pending bytes that may wait unsent.
  explicit EventChannel(std::size_t max_pending = 1U << 20U) : max_pending_(max_pending) {}

  /// Queues one event as it goes over the wire ("id: 7\ndata: {...}\n\n", or ": keep-alive\n\n").
  /// False when the channel is closed, or is closed now because the listener is too far behind.
  bool push(std::string event_text);
  /// Ends the response once what is queued has been sent.
  void close();
  /// True after close() and once the listener has gone: the sender forgets this channel then.
  bool closed() const;

  /// For the server: takes all that is queued ("" when nothing is).
  std::string take();
  /// For the server: `wake` is called (on the pushing thread) after each push and close; null to
  /// stop.
  void on_change(std::function<void()> wake);

private:
  mutable std::mutex mutex_;
  std::size_t max_pending_;
  std::string pending_;
  bool closed_ = false;
  std::function<void()> wake_;
};

} // namespace headwater::net

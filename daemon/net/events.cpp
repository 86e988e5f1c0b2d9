#include "daemon/net/events.hpp"

#include <utility>

namespace headwater::net {

// The wake function runs under the lock: once on_change(null) has returned no call is under way, so
// the server may let go of what the function uses. It only posts to the server's executor and never
// calls back into the channel.

bool EventChannel::push(std::string event_text) {
  const std::lock_guard lock(mutex_);
  if (closed_)
    return false;
  if (pending_.size() + event_text.size() > max_pending_) {
    closed_ = true;
    pending_.clear();
  } else {
    pending_ += event_text;
  }
  if (wake_)
    wake_();
  return !closed_;
}

void EventChannel::close() {
  const std::lock_guard lock(mutex_);
  if (closed_)
    return;
  closed_ = true;
  if (wake_)
    wake_();
}

bool EventChannel::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::string EventChannel::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(pending_, {});
}

void EventChannel::on_change(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

} // namespace headwater::net

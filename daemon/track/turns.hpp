#pragma once

#include <list>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace headwater::track {

/// Who reads a revision now: many at once, or one alone. For coroutines of one strand.
class Turns {
public:
  /// A place among those who read, given back when this goes.
  class Turn {
  public:
    Turn(Turns &turns, bool alone) : turns_(&turns), alone_(alone) {}
    Turn(Turn &&other) noexcept : turns_(other.turns_), alone_(other.alone_) {
      other.turns_ = nullptr;
    }
    Turn &operator=(Turn &&) = delete;
    ~Turn() {
      if (turns_ != nullptr)
        turns_->leave(alone_);
    }

  private:
    Turns *turns_;
    bool alone_;
  };

  /// Waits until nobody reads alone, and with `alone` until nobody reads at all; those who come
  /// later wait behind one that is to read alone.
  boost::asio::awaitable<Turn> take(bool alone) {
    const auto executor = co_await boost::asio::this_coro::executor;
    waiting_alone_ += alone ? 1 : 0;
    while (alone ? reading_ > 0 : (alone_ || waiting_alone_ > 0)) {
      boost::asio::steady_timer timer(executor, boost::asio::steady_timer::time_point::max());
      const auto place = waiting_.insert(waiting_.end(), &timer);
      co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
      waiting_.erase(place);
    }
    waiting_alone_ -= alone ? 1 : 0;
    alone_ = alone;
    ++reading_;
    co_return Turn(*this, alone);
  }

private:
  void leave(bool alone) {
    --reading_;
    alone_ = alone_ && !alone;
    for (boost::asio::steady_timer *timer : waiting_)
      timer->cancel();
  }

  int reading_ = 0;
  bool alone_ = false;
  int waiting_alone_ = 0;
  std::list<boost::asio::steady_timer *> waiting_;
};

} // namespace headwater::track

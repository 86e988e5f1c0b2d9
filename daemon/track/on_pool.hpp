#pragma once

#include "daemon/track/signal_stack.hpp"

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace headwater::track {

/// Runs synchronous work on the pool and comes back to the coroutine's own executor with what it
/// gave. `work` must not throw.
template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work &>> on_pool(boost::asio::thread_pool &pool,
                                                             Work work) {
  const auto home = co_await boost::asio::this_coro::executor;
  co_await boost::asio::post(
      boost::asio::bind_executor(pool.get_executor(), boost::asio::use_awaitable));
  use_signal_stack();
  std::invoke_result_t<Work &> result = work();
  co_await boost::asio::post(boost::asio::bind_executor(home, boost::asio::use_awaitable));
  co_return result;
}

} // namespace headwater::track

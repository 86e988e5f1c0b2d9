#pragma once

#include "daemon/net/client.hpp"

#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

namespace headwater::net::test {

/// Runs one coroutine to its end on this thread.
template <class T> T run(boost::asio::io_context &io, boost::asio::awaitable<T> work) {
  std::optional<T> result;
  boost::asio::co_spawn(io, std::move(work), [&result](const std::exception_ptr &error, T value) {
    if (error)
      std::rethrow_exception(error);
    result = std::move(value);
  });
  io.restart();
  while (!result && io.run_one() > 0) {
  }
  return std::move(*result);
}

} // namespace headwater::net::test

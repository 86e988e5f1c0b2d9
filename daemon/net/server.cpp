#include "daemon/net/server.hpp"

#include "daemon/net/events.hpp"
#include "daemon/net/listener.hpp"
#include "schemas/time.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <sys/socket.h>

// All sockets, timers and the set of sessions belong to one I/O thread, so none of them needs a
// lock; handlers and reads from the disk run on a pool beside it.

namespace headwater::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::awaitable;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Clock = std::chrono::steady_clock;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t chunk_bytes = 256U << 10U;
/// What is still read and thrown away after an early answer, so that the peer gets to see it before
/// a reset.
constexpr std::size_t linger_bytes = 1U << 20U;
constexpr std::chrono::seconds linger_time{2};

enum class Side : std::uint8_t { read, both };

/// One connection. The timer bounds the step in hand; shutting the socket down, unlike cancelling,
/// holds for every further read of a composed operation too.
struct Session : std::enable_shared_from_this<Session> {
  explicit Session(asio::io_context &io) : socket(io), timer(io), wake(io) {}

  Socket socket;
  asio::steady_timer timer;
  asio::steady_timer wake; ///< cancelled when an event waits or the listener has gone
  std::string remote_address;
  std::shared_ptr<EventChannel> events;
  bool idle = true;
  Clock::time_point idle_since = Clock::now();
  bool timed_out = false;
  bool peer_gone = false;

  void set_deadline(std::chrono::milliseconds limit, Side side) {
    timed_out = false;
    timer.expires_after(limit);
    timer.async_wait([self = shared_from_this(), side](error_code ec) {
      if (ec || self->timer.expiry() > Clock::now())
        return;
      self->timed_out = true;
      self->shut(side);
    });
  }
  void clear_deadline() { timer.expires_at(Clock::time_point::max()); }

  void shut(Side side) {
    error_code ignored;
    socket.shutdown(side == Side::read ? Socket::shutdown_receive : Socket::shutdown_both, ignored);
  }
};

/// A line end in a field would let whoever wrote its text add fields, or a second answer.
bool breaks_the_header(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

Response plain_response(int status, std::string text) {
  Response response;
  response.status = status;
  set_header(response.headers, "Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(text) + "\n";
  return response;
}

/// The answer to a request that could not be read, or nothing when the peer just went away.
std::optional<Response> answer_to(const error_code &ec, bool timed_out) {
  if (timed_out)
    return plain_response(408, "the request did not arrive in time");
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
    return plain_response(431, "the request header is too long");
  if (ec == http::error::body_limit)
    return plain_response(413, "the request body is too long");
  if (ec == http::error::end_of_stream || ec == http::error::partial_message)
    return std::nullopt;
  if (ec.category() == http::make_error_code(http::error::bad_method).category())
    return plain_response(400, "the request is not HTTP/1.1: " + ec.message());
  return std::nullopt;
}

awaitable<Response> call_handler(const Handler &handler, const Request &request) {
  try {
    co_return handler(request);
  } catch (const std::exception &) {
    co_return plain_response(500, "internal error");
  }
}

awaitable<std::size_t> read_stream(const StreamedBody &stream, std::uint64_t offset, char *out,
                                   std::size_t count) {
  try {
    co_return std::min(count, stream.read(offset, out, count));
  } catch (const std::exception &) {
    co_return 0;
  }
}

class ServerOnThreads final : public Server {
public:
  ServerOnThreads(const ServerOptions &options, Handler handler)
      : options_(options), handler_(std::move(handler)), pool_(std::max(1U, options.threads)) {}

  ~ServerOnThreads() override { stop(std::chrono::milliseconds(0)); }

  Result<void> listen() {
    Result<Listener> listener = open_listener(options_);
    if (!listener)
      return std::unexpected(listener.error());
    port_ = listener->port;
    bound_path_ = listener->bound_path;
    error_code ec;
    if (listener->family == AF_UNIX) {
      start_accepting<asio::local::stream_protocol>(asio::local::stream_protocol(),
                                                    listener->descriptor, ec);
    } else {
      const asio::ip::tcp protocol =
          listener->family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4();
      start_accepting<asio::ip::tcp>(protocol, listener->descriptor, ec);
    }
    if (ec)
      return fail(Errc::internal, "cannot use the listening socket: " + ec.message());
    thread_ = std::thread([this] { io_.run(); });
    return {};
  }

  std::uint16_t port() const override { return port_; }

  void stop(std::chrono::milliseconds grace) override {
    const std::lock_guard once(stop_mutex_);
    if (!thread_.joinable())
      return;
    asio::post(io_, [this] { stop_accepting(); });
    {
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, grace, [this] { return running_ == 0; });
    }
    asio::post(io_, [this] {
      for (const std::shared_ptr<Session> &session : sessions_) {
        session->shut(Side::both);
        session->wake.cancel();
      }
    });
    {
      std::unique_lock lock(mutex_);
      ended_.wait(lock, [this] { return running_ == 0; });
    }
    work_.reset();
    thread_.join();
    pool_.join();
  }

private:
  template <class Protocol>
  void start_accepting(const Protocol &protocol, int descriptor, error_code &ec) {
    auto acceptor = std::make_shared<asio::basic_socket_acceptor<Protocol>>(io_);
    acceptor->assign(protocol, descriptor, ec);
    if (ec)
      return;
    close_acceptor_ = [acceptor] {
      error_code ignored;
      acceptor->close(ignored);
    };
    task_begins();
    asio::co_spawn(io_, accept<Protocol>(acceptor), asio::detached);
  }

  void task_begins() {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  void task_ends() {
    const std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_all();
  }

  void stop_accepting() {
    stopping_ = true;
    // The file goes first: once nobody listens on it, it may already be another process's.
    if (!bound_path_.empty())
      remove_socket_file(bound_path_);
    close_acceptor_();
    vacancy_.cancel();
    for (const std::shared_ptr<Session> &session : sessions_) {
      if (session->idle)
        session->shut(Side::both);
      if (session->events)
        session->events->close();
    }
  }

  /// Makes room for one connection: the one that has been idle longest is closed for it.
  void close_one_idle() {
    Session *oldest = nullptr;
    for (const std::shared_ptr<Session> &session : sessions_)
      if (session->idle && (oldest == nullptr || session->idle_since < oldest->idle_since))
        oldest = session.get();
    if (oldest == nullptr)
      return;
    oldest->idle = false;
    oldest->shut(Side::both);
  }

  template <class Protocol>
  awaitable<void> accept(std::shared_ptr<asio::basic_socket_acceptor<Protocol>> acceptor) {
    while (!stopping_) {
      auto session = std::make_shared<Session>(io_);
      const auto [ec] = co_await acceptor->async_accept(session->socket, as_result);
      if (stopping_)
        break;
      if (ec) {
        // Out of descriptors or a peer that left already: the first passes, neither ends the
        // server.
        vacancy_.expires_after(std::chrono::milliseconds(50));
        co_await vacancy_.async_wait(as_result);
        continue;
      }
      while (sessions_.size() >= options_.max_connections && !stopping_) {
        close_one_idle();
        vacancy_.expires_at(Clock::time_point::max());
        co_await vacancy_.async_wait(as_result);
      }
      if (stopping_)
        break;
      describe_peer<Protocol>(*session);
      sessions_.insert(session);
      task_begins();
      asio::co_spawn(io_, run(session), asio::detached);
    }
    task_ends();
  }

  template <class Protocol> static void describe_peer(Session &session) {
    if constexpr (std::is_same_v<Protocol, asio::ip::tcp>) {
      error_code ec;
      session.socket.set_option(asio::ip::tcp::no_delay(true), ec);
      const asio::generic::stream_protocol::endpoint peer = session.socket.remote_endpoint(ec);
      if (ec || peer.size() == 0)
        return;
      asio::ip::tcp::endpoint endpoint;
      if (peer.size() > endpoint.capacity())
        return;
      std::memcpy(endpoint.data(), peer.data(), peer.size());
      asio::ip::address address = endpoint.address();
      if (address.is_v6() && address.to_v6().is_v4_mapped())
        address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
      session.remote_address = address.to_string();
    }
  }

  awaitable<void> run(std::shared_ptr<Session> session) {
    try {
      co_await serve(*session);
    } catch (const std::exception &) {
      // Memory for one request was not to be had: this connection ends, the others go on.
    }
    if (session->events) {
      session->events->on_change(nullptr);
      session->events->close();
    }
    session->timer.cancel();
    error_code ignored;
    session->socket.close(ignored);
    sessions_.erase(session);
    vacancy_.cancel();
    task_ends();
  }

  awaitable<void> serve(Session &session) {
    boost::beast::flat_buffer buffer(options_.max_header_bytes + chunk_bytes);
    bool keep_alive = true;
    while (keep_alive && !stopping_) {
      if (buffer.size() == 0 && !co_await wait_for_request(session))
        co_return;
      session.idle = false;
      http::request_parser<http::string_body> parser;
      parser.header_limit(static_cast<std::uint32_t>(options_.max_header_bytes));
      parser.body_limit(options_.max_body_bytes);
      const error_code ec = co_await read_request(session, buffer, parser);
      if (ec || session.timed_out) {
        const std::optional<Response> answer = answer_to(ec, session.timed_out);
        if (!answer)
          co_return;
        if (co_await send(session, *answer, false, 11, false))
          co_await linger(session, buffer);
        co_return;
      }
      const bool head = parser.get().method() == http::verb::head;
      const unsigned version = parser.get().version();
      keep_alive = parser.get().keep_alive();
      const Request request = take_request(session, parser);
      Response response =
          co_await asio::co_spawn(pool_, call_handler(handler_, request), asio::use_awaitable);
      if (response.status == 0)
        co_return;
      keep_alive = keep_alive && !stopping_;
      if (!co_await send(session, response, head, version, keep_alive))
        co_return;
      if (response.events)
        keep_alive = false;
      session.idle = true;
      session.idle_since = Clock::now();
    }
  }

  awaitable<bool> wait_for_request(Session &session) {
    session.set_deadline(options_.idle_timeout, Side::both);
    const auto [ec] = co_await session.socket.async_wait(Socket::wait_read, as_result);
    session.clear_deadline();
    co_return !ec && !session.timed_out && !stopping_;
  }

  awaitable<error_code> read_request(Session &session, boost::beast::flat_buffer &buffer,
                                     http::request_parser<http::string_body> &parser) {
    session.set_deadline(options_.idle_timeout, Side::read);
    auto [ec, bytes] = co_await http::async_read_header(session.socket, buffer, parser, as_result);
    if (!ec && !parser.is_done()) {
      if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
        static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        std::tie(ec, bytes) =
            co_await asio::async_write(session.socket, asio::buffer(go_on), as_result);
      }
      session.set_deadline(options_.idle_timeout, Side::read);
      if (!ec)
        std::tie(ec, bytes) = co_await http::async_read(session.socket, buffer, parser, as_result);
    }
    // What timed out mid-read ends as "partial message"; what came whole at the last moment did
    // come.
    const bool late = session.timed_out && ec;
    session.clear_deadline();
    session.timed_out = late;
    co_return ec;
  }

  static Request take_request(const Session &session,
                              http::request_parser<http::string_body> &parser) {
    Request request;
    auto message = parser.release();
    request.method = message.method_string();
    request.target = message.target();
    for (const auto &field : message)
      request.headers.emplace_back(field.name_string(), field.value());
    request.body = std::move(message.body());
    request.remote_address = session.remote_address;
    return request;
  }

  /// Sends one response whole. False when the connection is of no further use.
  awaitable<bool> send(Session &session, const Response &response, bool head, unsigned version,
                       bool keep_alive) {
    const bool bodyless = response.status == 204 || response.status == 304;
    const bool chunked = response.events != nullptr && version >= 11;
    http::response<http::empty_body> header;
    header.version(version);
    header.result(static_cast<unsigned>(response.status));
    for (const auto &[name, value] : response.headers) {
      // The length is counted here; what HEAD answers for a body it did not make is the handler's
      // to say.
      if (same_name(name, "Connection") || same_name(name, "Transfer-Encoding"))
        continue;
      if (same_name(name, "Content-Length") && !head)
        continue;
      if (breaks_the_header(name) || breaks_the_header(value))
        continue;
      header.insert(name, value);
    }
    if (find_header(response.headers, "Date") == nullptr)
      header.set(http::field::date, format_http_date(std::chrono::floor<std::chrono::milliseconds>(
                                        std::chrono::system_clock::now())));
    const std::uint64_t size = response.stream ? response.stream->size : response.body.size();
    if (chunked) {
      header.chunked(true);
    } else if (!response.events && !bodyless &&
               header.find(http::field::content_length) == header.end()) {
      header.content_length(size);
    }
    header.keep_alive(keep_alive && !(response.events && version < 11));
    http::response_serializer<http::empty_body> serializer(header);
    session.set_deadline(options_.idle_timeout, Side::both);
    const auto [ec, bytes] =
        co_await http::async_write_header(session.socket, serializer, as_result);
    if (ec)
      co_return false;
    bool sent = true;
    if (!head && !bodyless) {
      if (response.events) {
        sent = co_await send_events(session, response.events, chunked);
      } else if (response.stream) {
        sent = co_await send_stream(session, *response.stream);
      } else {
        sent = co_await send_text(session, response.body);
      }
    }
    session.clear_deadline();
    co_return sent;
  }

  awaitable<bool> send_text(Session &session, std::string_view text) {
    for (; !text.empty(); text.remove_prefix(std::min(chunk_bytes, text.size()))) {
      session.set_deadline(options_.idle_timeout, Side::both);
      const auto piece = asio::buffer(text.data(), std::min(chunk_bytes, text.size()));
      const auto [ec, bytes] = co_await asio::async_write(session.socket, piece, as_result);
      if (ec)
        co_return false;
    }
    co_return true;
  }

  awaitable<bool> send_stream(Session &session, const StreamedBody &stream) {
    std::string piece;
    for (std::uint64_t offset = 0; offset < stream.size; offset += piece.size()) {
      piece.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, stream.size - offset)));
      const std::size_t count = co_await asio::co_spawn(
          pool_, read_stream(stream, offset, piece.data(), piece.size()), asio::use_awaitable);
      // A file cut short while it is sent: the promised length cannot be kept, so the connection
      // ends here.
      if (count == 0)
        co_return false;
      piece.resize(count);
      if (!co_await send_text(session, piece))
        co_return false;
    }
    co_return true;
  }

  awaitable<bool> send_events(Session &session, std::shared_ptr<EventChannel> channel,
                              bool chunked) {
    session.events = channel;
    channel->on_change([self = session.weak_from_this(), executor = io_.get_executor()] {
      asio::post(executor, [self] {
        if (const std::shared_ptr<Session> alive = self.lock())
          alive->wake.cancel();
      });
    });
    // A listener sends nothing more: whatever arrives means that it has gone.
    session.socket.async_wait(Socket::wait_read, [self = session.shared_from_this()](error_code) {
      self->peer_gone = true;
      self->wake.cancel();
    });
    if (stopping_)
      channel->close();
    while (!session.peer_gone) {
      const bool last = channel->closed();
      const std::string text = channel->take();
      if (!text.empty() && !co_await send_chunk(session, text, chunked))
        co_return false;
      if (last)
        break;
      if (!text.empty())
        continue;
      session.clear_deadline();
      session.wake.expires_at(Clock::time_point::max());
      co_await session.wake.async_wait(as_result);
    }
    if (session.peer_gone || !chunked)
      co_return false;
    const auto [ec, bytes] =
        co_await asio::async_write(session.socket, http::make_chunk_last(), as_result);
    co_return !ec;
  }

  awaitable<bool> send_chunk(Session &session, std::string_view text, bool chunked) {
    session.set_deadline(options_.idle_timeout, Side::both);
    if (!chunked)
      co_return co_await send_text(session, text);
    const auto chunk = http::make_chunk(asio::buffer(text.data(), text.size()));
    const auto [ec, bytes] = co_await asio::async_write(session.socket, chunk, as_result);
    co_return !ec;
  }

  /// After an early answer: no more is sent, and what still comes is thrown away for a moment.
  awaitable<void> linger(Session &session, boost::beast::flat_buffer &buffer) {
    error_code ignored;
    session.socket.shutdown(Socket::shutdown_send, ignored);
    session.set_deadline(linger_time, Side::both);
    for (std::size_t total = 0; total < linger_bytes && !session.timed_out;) {
      buffer.clear();
      const auto [ec, bytes] =
          co_await session.socket.async_read_some(buffer.prepare(16U << 10U), as_result);
      if (ec)
        break;
      total += bytes;
    }
  }

  const ServerOptions options_;
  const Handler handler_;
  std::uint16_t port_ = 0;
  std::string bound_path_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::thread_pool pool_;
  asio::steady_timer vacancy_{io_};
  std::set<std::shared_ptr<Session>> sessions_;
  std::function<void()> close_acceptor_;
  bool stopping_ = false;
  std::mutex stop_mutex_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
  std::thread thread_;
};

/// Threads started while one of these lives take no signals: those are for the program's own
/// thread.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
  sigset_t before_{};
};

} // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions &options, Handler handler) {
  const SignalsBlocked blocked;
  auto server = std::make_unique<ServerOnThreads>(options, std::move(handler));
  const Result<void> listening = server->listen();
  if (!listening)
    return std::unexpected(listening.error());
  return server;
}

} // namespace headwater::net

#include "daemon/net/client.hpp"

#include "daemon/net/connection.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace headwater::net {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using Clock = std::chrono::steady_clock;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::seconds max_idle{60};

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}
bool is_safe(const std::string &method) {
  return method == "GET" || method == "HEAD";
}

/// Fields that say who asks: they stay with the origin they were meant for.
bool is_credential(std::string_view name) {
  return same_name(name, "Authorization") || same_name(name, "Cookie") ||
         same_name(name, "Proxy-Authorization");
}

/// The connections to one origin (by one way).
struct Host {
  struct Idle {
    std::unique_ptr<Connection> connection;
    Clock::time_point since;
  };
  std::vector<Idle> idle;
  std::size_t in_use = 0;
  std::list<asio::steady_timer *> waiting;
};

struct Hop {
  WireAnswer answer;
  bool to_public = false;
};

/// All of a client's state; every member runs on the strand.
class Pool : public std::enable_shared_from_this<Pool> {
public:
  Pool(const asio::any_io_executor &executor, ClientOptions options)
      : strand_(asio::make_strand(executor)), options_(std::move(options)) {}

  const asio::strand<asio::any_io_executor> &strand() const { return strand_; }

  void close() {
    closed_ = true;
    hosts_idle_clear();
    for (Connection *connection : busy_)
      connection->close();
    for (auto &[key, host] : hosts_)
      for (asio::steady_timer *waiter : host.waiting)
        waiter->cancel();
  }

  awaitable<Result<ClientResponse>> run(std::shared_ptr<Pool> self, ClientRequest request) {
    static_cast<void>(self); // keeps the pool alive for as long as this runs
    try {
      co_return co_await follow(std::move(request));
    } catch (const boost::system::system_error &error) {
      co_return fail(Errc::transient, error.code().message()); // the caller was cancelled
    } catch (const std::exception &error) {
      co_return fail(Errc::internal, error.what());
    }
  }

private:
  /// Counts a connection in use for as long as it lives.
  class Use {
  public:
    Use(Pool &pool, std::string key) : pool_(pool), key_(std::move(key)) {
      ++pool_.hosts_[key_].in_use;
    }
    ~Use() {
      if (connection_)
        pool_.busy_.erase(connection_.get());
      Host &host = pool_.hosts_[key_];
      --host.in_use;
      if (connection_ && !pool_.closed_ && connection_->reusable())
        host.idle.push_back({std::move(connection_), Clock::now()});
      // All of them: one that woke is in the list until it has looked for itself.
      for (asio::steady_timer *waiter : host.waiting)
        waiter->cancel();
      if (host.in_use == 0 && host.idle.empty() && host.waiting.empty())
        pool_.hosts_.erase(key_);
    }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;
    Connection &hold(std::unique_ptr<Connection> connection) {
      connection_ = std::move(connection);
      pool_.busy_.insert(connection_.get());
      return *connection_;
    }

  private:
    Pool &pool_;
    std::string key_;
    std::unique_ptr<Connection> connection_;
  };

  void hosts_idle_clear() {
    for (auto &[key, host] : hosts_)
      host.idle.clear();
  }

  void drop_stale() {
    const Clock::time_point oldest = Clock::now() - max_idle;
    for (auto it = hosts_.begin(); it != hosts_.end();) {
      Host &host = it->second;
      std::erase_if(host.idle, [&](const Host::Idle &idle) { return idle.since < oldest; });
      const bool unused = host.idle.empty() && host.in_use == 0 && host.waiting.empty();
      it = unused ? hosts_.erase(it) : std::next(it);
    }
  }

  std::unique_ptr<Connection> take_idle(const std::string &key, bool public_only) {
    Host &host = hosts_[key];
    while (!host.idle.empty()) {
      std::unique_ptr<Connection> connection = std::move(host.idle.back().connection);
      host.idle.pop_back();
      if (connection->reusable() && (!public_only || connection->leads_to_public()))
        return connection;
    }
    return nullptr;
  }

  awaitable<Result<void>> wait_for_slot(std::string key) {
    const Clock::time_point deadline = Clock::now() + options_.request_timeout;
    while (!closed_ && hosts_[key].in_use >= options_.max_connections_per_host) {
      asio::steady_timer timer(strand_, deadline);
      std::list<asio::steady_timer *> &waiting = hosts_[key].waiting;
      const auto place = waiting.insert(waiting.end(), &timer);
      const auto [ec] = co_await timer.async_wait(as_result);
      waiting.erase(place);
      if (!ec)
        co_return fail(Errc::transient, "all connections stayed busy");
    }
    if (closed_)
      co_return fail(Errc::transient, "the client was closed");
    co_return Result<void>();
  }

  Result<std::shared_ptr<TlsContext>> tls_for(const Url &url) {
    if (url.scheme != "https")
      return std::shared_ptr<TlsContext>();
    if (!tls_) {
      Result<std::shared_ptr<TlsContext>> made = make_tls_context(options_.ca_file);
      if (!made)
        return made;
      tls_ = *made;
    }
    return tls_;
  }

  /// One request to one origin, on a kept connection where there is one.
  awaitable<Result<Hop>> hop(WireRequest request, bool public_only) {
    Result<std::optional<Proxy>> proxy = choose_proxy(options_, request.url);
    if (!proxy)
      co_return std::unexpected(proxy.error());
    Result<std::shared_ptr<TlsContext>> tls = tls_for(request.url);
    if (!tls)
      co_return std::unexpected(tls.error());
    std::string key = request.url.origin();
    if (*proxy)
      key += fmt::format(" by {}:{}", (*proxy)->host, (*proxy)->port);
    drop_stale();
    const Result<void> slot = co_await wait_for_slot(key);
    if (!slot)
      co_return std::unexpected(slot.error());
    while (true) {
      Use use(*this, key);
      std::unique_ptr<Connection> kept = take_idle(key, public_only);
      const bool fresh = kept == nullptr;
      if (fresh) {
        Peer peer;
        peer.url = request.url;
        peer.proxy = *proxy;
        peer.public_only = public_only;
        peer.timeout = options_.connect_timeout;
        kept = Connection::make(strand_, std::move(peer), *tls);
      }
      Connection &connection = use.hold(std::move(kept));
      if (fresh) {
        const Result<void> opened = co_await connection.open();
        if (!opened)
          co_return std::unexpected(opened.error());
      }
      Exchange exchange = co_await connection.exchange(request);
      // The far end closed a kept connection in the same moment: that says nothing about the
      // request.
      if (!exchange.answer && exchange.nothing_came && !fresh && is_safe(request.method) &&
          !closed_)
        continue;
      if (!exchange.answer)
        co_return std::unexpected(exchange.answer.error());
      Hop result;
      result.answer = std::move(*exchange.answer);
      result.to_public = connection.leads_to_public();
      co_return result;
    }
  }

  awaitable<Result<ClientResponse>> follow(ClientRequest request) {
    const Result<Url> start = parse_url(request.url);
    if (!start)
      co_return std::unexpected(start.error());
    WireRequest wire = wire_form(request, *start);
    ClientResponse response;
    bool public_only = false;
    for (int redirects = 0;; ++redirects) {
      const std::string where = wire.url.authority();
      Result<Hop> hop_result = co_await hop(wire, public_only);
      if (!hop_result)
        co_return wrap(where, hop_result.error());
      WireAnswer &answer = hop_result->answer;
      const std::string *location = find_header(answer.headers, "Location");
      const bool follow_on = request.follow_redirects && is_redirect(answer.status) &&
                             location != nullptr && is_safe(request.method);
      if (!follow_on) {
        response.status = answer.status;
        response.headers = std::move(answer.headers);
        response.body = std::move(answer.body);
        response.url = wire.url.str();
        co_return response;
      }
      if (redirects == 0)
        public_only = hop_result->to_public;
      if (wire.url.origin() == start->origin())
        keep_first(response.first_headers, answer.headers);
      const Result<Url> next = resolve_url(wire.url, *location);
      if (!next)
        co_return fail(Errc::malformed,
                       where + ": a redirect leads nowhere: " + next.error().message);
      if (redirects == options_.max_redirects)
        co_return fail(Errc::malformed,
                       fmt::format("{}: more than {} redirects", where, options_.max_redirects));
      if (wire.url.scheme == "https" && next->scheme == "http")
        co_return fail(
            Errc::malformed,
            fmt::format("{}: a redirect from https to {} is not followed", where, next->origin()));
      if (next->origin() != wire.url.origin())
        std::erase_if(wire.headers, [](const auto &field) { return is_credential(field.first); });
      wire.url = *next;
    }
  }

  WireRequest wire_form(ClientRequest &request, const Url &url) const {
    WireRequest wire;
    wire.method = request.method;
    wire.url = url;
    wire.headers = std::move(request.headers);
    wire.body = std::move(request.body);
    wire.max_body_bytes = request.max_body_bytes;
    wire.stop_at_limit = request.stop_at_limit;
    wire.timeout = options_.request_timeout;
    if (find_header(wire.headers, "User-Agent") == nullptr)
      set_header(wire.headers, "User-Agent", options_.user_agent);
    if (find_header(wire.headers, "Accept-Encoding") == nullptr)
      set_header(wire.headers, "Accept-Encoding", "gzip");
    if (!request.bearer_token.empty())
      set_header(wire.headers, "Authorization", "Bearer " + request.bearer_token);
    return wire;
  }

  /// Of several redirects on the first origin (a rename, then the file) each field counts where it
  /// came first.
  static void keep_first(Headers &kept, const Headers &more) {
    for (const auto &[name, value] : more)
      if (find_header(kept, name) == nullptr)
        kept.emplace_back(name, value);
  }

  asio::strand<asio::any_io_executor> strand_;
  const ClientOptions options_;
  std::shared_ptr<TlsContext> tls_;
  std::map<std::string, Host> hosts_;
  std::set<Connection *> busy_;
  bool closed_ = false;
};

class PooledClient final : public Client {
public:
  PooledClient(const asio::any_io_executor &executor, ClientOptions options)
      : pool_(std::make_shared<Pool>(executor, std::move(options))) {}
  ~PooledClient() override { close(); }

  awaitable<Result<ClientResponse>> send(ClientRequest request) override {
    return asio::co_spawn(pool_->strand(), pool_->run(pool_, std::move(request)),
                          asio::use_awaitable);
  }

  void close() override {
    asio::post(pool_->strand(), [pool = pool_] { pool->close(); });
  }

private:
  std::shared_ptr<Pool> pool_;
};

} // namespace

std::unique_ptr<Client> Client::make(asio::any_io_executor executor, ClientOptions options) {
  return std::make_unique<PooledClient>(executor, std::move(options));
}

} // namespace headwater::net

#include "daemon/net/connection.hpp"

#include "daemon/net/inflate.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>
#include <openssl/x509.h>
#include <sys/socket.h>

namespace headwater::net {

namespace asio = boost::asio;

struct TlsContext {
  asio::ssl::context context{asio::ssl::context::tls_client};
};

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::awaitable;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;
using Clock = std::chrono::steady_clock;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t piece_bytes = 64U << 10U;
constexpr std::uint32_t header_bytes = 64U << 10U;
constexpr std::uint64_t bytes_per_extra_second = 128U << 10U;
constexpr int max_interim_answers = 8;

bool is_timeout(const error_code &ec) {
  return ec == beast::error::timeout;
}

std::string words(const error_code &ec) {
  if (is_timeout(ec))
    return "no answer in time";
  if (ec == http::error::end_of_stream || ec == asio::error::eof)
    return "the connection was closed";
  if (ec == http::error::partial_message || ec == asio::ssl::error::stream_truncated)
    return "the answer was cut short";
  if (ec == asio::error::operation_aborted)
    return "the connection was closed here";
  return ec.message();
}

/// Collects a body within its limit, decoded when it came compressed.
class BodySink {
public:
  BodySink(std::uint64_t limit, bool gzip) : limit_(static_cast<std::size_t>(limit)) {
    if (gzip)
      inflater_ = std::make_unique<Inflater>(limit_);
  }

  Result<void> add(std::string_view piece) {
    received_ += piece.size();
    // A compressed body is never longer than what it may decode to, but for a few bytes of framing.
    if (inflater_ && received_ > limit_ + piece_bytes)
      return too_long();
    if (inflater_)
      return inflater_->add(piece, body_);
    const std::size_t room = limit_ - body_.size();
    body_.append(piece.substr(0, room));
    if (piece.size() > room)
      return too_long();
    return {};
  }
  bool cut_short() const { return inflater_ && received_ > 0 && !inflater_->complete(); }
  std::uint64_t received() const { return received_; }
  std::string take() { return std::move(body_); }

private:
  std::unexpected<Error> too_long() const {
    return fail(Errc::too_large, fmt::format("longer than the limit of {} bytes", limit_));
  }
  std::size_t limit_;
  std::uint64_t received_ = 0;
  std::string body_;
  std::unique_ptr<Inflater> inflater_;
};

template <class Stream> class ConnectionOver final : public Connection {
public:
  template <class... Args>
  ConnectionOver(const asio::any_io_executor &executor, Peer peer, std::shared_ptr<TlsContext> tls,
                 Args &...args)
      : peer_(std::move(peer)), tls_(std::move(tls)), resolver_(executor),
        stream_(tcp::socket(executor), args...) {}

  awaitable<Result<void>> open() override {
    const bool special_name = is_loopback_host(peer_.url.host) ||
                              (is_address(peer_.url.host) && !is_public_address(peer_.url.host));
    if (peer_.public_only && special_name)
      co_return refuse(peer_.url.host);
    const std::string host = peer_.proxy ? peer_.proxy->host : peer_.url.host;
    const std::uint16_t port = peer_.proxy ? peer_.proxy->port : peer_.url.port;
    Result<std::vector<tcp::endpoint>> endpoints = co_await resolve(host, port);
    if (!endpoints)
      co_return std::unexpected(endpoints.error());
    if (peer_.public_only && !peer_.proxy) {
      const std::string first = endpoints->front().address().to_string();
      std::erase_if(*endpoints, [](const tcp::endpoint &e) {
        return !is_public_address(e.address().to_string());
      });
      if (endpoints->empty())
        co_return refuse(first);
    }
    if (closed_)
      co_return fail(Errc::transient, "the connection was closed here");
    lowest().expires_after(peer_.timeout);
    const auto [ec, connected] = co_await lowest().async_connect(*endpoints, as_result);
    if (ec)
      co_return fail(Errc::transient,
                     fmt::format("cannot connect to {}:{}: {}", host, port, words(ec)));
    leads_to_public_ =
        peer_.proxy ? !special_name : is_public_address(connected.address().to_string());
    error_code ignored;
    lowest().socket().set_option(tcp::no_delay(true), ignored);
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      if (peer_.proxy) {
        const Result<void> tunnel = co_await tunnel_through_proxy();
        if (!tunnel)
          co_return std::unexpected(tunnel.error());
      }
      const Result<void> shaken = co_await shake_hands();
      if (!shaken)
        co_return std::unexpected(shaken.error());
    }
    lowest().expires_never();
    open_ = true;
    co_return Result<void>();
  }

  awaitable<Exchange> exchange(WireRequest request) override {
    open_ = false; // until this answer has been read to its end
    Exchange result{fail(Errc::transient, ""), false};
    const Clock::time_point deadline = Clock::now() + request.timeout;
    const http::request<http::string_body> message = wire_form(request);
    lowest().expires_at(deadline);
    const auto [write_error, written] = co_await http::async_write(stream_, message, as_result);
    if (write_error && is_timeout(write_error)) {
      result.answer = fail(Errc::transient, words(write_error));
      co_return result;
    }
    // Even after a failed write an early answer (413, 401) may be there to be read.
    std::optional<http::response_parser<http::buffer_body>> parser;
    error_code ec;
    for (int interim = 0; interim < max_interim_answers; ++interim) {
      parser.emplace();
      parser->header_limit(header_bytes);
      parser->body_limit(boost::none);
      parser->skip(request.method == "HEAD");
      std::tie(ec, std::ignore) =
          co_await http::async_read_header(stream_, buffer_, *parser, as_result);
      if (ec || parser->get().result_int() / 100 != 1)
        break;
    }
    if (ec || parser->get().result_int() / 100 == 1) {
      const bool closed = ec == http::error::end_of_stream || ec == asio::error::connection_reset ||
                          ec == asio::error::broken_pipe ||
                          ec == asio::ssl::error::stream_truncated;
      result.nothing_came = closed && !parser->got_some() && !closed_;
      const bool garbage =
          ec && !is_timeout(ec) &&
          ec.category() == http::make_error_code(http::error::bad_method).category() &&
          ec != http::error::end_of_stream && ec != http::error::partial_message;
      result.answer = garbage ? fail(Errc::malformed, "the answer is not HTTP: " + ec.message())
                              : fail(Errc::transient, words(ec));
      co_return result;
    }
    WireAnswer answer;
    answer.status = static_cast<int>(parser->get().result_int());
    for (const auto &field : parser->get())
      answer.headers.emplace_back(field.name_string(), field.value());
    const Result<bool> gzip = is_gzip(answer.headers);
    if (!gzip) {
      result.answer = std::unexpected(gzip.error());
      co_return result;
    }
    const boost::optional<std::uint64_t> length = parser->content_length();
    if (length && *length > request.max_body_bytes && !request.stop_at_limit &&
        !parser->is_done()) {
      result.answer = fail(Errc::too_large, fmt::format("{} bytes, over the limit of {}", *length,
                                                        request.max_body_bytes));
      co_return result;
    }
    BodySink sink(request.max_body_bytes, *gzip);
    std::string piece(piece_bytes, '\0');
    while (!parser->is_done()) {
      lowest().expires_at(deadline +
                          std::chrono::seconds(sink.received() / bytes_per_extra_second));
      parser->get().body().data = piece.data();
      parser->get().body().size = piece.size();
      std::tie(ec, std::ignore) = co_await http::async_read(stream_, buffer_, *parser, as_result);
      if (ec && ec != http::error::need_buffer) {
        const bool garbage = ec == http::error::bad_chunk || ec == http::error::bad_chunk_extension;
        result.answer = fail(garbage ? Errc::malformed : Errc::transient, words(ec));
        co_return result;
      }
      const Result<void> added =
          sink.add(std::string_view(piece).substr(0, piece.size() - parser->get().body().size));
      if (!added && request.stop_at_limit && added.error().code == Errc::too_large) {
        answer.body = sink.take();
        result.answer = std::move(answer);
        co_return result;
      }
      if (!added) {
        result.answer = std::unexpected(added.error());
        co_return result;
      }
    }
    if (sink.cut_short()) {
      result.answer = fail(Errc::transient, "the compressed answer was cut short");
      co_return result;
    }
    answer.body = sink.take();
    lowest().expires_never();
    // Bytes beyond the promised length would be read as the next answer.
    open_ = parser->keep_alive() && buffer_.size() == 0;
    result.answer = std::move(answer);
    co_return result;
  }

  bool reusable() override {
    if (!open_ || closed_)
      return false;
    char byte = 0;
    const ssize_t count =
        ::recv(lowest().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  bool leads_to_public() const override { return leads_to_public_; }

  void close() override {
    closed_ = true;
    open_ = false;
    resolver_.cancel();
    lowest().close();
  }

private:
  PlainStream &lowest() { return beast::get_lowest_layer(stream_); }

  static bool is_address(const std::string &host) {
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
  }

  std::unexpected<Error> refuse(const std::string &address) const {
    return fail(Errc::malformed,
                fmt::format("a redirect to {} leads to the local network ({}): not followed",
                            peer_.url.host, address));
  }

  awaitable<Result<std::vector<tcp::endpoint>>> resolve(std::string host, std::uint16_t port) {
    std::vector<tcp::endpoint> endpoints;
    error_code ec;
    const asio::ip::address literal = asio::ip::make_address(host, ec);
    if (!ec) {
      endpoints.emplace_back(literal, port);
      co_return endpoints;
    }
    // RFC 6761 section 6.3; a machine without a line for it in its hosts file would not find it.
    if (is_loopback_host(host)) {
      endpoints.emplace_back(asio::ip::address_v4::loopback(), port);
      endpoints.emplace_back(asio::ip::address_v6::loopback(), port);
      co_return endpoints;
    }
    const std::string service = std::to_string(port);
    const auto [failed, found] =
        co_await resolver_.async_resolve(host, service, tcp::resolver::numeric_service, as_result);
    for (const auto &entry : found)
      endpoints.push_back(entry.endpoint());
    if (failed || endpoints.empty())
      co_return fail(Errc::transient,
                     fmt::format("cannot find the host {}: {}", host, failed.message()));
    co_return endpoints;
  }

  awaitable<Result<void>> tunnel_through_proxy() {
    const std::string host =
        peer_.url.host.find(':') == std::string::npos ? peer_.url.host : "[" + peer_.url.host + "]";
    const std::string authority = fmt::format("{}:{}", host, peer_.url.port);
    http::request<http::empty_body> ask(http::verb::connect, authority, 11);
    ask.set(http::field::host, authority);
    if (!peer_.proxy->authorization.empty())
      ask.set(http::field::proxy_authorization, peer_.proxy->authorization);
    const auto [write_error, written] = co_await http::async_write(lowest(), ask, as_result);
    http::response_parser<http::empty_body> parser;
    parser.header_limit(header_bytes);
    parser.skip(true);
    error_code ec = write_error;
    if (!ec)
      std::tie(ec, std::ignore) =
          co_await http::async_read_header(lowest(), buffer_, parser, as_result);
    const std::string proxy = fmt::format("the proxy {}:{}", peer_.proxy->host, peer_.proxy->port);
    if (ec)
      co_return fail(Errc::transient, fmt::format("{}: {}", proxy, words(ec)));
    if (parser.get().result_int() / 100 != 2 || buffer_.size() != 0)
      co_return fail(Errc::transient, fmt::format("{} answered {} instead of leading to {}", proxy,
                                                  parser.get().result_int(), authority));
    co_return Result<void>();
  }

  awaitable<Result<void>> shake_hands() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      SSL *ssl = stream_.native_handle();
      if (!is_address(peer_.url.host))
        SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 const_cast<char *>(peer_.url.host.c_str()));
      stream_.set_verify_mode(asio::ssl::verify_peer);
      stream_.set_verify_callback(asio::ssl::host_name_verification(peer_.url.host));
      const auto [ec] = co_await stream_.async_handshake(asio::ssl::stream_base::client, as_result);
      if (ec) {
        const long verdict = SSL_get_verify_result(ssl);
        // A name that does not match is refused by the callback, which leaves no reason of its own.
        const std::string why = verdict != X509_V_OK
                                    ? std::string("its certificate is not accepted: ") +
                                          X509_verify_cert_error_string(verdict)
                                    : words(ec);
        co_return fail(Errc::transient, fmt::format("TLS with {}: {}", peer_.url.host, why));
      }
    }
    co_return Result<void>();
  }

  http::request<http::string_body> wire_form(const WireRequest &request) const {
    http::request<http::string_body> message;
    message.version(11);
    message.method_string(request.method);
    const bool through_proxy = peer_.proxy && request.url.scheme == "http";
    message.target(through_proxy ? request.url.str() : request.url.target);
    message.set(http::field::host, request.url.authority());
    for (const auto &[name, value] : request.headers)
      if (value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos)
        message.insert(name, value);
    if (through_proxy && !peer_.proxy->authorization.empty())
      message.set(http::field::proxy_authorization, peer_.proxy->authorization);
    message.body() = request.body;
    if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
      message.content_length(request.body.size());
    return message;
  }

  static Result<bool> is_gzip(const Headers &headers) {
    const std::string *encoding = find_header(headers, "Content-Encoding");
    if (encoding == nullptr || encoding->empty() || same_name(*encoding, "identity"))
      return false;
    if (same_name(*encoding, "gzip") || same_name(*encoding, "x-gzip"))
      return true;
    return fail(Errc::malformed,
                fmt::format("the answer is encoded as \"{}\", which was not asked for",
                            encoding->substr(0, 40)));
  }

  const Peer peer_;
  std::shared_ptr<TlsContext> tls_;
  tcp::resolver resolver_;
  Stream stream_;
  beast::flat_buffer buffer_;
  bool open_ = false;
  bool closed_ = false;
  bool leads_to_public_ = false;
};

} // namespace

Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string &ca_file) {
  auto tls = std::make_shared<TlsContext>();
  error_code ec;
  tls->context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                           asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                           asio::ssl::context::no_tlsv1_1);
  if (ca_file.empty()) {
    tls->context.set_default_verify_paths(ec);
  } else {
    tls->context.load_verify_file(ca_file, ec);
  }
  if (ec)
    return fail(
        Errc::bad_input,
        fmt::format("the certificates in {} cannot be read ({}): set SSL_CERT_FILE to a PEM file",
                    ca_file.empty() ? "the system's store" : ca_file, ec.message()));
  return tls;
}

std::unique_ptr<Connection> Connection::make(const asio::any_io_executor &executor, Peer peer,
                                             std::shared_ptr<TlsContext> tls) {
  if (!tls)
    return std::make_unique<ConnectionOver<PlainStream>>(executor, std::move(peer), nullptr);
  asio::ssl::context &context = tls->context;
  return std::make_unique<ConnectionOver<TlsStream>>(executor, std::move(peer), std::move(tls),
                                                     context);
}

} // namespace headwater::net

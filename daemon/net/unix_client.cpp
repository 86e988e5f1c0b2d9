#include "daemon/net/unix_client.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

namespace headwater::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using LocalStream = beast::basic_stream<asio::local::stream_protocol>;

/// Runs one asynchronous step to its end; a stream's deadline needs an asynchronous operation to
/// work on.
template <class Start> beast::error_code run_step(asio::io_context &context, Start start) {
  beast::error_code result;
  start([&](beast::error_code error, std::size_t = 0) { result = error; });
  context.restart();
  context.run();
  return result;
}

} // namespace

Result<Response> request_over_unix_socket(const std::string &socket_path, const Request &request,
                                          std::chrono::seconds timeout,
                                          std::uint64_t max_body_bytes) {
  asio::io_context context;
  LocalStream stream(context);
  stream.expires_after(timeout);
  const auto unreachable = [&](const beast::error_code &error) {
    if (error == asio::error::access_denied)
      return fail(Errc::transient,
                  fmt::format("{} may not be used by this user ({}): it is open to the group that "
                              "owns it (headwater): join it (usermod -aG headwater USER, then log "
                              "in again), or use sudo",
                              socket_path, error.message()));
    return fail(Errc::transient, fmt::format("no daemon answers at {} ({}): start `headwater "
                                             "serve`, or name its socket with --socket",
                                             socket_path, error.message()));
  };
  if (socket_path.size() > 100)
    return fail(Errc::bad_input,
                fmt::format("{}: a socket's path has at most 100 characters", socket_path));
  const asio::local::stream_protocol::endpoint endpoint(socket_path);
  beast::error_code error =
      run_step(context, [&](auto handler) { stream.async_connect(endpoint, handler); });
  if (error)
    return unreachable(error);

  http::request<http::string_body> out;
  out.method_string(request.method);
  out.target(request.target);
  out.version(11);
  out.set(http::field::host, "localhost");
  out.set(http::field::connection, "close");
  for (const auto &[name, value] : request.headers)
    out.set(name, value);
  out.body() = request.body;
  out.prepare_payload();
  // What is refused for its size is answered before it was read to its end: the answer is there
  // although not all of the request went out.
  const beast::error_code sent =
      run_step(context, [&](auto handler) { http::async_write(stream, out, handler); });

  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(max_body_bytes);
  error =
      run_step(context, [&](auto handler) { http::async_read(stream, buffer, parser, handler); });
  // Such a reset is told once, before the answer.
  if (sent && error == asio::error::connection_reset)
    error =
        run_step(context, [&](auto handler) { http::async_read(stream, buffer, parser, handler); });
  if (error == http::error::body_limit)
    return fail(Errc::too_large,
                fmt::format("the daemon's answer is over {} bytes", max_body_bytes));
  if (error)
    return unreachable(sent ? sent : error);

  Response response;
  response.status = static_cast<int>(parser.get().result_int());
  for (const auto &field : parser.get())
    response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  response.body = std::move(parser.get().body());
  return response;
}

} // namespace headwater::net

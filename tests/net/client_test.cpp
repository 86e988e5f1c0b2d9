#include "daemon/net/client.hpp"
#include "daemon/net/server.hpp"
#include "tests/net/certificate.hpp"
#include "tests/net/peer.hpp"
#include "tests/net/run.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

namespace headwater::net {
namespace {

using namespace std::chrono_literals;
using test::RawServer;

std::string url_of(std::uint16_t port, std::string_view target = "/") {
  return fmt::format("http://127.0.0.1:{}{}", port, target);
}

Result<ClientResponse> get(ClientRequest request, ClientOptions options = {}) {
  boost::asio::io_context io;
  const auto client = Client::make(io.get_executor(), std::move(options));
  return test::run(io, client->send(std::move(request)));
}

Result<ClientResponse> get(const std::string &url, ClientOptions options = {}) {
  ClientRequest request;
  request.url = url;
  return get(std::move(request), std::move(options));
}

/// Answers each connection's one request with a fixed text, then closes.
RawServer::Script says(std::string answer) {
  return [answer = std::move(answer)](int descriptor) {
    test::receive_until(descriptor, "\r\n\r\n");
    test::send_all(descriptor, answer);
  };
}

std::string gzip(const std::string &text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::basic_string<unsigned char> in(text.begin(), text.end());
  std::basic_string<unsigned char> out(deflateBound(&stream, in.size()), 0);
  stream.next_in = in.data();
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  const std::string made(out.begin(), out.end() - stream.avail_out);
  deflateEnd(&stream);
  return made;
}

std::string answer_with(std::string_view fields, std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\n\r\n{}", fields, body.size(),
                     body);
}

/// What a server saw, in order.
class Seen {
public:
  void add(const Request &request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  std::vector<Request> all() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
};

std::unique_ptr<Server> serve(Handler handler) {
  Result<std::unique_ptr<Server>> server = Server::start({}, std::move(handler));
  EXPECT_TRUE(server);
  return std::move(*server);
}

Response redirect_to(std::string where, int status = 302) {
  Response response;
  response.status = status;
  set_header(response.headers, "Location", std::move(where));
  return response;
}

TEST(Client, GetsAnAnswerAndKeepsTheConnection) {
  std::atomic<int> connections = 0;
  const RawServer server([&connections](int descriptor) {
    ++connections;
    while (!test::receive_until(descriptor, "\r\n\r\n").empty())
      test::send_all(descriptor, answer_with("X-A: 1\r\n", "hello"));
  });
  boost::asio::io_context io;
  const auto client = Client::make(io.get_executor(), {});
  for (int i = 0; i < 3; ++i) {
    ClientRequest request;
    request.url = url_of(server.port(), "/a?b=c");
    const Result<ClientResponse> answer = test::run(io, client->send(std::move(request)));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "hello");
    EXPECT_EQ(answer->url, url_of(server.port(), "/a?b=c"));
    ASSERT_NE(find_header(answer->headers, "x-a"), nullptr);
  }
  EXPECT_EQ(connections, 1);
}

TEST(Client, AsksAgainWhenAKeptConnectionWasClosedMeanwhile) {
  std::atomic<int> connections = 0;
  const RawServer server([&connections](int descriptor) {
    ++connections;
    test::receive_until(descriptor, "\r\n\r\n");
    test::send_all(descriptor, answer_with("", "once")); // says keep-alive, then closes
  });
  boost::asio::io_context io;
  const auto client = Client::make(io.get_executor(), {});
  for (int i = 0; i < 3; ++i) {
    ClientRequest request;
    request.url = url_of(server.port());
    const Result<ClientResponse> answer = test::run(io, client->send(std::move(request)));
    ASSERT_TRUE(answer) << answer.error().message;
  }
  EXPECT_EQ(connections, 3);
}

struct AnswerCase {
  std::string name;
  std::string answer;
  bool good;
  Errc code;
  std::string body;
};

TEST(Client, TellsApartWhatCanBeWrongWithAnAnswer) {
  const std::string text(50'000, 'x');
  const std::string packed = gzip(text);
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  const std::string bomb = gzip(std::string(20'000'000, '\0'));
  const std::vector<AnswerCase> cases = {
      {"plain", answer_with("", "abc"), true, {}, "abc"},
      {"chunked",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
       true,
       {},
       "abc"},
      {"until close", "HTTP/1.0 200 OK\r\n\r\nabc", true, {}, "abc"},
      {"interim answer first",
       "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + answer_with("", "abc"),
       true,
       {},
       "abc"},
      {"more than promised", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", true, {}, "abc"},
      {"gzip", answer_with("Content-Encoding: gzip\r\n", packed), true, {}, text},
      {"two gzip members",
       answer_with("Content-Encoding: gzip\r\n", gzip("ab") + gzip("c")),
       true,
       {},
       "abc"},
      {"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", false, Errc::transient, ""},
      {"chunks cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", false,
       Errc::transient, ""},
      {"gzip cut short",
       answer_with("Content-Encoding: gzip\r\n", packed.substr(0, packed.size() - 12)), false,
       Errc::transient, ""},
      {"nothing", "", false, Errc::transient, ""},
      {"half a header", "HTTP/1.1 200 OK\r\nConte", false, Errc::transient, ""},
      {"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", false, Errc::malformed, ""},
      {"damaged gzip", answer_with("Content-Encoding: gzip\r\n", damaged), false, Errc::malformed,
       ""},
      {"encoding not asked for", answer_with("Content-Encoding: br\r\n", "abc"), false,
       Errc::malformed, ""},
      {"promises too much", "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", false,
       Errc::too_large, ""},
      {"is too much", "HTTP/1.1 200 OK\r\n\r\n" + std::string(200'000, 'x'), false, Errc::too_large,
       ""},
      {"gzip bomb", answer_with("Content-Encoding: gzip\r\n", bomb), false, Errc::too_large, ""},
      {"endless header", "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'), false,
       Errc::malformed, ""},
  };
  for (const AnswerCase &c : cases) {
    const RawServer server(says(c.answer));
    ClientRequest request;
    request.url = url_of(server.port());
    request.max_body_bytes = 100'000;
    const Result<ClientResponse> answer = get(std::move(request));
    ASSERT_EQ(answer.has_value(), c.good)
        << c.name << ": " << (answer ? "" : answer.error().message);
    if (answer) {
      EXPECT_EQ(answer->body, c.body) << c.name;
    } else {
      EXPECT_EQ(answer.error().code, c.code) << c.name << ": " << answer.error().message;
      EXPECT_NE(answer.error().message.find("127.0.0.1"), std::string::npos) << c.name;
    }
  }
}

TEST(Client, StopsAtTheLimitWhenToldTo) {
  for (const std::string head :
       {"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"}) {
    const RawServer server(says(head + std::string(300'000, 'x')));
    ClientRequest request;
    request.url = url_of(server.port());
    request.max_body_bytes = 100'001;
    request.stop_at_limit = true;
    const Result<ClientResponse> answer = get(std::move(request));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body.size(), 100'001U);
  }
}

TEST(Client, HeadHasNoBodyWhateverItsLength) {
  const auto server = serve([](const Request &) {
    Response response;
    response.body = "12345";
    return response;
  });
  ClientRequest request;
  request.method = "HEAD";
  request.url = url_of(server->port());
  request.max_body_bytes = 1;
  const Result<ClientResponse> answer = get(std::move(request));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(*find_header(answer->headers, "Content-Length"), "5");
}

TEST(Client, GivesUpOnASlowServer) {
  const std::vector<std::string> starts = {"", "HTTP/1.1 200 OK\r\nConte",
                                           "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"};
  for (const std::string &start : starts) {
    const RawServer server([&](int descriptor) {
      test::receive_until(descriptor, "\r\n\r\n");
      test::send_all(descriptor, start);
      test::receive_until(descriptor, {}); // until the client has given up
    });
    ClientOptions options;
    options.request_timeout = 200ms;
    const Result<ClientResponse> answer = get(url_of(server.port()), options);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::transient);
    EXPECT_NE(answer.error().message.find("in time"), std::string::npos) << answer.error().message;
  }
}

TEST(Client, NobodyListeningAndNoSuchHostPass) {
  std::uint16_t free_port = 0;
  {
    const RawServer server(says(""));
    free_port = server.port();
  }
  EXPECT_EQ(get(url_of(free_port)).error().code, Errc::transient);
  EXPECT_EQ(get("ftp://x/").error().code, Errc::bad_input);
  EXPECT_EQ(get("http://user@127.0.0.1/").error().code, Errc::bad_input);
  EXPECT_EQ(get("nonsense").error().code, Errc::bad_input);
}

TEST(Client, SendsTheTokenToItsOwnOriginAlone) {
  Seen at_cdn;
  const auto cdn = serve([&](const Request &request) {
    at_cdn.add(request);
    Response response;
    response.body = "bytes";
    return response;
  });
  Seen at_hub;
  const auto hub = serve([&](const Request &request) {
    at_hub.add(request);
    if (request.target == "/old") {
      Response renamed = redirect_to("/new", 307);
      set_header(renamed.headers, "X-Repo-Commit", "c0");
      return renamed;
    }
    Response found = redirect_to(url_of(cdn->port(), "/blob?sig=1"));
    set_header(found.headers, "X-Linked-ETag", "\"e\"");
    set_header(found.headers, "X-Repo-Commit", "c1");
    return found;
  });
  ClientRequest request;
  request.url = url_of(hub->port(), "/old");
  request.bearer_token = "hf_secret";
  request.headers = {{"Range", "bytes=0-9"}, {"Cookie", "a=b"}};
  const Result<ClientResponse> answer = get(std::move(request));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "bytes");
  EXPECT_EQ(answer->url, url_of(cdn->port(), "/blob?sig=1"));
  EXPECT_EQ(*find_header(answer->first_headers, "X-Linked-ETag"), "\"e\"");
  EXPECT_EQ(*find_header(answer->first_headers, "X-Repo-Commit"), "c0");
  ASSERT_EQ(at_hub.all().size(), 2U);
  for (const Request &seen : at_hub.all())
    EXPECT_EQ(*find_header(seen.headers, "Authorization"), "Bearer hf_secret");
  ASSERT_EQ(at_cdn.all().size(), 1U);
  EXPECT_EQ(find_header(at_cdn.all()[0].headers, "Authorization"), nullptr);
  EXPECT_EQ(find_header(at_cdn.all()[0].headers, "Cookie"), nullptr);
  EXPECT_EQ(*find_header(at_cdn.all()[0].headers, "Range"), "bytes=0-9");
}

TEST(Client, ATokenDoesNotComeBackWithARedirectBack) {
  Seen at_hub;
  std::uint16_t hub_port = 0;
  const auto other = serve([&](const Request &) { return redirect_to(url_of(hub_port, "/end")); });
  const auto hub = serve([&](const Request &request) {
    at_hub.add(request);
    if (request.target == "/end")
      return Response{};
    return redirect_to(url_of(other->port()));
  });
  hub_port = hub->port();
  ClientRequest request;
  request.url = url_of(hub->port());
  request.bearer_token = "hf_secret";
  ASSERT_TRUE(get(std::move(request)));
  ASSERT_EQ(at_hub.all().size(), 2U);
  EXPECT_EQ(find_header(at_hub.all()[1].headers, "Authorization"), nullptr);
}

TEST(Client, FollowsFiveRedirectsAndNoMore) {
  const auto server = serve([](const Request &request) {
    const int left = std::atoi(request.target.c_str() + 1);
    return left == 0 ? Response{} : redirect_to(fmt::format("{}", left - 1));
  });
  EXPECT_TRUE(get(url_of(server->port(), "/5")));
  const Result<ClientResponse> six = get(url_of(server->port(), "/6"));
  ASSERT_FALSE(six);
  EXPECT_EQ(six.error().code, Errc::malformed);
  ClientRequest stay;
  stay.url = url_of(server->port(), "/1");
  stay.follow_redirects = false;
  EXPECT_EQ(get(std::move(stay))->status, 302);
  ClientRequest post;
  post.method = "POST";
  post.url = url_of(server->port(), "/1");
  EXPECT_EQ(get(std::move(post))->status, 302);
}

TEST(Client, GoesThroughAProxyExceptForLoopback) {
  Seen seen;
  const auto proxy = serve([&](const Request &request) {
    seen.add(request);
    if (request.target == "http://hub.example/redirect")
      return redirect_to("http://127.0.0.1:9/inside");
    Response response;
    response.body = "by proxy";
    return response;
  });
  ClientOptions options;
  options.http_proxy = fmt::format("http://me:p%40ss@127.0.0.1:{}", proxy->port());
  const Result<ClientResponse> answer = get("http://hub.example/a?b", options);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "by proxy");
  ASSERT_EQ(seen.all().size(), 1U);
  EXPECT_EQ(seen.all()[0].target, "http://hub.example/a?b");
  EXPECT_EQ(*find_header(seen.all()[0].headers, "Host"), "hub.example");
  EXPECT_EQ(*find_header(seen.all()[0].headers, "Proxy-Authorization"), "Basic bWU6cEBzcw==");

  const auto direct = serve([](const Request &request) {
    Response response;
    response.body =
        find_header(request.headers, "Proxy-Authorization") == nullptr ? "direct" : "leaked";
    return response;
  });
  EXPECT_EQ(get(url_of(direct->port()), options)->body, "direct");

  const Result<ClientResponse> inside = get("http://hub.example/redirect", options);
  ASSERT_FALSE(inside);
  EXPECT_NE(inside.error().message.find("local network"), std::string::npos)
      << inside.error().message;
}

TEST(Client, AConnectionToBeClosedEndsWhatWaits) {
  const RawServer server([](int descriptor) { test::receive_until(descriptor, {}); });
  boost::asio::io_context io;
  const auto client = Client::make(io.get_executor(), {});
  ClientRequest request;
  request.url = url_of(server.port());
  boost::asio::steady_timer soon(io, 50ms);
  soon.async_wait([&](const boost::system::error_code &) { client->close(); });
  const Result<ClientResponse> answer = test::run(io, client->send(std::move(request)));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::transient);
  ClientRequest after;
  after.url = url_of(server.port());
  EXPECT_FALSE(test::run(io, client->send(std::move(after))));
}

boost::asio::awaitable<Result<int>> count_good(Client *client, std::string url,
                                               std::atomic<int> *good) {
  ClientRequest request;
  request.url = std::move(url);
  const Result<ClientResponse> answer = co_await client->send(std::move(request));
  if (answer && answer->body == "ok")
    ++*good;
  co_return Result<int>(0);
}

TEST(Client, ServesManyCallersFromSeveralThreadsWithinItsConnections) {
  std::atomic<int> open = 0;
  std::atomic<int> most = 0;
  const RawServer server([&](int descriptor) {
    const int now = ++open;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    while (!test::receive_until(descriptor, "\r\n\r\n").empty())
      test::send_all(descriptor, answer_with("", "ok"));
    --open;
  });
  boost::asio::io_context io;
  ClientOptions options;
  options.max_connections_per_host = 3;
  std::atomic<int> good = 0;
  {
    const auto client = Client::make(io.get_executor(), options);
    for (int i = 0; i < 60; ++i)
      boost::asio::co_spawn(io, count_good(client.get(), url_of(server.port()), &good),
                            [](const std::exception_ptr &, const Result<int> &) {});
    std::jthread other([&] { io.run(); });
    io.run();
  }
  io.restart();
  io.run();
  EXPECT_EQ(good, 60);
  EXPECT_LE(most, 3);
}

/// A TLS server's certificate in a file, as SSL_CERT_FILE names one.
class Tls : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "hw-tls-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "ca.pem") << certificate_.pem;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  ClientOptions trusting() const {
    ClientOptions options;
    options.ca_file = folder_ / "ca.pem";
    return options;
  }
  const test::Certificate certificate_ = test::make_certificate("localhost");
  std::filesystem::path folder_;
};

TEST(Client, LocalhostIsLoopbackWhateverTheHostsFileSays) {
  const RawServer server([](int descriptor) {
    test::receive_until(descriptor, "\r\n\r\n");
    test::send_all(descriptor,
                   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  });
  for (const char *name : {"localhost", "hub.localhost"}) {
    const Result<ClientResponse> answer = get(fmt::format("http://{}:{}/", name, server.port()));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "ok") << name;
  }
}

TEST_F(Tls, VerifiesTheCertificateAndTheName) {
  std::string asked_for;
  const RawServer server([&](int descriptor) {
    test::serve_tls(descriptor, certificate_, answer_with("", "secret"), true, &asked_for);
  });
  const std::string good = fmt::format("https://localhost:{}/", server.port());
  const Result<ClientResponse> answer = get(good, trusting());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "secret");
  EXPECT_EQ(asked_for, "localhost");

  const Result<ClientResponse> untrusted = get(good);
  ASSERT_FALSE(untrusted);
  EXPECT_EQ(untrusted.error().code, Errc::transient);
  EXPECT_NE(untrusted.error().message.find("certificate"), std::string::npos)
      << untrusted.error().message;

  const Result<ClientResponse> other_name =
      get(fmt::format("https://127.0.0.1:{}/", server.port()), trusting());
  ASSERT_FALSE(other_name);
  EXPECT_NE(other_name.error().message.find("TLS"), std::string::npos)
      << other_name.error().message;

  ClientOptions missing;
  missing.ca_file = folder_ / "none.pem";
  EXPECT_EQ(get(good, missing).error().code, Errc::bad_input);
}

TEST_F(Tls, ACutStreamIsNotAnEnd) {
  const RawServer server([&](int descriptor) {
    test::serve_tls(descriptor, certificate_, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart",
                    false, nullptr);
  });
  const Result<ClientResponse> answer =
      get(fmt::format("https://localhost:{}/", server.port()), trusting());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::transient);
}

TEST_F(Tls, NoRedirectFromHttpsToHttp) {
  const RawServer server([&](int descriptor) {
    test::serve_tls(
        descriptor, certificate_,
        "HTTP/1.1 302 Found\r\nLocation: http://localhost/\r\nContent-Length: 0\r\n\r\n", true,
        nullptr);
  });
  const Result<ClientResponse> answer =
      get(fmt::format("https://localhost:{}/", server.port()), trusting());
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("from https"), std::string::npos) << answer.error().message;
}

TEST_F(Tls, TunnelsThroughAProxy) {
  std::string connect;
  const test::Certificate far = test::make_certificate("hub.example");
  std::ofstream(folder_ / "far.pem") << far.pem;
  const RawServer proxy([&](int descriptor) {
    connect = test::receive_until(descriptor, "\r\n\r\n");
    if (connect.starts_with("CONNECT refused")) {
      test::send_all(descriptor, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    test::send_all(descriptor, "HTTP/1.1 200 Connection established\r\n\r\n");
    test::serve_tls(descriptor, far, answer_with("", "tunnelled"), true, nullptr);
  });
  ClientOptions options;
  options.ca_file = folder_ / "far.pem";
  options.https_proxy = fmt::format("127.0.0.1:{}", proxy.port());
  const Result<ClientResponse> answer = get("https://hub.example/x", options);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "tunnelled");
  EXPECT_TRUE(connect.starts_with("CONNECT hub.example:443 HTTP/1.1\r\n")) << connect;
  const Result<ClientResponse> refused = get("https://refused.example/", options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("407"), std::string::npos) << refused.error().message;
}

} // namespace
} // namespace headwater::net

#include "daemon/net/events.hpp"
#include "daemon/net/server.hpp"
#include "daemon/net/unix_client.hpp"
#include "tests/net/peer.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headwater::net {
namespace {

using test::RawAnswer;
using test::RawPeer;
using namespace std::chrono_literals;

std::unique_ptr<Server> started(const ServerOptions &options, Handler handler) {
  Result<std::unique_ptr<Server>> server = Server::start(options, std::move(handler));
  EXPECT_TRUE(server) << server.error().message;
  return server ? std::move(*server) : nullptr;
}

/// Answers with what it was asked, so that a test sees what the handler saw.
Response echo(const Request &request) {
  Response response;
  set_header(response.headers, "Content-Type", "text/plain");
  response.body = request.method + " " + request.target + " [" + request.body + "] from " +
                  request.remote_address;
  return response;
}

TEST(Server, AnswersSeveralRequestsOnOneConnection) {
  const auto server = started({}, echo);
  const RawPeer peer(server->port());
  peer.send("GET /a%20b?c=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  RawAnswer answer = test::read_answer(peer);
  EXPECT_TRUE(answer.header.starts_with("HTTP/1.1 200 OK\r\n")) << answer.header;
  EXPECT_NE(answer.header.find("\r\nDate: "), std::string::npos);
  EXPECT_EQ(answer.body, "GET /a%20b?c=1 [] from 127.0.0.1");
  peer.send(
      "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      "POST /q HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
  EXPECT_EQ(test::read_answer(peer).body, "POST /p [abc] from 127.0.0.1");
  EXPECT_EQ(test::read_answer(peer).body, "POST /q [hi] from 127.0.0.1");
  peer.send("GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  answer = test::read_answer(peer);
  EXPECT_NE(answer.header.find("Connection: close"), std::string::npos) << answer.header;
  EXPECT_EQ(peer.read_until(), "");
}

TEST(Server, HeadGivesTheHeadersOfGetWithoutTheBody) {
  const auto server = started({}, [](const Request &request) {
    Response response;
    response.body = "12345";
    if (request.target == "/said") {
      response.body.clear();
      set_header(response.headers, "Content-Length", "77");
    }
    if (request.target == "/none")
      response.status = 304;
    return response;
  });
  const RawPeer peer(server->port());
  peer.send("HEAD /counted HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(test::read_answer(peer, true).header.find("Content-Length: 5\r\n"), std::string::npos);
  peer.send("HEAD /said HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(test::read_answer(peer, true).header.find("Content-Length: 77\r\n"), std::string::npos);
  peer.send("GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string none = peer.read_until("\r\n\r\n");
  EXPECT_TRUE(none.starts_with("HTTP/1.1 304 ")) << none;
  EXPECT_EQ(none.find("Content-Length"), std::string::npos);
  peer.send("GET /counted HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(test::read_answer(peer).body, "12345");
}

struct BadRequest {
  std::string name;
  std::string text;
  std::string status;
};

TEST(Server, TellsWhatIsWrongWithARequest) {
  ServerOptions options;
  options.max_body_bytes = 100;
  options.max_header_bytes = 2000;
  options.idle_timeout = 1s;
  const auto server = started(options, echo);
  const std::string big(5000, 'x');
  const std::vector<BadRequest> cases = {
      {"body too long by its own word",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n" + big, "413"},
      {"chunked body too long",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + big, "413"},
      {"header too long", "GET / HTTP/1.1\r\nHost: x\r\nX: " + big + "\r\n\r\n", "431"},
      {"target too long", "GET /" + big + " HTTP/1.1\r\nHost: x\r\n\r\n", "431"},
      {"header that never ends", "GET / HTTP/1.1\r\nHost: x\r\n", "408"},
      {"body that never comes", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
       "408"},
      {"not HTTP", "hello\r\n\r\n", "400"},
      {"TLS on a plain port", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + big,
       "400"},
      {"length and chunks",
       "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "400"},
      {"two lengths", "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
       "400"},
      {"negative length", "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\n", "400"},
      {"broken chunk size", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"control character in a field",
       "GET / HTTP/1.1\r\nX: a\x01"
       "b\r\n\r\n",
       "400"},
  };
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (const BadRequest &bad : cases) {
    peers.push_back(std::make_unique<RawPeer>(server->port()));
    peers.back()->send(bad.text);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string answer = peers[i]->read_until();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + cases[i].status + " "))
        << cases[i].name << ": " << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << cases[i].name;
  }
  const RawPeer after(server->port());
  after.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(test::read_answer(after).body, "GET / [] from 127.0.0.1");
}

TEST(Server, ClosesAnIdleConnectionWithoutAWord) {
  ServerOptions options;
  options.idle_timeout = 1s;
  const auto server = started(options, echo);
  const RawPeer peer(server->port());
  EXPECT_EQ(peer.read_until(), "");
}

TEST(Server, SaysContinueWhenAsked) {
  const auto server = started({}, echo);
  const RawPeer peer(server->port());
  peer.send("POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("ok");
  EXPECT_EQ(test::read_answer(peer).body, "POST / [ok] from 127.0.0.1");
}

TEST(Server, HandlerTroubleIsA500AndStatusZeroAClosedConnection) {
  const auto server = started({}, [](const Request &request) -> Response {
    if (request.target == "/throw")
      throw std::runtime_error("x");
    Response response;
    response.status = 0;
    return response;
  });
  const RawPeer peer(server->port());
  peer.send("GET /throw HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(test::read_answer(peer).header.starts_with("HTTP/1.1 500 "));
  peer.send("GET /close HTTP/1.1\r\n\r\n");
  EXPECT_EQ(peer.read_until(), "");
}

TEST(Server, LeavesOutFieldsThatWouldSplitTheAnswer) {
  const auto server = started({}, [](const Request &) {
    Response response;
    response.headers = {{"X-Bad", "a\r\nX-Injected: 1"}, {"X-Good", "1"}};
    return response;
  });
  const RawPeer peer(server->port());
  peer.send("GET / HTTP/1.1\r\n\r\n");
  const std::string header = test::read_answer(peer).header;
  EXPECT_EQ(header.find("Injected"), std::string::npos);
  EXPECT_NE(header.find("X-Good: 1"), std::string::npos);
}

TEST(Server, StreamsABodyByOffsetAndEndsEarlyWhenTheSourceDoes) {
  constexpr std::uint64_t size = 3'000'001;
  const auto server = started({}, [](const Request &request) {
    Response response;
    const bool cut = request.target == "/cut";
    response.stream.emplace();
    response.stream->size = size;
    response.stream->read = [cut](std::uint64_t offset, char *out,
                                  std::size_t count) -> std::size_t {
      if (cut && offset > 1'000'000)
        return 0;
      count = std::min<std::size_t>(count, 100'000); // a short read is not the end
      for (std::size_t i = 0; i < count; ++i)
        out[i] = static_cast<char>((offset + i) % 251);
      return count;
    };
    return response;
  });
  const RawPeer peer(server->port());
  peer.send("GET / HTTP/1.1\r\n\r\n");
  const RawAnswer answer = test::read_answer(peer);
  ASSERT_EQ(answer.body.size(), size);
  for (std::uint64_t i = 0; i < size; ++i)
    ASSERT_EQ(answer.body[i], static_cast<char>(i % 251));
  peer.send("HEAD / HTTP/1.1\r\n\r\n");
  EXPECT_NE(test::read_answer(peer, true).header.find("Content-Length: 3000001\r\n"),
            std::string::npos);
  peer.send("GET /cut HTTP/1.1\r\n\r\n");
  const std::string cut = peer.read_until();
  EXPECT_LT(cut.size(), 1'200'000U);
}

TEST(Server, CutsOffAClientThatDoesNotRead) {
  ServerOptions options;
  options.idle_timeout = 1s;
  std::promise<void> cut;
  const auto read_on = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto server = started(options, [read_on](const Request &) {
    Response response;
    response.stream.emplace();
    response.stream->size = 1ULL << 40U;
    response.stream->read = [read_on](std::uint64_t offset, char *, std::size_t count) {
      *read_on = offset;
      return count;
    };
    return response;
  });
  const RawPeer peer(server->port());
  peer.send("GET / HTTP/1.1\r\n\r\n");
  peer.read_until("\r\n\r\n");
  server->stop(10s); // returns when the connection has been cut, not after the whole terabyte
  EXPECT_LT(read_on->load(), 1ULL << 30U);
}

TEST(Server, PushesEventsAndEndsWithTheChannel) {
  auto channel = std::make_shared<EventChannel>();
  std::promise<void> listening;
  const auto server = started({}, [&](const Request &) {
    Response response;
    set_header(response.headers, "Content-Type", "text/event-stream");
    response.events = channel;
    listening.set_value();
    return response;
  });
  const RawPeer peer(server->port());
  peer.send("GET /events HTTP/1.1\r\n\r\n");
  const std::string header = peer.read_until("\r\n\r\n");
  EXPECT_NE(header.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  listening.get_future().wait();
  channel->push("data: 1\n\n");
  EXPECT_EQ(peer.read_until("data: 1\n\n"), "9\r\ndata: 1\n\n");
  channel->push("data: 22\n\n");
  channel->close();
  EXPECT_EQ(peer.read_until(), "\r\na\r\ndata: 22\n\n\r\n0\r\n\r\n");
}

TEST(Server, ClosesTheChannelOfAListenerThatLeft) {
  auto channel = std::make_shared<EventChannel>();
  const auto server = started({}, [&](const Request &) {
    Response response;
    response.events = channel;
    return response;
  });
  {
    const RawPeer peer(server->port());
    peer.send("GET /events HTTP/1.1\r\n\r\n");
    peer.read_until("\r\n\r\n");
    EXPECT_FALSE(channel->closed());
  }
  server->stop(10s);
  EXPECT_TRUE(channel->closed());
}

TEST(Server, StopLetsARequestInHandEnd) {
  std::promise<void> entered;
  std::promise<void> go_on;
  const auto server = started({}, [&](const Request &) {
    entered.set_value();
    go_on.get_future().wait();
    Response response;
    response.body = "done";
    return response;
  });
  const RawPeer peer(server->port());
  const RawPeer idle(server->port());
  peer.send("GET / HTTP/1.1\r\n\r\n");
  entered.get_future().wait();
  std::thread stopper([&] { server->stop(20s); });
  EXPECT_EQ(idle.read_until(), ""); // closed at once
  go_on.set_value();
  EXPECT_EQ(test::read_answer(peer).body, "done");
  stopper.join();
  const RawPeer late(server->port());
  EXPECT_FALSE(late.connected());
}

TEST(Server, StopEndsOpenEventStreams) {
  auto channel = std::make_shared<EventChannel>();
  const auto server = started({}, [&](const Request &) {
    Response response;
    response.events = channel;
    return response;
  });
  const RawPeer peer(server->port());
  peer.send("GET /events HTTP/1.1\r\n\r\n");
  peer.read_until("\r\n\r\n");
  server->stop(20s);
  EXPECT_EQ(peer.read_until(), "0\r\n\r\n");
}

TEST(Server, MakesRoomForANewConnectionByClosingAnIdleOne) {
  ServerOptions options;
  options.max_connections = 2;
  const auto server = started(options, echo);
  const RawPeer first(server->port());
  const RawPeer second(server->port());
  const RawPeer third(server->port());
  const RawPeer fourth(server->port());
  fourth.send("GET /4 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(test::read_answer(fourth).body, "GET /4 [] from 127.0.0.1");
}

class UnixSocket : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "hw-net-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(UnixSocket, ServesWithModeAndIsRemovedAtTheEnd) {
  ServerOptions options;
  options.unix_path = folder_ / "control.sock";
  auto server = started(options, echo);
  EXPECT_EQ(server->port(), 0);
  struct stat info{};
  ASSERT_EQ(::stat(options.unix_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0660U);
  const RawPeer peer(options.unix_path);
  peer.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(test::read_answer(peer).body, "GET / [] from ");
  const Result<std::unique_ptr<Server>> second = Server::start(options, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::bad_input);
  EXPECT_NE(second.error().message.find("another process listens"), std::string::npos)
      << second.error().message;
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(options.unix_path));
}

TEST_F(UnixSocket, ARefusalOfALongRequestArrives) {
  ServerOptions options;
  options.unix_path = folder_ / "control.sock";
  options.max_body_bytes = 1000;
  const auto server = started(options, echo);
  Request request;
  request.method = "POST";
  request.target = "/watches";
  request.body = std::string(5'000'000, 'x');
  const Result<Response> answer =
      request_over_unix_socket(options.unix_path, request, std::chrono::seconds(20), 1U << 20U);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
}

TEST_F(UnixSocket, ReplacesAFileThatNobodyListensOnAndNothingElse) {
  ServerOptions options;
  options.unix_path = folder_ / "control.sock";
  {
    const RawPeer none(options.unix_path);
    EXPECT_FALSE(none.connected());
  }
  const auto first = started(options, echo);
  std::filesystem::rename(options.unix_path, folder_ / "kept.sock");
  first->stop(0ms);
  std::filesystem::rename(folder_ / "kept.sock",
                          options.unix_path); // as a killed process leaves it
  const auto server = started(options, echo);
  EXPECT_TRUE(RawPeer(options.unix_path).connected());

  ServerOptions file;
  file.unix_path = folder_ / "notes.txt";
  {
    const std::unique_ptr<FILE, int (*)(FILE *)> made(std::fopen(file.unix_path.c_str(), "w"),
                                                      std::fclose);
  }
  const Result<std::unique_ptr<Server>> refused = Server::start(file, echo);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not a socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(file.unix_path));
}

TEST(Server, NamesTheAddressAndTheMendWhenItCannotListen) {
  const auto server = started({}, echo);
  ServerOptions taken;
  taken.port = server->port();
  const Result<std::unique_ptr<Server>> second = Server::start(taken, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::bad_input);
  EXPECT_NE(second.error().message.find(fmt::format("127.0.0.1:{}", taken.port)),
            std::string::npos);
  EXPECT_NE(second.error().message.find("choose another"), std::string::npos);
  ServerOptions odd;
  odd.address = "not-an-address";
  EXPECT_EQ(Server::start(odd, echo).error().code, Errc::bad_input);
  ServerOptions nowhere;
  nowhere.unix_path = "/nonexistent-folder/x.sock";
  EXPECT_EQ(Server::start(nowhere, echo).error().code, Errc::bad_input);
}

TEST(Server, ServesOnAnInheritedSocketOnlyIfItListens) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  ServerOptions options;
  options.inherited_socket = descriptor;
  EXPECT_EQ(Server::start(options, echo).error().code, Errc::bad_input);
  ASSERT_EQ(::listen(descriptor, 4), 0); // the kernel binds a free port
  const auto server = started(options, echo);
  ASSERT_NE(server->port(), 0);
  const RawPeer peer(server->port());
  peer.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(test::read_answer(peer).body, "GET / [] from 127.0.0.1");
}

} // namespace
} // namespace headwater::net

#include "tests/net/peer.hpp"

#include "daemon/net/message.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace headwater::net::test {
namespace {

sockaddr *general(void *address) {
  return static_cast<sockaddr *>(address);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_to(int family, void *address, socklen_t size) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(descriptor, general(address), size) == 0)
    return descriptor;
  ::close(descriptor);
  return -1;
}

} // namespace

std::string receive_until(int descriptor, std::string_view end) {
  std::string text;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (end.empty() || text.find(end) == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        limit - std::chrono::steady_clock::now());
    pollfd wait{descriptor, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0)
      break;
    char piece[65536];
    const ssize_t count = ::recv(descriptor, piece, end.empty() ? sizeof piece : 1, 0);
    if (count <= 0)
      break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  return text;
}

bool send_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

RawPeer::RawPeer(std::uint16_t port) {
  sockaddr_in address = loopback(port);
  descriptor_ = connect_to(AF_INET, &address, sizeof address);
}

RawPeer::RawPeer(const std::string &unix_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, unix_path.data(), unix_path.size());
  descriptor_ = connect_to(AF_UNIX, &address, sizeof address);
}

RawPeer::~RawPeer() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void RawPeer::send(std::string_view text) const {
  send_all(descriptor_, text);
}

std::string RawPeer::read_until(std::string_view end) const {
  return receive_until(descriptor_, end);
}

std::string RawPeer::read_exactly(std::size_t count) const {
  if (count == 0)
    return {};
  std::string text(count, '\0');
  const ssize_t got = ::recv(descriptor_, text.data(), count, MSG_WAITALL);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

void RawPeer::finish_sending() const {
  ::shutdown(descriptor_, SHUT_WR);
}

RawAnswer read_answer(const RawPeer &peer, bool head) {
  RawAnswer answer;
  answer.header = peer.read_until("\r\n\r\n");
  const std::size_t at = answer.header.find("Content-Length: ");
  if (head || at == std::string::npos)
    return answer;
  const std::size_t size = std::strtoul(answer.header.c_str() + at + 16, nullptr, 10);
  answer.body = peer.read_exactly(size);
  return answer;
}

RawServer::RawServer(Script script) : script_(std::move(script)) {
  descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  ::bind(descriptor_, general(&address), size);
  ::listen(descriptor_, 16);
  ::getsockname(descriptor_, general(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token &stop) {
    std::vector<std::jthread> connections;
    while (true) {
      const int connection = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0 || stop.stop_requested()) {
        if (connection >= 0)
          ::close(connection);
        break;
      }
      connections.emplace_back([this, connection] {
        script_(connection);
        ::close(connection);
      });
    }
  });
}

RawServer::~RawServer() {
  thread_.request_stop();
  ::shutdown(descriptor_, SHUT_RDWR);
  thread_.join();
  ::close(descriptor_);
}

} // namespace headwater::net::test

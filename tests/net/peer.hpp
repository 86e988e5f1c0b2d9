#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace headwater::net::test {

/// A blocking loopback connection that says exactly what a test wants said, for what no
/// well-behaved client sends.
class RawPeer {
public:
  explicit RawPeer(std::uint16_t port);
  explicit RawPeer(const std::string &unix_path);
  ~RawPeer();
  RawPeer(const RawPeer &) = delete;
  RawPeer &operator=(const RawPeer &) = delete;

  bool connected() const { return descriptor_ >= 0; }
  void send(std::string_view text) const;
  /// What comes until the peer closes, or until `end` has come, or for at most 20 s.
  std::string read_until(std::string_view end = {}) const;
  std::string read_exactly(std::size_t count) const;
  void finish_sending() const;

private:
  int descriptor_ = -1;
};

/// One answer of a well-framed keep-alive connection: header text and body by its Content-Length.
struct RawAnswer {
  std::string header;
  std::string body;
};
RawAnswer read_answer(const RawPeer &peer, bool head = false);

/// A loopback TCP server that hands each accepted connection's descriptor to `script` on its own
/// thread, for answers that no well-behaved server gives.
class RawServer {
public:
  using Script = std::function<void(int descriptor)>;
  explicit RawServer(Script script);
  ~RawServer();
  RawServer(const RawServer &) = delete;
  RawServer &operator=(const RawServer &) = delete;
  std::uint16_t port() const { return port_; }

private:
  int descriptor_ = -1;
  std::uint16_t port_ = 0;
  Script script_;
  std::jthread thread_;
};

/// For scripts: what comes until `end` has come or the peer closes; and sending all of a text
/// (false when it has gone).
std::string receive_until(int descriptor, std::string_view end);
bool send_all(int descriptor, std::string_view text);

} // namespace headwater::net::test

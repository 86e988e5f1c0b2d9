#include "daemon/cli/hub.hpp"

#include "daemon/cli/commands.hpp"
#include "daemon/hub/replay.hpp"
#include "daemon/net/server.hpp"

#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <pthread.h>

namespace headwater::cli {
namespace {

constexpr std::chrono::milliseconds shutdown_grace{1000};
constexpr double longest_wait_seconds = 3600;

/// SIGTERM and SIGINT, kept back from all threads so that one place waits for them; put back at the
/// end.
class StopSignals {
public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// True when a signal came within `seconds`.
  bool wait(double seconds) const {
    timespec time = {};
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
    return sigtimedwait(&set_, nullptr, &time) > 0;
  }

private:
  sigset_t set_ = {};
  sigset_t before_ = {};
};

int report(std::ostream &err, const Error &error) {
  err << "headwater hub: " << error.message << "\n";
  return exit_bad_input;
}

std::string shown_host(const std::string &address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

} // namespace

int run_hub(const HubCommand &command, std::ostream &out, std::ostream &err) {
  const StopSignals signals;
  hub::ReplayOptions options;
  const bool stepwise = command.reveal_every_seconds > 0;
  if (stepwise) {
    options.revealed = 0;
  }
  Result<std::unique_ptr<hub::ReplayHub>> opened = hub::ReplayHub::open(command.folder, options);
  if (!opened) {
    return report(err, opened.error());
  }
  hub::ReplayHub &replay = **opened;

  net::ServerOptions listen;
  listen.address = command.address;
  listen.port = command.port;
  Result<std::unique_ptr<net::Server>> server = net::Server::start(
      listen, [&replay](const net::Request &request) { return replay.handle(request); });
  if (!server) {
    return report(err, server.error());
  }
  std::unique_ptr<net::Server> cdn;
  if (command.cdn) {
    listen.port = command.cdn_port;
    Result<std::unique_ptr<net::Server>> second = net::Server::start(
        listen, [&replay](const net::Request &request) { return replay.handle_cdn(request); });
    if (!second) {
      return report(err, second.error());
    }
    cdn = std::move(*second);
    replay.set_cdn_port(cdn->port());
  }

  const std::string host = shown_host(command.address);
  out << fmt::format("hub http://{}:{}", host, (*server)->port());
  if (cdn) {
    out << fmt::format("  cdn http://{}:{}", host, cdn->port());
  }
  out << fmt::format("  repos {}  revealed {} of {}", replay.repos().size(), replay.revealed(),
                     replay.timeline_size())
      << std::endl;

  while (!signals.wait(stepwise ? command.reveal_every_seconds : longest_wait_seconds)) {
    if (!stepwise) {
      continue;
    }
    if (const std::optional<std::string> name = replay.reveal_next()) {
      out << fmt::format("revealed {}  {} of {}", *name, replay.revealed(), replay.timeline_size())
          << std::endl;
    }
  }
  (*server)->stop(shutdown_grace);
  if (cdn) {
    cdn->stop(shutdown_grace);
  }
  return exit_fine;
}

} // namespace headwater::cli

#include "daemon/service/stop_signal.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>

#include <pthread.h>

namespace headwater::service {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  return set;
}

} // namespace

StopSignal::StopSignal() {
  const sigset_t set = watched_signals();
  // Blocked in this thread and in all that are started after: they wait here instead.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

StopSignal::~StopSignal() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool StopSignal::wait_for(std::chrono::milliseconds time) {
  if (stopped_)
    return true;
  const sigset_t set = watched_signals();
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      return false;
    timespec wait{};
    wait.tv_sec = left.count() / 1'000'000'000;
    wait.tv_nsec = left.count() % 1'000'000'000;
    const int signal = sigtimedwait(&set, nullptr, &wait);
    if (signal == SIGHUP) {
      reload_ = true;
      return false;
    }
    if (signal == SIGTERM || signal == SIGINT) {
      stopped_ = true;
      return true;
    }
    if (signal < 0 && errno == EAGAIN)
      return false;
  }
}

bool StopSignal::take_reload() {
  const bool asked = reload_;
  reload_ = false;
  return asked;
}

} // namespace headwater::service

#include "daemon/service/crash_marker.hpp"

#include "daemon/track/signal_stack.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace headwater::service {
namespace {

constexpr std::string_view mark_name = "crashed";

/// A signal handler can reach nothing but what stands still: the path is copied here before the
/// handlers are set.
std::array<char, 4096> mark_path{};

void leave_mark(int signal) {
  const int file = ::open(mark_path.data(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) {
    ::fsync(file);
    ::close(file);
  }
  // SA_RESETHAND has put the default back: the process ends as it would have.
  ::raise(signal);
}

} // namespace

bool take_crash_mark(const std::string &state_folder) {
  std::error_code ignored;
  return std::filesystem::remove(std::filesystem::path(state_folder) / mark_name, ignored);
}

void mark_crashes(const std::string &state_folder) {
  const std::string path = (std::filesystem::path(state_folder) / mark_name).string();
  if (path.size() >= mark_path.size())
    return;
  std::memcpy(mark_path.data(), path.c_str(), path.size() + 1);
  struct sigaction action{};
  action.sa_handler = leave_mark;
  // A stack overflow leaves no room on the stack that it used up.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK;
  track::use_signal_stack();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, nullptr);
}

} // namespace headwater::service

#include "daemon/service/crash_marker.hpp"
#include "daemon/track/signal_stack.hpp"

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace headwater::service {
namespace {

/// Whether a process that ends in `end` leaves a mark in a folder.
bool marked_after_end(const std::string &name, void (*end)()) {
  const std::string folder =
      ::testing::TempDir() + "/crash-" + std::to_string(::getpid()) + "-" + name;
  std::filesystem::create_directories(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    mark_crashes(folder);
    end();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the process ends as it would have";
  const bool marked = take_crash_mark(folder);
  EXPECT_FALSE(take_crash_mark(folder)) << "a mark is taken once";
  std::filesystem::remove_all(folder);
  return marked;
}

int end_signal = 0;
bool marked_after(int signal) {
  end_signal = signal;
  return marked_after_end(std::to_string(signal), [] { ::raise(end_signal); });
}

/// Takes the whole stack; the sum keeps the calls from becoming a loop.
// NOLINTNEXTLINE(misc-no-recursion)
int deeper(int depth) {
  volatile char block[4096] = {};
  block[depth % 4096] = static_cast<char>(depth);
  return depth < 0 ? block[0] : deeper(depth + 1) + block[depth % 4096];
}

TEST(CrashMarker, AStackThatIsUsedUpLeavesAMark) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes the fault first";
#endif
  EXPECT_TRUE(marked_after_end("stack", [] { ::_exit(deeper(0)); }));
  EXPECT_TRUE(marked_after_end("stack-of-a-worker", [] {
    std::thread([] {
      track::use_signal_stack();
      ::_exit(deeper(0));
    }).join();
  }));
}

TEST(CrashMarker, AFaultOfOursLeavesAMark) {
  EXPECT_TRUE(marked_after(SIGSEGV));
  EXPECT_TRUE(marked_after(SIGABRT));
}

TEST(CrashMarker, AnEndFromOutsideLeavesNone) {
  EXPECT_FALSE(marked_after(SIGKILL));
  EXPECT_FALSE(marked_after(SIGTERM));
}

} // namespace
} // namespace headwater::service

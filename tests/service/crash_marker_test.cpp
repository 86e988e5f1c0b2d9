#include "daemon/service/crash_marker.hpp"

#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace headwater::service {
namespace {

/// Whether a process that ends by `signal` leaves a mark in a folder.
bool marked_after(int signal) {
  const std::string folder =
      ::testing::TempDir() + "/crash-" + std::to_string(::getpid()) + "-" + std::to_string(signal);
  std::filesystem::create_directories(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    mark_crashes(folder);
    ::raise(signal);
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

#include "daemon/service/state_lock.hpp"

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace headwater::service {
namespace {

TEST(StateLock, ASecondProcessOnOneFolderIsRefusedAndNamesIt) {
  const std::string folder = ::testing::TempDir() + "/lock-" + std::to_string(::getpid());
  {
    const Result<StateLock> first = StateLock::take(folder);
    ASSERT_TRUE(first) << first.error().message;
    const Result<StateLock> second = StateLock::take(folder);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::bad_input) << "exit 2";
    EXPECT_NE(second.error().message.find(folder), std::string::npos);
  }
  EXPECT_TRUE(StateLock::take(folder)) << "given back";
  // A process that is killed gives it back too.
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<StateLock> held = StateLock::take(folder);
    const char answer = held ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1)
      ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(StateLock::take(folder));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(StateLock::take(folder));
  std::filesystem::remove_all(folder);
}

TEST(StateLock, AFolderThatCannotBeMadeIsNamed) {
  const Result<StateLock> lock = StateLock::take("/proc/no-such-folder");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, Errc::bad_input);
  EXPECT_NE(lock.error().message.find("/proc/no-such-folder"), std::string::npos);
}

} // namespace
} // namespace headwater::service

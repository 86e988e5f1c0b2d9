#include "tests/folders.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace headwater::service {
namespace {

TEST(Unit, BoundsMemoryAndTasksAndStartsAgainAfterTheOomKiller) {
  std::ifstream file(test::source_folder() / "systemd/headwater.service");
  const std::string unit(std::istreambuf_iterator<char>(file), {});
  for (const char *key :
       {"\nMemoryHigh=", "\nMemoryMax=", "\nTasksMax=", "\nOOMPolicy=", "\nRestart=on-failure\n"})
    EXPECT_NE(unit.find(key), std::string::npos) << key;
}

} // namespace
} // namespace headwater::service

#include "daemon/cli/run.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char **argv) {
  try {
    return headwater::cli::run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "headwater: internal error: %s\n", error.what());
    return 3;
  }
}

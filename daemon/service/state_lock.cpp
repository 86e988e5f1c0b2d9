#include "daemon/service/state_lock.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace headwater::service {

Result<StateLock> StateLock::take(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = (std::filesystem::path(folder) / "headwater.lock").string();
  const int file = error ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (file < 0)
    return fail(Errc::bad_input,
                fmt::format("{}: the state folder cannot be written ({}): name another in [state] "
                            "folder, or give this user the right to write there",
                            folder, error ? error.message() : std::strerror(errno)));
  StateLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::bad_input,
                fmt::format("{}: another headwater runs on this state folder: stop it, or name "
                            "another folder in [state] folder",
                            folder));
  return lock;
}

StateLock::StateLock(StateLock &&other) noexcept : file_(std::exchange(other.file_, -1)) {}

StateLock::~StateLock() {
  if (file_ >= 0)
    ::close(file_);
}

} // namespace headwater::service

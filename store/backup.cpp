#include "store/backup.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headwater::store {
namespace {

namespace fs = std::filesystem;

/// Name of the file that a write in progress of a database has beside it.
std::string log_of(const std::string &path) {
  return path + "-wal";
}

bool has_bytes(const std::string &path) {
  std::error_code missing;
  const auto size = fs::file_size(path, missing);
  return !missing && size > 0;
}

/// A database with our tables. Read from a copy of its first bytes' promise on: nothing is written
/// beside it.
bool is_ours(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(16, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (!file || head != std::string("SQLite format 3\0", 16))
    return false;
  const Result<std::unique_ptr<Database>> database = Database::open_unchanging(path);
  std::int64_t tables = 0;
  const Result<void> counted =
      database ? (*database)->run("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND "
                                  "name IN ('watch', 'repo', 'revision', 'advisory')",
                                  [&](const Statement &row) { tables = row.number(0); })
               : Result<void>(std::unexpected(database.error()));
  return counted && tables == 4;
}

Result<void> may_replace(const Database &source, const std::string &target) {
  struct stat there{};
  struct stat live{};
  if (::stat(target.c_str(), &there) != 0)
    return {};
  if (::stat(source.path().c_str(), &live) == 0 && live.st_dev == there.st_dev &&
      live.st_ino == there.st_ino)
    return fail(Errc::bad_input,
                target + ": this is the database itself: name another file for the backup");
  if (has_bytes(log_of(target)))
    return fail(Errc::bad_input,
                target + ": this database is in use by somebody: name another file for the backup");
  if (!S_ISREG(there.st_mode) || !is_ours(target))
    return fail(Errc::bad_input,
                target + ": something is there that is no backup of headwater, and is left as it "
                         "is: name another file, or remove it first");
  return {};
}

Result<void> make_durable(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0)
    ::close(file);
  if (!done)
    return fail(Errc::store,
                fmt::format("{}: cannot be made durable: {}", path, std::strerror(reason)));
  return {};
}

} // namespace

Result<std::string> integrity(Database &database) {
  std::string found;
  Result<void> done = database.run("PRAGMA integrity_check(20)", [&](const Statement &row) {
    if (row.text(0) != "ok")
      found += (found.empty() ? "" : "\n") + row.text(0);
  });
  if (!done)
    return std::unexpected(done.error());
  return found;
}

Result<void> back_up(Database &source, const std::string &target) {
  if (Result<void> may = may_replace(source, target); !may)
    return may;
  const std::string beside = fmt::format("{}.part-{}", target, ::getpid());
  const auto give_up = [&](Error error) -> Result<void> {
    std::error_code ignored;
    fs::remove(beside, ignored);
    return std::unexpected(std::move(error));
  };
  Result<void> done = source.copy_to(beside);
  if (done) {
    Result<std::unique_ptr<Database>> copy = Database::open_unchanging(beside);
    const Result<std::string> found =
        copy ? integrity(**copy) : Result<std::string>(std::unexpected(copy.error()));
    if (!found)
      done = std::unexpected(found.error());
    else if (!found->empty())
      done = fail(Errc::store,
                  fmt::format("{}: the database is damaged, so no backup was made of it and older "
                              "ones were left as they are: restore one of them. SQLite says:\n{}",
                              source.path(), *found));
  }
  if (done)
    done = make_durable(beside);
  if (!done)
    return give_up(done.error());
  std::error_code moved;
  fs::rename(beside, target, moved);
  if (moved)
    return give_up(
        {Errc::store, fmt::format("{}: cannot be written: {}", target, moved.message())});
  const fs::path folder = fs::path(target).parent_path();
  return make_durable(folder.empty() ? "." : folder.string());
}

} // namespace headwater::store

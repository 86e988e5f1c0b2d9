#include "store/place.hpp"

#include "store/migrations.hpp"
#include "store/sqlite.hpp"

#include <filesystem>

#include <fmt/format.h>

namespace headwater::store {
namespace {

/// The file of a database, made beside its place and moved there whole: what stops in between
/// leaves no half of one.
Result<void> make_new(const std::string &path) {
  const std::string beside = path + ".new";
  std::error_code ignored;
  for (const char *rest : {"", "-journal", "-wal", "-shm"})
    std::filesystem::remove(beside + rest, ignored);
  {
    Result<std::unique_ptr<Database>> database = Database::open(beside, false);
    if (!database)
      return std::unexpected(database.error());
    if (Result<void> made = migrate(**database); !made)
      return made;
  }
  std::error_code failed;
  std::filesystem::rename(beside, path, failed);
  if (failed)
    return fail(Errc::store, fmt::format("{}: cannot be made: {}", path, failed.message()));
  return {};
}

} // namespace

Result<void> prepare_place(const std::string &path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty())
    std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Errc::bad_input, fmt::format("{}: the state folder cannot be made ({}): name "
                                             "another in [state] folder, or give this user "
                                             "the right to write there",
                                             folder.string(), error.message()));
  if (!std::filesystem::exists(path, error) && !error)
    return make_new(path);
  if (std::filesystem::is_regular_file(path, error) &&
      std::filesystem::file_size(path, error) == 0 && !error)
    return fail(Errc::bad_input,
                fmt::format("{0}: the database is there and empty, so what was in it is lost (a "
                            "full disk, a copy that was cut short): put a backup in its place "
                            "(`headwater backup` makes them, {0}.before-NNNN are older ones), or "
                            "remove the file to begin anew",
                            path));
  return {};
}

} // namespace headwater::store

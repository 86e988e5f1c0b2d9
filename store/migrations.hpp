#pragma once

#include "schemas/result.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace headwater::store {

class Database;

/// One step of the schema: file name, which begins with the number of the version that it makes,
/// and SQL.
struct Migration {
  std::string_view name;
  std::string_view sql;
};

/// All steps, oldest first; the database's user_version is the number of the last that was done.
std::span<const Migration> migrations();
/// The number of a step, and of the newest one.
std::int64_t version_of(const Migration &migration);
std::int64_t newest_version();
/// The version of a database, 0 of an empty one. Errors: store.
Result<std::int64_t> version_of(Database &database);

/// Brings a database to the newest version, each step in a transaction, with a copy
/// "PATH.before-NNNN" written first when the database holds anything. Errors: bad_input for a
/// database of a newer version, which is left as it is; store.
Result<void> migrate(Database &database);

} // namespace headwater::store

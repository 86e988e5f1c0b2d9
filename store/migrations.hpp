#pragma once

#include "schemas/result.hpp"

#include <span>
#include <string_view>

namespace headwater::store {

class Database;

/// One step of the schema: file name and SQL.
struct Migration {
  std::string_view name;
  std::string_view sql;
};

/// All steps, oldest first; the database's user_version counts how many were done.
std::span<const Migration> migrations();

/// Brings a database to the newest version, each step in a transaction, with a copy
/// "PATH.before-NNNN" written first when the database holds anything. Errors: bad_input for a
/// database of a newer version, which is left as it is; store.
Result<void> migrate(Database &database);

} // namespace headwater::store

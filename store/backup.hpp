#pragma once

#include "store/sqlite.hpp"

#include <string>

namespace headwater::store {

/// Copies a whole database to `target`: beside it first, checked and made durable, then moved
/// there. Errors: bad_input when the target is the database itself, in use, or no database of ours;
/// store when it cannot be written or the copy is found damaged.
Result<void> back_up(Database &source, const std::string &target);

/// What SQLite's own check finds wrong, a line each; "" when all is well.
Result<std::string> integrity(Database &database);

} // namespace headwater::store

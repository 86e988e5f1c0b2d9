#pragma once

#include "store/records.hpp"
#include "store/sqlite.hpp"

#include <string>
#include <vector>

namespace headwater::store {

/// Of the pins that checks asked for, so many of a repo are kept.
inline constexpr std::int64_t most_asked_pins = 100;

// Each as Store has it, inside the caller's transaction.
Result<void> put_pin(Database &database, std::int64_t repo_id, const std::string &sha, bool asked,
                     const std::string &now);
Result<void> remove_pin(Database &database, std::int64_t repo_id, const std::string &sha,
                        bool &there);
Result<std::vector<Pin>> read_pins(Database &database);

} // namespace headwater::store

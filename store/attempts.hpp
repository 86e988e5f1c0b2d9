#pragma once

#include "store/records.hpp"
#include "store/sqlite.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace headwater::store {

// Attempts to read revisions (DESIGN.md rule 2), each as Store has it; inside the caller's
// transaction.
Result<void> begin_attempt(Database &database, std::int64_t repo_id, const std::string &sha,
                           Attempt &begun);
Result<void> fail_attempt(Database &database, std::int64_t repo_id, const std::string &sha,
                          const std::string &note, const std::string &next_try_at);
Result<void> drop_attempt(Database &database, std::int64_t repo_id, const std::string &sha);
Result<void> count_killed_attempts(Database &database);
Result<void> forget_unfinished_attempts(Database &database);
Result<std::optional<Attempt>> read_attempt(Database &database, std::int64_t repo_id,
                                            const std::string &sha);

} // namespace headwater::store

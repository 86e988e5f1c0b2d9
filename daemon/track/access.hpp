#pragma once

#include "daemon/track/look.hpp"
#include "schemas/repo.hpp"
#include "schemas/result.hpp"

namespace headwater::track {

/// Compares what upstream says of the repo with what was told last. A difference is told once it is
/// confirmed; until then, and while it is held back because many repos say the same at once, what
/// was told holds and commits are read on. Commits of a repo that took another's name are not read
/// before. Blocks; for the pool. Errors: store, internal.
Result<void> settle_access(Look &look, RepoFacts facts);

/// Upstream has no such repo for us. Of a repo that was read before that is a change, once it is
/// confirmed. Blocks; for the pool. Errors: store, internal.
Result<void> settle_gone(Look &look, const Error &error);

} // namespace headwater::track

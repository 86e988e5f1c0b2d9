#pragma once

#include "schemas/result.hpp"

#include <string>

namespace headwater::store {

/// A place where there is no database yet gets one of the newest version, made beside it and moved
/// there whole. Errors: bad_input when the folder cannot be made, or when an empty file is there:
/// it was a database once, which a person must hear of; store.
Result<void> prepare_place(const std::string &path);

} // namespace headwater::store

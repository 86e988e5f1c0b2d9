#pragma once

#include "store/records.hpp"

namespace headwater::http {

/// True when anybody may see the repo: its watch says so, or an anonymous client can read it
/// upstream. A repo that was never read is not shown: nothing is known of who may.
bool may_show(const store::Repo &repo);

} // namespace headwater::http

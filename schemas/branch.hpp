#pragma once

#include <string_view>

namespace headwater {

/// True for a name that a branch can have (git check-ref-format): at most 200 bytes of printable
/// ASCII without what git forbids, so that it can be asked for, logged and shown.
bool is_branch_name(std::string_view name);

} // namespace headwater

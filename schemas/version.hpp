#pragma once

#include <string_view>

namespace headwater {

/// This program's version, as CMakeLists.txt's project() has it: the one place that states it.
std::string_view version();

} // namespace headwater

#pragma once

#include <string_view>

namespace headwater::feeds {

/// The text of templates/NAME; the name must be one of them.
std::string_view page_template(std::string_view name);

} // namespace headwater::feeds

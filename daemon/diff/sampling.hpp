#pragma once

#include "schemas/json.hpp"

#include <string>
#include <string_view>

namespace headwater::diff {

/// The kind of change that a key of generation_config.json makes. An absent value is null.
std::string generation_kind(const std::string &key, const Json *before, const Json *after);

/// True when generation does the same without the key.
bool is_generation_default(std::string_view key, const Json &value);

} // namespace headwater::diff

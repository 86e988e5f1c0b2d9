#pragma once

#include "schemas/json.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::diff {

/// The auto_map of a config and of the configs inside it: place, starting with `at`, -> target.
void collect_auto_maps(const Json &config, const std::string &at,
                       std::map<std::string, std::string> &targets);

/// What a list of packages asks for, sorted, without comments.
std::vector<std::string> required_packages(std::string_view text);

} // namespace headwater::diff

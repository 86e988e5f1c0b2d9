#pragma once

#include "daemon/diff/sides.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::diff {

/// Shapes of a model's tensors by name, as its config.json gives them; empty where its code is not
/// known.
using ConfigShapes = std::map<std::string, std::vector<std::int64_t>, std::less<>>;
ConfigShapes shapes_by_config(const Side &side);

/// Whether a tensor's sizes changed as the configs say: each axis that differs is, before and
/// after, what the config gives.
bool follows_config(const ConfigShapes &before, const ConfigShapes &after, std::string_view name,
                    const std::vector<std::int64_t> &was, const std::vector<std::int64_t> &is);

} // namespace headwater::diff

#pragma once

#include "schemas/json.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace headwater::estimator::test {

/// A JSON file, read as upstream JSON is.
Json read_json(const std::filesystem::path &path);
/// tests/data/estimator/NAME.
std::filesystem::path data_path(const std::string &name);

} // namespace headwater::estimator::test

#include "tests/estimator/plan_inputs.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator::test {

Json read_json(const std::filesystem::path &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<Json> json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << path;
  return json ? *json : Json();
}

std::filesystem::path data_path(const std::string &name) {
  return std::filesystem::path(HEADWATER_SOURCE_DIR) / "tests/data/estimator" / name;
}

std::optional<std::filesystem::path> shared_folder() {
  const char *named = std::getenv("HEADWATER_SHARED");
  std::filesystem::path folder = std::filesystem::path(HEADWATER_SOURCE_DIR) / "../shared";
  if (named != nullptr && *named != '\0')
    folder = named;
  if (!std::filesystem::is_directory(folder))
    return std::nullopt;
  return folder;
}

} // namespace headwater::estimator::test

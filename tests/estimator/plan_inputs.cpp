#include "tests/estimator/plan_inputs.hpp"

#include "tests/folders.hpp"

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
  return headwater::test::source_folder() / "tests/data/estimator" / name;
}

} // namespace headwater::estimator::test

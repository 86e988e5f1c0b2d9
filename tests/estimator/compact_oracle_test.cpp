// What transformers builds, as totals and digests: the whole estimator without shared material. The
// file is written by make_compact_oracle.py; each of its lines is a config, a row of a table or
// both.

#include "schemas/digest.hpp"
#include "schemas/json.hpp"
#include "tests/estimator/oracle_data.hpp"
#include "tests/folders.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace headwater::estimator {
namespace {

namespace fs = std::filesystem;

struct Line {
  std::string name;
  std::int64_t total = 0; ///< parameters and buffers, tied once
  std::string digest;     ///< of the sorted names and shapes
  std::string config;
};

struct CompactOracle {
  std::vector<Line> lines;
  std::map<std::string, std::string> without; ///< row of a table: why no line stands for it
};

CompactOracle read_compact() {
  CompactOracle oracle;
  std::istringstream text(
      oracle::read_file(test::source_folder() / "tests/data/estimator/oracle.tsv"));
  std::string line;
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    std::vector<std::string> field(4);
    for (std::string &one : field) {
      std::getline(fields, one, '\t');
    }
    if (field[0] == "#without") {
      oracle.without[field[1]] = field[2];
    } else if (!line.starts_with('#')) {
      oracle.lines.push_back({field[0], std::stoll(field[1]), field[2], field[3]});
    }
  }
  return oracle;
}

std::string digest_of(const Architecture &architecture) {
  std::string text;
  for (const auto &[name, shape] : oracle::own_tensors(architecture)) {
    text += fmt::format("{} {}\n", name, shape);
  }
  return sha256_hex(text).substr(0, 16);
}

/// Every model type that the tables in the estimator's source name after `opening`.
std::set<std::string> types_after(std::string_view opening) {
  std::set<std::string> types;
  for (const auto &entry : fs::directory_iterator(test::source_folder() / "estimator")) {
    if (entry.path().extension() != ".cpp") {
      continue;
    }
    const std::string text = oracle::read_file(entry.path());
    for (std::size_t at = text.find(opening); at != std::string::npos;
         at = text.find(opening, at + 1)) {
      const std::size_t begin = at + opening.size();
      types.insert(text.substr(begin, text.find('"', begin) - begin));
    }
  }
  return types;
}

// A line that fails says which config, and both counts; the shared oracle's own test says which
// tensors.
TEST(CompactOracle, EveryConfigGivesTheTensorsOfItsClass) {
  const CompactOracle oracle = read_compact();
  ASSERT_GT(oracle.lines.size(), 900U);
  for (const Line &line : oracle.lines) {
    const Result<Json> config = parse_json(line.config);
    ASSERT_TRUE(config) << line.name;
    const Result<Architecture> architecture = derive(*config);
    if (!architecture) {
      ADD_FAILURE() << line.name << ": " << architecture.error().message;
      continue;
    }
    const Counts &counts = architecture->counts;
    const std::int64_t total = counts.total - counts.mtp + counts.buffers;
    EXPECT_NE(architecture->reading, Reading::unknown)
        << line.name << ": " << architecture->reading_note;
    EXPECT_EQ(total, line.total) << line.name << ": ours first, then the oracle's";
    EXPECT_EQ(digest_of(*architecture), line.digest)
        << line.name << ": other names or shapes; the count is " << total << ", the oracle's "
        << line.total;
  }
}

// A row that no line reads could be broken and nobody would know.
TEST(CompactOracle, NoRowOfATableLacksALine) {
  const CompactOracle oracle = read_compact();
  std::set<std::string> read;
  for (const Line &line : oracle.lines) {
    const Result<Json> config = parse_json(line.config);
    ASSERT_TRUE(config) << line.name;
    const Result<Architecture> architecture = derive(*config);
    if (architecture) {
      read.insert(architecture->family);
    }
    read.insert(config->value("model_type", ""));
  }
  for (const auto &[opening, at_least] : std::map<std::string, std::size_t>{
           {".model_type = \"", 200}, {"Alias{\"", 10}, {"Singular{\"", 7}, {"Wrapper{\"", 7}}) {
    const std::set<std::string> types = types_after(opening);
    EXPECT_GE(types.size(), at_least) << "the tables are written another way: " << opening;
    for (const std::string &type : types) {
      EXPECT_NE(read.contains(type), oracle.without.contains(type))
          << type
          << (read.contains(type)
                  ? " has a line; tests/estimator/make_compact_oracle.py says that it "
                    "has none"
                  : " has no line: no test would see it broken");
    }
  }
  for (const auto &[type, reason] : oracle.without) {
    EXPECT_FALSE(reason.empty()) << type;
  }
}

// The file is what the script makes of the shared oracle today.
TEST(CompactOracle, IsWhatTheScriptWrites) {
  const auto shared = oracle::oracle_folder();
  if (!shared) {
    GTEST_SKIP() << "no shared material";
  }
  const fs::path again = fs::temp_directory_path() / fmt::format("compact_oracle_{}", ::getpid());
  const fs::path root = test::source_folder();
  const int status =
      std::system(fmt::format("python3 '{}' '{}' '{}' >/dev/null",
                              (root / "tests/estimator/make_compact_oracle.py").string(),
                              shared->string(), again.string())
                      .c_str());
  const std::string fresh = oracle::read_file(again);
  fs::remove(again);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(fresh == oracle::read_file(root / "tests/data/estimator/oracle.tsv"))
      << "run tests/estimator/make_compact_oracle.py ../shared";
}

} // namespace
} // namespace headwater::estimator

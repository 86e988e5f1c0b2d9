// The built-in histories: they unpack, the replay hub serves them, and they tell what
// demo/expected.json says.

#include "daemon/hub/replay.hpp"
#include "daemon/read/safetensors.hpp"
#include "demo/demo_data.hpp"
#include "schemas/change.hpp"
#include "schemas/json.hpp"
#include "tests/folders.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {
namespace {

namespace fs = std::filesystem;

class DemoDataTest : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "demo_data_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    const Result<void> unpacked = unpack_demo(folder);
    ASSERT_TRUE(unpacked.has_value()) << unpacked.error().message;
    std::ifstream in(test::source_folder() / "demo/expected.json");
    expected = Json::parse(
        std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()));
  }
  static void TearDownTestSuite() { fs::remove_all(folder); }

  static std::string folder;
  static Json expected;
};

std::string DemoDataTest::folder;
Json DemoDataTest::expected;

Json ask(hub::ReplayHub &hub, const std::string &target) {
  const net::Response response =
      hub.handle({"GET", target, {{"Host", "127.0.0.1:1"}}, "", "127.0.0.1"});
  EXPECT_EQ(response.status, 200) << target;
  Result<Json> json = parse_json(response.body);
  return json.value_or(Json());
}

TEST_F(DemoDataTest, HoldsAtLeastEightReposAndThirtyRevisions) {
  EXPECT_GE(expected["repos"].size(), 8U);
  EXPECT_GE(expected["revisions"].get<int>(), 30);
  EXPECT_EQ(expected["live_steps"].get<std::size_t>(), demo_live_steps);
}

TEST_F(DemoDataTest, TheHubsTimelineIsTheOneThatIsExpected) {
  const auto hub = hub::ReplayHub::open(folder);
  ASSERT_TRUE(hub.has_value()) << hub.error().message;
  EXPECT_EQ((*hub)->timeline_size(), expected["steps"].get<std::size_t>());
}

TEST_F(DemoDataTest, EveryStepComesInTheOrderThatIsExpected) {
  const auto opened = hub::ReplayHub::open(folder, {.revealed = 0});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  hub::ReplayHub &hub = **opened;
  std::map<std::string, std::size_t> step;
  while (const std::optional<std::string> repo = hub.reveal_next()) {
    const Json &want = expected["repos"][*repo].at(++step[*repo]);
    if (want.contains("revision")) {
      EXPECT_EQ(ask(hub, "/api/models/" + *repo + "/commits/main").at(0)["title"], want["revision"])
          << *repo;
    }
  }
  for (const auto &[repo, steps] : expected["repos"].items()) {
    EXPECT_EQ(step[repo] + 1, steps.size()) << repo;
  }
}

TEST_F(DemoDataTest, ExpectedKindsAreInTheTableAndAdvisoriesFollowTheirLevel) {
  for (const auto &[repo, steps] : expected["repos"].items()) {
    for (const Json &step : steps) {
      bool medium = false;
      for (const Json &kind : step["kinds"]) {
        const ChangeKind *row = find_change_kind(kind.get<std::string>());
        ASSERT_NE(row, nullptr) << kind;
        medium = medium || row->level >= Level::medium;
      }
      EXPECT_EQ(medium, step["advisory"].get<bool>()) << repo << " " << step;
    }
  }
}

TEST_F(DemoDataTest, EveryWeightFileHasAHeaderThatMeetsItsSize) {
  const auto hub = hub::ReplayHub::open(folder);
  ASSERT_TRUE(hub.has_value()) << hub.error().message;
  std::size_t files = 0;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") {
      continue;
    }
    // models/ORG/NAME/revisions/NNNN-title/path
    const fs::path inside = entry.path().lexically_relative(folder);
    std::vector<std::string> parts;
    for (const fs::path &part : inside) {
      parts.push_back(part.string());
    }
    std::ifstream meta_file(fs::path(folder) / parts[0] / parts[1] / parts[2] / "repo.json");
    const Json meta = Json::parse(meta_file);
    std::string path = parts[5];
    for (std::size_t i = 6; i < parts.size(); ++i) {
      path += "/" + parts[i];
    }
    const int revision = std::stoi(parts[4].substr(0, 4));
    std::int64_t size = 0;
    for (const Json &record : meta["lfs"][path]) {
      size = record["from"].get<int>() <= revision ? record["size"].get<std::int64_t>() : size;
    }
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto header = read::read_safetensors_header(bytes, size);
    EXPECT_TRUE(header.has_value()) << inside << ": " << (header ? "" : header.error().message);
    ++files;
  }
  EXPECT_GT(files, 50U);
}

struct Published {
  const char *repo;
  std::int64_t parameters; ///< of the model whose numbers the repo carries
};

TEST_F(DemoDataTest, ParametersAreThoseOfTheRealModels) {
  const Published cases[] = {
      {"alder/lattice-8b", 8'489'553'920},          {"millpond/heron-3.2-1b", 1'235'814'400},
      {"stonebridge/otter-0.6b", 596'049'920},      {"ferryman/minstrel-12b", 12'247'782'400},
      {"ferryman/convoy-8x7b", 46'702'792'704},     {"willow/reed-2.7b", 2'779'683'840},
      {"willow/longreed-3.8b-128k", 3'821'079'552}, {"quarry/monolith-405b", 405'853'388'800}};
  const auto hub = hub::ReplayHub::open(folder);
  ASSERT_TRUE(hub.has_value()) << hub.error().message;
  for (const Published &c : cases) {
    const Json info = ask(**hub, std::string("/api/models/") + c.repo + "?expand=safetensors");
    EXPECT_EQ(info["safetensors"]["total"], c.parameters) << c.repo;
  }
  const Json nano = ask(**hub, "/api/models/riverbend/brook-30b-a3b?expand=safetensors");
  EXPECT_EQ(nano["safetensors"]["parameters"]["BF16"], 31'577'937'344);
}

TEST(DemoDataWriteTest, AFolderThatCannotBeWrittenIsNamed) {
  const Result<void> unpacked = unpack_demo("/proc/nowhere");
  ASSERT_FALSE(unpacked.has_value());
  EXPECT_EQ(unpacked.error().code, Errc::store);
  EXPECT_NE(unpacked.error().message.find("/proc/nowhere"), std::string::npos);
}

} // namespace
} // namespace headwater::cli

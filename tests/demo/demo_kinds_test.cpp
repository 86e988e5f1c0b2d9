// Every step of the built-in histories, read through the replay hub and compared with what
// demo/expected.json says of it.

#include "daemon/diff/diff.hpp"
#include "daemon/hub/replay.hpp"
#include "daemon/read/wanted.hpp"
#include "demo/demo_data.hpp"
#include "schemas/json.hpp"
#include "tests/folders.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *first_bytes = "bytes=0-4000000"; // longer than any header of the demo

net::Response get(hub::ReplayHub &hub, const std::string &target, net::Headers headers = {}) {
  headers.emplace_back("Host", "127.0.0.1:1");
  headers.emplace_back("Authorization", "Bearer hf_ok");
  return hub.handle({"GET", target, headers, "", "127.0.0.1"});
}

Json ask(hub::ReplayHub &hub, const std::string &target) {
  const net::Response response = get(hub, target);
  EXPECT_EQ(response.status, 200) << target;
  return parse_json(response.body).value_or(Json());
}

std::shared_ptr<const std::string> read_part(hub::ReplayHub &hub, const std::string &repo,
                                             const std::string &sha, const FileEntry &file,
                                             FilePart part) {
  const net::Response redirect = get(hub, "/" + repo + "/resolve/" + sha + "/" + file.path);
  const net::Response answer =
      get(hub, *net::find_header(redirect.headers, "Location"),
          part == FilePart::whole ? net::Headers() : net::Headers{{"Range", first_bytes}});
  std::string bytes = answer.body;
  if (part == FilePart::safetensors_header && answer.stream) {
    bytes.resize(std::min<std::uint64_t>(answer.stream->size, 4'000'000));
    bytes.resize(answer.stream->read(0, bytes.data(), bytes.size()));
  }
  if (part == FilePart::safetensors_header && bytes.size() >= 8) {
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) {
      length = length << 8U | static_cast<unsigned char>(bytes[i]);
    }
    bytes.resize(std::min<std::uint64_t>(bytes.size(), 8 + length));
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

std::vector<FileEntry> files_of(hub::ReplayHub &hub, const std::string &repo,
                                const std::string &sha) {
  std::vector<FileEntry> files;
  for (const Json &entry : ask(hub, "/api/models/" + repo + "/tree/" + sha + "?recursive=true")) {
    if (entry["type"] == "file") {
      files.push_back({entry["path"].get<std::string>(), entry["oid"].get<std::string>(),
                       entry["size"].get<std::int64_t>(),
                       entry.contains("lfs") ? entry["lfs"]["oid"].get<std::string>() : ""});
    }
  }
  std::ranges::sort(files, {}, &FileEntry::path);
  return files;
}

/// The head of main as a tracker would read it.
Snapshot read_head(hub::ReplayHub &hub, const std::string &repo) {
  const Json info = ask(hub, "/api/models/" + repo);
  Snapshot snapshot;
  snapshot.facts.name = repo;
  snapshot.facts.identity = info["_id"].get<std::string>();
  snapshot.facts.head = info["sha"].get<std::string>();
  snapshot.facts.gate = info["gated"] == false ? Gate::open : Gate::manual;
  snapshot.facts.tags = info["tags"].get<std::vector<std::string>>();
  std::ranges::sort(snapshot.facts.tags);
  const Json commit = ask(hub, "/api/models/" + repo + "/commits/main").at(0);
  snapshot.commit = {commit["id"].get<std::string>(), commit["title"].get<std::string>(),
                     commit["date"].get<std::string>()};
  snapshot.files = files_of(hub, repo, snapshot.commit.sha);
  for (const FileEntry &file : snapshot.files) {
    const FilePart part = read::wanted_part(file);
    if (part != FilePart::none) {
      snapshot.contents[file.path] = {part, read_part(hub, repo, snapshot.commit.sha, file, part)};
    }
  }
  if (repo == "alder/lattice-8b" && find_text(snapshot, "config.json")->contains("--")) {
    const std::string code = "alder/lattice-code";
    const std::string head = ask(hub, "/api/models/" + code)["sha"].get<std::string>();
    std::vector<FileEntry> files = files_of(hub, code, head);
    std::erase_if(files, [](const FileEntry &file) { return !file.path.ends_with(".py"); });
    snapshot.referenced.push_back({code, head, std::move(files)});
  }
  return snapshot;
}

std::string listed(const std::vector<Change> &changes) {
  std::string text;
  for (const Change &change : changes) {
    text += "\n  " + change.kind + " " + change.path + ": " + change.explanation;
  }
  return text;
}

TEST(DemoKindsTest, EveryStepTellsTheKindsThatAreExpectedOfIt) {
  std::string folder = (fs::temp_directory_path() / "demo_kinds_test_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(unpack_demo(folder).has_value());
  std::ifstream in(test::source_folder() / "demo/expected.json");
  const Json expected = Json::parse(in);
  const auto opened = hub::ReplayHub::open(folder, {.revealed = 0});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  hub::ReplayHub &hub = **opened;

  std::map<std::string, Snapshot> last;
  std::map<std::string, std::size_t> step;
  for (const std::string &repo : hub.repos()) {
    last[repo] = read_head(hub, repo);
  }
  while (const std::optional<std::string> repo = hub.reveal_next()) {
    const Json &want = expected["repos"][*repo].at(++step[*repo]);
    if (want.contains("event") && want["kinds"] == Json::array({"access.gone"})) {
      EXPECT_EQ(get(hub, "/api/models/" + *repo).status, 404);
      continue;
    }
    const Snapshot now = read_head(hub, *repo);
    std::vector<Change> changes = now.commit == last[*repo].commit
                                      ? diff::diff_access(last[*repo].facts, now.facts)
                                      : diff::diff(last[*repo], now).changes;
    std::set<std::string> kinds;
    for (const Change &change : changes) {
      kinds.insert(change.kind);
    }
    std::set<std::string> wanted;
    for (const Json &kind : want["kinds"]) {
      // Subjects of history are the tracker's: they need the commit list, not two snapshots.
      if (!kind.get<std::string>().starts_with("history.")) {
        wanted.insert(kind.get<std::string>());
      }
    }
    EXPECT_EQ(kinds, wanted) << *repo << ": " << want << listed(changes);
    if (wanted.size() == want["kinds"].size() || !want.contains("event")) {
      EXPECT_EQ(level_of(changes) >= Level::medium, want["advisory"].get<bool>())
          << *repo << ": " << want << listed(changes);
    }
    last[*repo] = now;
  }
  for (const auto &[repo, steps] : expected["repos"].items()) {
    EXPECT_EQ(step[repo] + 1, steps.size()) << repo << ": steps that were never revealed";
  }
  fs::remove_all(folder);
}

} // namespace
} // namespace headwater::cli

// The replay hub by its handler alone: what a client of the real hub relies on, and the timeline.

#include "daemon/hub/replay.hpp"
#include "schemas/digest.hpp"
#include "schemas/json.hpp"
#include "tests/folders.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

namespace fs = std::filesystem;

/// A folder of recorded repos that is removed at the end of the test.
class ReplayTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "replay_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    write("models/acme/tiny/revisions/0000-initial commit/.gitattributes",
          "*.safetensors filter=lfs\n");
    for (const char *revision : {"0001-Upload model", "0002-Update config"}) {
      const std::string base = std::string("models/acme/tiny/revisions/") + revision + "/";
      write(base + ".gitattributes", "*.safetensors filter=lfs\n");
      write(base + "config.json",
            revision[3] == '1' ? R"({"model_type":"llama"})" : R"({"model_type":"mistral"})");
      write(base + "README.md", "---\nlicense: mit\n---\n# tiny\n");
      write(base + "empty.txt", "");
      write(base + "sub/dir/a.txt", "x");
      write(base + "model.safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10));
    }
    write("models/acme/tiny/repo.json",
          R"({"renamed_from":["acme/old"],"branches":{"dev":1},"git_tags":{"v1":1},"prs":{"1":1},
              "lfs":{"model.safetensors":{"size":5000000000,"sha256":")" +
              std::string(64, 'a') + R"("}}})");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string &path, const std::string &text) const {
    fs::create_directories((fs::path(root_) / path).parent_path());
    std::ofstream(fs::path(root_) / path, std::ios::binary) << text;
  }
  std::unique_ptr<ReplayHub> open(const ReplayOptions &options = {}) const {
    Result<std::unique_ptr<ReplayHub>> hub = ReplayHub::open(root_, options);
    EXPECT_TRUE(hub.has_value()) << (hub ? "" : hub.error().message);
    return hub ? std::move(*hub) : nullptr;
  }

  std::string root_;
};

net::Response get(ReplayHub &hub, const std::string &target, net::Headers headers = {},
                  const std::string &method = "GET", const std::string &body = {}) {
  headers.emplace_back("Host", "127.0.0.1:7777");
  net::Request request = {method, target, headers, body, "127.0.0.1"};
  return hub.handle(request);
}

Json json_of(const net::Response &response) {
  Result<Json> json = parse_json(response.body);
  EXPECT_TRUE(json.has_value()) << response.body;
  return json.value_or(Json());
}

std::string header(const net::Response &response, std::string_view name) {
  const std::string *found = net::find_header(response.headers, name);
  return found == nullptr ? "" : *found;
}

std::vector<std::string> titles(ReplayHub &hub, const std::string &repo) {
  std::vector<std::string> list;
  for (const Json &commit : json_of(get(hub, "/api/models/" + repo + "/commits/main?limit=1000"))) {
    list.push_back(commit["title"].get<std::string>());
  }
  return list;
}

TEST_F(ReplayTest, InfoNamesHeadFilesSizesAndLicence) {
  const auto hub = open();
  const Json info = json_of(get(*hub, "/api/models/acme/tiny?blobs=true"));
  EXPECT_EQ(info["id"], "acme/tiny");
  EXPECT_EQ(info["sha"].get<std::string>().size(), 40U);
  EXPECT_EQ(info["gated"], false);
  EXPECT_EQ(info["siblings"].size(), 6U);
  EXPECT_EQ(info["tags"], Json::parse(R"(["license:mit","region:us"])"));
  const Json &weights = info["siblings"][4];
  EXPECT_EQ(weights["rfilename"], "model.safetensors");
  EXPECT_EQ(weights["size"], 5'000'000'000);
  EXPECT_EQ(weights["lfs"]["sha256"], std::string(64, 'a'));
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') +
      "\nsize 5000000000\n";
  EXPECT_EQ(weights["blobId"], git_blob_id(pointer));
}

TEST_F(ReplayTest, ExpandGivesTheNamedFieldsAndNoOthers) {
  const auto hub = open();
  const Json info =
      json_of(get(*hub, "/api/models/acme/tiny?expand[]=sha&expand%5B%5D=gated&expand=disabled"));
  EXPECT_EQ(info.size(), 5U) << info;
  EXPECT_TRUE(info.contains("_id") && info.contains("sha") && info.contains("gated") &&
              info.contains("disabled"));
  EXPECT_EQ(get(*hub, "/api/models/acme/tiny?expand=nonsense").status, 400);
}

TEST_F(ReplayTest, ObjectIdsAreTheOnesGitGives) {
  // `git hash-object` and `git mktree` over the same content.
  write("models/acme/git/revisions/0000-one/a.txt", "hello\n");
  write("models/acme/git/revisions/0000-one/a/b.txt", "hello\n");
  const auto hub = open();
  const Json tree = json_of(get(*hub, "/api/models/acme/git/tree/main?recursive=true"));
  ASSERT_EQ(tree.size(), 3U);
  EXPECT_EQ(tree[0]["oid"], "dd5a3627ad3d4a1eaa9b180972bab37891a5e101");
  EXPECT_EQ(tree[1]["oid"], "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST_F(ReplayTest, RevisionsAreNamedByBranchTagShaPullRequestAndShortSha) {
  const auto hub = open();
  const std::string first =
      json_of(get(*hub, "/api/models/acme/tiny/revision/v1"))["sha"].get<std::string>();
  for (const std::string &name :
       {std::string("dev"), std::string("refs%2Fpr%2F1"), first, first.substr(0, 7)}) {
    EXPECT_EQ(json_of(get(*hub, "/api/models/acme/tiny/revision/" + name))["sha"], first) << name;
  }
  const net::Response missing = get(*hub, "/api/models/acme/tiny/revision/nope");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(header(missing, "X-Error-Code"), "RevisionNotFound");
}

TEST_F(ReplayTest, CommitsAndTreesComeInPagesOnTheOriginThatWasAsked) {
  const auto hub = open();
  const net::Response page = get(*hub, "/api/models/acme/tiny/commits/main?limit=2");
  EXPECT_EQ(json_of(page).size(), 2U);
  EXPECT_EQ(header(page, "X-Total-Count"), "3");
  EXPECT_EQ(header(page, "Link"),
            "<http://127.0.0.1:7777/api/models/acme/tiny/commits/main?p=1&limit=2>; rel=\"next\"");
  EXPECT_EQ(json_of(get(*hub, "/api/models/acme/tiny/commits/main?p=1&limit=2"))[0]["title"],
            "initial commit");

  std::string target = "/api/models/acme/tiny/tree/main?recursive=true&limit=3";
  std::size_t entries = 0;
  while (!target.empty()) {
    const net::Response part = get(*hub, target);
    entries += json_of(part).size();
    const std::string link = header(part, "Link");
    target = link.empty() ? "" : link.substr(22, link.find('>') - 22);
  }
  EXPECT_EQ(entries, 8U); // six files, sub and sub/dir
}

TEST_F(ReplayTest, SmallFilesAreFoundBehindARelativeRedirectWithCommitAndEtag) {
  const auto hub = open();
  const net::Response first = get(*hub, "/acme/tiny/resolve/main/config.json", {}, "HEAD");
  EXPECT_EQ(first.status, 307);
  EXPECT_EQ(header(first, "X-Repo-Commit").size(), 40U);
  const net::Response file = get(*hub, header(first, "Location"));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, R"({"model_type":"mistral"})");
  EXPECT_EQ(header(file, "ETag"), "\"" + git_blob_id(file.body) + "\"");
  EXPECT_EQ(get(*hub, header(first, "Location"), {{"If-None-Match", header(file, "ETag")}}).status,
            304);
}

struct RangeCase {
  const char *range;
  int status;
  const char *content_range;
  const char *body;
};

TEST_F(ReplayTest, RangesAreAnsweredAsRfc9110HasThem) {
  const auto hub = open();
  const std::string target = header(get(*hub, "/acme/tiny/resolve/main/config.json"), "Location");
  const RangeCase cases[] = {{"bytes=0-0", 206, "bytes 0-0/24", "{"},
                             {"bytes=-2", 206, "bytes 22-23/24", "\"}"},
                             {"bytes=22-", 206, "bytes 22-23/24", "\"}"},
                             {"bytes=20-999", 206, "bytes 20-23/24", "al\"}"},
                             {"bytes=24-30", 416, "bytes */24", ""},
                             {"bytes=5-4", 416, "bytes */24", ""},
                             {"bytes=x-", 200, "", "{\"model_type\":\"mistral\"}"}};
  for (const RangeCase &c : cases) {
    const net::Response response = get(*hub, target, {{"Range", c.range}});
    EXPECT_EQ(response.status, c.status) << c.range;
    EXPECT_EQ(header(response, "Content-Range"), c.content_range) << c.range;
    EXPECT_EQ(response.body, c.body) << c.range;
  }
  const std::string empty = header(get(*hub, "/acme/tiny/resolve/main/empty.txt"), "Location");
  const net::Response nothing = get(*hub, empty, {{"Range", "bytes=0-0"}});
  EXPECT_EQ(nothing.status, 200);
  EXPECT_EQ(header(nothing, "Content-Range"), "bytes */0");
}

TEST_F(ReplayTest, WeightsOfWhichOnlyTheHeaderIsKeptReadAsZerosBehindIt) {
  const auto hub = open();
  const net::Response first = get(*hub, "/acme/tiny/resolve/main/model.safetensors");
  EXPECT_EQ(header(first, "X-Linked-Size"), "5000000000");
  EXPECT_EQ(header(first, "X-Linked-ETag"), "\"" + std::string(64, 'a') + "\"");
  const std::string target = header(first, "Location");
  const net::Response start = get(*hub, target, {{"Range", "bytes=8-11"}});
  EXPECT_EQ(start.body, std::string("{}\0\0", 4));
  const net::Response end = get(*hub, target, {{"Range", "bytes=-3"}});
  EXPECT_EQ(header(end, "Content-Range"), "bytes 4999999997-4999999999/5000000000");
  EXPECT_EQ(end.body, std::string(3, '\0'));
  const net::Response whole = get(*hub, target);
  ASSERT_TRUE(whole.stream.has_value());
  EXPECT_EQ(whole.stream->size, 5'000'000'000U);
  char bytes[4] = {};
  EXPECT_EQ(whole.stream->read(8, bytes, 4), 4U);
  EXPECT_EQ(std::string(bytes, 4), std::string("{}\0\0", 4));
}

TEST_F(ReplayTest, ASecondOriginServesLfsContentAndRefusesTokens) {
  const auto hub = open({.cdn_origin = "http://127.0.0.2:1"});
  const net::Response first =
      get(*hub, "/acme/tiny/resolve/main/model.safetensors", {{"Authorization", "Bearer hf_ok"}});
  EXPECT_EQ(first.status, 302);
  const std::string location = header(first, "Location");
  ASSERT_TRUE(location.starts_with("http://127.0.0.2:1/")) << location;
  net::Request request = {"GET", location.substr(18), {{"Range", "bytes=8-9"}}, "", "127.0.0.1"};
  EXPECT_EQ(hub->handle_cdn(request).body, "{}");
  request.headers.emplace_back("Authorization", "Bearer hf_ok");
  EXPECT_EQ(hub->handle_cdn(request).status, 400);
  request = {"GET", location.substr(18, location.find('?') - 18), {}, "", "127.0.0.1"};
  EXPECT_EQ(hub->handle_cdn(request).status, 403);
}

struct AccessCase {
  const char *target;
  const char *token;
  int status;
  const char *code;
};

TEST_F(ReplayTest, AccessIsRefusedWithTheStatusAndCodeOfTheRealHub) {
  write("models/acme/gated/revisions/0000-one/config.json", "{}");
  write("models/acme/gated/repo.json", R"({"gated":"manual"})");
  write("models/acme/private/revisions/0000-one/config.json", "{}");
  write("models/acme/private/repo.json", R"({"private":true})");
  write("models/acme/disabled/revisions/0000-one/config.json", "{}");
  write("models/acme/disabled/repo.json", R"({"disabled":true})");
  const auto hub = open();
  const AccessCase cases[] = {
      {"/api/models/acme/nope", "", 401, ""},
      {"/api/models/acme/nope", "hf_ok", 404, "RepoNotFound"},
      {"/api/models/acme/tiny", "hf_bad", 401, ""},
      {"/api/models/acme/private", "", 401, ""},
      {"/api/models/acme/private", "hf_noaccess", 404, "RepoNotFound"},
      {"/api/models/acme/private", "hf_ok", 200, ""},
      {"/api/models/acme/gated", "", 200, ""},
      {"/api/models/acme/gated/tree/main", "", 200, ""},
      {"/api/models/acme/gated/commits/main", "", 401, "GatedRepo"},
      {"/acme/gated/resolve/main/config.json", "", 401, "GatedRepo"},
      {"/acme/gated/resolve/main/config.json", "hf_noaccess", 403, "GatedRepo"},
      {"/acme/gated/resolve/main/config.json", "hf_ok", 307, ""},
      {"/api/models/acme/disabled", "", 200, ""},
      {"/acme/disabled/resolve/main/config.json", "", 403, ""},
      {"/acme/tiny/resolve/main/nope.json", "", 404, "EntryNotFound"},
      {"/acme/tiny/resolve/nope/config.json", "", 404, "RevisionNotFound"},
      {"/api/models/acme/tiny/tree/main/nope", "", 404, "EntryNotFound"},
      {"/api/whoami-v2", "hf_ok", 200, ""},
      {"/api/whoami-v2", "", 401, ""},
      {"/api/models/acme/old", "", 307, ""},
      {"/api/models/ACME/Tiny", "", 307, ""},
      {"/nonsense", "", 404, ""},
      {"/api/models/%zz", "", 400, ""},
  };
  for (const AccessCase &c : cases) {
    net::Headers headers;
    if (*c.token != '\0') {
      headers.emplace_back("Authorization", std::string("Bearer ") + c.token);
    }
    const net::Response response = get(*hub, c.target, headers);
    EXPECT_EQ(response.status, c.status) << c.target << " " << c.token;
    EXPECT_EQ(header(response, "X-Error-Code"), c.code) << c.target << " " << c.token;
  }
  EXPECT_EQ(header(get(*hub, "/api/models/acme/old?blobs=true"), "Location"),
            "/api/models/acme/tiny?blobs=true");
}

TEST_F(ReplayTest, PathsInfoReadsFormsAndJsonAndDropsWhatIsMissing) {
  const auto hub = open();
  const std::string target = "/api/models/acme/tiny/paths-info/main";
  const std::pair<const char *, const char *> bodies[] = {
      {"application/x-www-form-urlencoded",
       "paths=config.json&paths=sub%2Fdir&paths=nope&expand=True"},
      {"application/json", R"({"paths":["config.json","sub/dir","nope"],"expand":true})"}};
  for (const auto &[type, body] : bodies) {
    const Json list = json_of(get(*hub, target, {{"Content-Type", type}}, "POST", body));
    ASSERT_EQ(list.size(), 2U) << type;
    EXPECT_EQ(list[0]["lastCommit"]["title"], "Update config");
    EXPECT_EQ(list[1]["type"], "directory");
    EXPECT_EQ(list[1]["lastCommit"]["title"], "Upload model");
  }
}

TEST_F(ReplayTest, TheTimelineShowsEachRepoFirstAndThenGoesByDate) {
  write("models/acme/zed/revisions/0000-one/a", "1");
  write("models/acme/zed/revisions/0001-two/a", "2");
  write(
      "models/acme/zed/repo.json",
      R"({"commits":[{"date":"2002-05-01T00:00:00Z"},{"date":"2001-01-01T00:00:00+02:00","title":"early/late"}]})");
  const auto hub = open({.revealed = 0});
  EXPECT_EQ(hub->timeline_size(), 5U);
  EXPECT_EQ(hub->revealed(), 2U);
  EXPECT_EQ(hub->repos(), (std::vector<std::string>{"acme/tiny", "acme/zed"}));
  EXPECT_EQ(titles(*hub, "acme/tiny"), (std::vector<std::string>{"initial commit"}));
  EXPECT_EQ(hub->reveal_next(), "acme/zed"); // the oldest date of what is left
  EXPECT_EQ(titles(*hub, "acme/zed"), (std::vector<std::string>{"early/late", "one"}));
  EXPECT_EQ(hub->reveal_next(), "acme/tiny");
  EXPECT_EQ(hub->reveal_next(), "acme/tiny");
  EXPECT_EQ(hub->reveal_next(), std::nullopt);
  EXPECT_EQ(titles(*hub, "acme/tiny"),
            (std::vector<std::string>{"Update config", "Upload model", "initial commit"}));
}

TEST_F(ReplayTest, EventsAreStepsBehindTheirRevision) {
  for (const char *revision : {"0000-a", "0001-b", "0002-c", "0003-d"}) {
    write(std::string("models/acme/story/revisions/") + revision + "/f", revision);
  }
  write("models/acme/story/repo.json",
        R"({"events":[{"after":3,"head":0},{"after":1,"set":{"gated":"auto"}},
      {"after":2,"set":{"gated":false}},{"after":4,"gone":true},{"after":4,"gone":false},
      {"after":4,"set":{"id":"acme/tale"}}]})");
  fs::remove_all(fs::path(root_) / "models/acme/tiny");
  const auto hub = open({.revealed = 0});
  const auto gate = [&] {
    return json_of(get(*hub, "/api/models/acme/story?expand=gated"))["gated"];
  };
  EXPECT_EQ(gate(), false);
  hub->reveal_next();
  EXPECT_EQ(gate(), "auto");
  hub->reveal_next(); // b
  EXPECT_EQ(gate(), "auto");
  hub->reveal_next();
  EXPECT_EQ(gate(), false);
  hub->reveal_next(); // c
  const std::string c = json_of(get(*hub, "/api/models/acme/story"))["sha"].get<std::string>();
  EXPECT_EQ(titles(*hub, "acme/story"), (std::vector<std::string>{"c", "b", "a"}));
  hub->reveal_next(); // force-push back to a
  EXPECT_EQ(titles(*hub, "acme/story"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(get(*hub, "/api/models/acme/story/revision/" + c).status, 404);
  hub->reveal_next(); // d on top of a
  EXPECT_EQ(titles(*hub, "acme/story"), (std::vector<std::string>{"d", "a"}));
  hub->reveal_next();
  EXPECT_EQ(get(*hub, "/api/models/acme/story").status, 401);
  EXPECT_TRUE(hub->repos().empty());
  hub->reveal_next();
  EXPECT_EQ(get(*hub, "/api/models/acme/story").status, 200);
  EXPECT_EQ(hub->reveal_next(), "acme/tale");
  EXPECT_EQ(get(*hub, "/api/models/acme/story").status, 307);
  EXPECT_EQ(titles(*hub, "acme/tale"), (std::vector<std::string>{"d", "a"}));
}

TEST_F(ReplayTest, ShasOfTheRecordAreKept) {
  write("models/acme/zed/revisions/0000-one/a", "1");
  write("models/acme/zed/repo.json",
        R"({"commits":[{"sha":"0123456789abcdef0123456789abcdef01234567","title":"T","date":
      "2026-04-16T00:48:11+05:30"}]})");
  const auto hub = open();
  const Json commit = json_of(get(*hub, "/api/models/acme/zed/commits/main"))[0];
  EXPECT_EQ(commit["id"], "0123456789abcdef0123456789abcdef01234567");
  EXPECT_EQ(commit["date"], "2026-04-15T19:18:11.000Z");
}

TEST_F(ReplayTest, FaultsAreGivenAsOftenAsAskedAndOnlyWhereTheyMatch) {
  const auto hub = open();
  const auto fault = [&](const char *body) {
    return get(*hub, "/_hub/fault", {}, "POST", body).status;
  };
  EXPECT_EQ(
      fault(
          R"({"match":"/commits/","status":429,"times":2,"headers":{"Retry-After":"1"},"body":"slow"})"),
      200);
  EXPECT_EQ(get(*hub, "/api/models/acme/tiny").status, 200);
  for (int i = 0; i < 2; ++i) {
    const net::Response refused = get(*hub, "/api/models/acme/tiny/commits/main");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(header(refused, "Retry-After"), "1");
    EXPECT_EQ(refused.body, "slow");
  }
  EXPECT_EQ(get(*hub, "/api/models/acme/tiny/commits/main").status, 200);
  EXPECT_EQ(fault(R"({"match":"tiny$","close":true})"), 200);
  EXPECT_EQ(get(*hub, "/api/models/acme/tiny").status, 0);
  EXPECT_EQ(fault(R"({"match":"(","status":500})"), 400);
  EXPECT_EQ(fault("[]"), 400);
  EXPECT_EQ(fault(R"({"match":".","method":"HEAD","status":503,"times":9})"), 200);
  EXPECT_EQ(get(*hub, "/api/models/acme/tiny", {}, "HEAD").status, 503);
  EXPECT_EQ(fault(R"({"clear":true})"), 200);
  EXPECT_EQ(get(*hub, "/api/models/acme/tiny", {}, "HEAD").status, 200);
}

TEST_F(ReplayTest, TheControlPathIsForLoopbackAlone) {
  const auto hub = open();
  net::Request request = {"POST", "/_hub/reveal", {}, "", "192.0.2.7"};
  EXPECT_EQ(hub->handle(request).status, 404);
  request.remote_address = "127.0.0.1";
  EXPECT_EQ(hub->handle(request).status, 200);
}

TEST_F(ReplayTest, TheLogSaysWhatWasAskedUnderWhichMark) {
  const auto hub = open();
  get(*hub, "/_hub/mark?label=first%20step", {}, "POST");
  get(*hub, "/api/models/acme/tiny?blobs=true", {{"Authorization", "Bearer hf_ok"}});
  const Json log = json_of(get(*hub, "/_hub/log"));
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0]["label"], "first step");
  EXPECT_EQ(log[0]["path"], "/api/models/acme/tiny");
  EXPECT_EQ(log[0]["query"], "blobs=true");
  EXPECT_EQ(log[0]["headers"]["Authorization"], "Bearer hf_ok");
}

TEST_F(ReplayTest, ReloadReadsWhatWasAddedToTheFolder) {
  const auto hub = open();
  write("models/acme/tiny/revisions/0003-More/config.json", "{}");
  EXPECT_EQ(get(*hub, "/_hub/reload", {}, "POST").status, 200);
  EXPECT_EQ(titles(*hub, "acme/tiny").front(), "More");
}

struct BadFolder {
  const char *path;
  const char *text;
  const char *named; ///< what the message must name
};

TEST_F(ReplayTest, AFolderThatCannotBeServedIsRefusedByName) {
  const BadFolder cases[] = {
      {"models/acme/tiny/repo.json", "{", "repo.json"},
      {"models/acme/tiny/repo.json", "[]", "repo.json"},
      {"models/acme/tiny/repo.json", R"({"lfs":{"model.safetensors":{"size":5,"sha256":"aa"}}})",
       "sha256"},
      {"models/acme/tiny/repo.json",
       R"({"lfs":{"model.safetensors":{"size":5,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}}})",
       "model.safetensors"},
      {"models/acme/tiny/repo.json", R"({"events":[{"after":1,"head":2}]})", "head"},
      {"models/acme/tiny/repo.json", R"({"commits":[{"date":"yesterday"}]})", "commits"},
      {"models/acme/tiny/repo.json", R"({"commits":[{"sha":"12"}]})", "sha"},
      {"models/acme/tiny/repo.json",
       R"({"commits":[{"sha":"0123456789abcdef0123456789abcdef01234567"},
          {"sha":"0123456789abcdef0123456789abcdef01234567"}]})",
       "twice"},
  };
  for (const BadFolder &c : cases) {
    write(c.path, c.text);
    const auto hub = ReplayHub::open(root_);
    ASSERT_FALSE(hub.has_value()) << c.text;
    EXPECT_EQ(hub.error().code, Errc::bad_input);
    EXPECT_NE(hub.error().message.find(c.named), std::string::npos) << hub.error().message;
  }
  const auto nothing = ReplayHub::open(root_ + "/nowhere");
  ASSERT_FALSE(nothing.has_value());
  EXPECT_NE(nothing.error().message.find("nowhere"), std::string::npos);
}

TEST_F(ReplayTest, RequestsInHandAreSafeWhileStepsCome) {
  for (int i = 0; i < 40; ++i) {
    write("models/acme/many/revisions/" + std::to_string(1000 + i) + "-c/f", std::to_string(i));
  }
  const auto hub = open({.revealed = 0});
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (hub->revealed() < hub->timeline_size()) {
        EXPECT_EQ(get(*hub, "/api/models/acme/many/commits/main").status, 200);
        EXPECT_EQ(get(*hub, "/acme/tiny/resolve/main/.gitattributes").status, 307);
      }
    });
  }
  while (hub->reveal_next()) {
  }
  for (std::thread &reader : readers) {
    reader.join();
  }
  EXPECT_EQ(titles(*hub, "acme/many").size(), 40U);
}

TEST(ReplayCorpusTest, ServesEveryRecordedHistoryToItsFirstCommit) {
  const std::optional<fs::path> root = test::shared_path("corpus/replay");
  if (!root) {
    GTEST_SKIP() << "no recorded histories here";
  }
  const auto hub = ReplayHub::open(root->string());
  ASSERT_TRUE(hub.has_value()) << hub.error().message;
  EXPECT_GE((*hub)->repos().size(), 39U);
  for (const std::string &repo : (*hub)->repos()) {
    std::size_t folders = 0;
    for ([[maybe_unused]] const fs::directory_entry &entry :
         fs::directory_iterator(*root / "models" / repo / "revisions")) {
      ++folders;
    }
    EXPECT_EQ(titles(**hub, repo).size(), folders) << repo;
    EXPECT_EQ(get(**hub, "/api/models/" + repo + "/revision/main?blobs=true").status, 200) << repo;
  }
}

} // namespace
} // namespace headwater::hub

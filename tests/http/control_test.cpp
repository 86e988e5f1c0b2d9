#include "daemon/http/admin.hpp"
#include "daemon/http/control.hpp"
#include "tests/http/world.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::http {
namespace {

class ControlTest : public World {
protected:
  void SetUp() override {
    World::SetUp();
    ControlActions actions;
    actions.add_watch = [this](const store::Watch &watch) { return store_->put_watch(watch); };
    actions.remove_watch = [this](const std::string &repo, const std::string &branch) {
      return store_->remove_watch(repo, branch);
    };
    actions.check_now = [this](const std::string &repo) -> Result<void> {
      checked_.push_back(repo);
      return {};
    };
    actions.forget = [this](const std::string &repo) {
      return store_->forget_repo(repo, "2026-09-03T00:00:00Z", "2026-09-03T00:00:00.000Z");
    };
    actions.trouble = [this] { return trouble_; };
    control_ = make_control(*store_, sample::site, std::move(actions));
  }

  std::pair<int, Json> ask_control(const std::string &method, const std::string &target,
                                   const std::string &body = "") {
    net::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    const net::Response response = control_(request);
    // Documents that are held against the schemas.
    if (const char *kept = std::getenv("HEADWATER_EXPORT_FOLDER");
        kept != nullptr && target.starts_with("/check?")) {
      std::filesystem::create_directories(std::string(kept) + "/control");
      std::ofstream(kept + fmt::format("/control/check-{}.json", ++kept_)) << response.body;
    }
    return {response.status, Json::parse(response.body, nullptr, false)};
  }

  net::Handler control_;
  std::vector<std::string> checked_;
  std::string trouble_;
  int kept_ = 0;
};

TEST_F(ControlTest, PinsComeAndGo) {
  const std::string pin = sample::second_sha.substr(0, 10);
  EXPECT_EQ(ask_control("POST", "/pins?repo=acme%2Ftiny&pin=" + pin).second["pin"],
            sample::second_sha);
  EXPECT_EQ(ask_control("GET", "/check?repo=acme%2Ftiny&pin=" + sample::first_sha).first, 200);
  Json pins = ask_control("GET", "/pins").second["pins"];
  ASSERT_EQ(pins.size(), 2U) << pins.dump();
  for (const Json &row : pins) {
    EXPECT_EQ(row["repo"], "acme/tiny");
    EXPECT_EQ(row["from"], row["pin"] == sample::second_sha ? "pin add" : "check");
  }
  EXPECT_EQ(ask_control("DELETE", "/pins?repo=acme%2Ftiny&pin=" + pin).first, 200);
  EXPECT_EQ(ask_control("DELETE", "/pins?repo=acme%2Ftiny&pin=" + pin).first, 404);
  EXPECT_EQ(ask_control("GET", "/pins").second["pins"].size(), 1U);
  EXPECT_EQ(ask_control("POST", "/pins?repo=acme%2Ftiny&pin=0000000").first, 404) << "never read";
  EXPECT_EQ(ask_control("POST", "/pins?repo=acme%2Fnone&pin=" + pin).first, 404);
}

TEST_F(ControlTest, WatchesComeAndGo) {
  EXPECT_EQ(ask_control("POST", "/watches", R"({"repo":"acme/new","history":"all"})").first, 201);
  const Json watches = ask_control("GET", "/watches").second["watches"];
  ASSERT_EQ(watches.size(), 1U);
  EXPECT_EQ(watches[0]["repo"], "acme/new");
  EXPECT_EQ(watches[0]["history"], "all");
  EXPECT_EQ(watches[0]["declared"], false);
  EXPECT_EQ(ask_control("DELETE", "/watches?repo=acme%2Fnew").first, 200);
  EXPECT_EQ(ask_control("DELETE", "/watches?repo=acme%2Fnew").first, 404);
  EXPECT_TRUE(ask_control("GET", "/watches").second["watches"].empty());
}

TEST_F(ControlTest, AWatchOfTheConfigIsNotRemovedHere) {
  store::Watch declared;
  declared.repo = "acme/tiny";
  declared.declared = true;
  ASSERT_TRUE(store_->set_declared_watches({declared}));
  EXPECT_EQ(ask_control("DELETE", "/watches?repo=acme/tiny").first, 409);
}

TEST_F(ControlTest, AWatchOfTheConfigIsNotChangedHere) {
  store::Watch declared;
  declared.repo = "acme/tiny";
  declared.declared = true;
  ASSERT_TRUE(store_->set_declared_watches({declared}));
  EXPECT_EQ(ask_control("POST", "/watches", R"({"repo":"acme/tiny","history":"all"})").first, 409);
  EXPECT_EQ((*store_->watches())[0].history, "20");
  EXPECT_EQ(ask_control("DELETE", "/repos?repo=acme/tiny").first, 409);
}

TEST_F(ControlTest, ForgetsARepo) {
  EXPECT_EQ(ask_control("DELETE", "/repos?repo=acme/tiny").first, 200);
  EXPECT_EQ(ask_control("DELETE", "/repos?repo=acme/tiny").first, 404);
  EXPECT_EQ(ask_control("GET", "/revisions?repo=acme/tiny").first, 404);
  EXPECT_EQ(ask("/models/acme/tiny/").status, 404);
  EXPECT_TRUE(Json::parse(ask("/osv/" + sample::id + ".json").body).contains("withdrawn"));
}

TEST_F(ControlTest, SaysWhatUpstreamKeepsUsWaitingFor) {
  EXPECT_FALSE(ask_control("GET", "/status").second.contains("trouble"));
  trouble_ = "the hub answered 503";
  EXPECT_EQ(ask_control("GET", "/status").second["trouble"], "the hub answered 503");
  EXPECT_EQ(ask_control("GET", "/status").second["repos"][0]["note"], "the hub answered 503")
      << "it was not looked at yet";
}

TEST_F(ControlTest, RefusesNamesThatNoBranchHas) {
  for (const std::string branch : {"", "\\u001b[31m\\n", "../../x", "a..b", "a b", "-x", "x.lock",
                                   "a//b", "/a", "a/", "x~1", "a@{b", "@"})
    EXPECT_EQ(
        ask_control("POST", "/watches", "{\"repo\":\"a/b\",\"branch\":\"" + branch + "\"}").first,
        400)
        << branch;
  for (const std::string branch : {"main", "release/1.0", "refs/pr/1", "v2@x"})
    EXPECT_EQ(
        ask_control("POST", "/watches", "{\"repo\":\"a/b\",\"branch\":\"" + branch + "\"}").first,
        201)
        << branch;
}

TEST_F(ControlTest, SaysWhatIsWrongWithARequest) {
  const std::pair<std::string, std::string> bodies[] = {
      {"", "JSON"},
      {"[]", "JSON"},
      {R"({"repo":"nonsense"})", "nonsense"},
      {R"({"repo":"a/b","colour":1})", "colour"},
      {R"({"repo":"a/b","history":"some"})", "some"}};
  for (const auto &[body, word] : bodies) {
    const auto [status, json] = ask_control("POST", "/watches", body);
    EXPECT_EQ(status, 400) << body;
    EXPECT_NE(json["message"].get<std::string>().find(word), std::string::npos) << json;
  }
  EXPECT_EQ(ask_control("GET", "/changes?repo=acme/tiny&impact=loud").first, 400);
  EXPECT_EQ(ask_control("GET", "/advisories?level=loud").first, 400);
  EXPECT_EQ(ask_control("GET", "/revisions?repo=acme/none").first, 404);
  EXPECT_EQ(ask_control("GET", "/nothing").first, 404);
  EXPECT_EQ(ask_control("PUT", "/status").first, 405);
}

TEST_F(ControlTest, TellsReposThatAreNotPublicToo) {
  const Json repos = ask_control("GET", "/status").second["repos"];
  ASSERT_EQ(repos.size(), 2U);
  for (const Json &repo : repos)
    EXPECT_EQ(repo["public"], repo["repo"] == "acme/tiny") << repo;
}

TEST_F(ControlTest, ListsRevisionsChangesAndAdvisories) {
  const Json revisions = ask_control("GET", "/revisions?repo=acme/tiny").second["revisions"];
  ASSERT_EQ(revisions.size(), 3U);
  EXPECT_EQ(revisions[0]["sha"], sample::third_sha) << "newest first";
  EXPECT_EQ(ask_control("GET", "/changes?repo=acme/tiny").second["changes"].size(), 2U);
  const Json changes =
      ask_control("GET", "/changes?repo=acme/tiny&impact=behaviour").second["changes"];
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0]["to"], sample::second_sha);
  const Json advisories = ask_control("GET", "/advisories?repo=acme/tiny").second["advisories"];
  ASSERT_EQ(advisories.size(), 1U);
  EXPECT_EQ(advisories[0]["id"], sample::id);
  EXPECT_EQ(advisories[0]["url"], sample::site + "/osv/" + sample::id + ".json");
  EXPECT_TRUE(ask_control("GET", "/advisories?repo=acme/tiny&state=withdrawn")
                  .second["advisories"]
                  .empty());
}

TEST_F(ControlTest, ChecksAPin) {
  const Json behind = ask_control("GET", "/check?repo=acme/tiny&pin=" + sample::first_sha).second;
  EXPECT_EQ(behind["status"], "behind");
  EXPECT_EQ(behind["behind"], 2);
  EXPECT_EQ(behind["level"], "high");
  EXPECT_EQ(behind["impact"], "behaviour");
  EXPECT_EQ(behind["head"], sample::third_sha);
  EXPECT_EQ(behind["affected_by"], Json::array());
  const Json current = ask_control("GET", "/check?repo=acme/tiny&pin=" + sample::third_sha).second;
  EXPECT_EQ(current["status"], "current");
  EXPECT_EQ(current["level"], "low");
  EXPECT_EQ(current["affected_by"], Json::array({sample::id}));
  const Json unknown =
      ask_control("GET", "/check?repo=acme/tiny&pin=" + std::string(40, '0')).second;
  EXPECT_EQ(unknown["status"], "unknown revision");
  EXPECT_TRUE(unknown["level"].is_null());
}

TEST_F(ControlTest, BringsAPollForward) {
  EXPECT_EQ(ask_control("POST", "/check-now?repo=acme/tiny").first, 202);
  EXPECT_EQ(checked_, std::vector<std::string>{"acme/tiny"});
}

TEST_F(ControlTest, AdminTellsFiguresWithoutNames) {
  AdminOptions options;
  std::string reason = "the tracker has not started";
  options.not_ready = [&] { return reason; };
  options.metrics = [] {
    return std::vector<Metric>{
        {"headwater_polls_total", "Polls.", true, {{"result", "a \"b\"\n"}}, 3}};
  };
  const net::Handler admin = make_admin(*store_, options);
  const auto get = [&](const std::string &target) {
    net::Request request;
    request.target = target;
    return admin(request);
  };
  const std::string text = get("/metrics").body;
  EXPECT_NE(text.find("# TYPE headwater_polls_total counter\nheadwater_polls_total{result=\"a "
                      "\\\"b\\\"\\n\"} 3\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("headwater_revisions 6\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("acme"), std::string::npos) << "labels never hold repo names";
  EXPECT_EQ(get("/readyz").status, 503);
  reason.clear();
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/").status, 404);
}

} // namespace
} // namespace headwater::http

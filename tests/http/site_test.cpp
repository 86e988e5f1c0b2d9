#include "daemon/http/cache.hpp"
#include "daemon/http/client_address.hpp"
#include "daemon/http/export.hpp"
#include "daemon/http/routes.hpp"
#include "store/sqlite.hpp"
#include "tests/http/world.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::http {
namespace {

using SiteTest = World;

TEST_F(SiteTest, AnswersEveryStablePath) {
  const std::string repo = "/models/acme/tiny/";
  const std::string paths[] = {"/",
                               "/index.json",
                               "/feed.atom",
                               "/feed.json",
                               "/sitemap.xml",
                               "/openapi.json",
                               "/healthz",
                               repo,
                               repo + "index.md",
                               repo + "index.json",
                               repo + "latest.json",
                               repo + "feed.atom",
                               repo + "feed.json",
                               repo + "changes/",
                               repo + "revisions/" + sample::second_sha + "/",
                               "/badges/acme/tiny.svg",
                               "/badges/acme/tiny.json",
                               "/osv/" + sample::id + ".json",
                               "/osv/all.json",
                               "/osv/all.zip",
                               "/osv/modified_id.csv",
                               "/osv/ecosystems.txt",
                               "/osv/GIT/all.zip",
                               "/osv/GIT/modified_id.csv",
                               "/v1/vulns/" + sample::id};
  for (const std::string &path : paths) {
    const net::Response response = ask(path);
    EXPECT_EQ(response.status, 200) << path << " " << response.body;
    EXPECT_FALSE(response.body.empty()) << path;
    EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff") << path;
    EXPECT_FALSE(header(response, "Content-Security-Policy").empty()) << path;
    EXPECT_FALSE(header(response, "ETag").empty()) << path;
    const net::Response head = ask(path, {}, "HEAD");
    EXPECT_EQ(head.status, 200) << path;
    EXPECT_TRUE(head.body.empty()) << path;
    EXPECT_EQ(header(head, "Content-Length"), std::to_string(response.body.size())) << path;
    EXPECT_EQ(ask(path, {{"If-None-Match", "W/" + header(response, "ETag")}}).status, 304) << path;
    EXPECT_EQ(ask(path, {{"If-None-Match", "\"other\""}}).status, 200) << path;
  }
}

TEST_F(SiteTest, SendsOtherSpellingsOfARepoToItsPage) {
  const std::pair<std::string, std::string> cases[] = {
      {"/models/acme/tiny", "/models/acme/tiny/"},
      {"/models/acme/tiny.md", "/models/acme/tiny/index.md"},
      {"/models/acme/tiny.json", "/models/acme/tiny/index.json"},
      {"/models/acme/tiny/changes", "/models/acme/tiny/changes/"}};
  for (const auto &[from, to] : cases) {
    const net::Response response = ask(from, {{"Host", "evil.example"}});
    EXPECT_EQ(response.status, 308) << from;
    EXPECT_EQ(header(response, "Location"), "/tracker" + to) << "the folder of the public address";
  }
}

TEST_F(SiteTest, NeverRepeatsTheHostThatWasAsked) {
  for (const std::string path :
       {"/", "/models/acme/tiny/", "/feed.atom", "/openapi.json", "/nothing"}) {
    const net::Response response = ask(
        path,
        {{"Host", "evil.example"}, {"X-Forwarded-Host", "evil.example"}, {"Accept", "text/html"}});
    EXPECT_EQ(response.body.find("evil.example"), std::string::npos) << path;
  }
}

TEST_F(SiteTest, TellsNothingOfARepoThatIsNotPublic) {
  const net::Response unknown = ask("/models/acme/other/");
  const net::Response hidden = ask("/models/acme/secret/");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(hidden.status, 404);
  EXPECT_NE(hidden.body.find("headwater watch add acme/secret"), std::string::npos)
      << "the same answer, with the mend";
  const std::string hidden_id = "x_HEADWATER-2026-dddddddddddd";
  EXPECT_EQ(ask("/osv/" + hidden_id + ".json").status, 404);
  EXPECT_EQ(ask("/v1/vulns/" + hidden_id).status, 404);
  for (const std::string path :
       {"/", "/index.json", "/osv/all.json", "/osv/modified_id.csv", "/feed.atom", "/sitemap.xml"})
    EXPECT_EQ(ask(path).body.find("secret"), std::string::npos) << path;
  EXPECT_EQ(ask("/osv/all.json").body.find(hidden_id), std::string::npos);
  const Json badge = Json::parse(ask("/badges/acme/secret.json").body);
  EXPECT_EQ(badge["message"], "unknown repo");
}

TEST_F(SiteTest, CompressesWhereItIsAccepted) {
  const net::Response plain = ask("/");
  const net::Response small = ask("/", {{"Accept-Encoding", "br, gzip;q=0.8"}});
  EXPECT_EQ(header(small, "Content-Encoding"), "gzip");
  EXPECT_LT(small.body.size(), plain.body.size());
  EXPECT_NE(header(small, "ETag"), header(plain, "ETag"));
  EXPECT_EQ(header(plain, "Vary"), "Accept-Encoding");
  EXPECT_EQ(header(ask("/", {{"Accept-Encoding", "gzip;q=0"}}), "Content-Encoding"), "");
  EXPECT_EQ(header(ask("/osv/all.zip", {{"Accept-Encoding", "gzip"}}), "Content-Encoding"), "");
}

TEST_F(SiteTest, RoundsTheTimeOfAChangeUp) {
  const net::Response response = ask("/osv/all.json");
  EXPECT_EQ(header(response, "Last-Modified"), "Tue, 01 Sep 2026 00:00:01 GMT")
      << "modified is 00:00:00.001";
  EXPECT_EQ(ask("/osv/all.json", {{"If-Modified-Since", "Tue, 01 Sep 2026 00:00:01 GMT"}}).status,
            304);
  EXPECT_EQ(ask("/osv/all.json", {{"If-Modified-Since", "Tue, 01 Sep 2026 00:00:00 GMT"}}).status,
            200);
  EXPECT_EQ(ask("/osv/all.json", {{"If-None-Match", "\"x\""},
                                  {"If-Modified-Since", "Tue, 01 Sep 2026 00:00:01 GMT"}})
                .status,
            200);
}

TEST_F(SiteTest, ServesARecordAsTheBytesThatWereStored) {
  EXPECT_EQ(ask("/osv/" + sample::id + ".json").body,
            (*store_->find_advisory(sample::id))->osv_json);
}

TEST_F(SiteTest, TheBadgeOfAPinSaysHowFarItIsBehind) {
  const auto message = [&](const std::string &query) {
    return Json::parse(ask("/badges/acme/tiny.json?pin=" + query).body)["message"]
        .get<std::string>();
  };
  EXPECT_EQ(message(sample::third_sha), "current");
  EXPECT_EQ(message(sample::first_sha), "2 behind, high");
  EXPECT_EQ(message(sample::second_sha), "1 behind, cosmetic");
  EXPECT_EQ(message(std::string(40, '0')), "unknown pin");
  EXPECT_EQ(message("aaaaaaaa"), "2 behind, high") << "cut, and still one revision";
  EXPECT_EQ(message("aaa"), "unknown pin");
}

TEST_F(SiteTest, AQueryCannotTakeThePlaceOfAnother) {
  const std::string pin = sample::first_sha;
  const std::string forged = ask("/badges/acme/tiny.svg?pin=" + pin + "%0Astyle%3Dflat").body;
  EXPECT_NE(ask("/badges/acme/tiny.svg?pin=" + pin + "&style=flat").body, forged);
}

TEST_F(SiteTest, BadgesAreNeverAnError) {
  for (const std::string path : {"/badges/no/such.svg", "/badges/acme/tiny.svg?style=nonsense",
                                 "/badges/acme/tiny.svg?pin=zz"}) {
    const net::Response response = ask(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(header(response, "Content-Type"), "image/svg+xml; charset=utf-8");
    EXPECT_EQ(header(response, "Cache-Control"), "no-cache");
    EXPECT_FALSE(header(response, "Expires").empty());
    EXPECT_FALSE(header(response, "Last-Modified").empty());
  }
}

TEST_F(SiteTest, OnlyTheScriptOfTheLayoutMayRun) {
  const std::string policy = header(ask("/models/acme/tiny/"), "Content-Security-Policy");
  EXPECT_NE(policy.find("script-src 'sha256-"), std::string::npos) << policy;
  EXPECT_EQ(policy.find("script-src 'unsafe"), std::string::npos) << policy;
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos) << policy;
}

TEST_F(SiteTest, AnUnknownAddressHasAPageForPeopleAndJsonForPrograms) {
  EXPECT_EQ(ask("/nothing").status, 404);
  EXPECT_EQ(Json::parse(ask("/nothing").body)["error"], "not_found");
  const net::Response page = ask("/nothing", {{"Accept", "text/html,*/*"}});
  EXPECT_EQ(page.status, 404);
  EXPECT_NE(page.body.find("<h1>Not found</h1>"), std::string::npos);
  EXPECT_EQ(ask("/models/acme/tiny/revisions/" + std::string(40, '0') + "/").status, 404);
  EXPECT_EQ(ask("/a/%2e%2e/b").status, 400);
  EXPECT_EQ(ask("/", {}, "POST").status, 405);
  EXPECT_EQ(ask("/v1/query").status, 405);
  EXPECT_EQ(ask("/api/v1/plan", {}, "POST", "{}").status, 404) << "no handler is wired";
}

TEST_F(SiteTest, AnswersOsvQueries) {
  const auto query = [&](const std::string &body) { return ask("/v1/query", {}, "POST", body); };
  const auto ids = [&](const std::string &body) {
    const net::Response response = query(body);
    std::string found;
    for (const Json &record : Json::parse(response.body).value("vulns", Json::array()))
      found += record["id"].get<std::string>();
    return found + (response.status == 200 ? "" : "!" + std::to_string(response.status));
  };
  const std::string b = sample::second_sha;
  const std::string name = R"("name":"https://hub.example/acme/tiny")";
  EXPECT_EQ(ids(R"({"commit":")" + b + R"("})"), sample::id);
  EXPECT_EQ(ids(R"({"commit":")" + sample::first_sha + R"("})"), "");
  EXPECT_EQ(query(R"({"commit":")" + sample::first_sha + R"("})").body, "{}\n");
  EXPECT_EQ(ids(R"({"version":")" + b + R"(","package":{"ecosystem":"GIT",)" + name + "}}"),
            sample::id);
  EXPECT_EQ(ids(R"({"version":")" + b +
                R"(","package":{"ecosystem":"GIT","name":"hub.example/acme/tiny.git"}})"),
            sample::id);
  EXPECT_EQ(ids(R"({"version":")" + b +
                R"(","package":{"ecosystem":"GIT","name":"hub.example/acme/other"}})"),
            "");
  EXPECT_EQ(ids(R"({"version":")" + b + R"(","package":{"ecosystem":"PyPI",)" + name + "}}"), "");
  EXPECT_EQ(ids(R"({"package":{"purl":"pkg:huggingface/acme/tiny@)" + b +
                R"(?repository_url=https%3A%2F%2Fhub.example"}})"),
            sample::id);
  EXPECT_EQ(ids(R"({"package":{"purl":"pkg:pypi/tiny@1.0"}})"), "");
  const std::string bad[] = {"",
                             "[]",
                             "{}",
                             R"({"commit":""})",
                             R"({"commit":"xyz"})",
                             R"({"commit":5})",
                             R"({"commit":")" + b + R"(","version":"1"})",
                             R"({"version":"1","package":{"ecosystem":"Nowhere","name":"x"}})",
                             R"({"version":"1","package":{"purl":"pkg:huggingface/acme/tiny@2"}})",
                             R"({"package":{"purl":"pkg:huggingface/acme/tiny@2","name":"x"}})",
                             R"({"commit":")" + b + R"(","page_token":"x"})"};
  for (const std::string &body : bad)
    EXPECT_EQ(query(body).status, 400) << body;
}

TEST_F(SiteTest, AnswersOsvBatchesInOrder) {
  const net::Response response = ask("/v1/querybatch", {}, "POST",
                                     R"({"queries":[{"commit":")" + sample::first_sha +
                                         R"("},{"commit":")" + sample::second_sha + R"("}]})");
  const Json results = Json::parse(response.body)["results"];
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0], Json::object());
  EXPECT_EQ(results[1]["vulns"][0],
            Json::parse(R"({"id":")" + sample::id + R"(","modified":"2026-09-01T00:00:00.001Z"})"));
  std::string many = R"({"queries":[)";
  for (int i = 0; i < 1001; ++i)
    many += (i > 0 ? "," : "") + std::string(R"({"commit":"ab"})");
  EXPECT_EQ(ask("/v1/querybatch", {}, "POST", many + "]}").status, 400);
}

TEST_F(SiteTest, EventsSayWhereTheStreamStandsAndWhatComes) {
  const net::Response response = ask("/events");
  ASSERT_NE(response.events, nullptr);
  const std::string greeting = response.events->take();
  EXPECT_NE(greeting.find("data: {\"serial\":"), std::string::npos) << greeting;
  fill("acme/second", "aaaaaaaaaaaaaaaaaaaaaaaa", false);
  fill("acme/hidden", "bbbbbbbbbbbbbbbbbbbbbbbb", true);
  options_.events->announce(PublicStore(*store_));
  const std::string news = response.events->take();
  EXPECT_NE(news.find("\"repo\":\"acme/second\""), std::string::npos) << news;
  EXPECT_EQ(news.find("acme/hidden"), std::string::npos) << news;
  const net::Response again = ask("/events", {{"Last-Event-ID", "0"}});
  EXPECT_NE(again.events->take().find("acme/tiny"), std::string::npos)
      << "what was missed comes again";
  options_.events->close();
  EXPECT_TRUE(response.events->closed());
}

TEST_F(SiteTest, ShowsANewRevisionAtOnce) {
  EXPECT_EQ(ask("/index.json").body.find("acme/second"), std::string::npos);
  fill("acme/second", "aaaaaaaaaaaaaaaaaaaaaaaa", false);
  EXPECT_NE(ask("/index.json").body.find("acme/second"), std::string::npos);
}

TEST_F(SiteTest, AWriteDropsOnlyAnswersAboutWhatItTouched) {
  const std::int64_t tiny = (**store_->find_repo("acme/tiny")).id;
  const std::int64_t secret = (**store_->find_repo("acme/secret")).id;
  const std::string paths[] = {
      "/models/acme/tiny/",          "/models/acme/tiny/index.json",
      "/models/acme/tiny/changes/",  "/models/acme/tiny/latest.json",
      "/models/acme/tiny/feed.atom", "/models/acme/tiny/revisions/" + sample::second_sha + "/",
      "/badges/acme/tiny.svg",       "/badges/acme/tiny.svg?pin=" + sample::first_sha,
      "/osv/" + sample::id + ".json"};
  for (const std::string &path : paths)
    ASSERT_EQ(ask(path).status, 200) << path;
  ASSERT_EQ(ask("/index.json").status, 200);
  // From here on the store cannot answer for the repo: what still answers comes from the cache.
  ASSERT_TRUE((*store::Database::open(folder_ + "/store.db", false))
                  ->run_script("UPDATE repo SET facts_json = 'x' WHERE name = 'acme/tiny'"));
  ASSERT_TRUE(
      store_->note_poll(secret, "2026-08-24T00:00:00Z", store::RepoState::waiting, "a note"));
  for (const std::string &path : paths)
    EXPECT_EQ(ask(path).status, 200) << path;
  EXPECT_EQ(ask("/index.json").status, 503) << "this one is about all repos";
  ASSERT_TRUE(store_->note_poll(tiny, "2026-08-24T00:00:00Z", store::RepoState::waiting, "a note"));
  for (const std::string &path : paths)
    EXPECT_EQ(ask(path).status, 503) << path;
}

TEST_F(SiteTest, AChangeOfStateIsShownAtOnce) {
  const std::int64_t tiny = (**store_->find_repo("acme/tiny")).id;
  for (const std::string path : {"/models/acme/tiny/", "/"}) {
    EXPECT_EQ(ask(path).body.find("upstream is slow"), std::string::npos) << path;
  }
  ASSERT_TRUE(store_->note_poll(tiny, "2026-08-24T00:00:00Z", store::RepoState::waiting,
                                "upstream is slow today"));
  for (const std::string path : {"/models/acme/tiny/", "/"})
    EXPECT_NE(ask(path).body.find("upstream is slow"), std::string::npos) << path;
}

TEST_F(SiteTest, TheFirstPageStaysShortWithManyRepos) {
  for (int i = 0; i < 250; ++i) {
    const auto repo = store_->ensure_repo("many/model-" + std::to_string(i), "main");
    ASSERT_TRUE(repo);
    store::AccessWrite access;
    access.repo_id = repo->id;
    access.facts.name = repo->name;
    ASSERT_TRUE(store_->write_access(access));
    ASSERT_TRUE(store_->open_repo(repo->id, {}));
  }
  const std::string page = ask("/").body;
  EXPECT_NE(page.find("251 repositories watched"), std::string::npos);
  EXPECT_NE(page.find("These 200 changed last"), std::string::npos);
  EXPECT_NE(page.find(">acme/tiny</a>"), std::string::npos) << "what changed last comes first";
  EXPECT_EQ(page.find("acme/secret"), std::string::npos);
  EXPECT_EQ(Json::parse(ask("/index.json").body)["repos"].size(), 251U) << "scripts get all";
}

TEST(ResponseCache, StaysWithinItsBytes) {
  ResponseCache cache(20'000);
  for (int i = 0; i < 100; ++i) {
    cache.put("/" + std::to_string(i), 1,
              prepare({.type = "application/zip", .body = std::string(2000, 'x')}));
    EXPECT_LE(cache.bytes(), 20'000U);
  }
  const auto written_at = [](std::int64_t generation) {
    return [generation](const std::vector<std::int64_t> &) { return generation; };
  };
  EXPECT_NE(cache.find("/99", written_at(1)), nullptr);
  EXPECT_EQ(cache.find("/1", written_at(1)), nullptr);
  EXPECT_EQ(cache.find("/99", written_at(2)), nullptr) << "written since";
  cache.put("/large", 2, prepare({.type = "application/zip", .body = std::string(15'000, 'x')}));
  EXPECT_EQ(cache.find("/large", written_at(2)), nullptr)
      << "one answer may not push out all others";
}

TEST(Routes, AreDescribedOnce) {
  SiteOptions options;
  const Json description = Json::parse(openapi(options));
  for (const Route &route : routes())
    EXPECT_TRUE(description["paths"].contains(std::string(route.path))) << route.path;
}

/// Also the source of the documents that are held against the schemas: HEADWATER_EXPORT_FOLDER
/// keeps them.
TEST_F(SiteTest, ExportsEveryPathTheSameEachTime) {
  const char *kept = std::getenv("HEADWATER_EXPORT_FOLDER");
  const std::string first = kept != nullptr ? kept : folder_ + "/first";
  const auto report = export_site(PublicStore(*store_), options_, first);
  ASSERT_TRUE(report) << report.error().message;
  const auto again = export_site(PublicStore(*store_), options_, folder_ + "/second");
  ASSERT_TRUE(again);
  EXPECT_EQ(report->files, again->files);
  std::int64_t files = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder_ + "/second")) {
    if (!entry.is_regular_file())
      continue;
    ++files;
    const std::string path = std::filesystem::relative(entry.path(), folder_ + "/second").string();
    EXPECT_EQ(sample::read_file(entry.path().string()), sample::read_file(first + "/" + path))
        << path;
    EXPECT_EQ(path.find("secret"), std::string::npos) << path;
  }
  EXPECT_EQ(files, again->files);
  for (const std::string path :
       {"index.html", "models/acme/tiny/index.html", "badges/acme/tiny.svg", "osv/all.zip",
        "osv/GIT/all.zip", "feed.atom"})
    EXPECT_TRUE(std::filesystem::exists(first + "/" + path)) << path;
  EXPECT_EQ(sample::read_file(first + "/models/acme/tiny/index.json"),
            ask("/models/acme/tiny/index.json").body);
}

TEST_F(SiteTest, OneClientCannotTakeAllListenersOfEvents) {
  EventHub events(4, 2);
  std::vector<std::shared_ptr<net::EventChannel>> kept;
  for (const char *client : {"198.51.100.1", "198.51.100.1", "", ""})
    EXPECT_NE(kept.emplace_back(events.listen(PublicStore(*store_), "", client)), nullptr)
        << client;
  EXPECT_EQ(events.listen(PublicStore(*store_), "", "198.51.100.2"), nullptr) << "full";
  kept[2]->close();
  EXPECT_EQ(events.listen(PublicStore(*store_), "", "198.51.100.1"), nullptr)
      << "its share is taken";
  EXPECT_NE(kept.emplace_back(events.listen(PublicStore(*store_), "", "198.51.100.2")), nullptr);
}

TEST_F(SiteTest, EventsTellAnAdvisoryThatChangesWithoutADelta) {
  EventHub events;
  const auto listener = events.listen(PublicStore(*store_), "");
  listener->take();
  const auto records = store_->advisories();
  ASSERT_TRUE(records && !records->empty());
  const auto known = std::ranges::find_if(*records, [&](const store::AdvisoryRecord &record) {
    const auto repo = store_->find_repo(record.advisory.repo);
    return repo && *repo && (*repo)->is_public();
  });
  ASSERT_NE(known, records->end());
  events.announce(PublicStore(*store_), {known->advisory.id, "x_T-2026-000000000000"});
  const std::string told = listener->take();
  EXPECT_NE(told.find("\"advisory\":\"" + known->advisory.id + "\""), std::string::npos) << told;
  EXPECT_EQ(told.find("id: "), std::string::npos);
  EXPECT_EQ(told.find("x_T-2026-000000000000"), std::string::npos);
}

TEST(ClientAddress, IsNamedByTrustedProxiesAlone) {
  struct Case {
    const char *peer;
    net::Headers headers;
    const char *client;
  };
  const std::vector<std::string> proxies{"127.0.0.1", "10.0.0.1", "10.0.0.2"};
  const Case cases[] = {
      {"203.0.113.7", {}, "203.0.113.7"},
      {"203.0.113.7", {{"X-Forwarded-For", "198.51.100.1"}}, "203.0.113.7"},
      {"10.0.0.1", {{"X-Forwarded-For", "198.51.100.1"}}, "198.51.100.1"},
      {"10.0.0.1", {{"x-forwarded-for", "made up, 198.51.100.1 , 10.0.0.2"}}, "198.51.100.1"},
      {"10.0.0.1",
       {{"X-Forwarded-For", "made up"}, {"X-Forwarded-For", "198.51.100.1"}},
       "198.51.100.1"},
      {"10.0.0.1", {{"X-Forwarded-For", std::string(500, '1')}}, "10.0.0.1"},
      {"10.0.0.1", {}, "10.0.0.1"},
      {"127.0.0.1", {}, ""},
      {"::1", {{"X-Forwarded-For", "198.51.100.1"}}, ""},
      {"", {}, ""}};
  for (const Case &one : cases) {
    net::Request request;
    request.remote_address = one.peer;
    request.headers = one.headers;
    EXPECT_EQ(client_address(request, proxies), one.client) << one.peer;
  }
}

} // namespace
} // namespace headwater::http

// Everything that is public, searched for what is not: whole runs over the replay hub.

#include "daemon/http/export.hpp"
#include "daemon/http/public_store.hpp"
#include "daemon/http/routes.hpp"
#include "daemon/http/site.hpp"
#include "tests/track/hub_run.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::http {
namespace {

using std::chrono::minutes;

constexpr const char *name = "hushorg/hush-model";
/// In the repo's name, in its files and in the titles of its commits.
constexpr const char *markers[] = {"hush", "HUSHED"};

class CrawlTest : public track::HubRun {
protected:
  /// So many revisions, each of which changes what is told at high.
  void record_secret(int revisions, const std::string &facts) {
    for (int i = 0; i < revisions; ++i) {
      const std::string folder =
          std::string("models/") + name + "/revisions/000" + std::to_string(i) + "-HUSHED-commit/";
      write(folder + "config.json", R"({"model_type":"llama","hidden_size":64,
"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"intermediate_size":128,
"vocab_size":100,"max_position_embeddings":512,"eos_token_id":)" +
                                        std::to_string(i + 1) + "}");
      write(folder + "tokenizer_config.json", R"({"chat_template":"{% for m in messages %}HUSHED)" +
                                                  std::to_string(i) +
                                                  R"({{ m.content }}{% endfor %}"})");
    }
    write(std::string("models/") + name + "/repo.json", facts);
    record("pub/open", 2);
  }
  void begin(const std::string &token) {
    serve(token);
    watch(name);
    watch("pub/open");
    options.public_url = "https://watch.example";
    options.clock = [this] { return now_.load(); };
    options.events = std::make_shared<EventHub>();
    site = make_site(PublicStore(*store_), options);
    rounds(1, minutes(10));
  }
  bool step() {
    const bool more = replay_->reveal_next().has_value();
    EXPECT_TRUE(more) << "all is shown";
    rounds(1, minutes(10));
    return more;
  }
  /// Until the other repo has nothing more to show and this one has so many revisions.
  void step_to(std::int64_t revisions) {
    while (repo(name).revision_count < revisions && step())
      continue;
  }

  net::Response ask(const std::string &target, const std::string &method = "GET",
                    const std::string &body = "") {
    net::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    return site(request);
  }

  /// Every path with every name that there is, and every file of an export: where a marker stands.
  std::set<std::string> leaks() {
    std::set<std::string> found;
    const auto look_into = [&](const std::string &where, std::string text) {
      for (const char *marker : markers)
        if (text.find(marker) != std::string::npos)
          found.insert(where);
    };
    std::vector<std::map<std::string, std::string>> all;
    const auto repos = *store_->repos();
    std::vector<std::string> shas;
    for (const store::Repo &one : repos) {
      const auto revisions = *store_->revisions(one.id);
      for (const store::Revision &revision : revisions)
        shas.push_back(revision.sha);
    }
    std::vector<std::string> ids;
    const auto records = *store_->advisories();
    for (const store::AdvisoryRecord &record : records)
      ids.push_back(record.advisory.id);
    for (const store::Repo &one : repos) {
      const auto slash = one.name.find('/');
      std::map<std::string, std::string> names{{"org", one.name.substr(0, slash)},
                                               {"name", one.name.substr(slash + 1)}};
      for (const std::string &sha : shas)
        for (const std::string &id : ids) {
          names["sha"] = sha;
          names["id"] = id;
          all.push_back(names);
        }
    }
    std::set<std::string> paths;
    for (const Route &route : routes())
      for (const auto &names : all) {
        paths.insert(expand(route.path, names));
        for (const std::string_view key : route.query)
          if (key == "pin")
            paths.insert(expand(route.path, names) + "?pin=" + names.at("sha"));
      }
    for (const std::string &path : paths) {
      const net::Response response = ask(path);
      std::string body = response.body;
      // What the asker said itself is no answer.
      for (std::size_t at; response.status == 404 && (at = body.find(name)) != std::string::npos;)
        body.erase(at, std::string_view(name).size());
      look_into(path, body);
    }
    for (const std::string &sha : shas)
      look_into("query " + sha, ask("/v1/query", "POST", R"({"commit":")" + sha + "\"}").body);
    const auto missed = options.events->listen(PublicStore(*store_), "0");
    look_into("events", missed->take());

    const std::filesystem::path folder = folder_ / ("export-" + std::to_string(++exports_));
    const auto exported = export_site(PublicStore(*store_), options, folder.string());
    EXPECT_TRUE(exported) << exported.error().message;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
      look_into("export name " + entry.path().string(),
                entry.path().string().substr(folder.string().size()));
      if (!entry.is_regular_file())
        continue;
      std::ifstream file(entry.path(), std::ios::binary);
      look_into("export " + entry.path().string(),
                std::string(std::istreambuf_iterator<char>(file), {}));
    }
    return found;
  }
  std::string page() { return std::string("/models/") + name + "/"; }
  std::string badge() {
    return Json::parse(ask(std::string("/badges/") + name + ".json").body)["message"]
        .get<std::string>();
  }
  Json osv(const std::string &id) { return Json::parse(ask("/osv/" + id + ".json").body); }
  std::set<std::string> listed() {
    std::set<std::string> ids;
    for (const Json &row : Json::parse(ask("/osv/all.json").body))
      ids.insert(row["id"].get<std::string>());
    return ids;
  }
  std::set<std::string> ids_of_secret() {
    std::set<std::string> ids;
    const auto records = *store_->advisories_of(repo(name).id);
    for (const store::AdvisoryRecord &record : records)
      ids.insert(record.advisory.id);
    return ids;
  }

  SiteOptions options;
  net::Handler site;
  int exports_ = 0;
};

TEST_F(CrawlTest, APrivateNameThatIsWatchedIsNowhere) {
  record_secret(3, R"({"private":true})");
  begin("hf_ok");
  step_to(3);
  EXPECT_GE(ids_of_secret().size(), 1U);
  EXPECT_EQ(leaks(), std::set<std::string>());
  EXPECT_EQ(ask(page()).status, 404);
  EXPECT_EQ(badge(), "unknown repo");
  for (const std::string &id : ids_of_secret())
    EXPECT_FALSE(listed().contains(id)) << "it was never public";
  EXPECT_EQ(ask("/models/pub/open/").status, 200);
}

TEST_F(CrawlTest, ARepoThatTurnsPrivateIsGoneFromEveryPathAtOnceAndComesBackConfirmed) {
  record_secret(6, R"({"events":[{"after":3,"set":{"private":true}},
                                 {"after":5,"set":{"private":false}}]})");
  begin("hf_ok");
  step_to(3);
  EXPECT_EQ(ask(page()).status, 200);
  EXPECT_FALSE(leaks().empty()) << "the search finds what is there";
  const std::set<std::string> published = ids_of_secret();
  ASSERT_GE(published.size(), 2U);
  const std::string first = *published.begin();
  const std::string modified = osv(first)["modified"];

  while (repo(name).visibility == store::Visibility::open && step())
    continue;
  EXPECT_EQ(told(name, "access.private"), 0)
      << "it is told later, and closed with the first answer";
  EXPECT_EQ(leaks(), std::set<std::string>());
  EXPECT_EQ(ask(page()).status, 404);
  EXPECT_EQ(badge(), "unknown repo");
  for (const std::string &id : published) {
    EXPECT_TRUE(listed().contains(id)) << "ids are never dropped";
    EXPECT_TRUE(osv(id).contains("withdrawn")) << id;
    EXPECT_FALSE(osv(id).contains("affected"));
  }
  EXPECT_GT(osv(first)["modified"].get<std::string>(), modified) << "importers notice";

  step_to(5);
  const std::set<std::string> with_hidden = ids_of_secret();
  EXPECT_GT(with_hidden.size(), published.size()) << "it is read on";
  EXPECT_EQ(leaks(), std::set<std::string>());
  for (const std::string &id : with_hidden)
    EXPECT_EQ(listed().contains(id), published.contains(id)) << id;

  const std::string closed = osv(first)["modified"];
  step();
  EXPECT_EQ(leaks(), std::set<std::string>()) << "one answer opens nothing";
  step_to(6);
  EXPECT_EQ(leaks(), std::set<std::string>());
  rounds(4, minutes(15));
  EXPECT_EQ(repo(name).visibility, store::Visibility::open);
  EXPECT_EQ(ask(page()).status, 200);
  for (const std::string &id : with_hidden) {
    EXPECT_FALSE(osv(id).contains("withdrawn")) << id;
    EXPECT_GT(osv(id)["modified"].get<std::string>(), closed) << id;
  }
}

TEST_F(CrawlTest, AGatedRepoIsNotPublicEither) {
  record_secret(4, R"({"events":[{"after":2,"set":{"gated":"auto"}}]})");
  begin("hf_ok");
  step_to(2);
  EXPECT_EQ(ask(page()).status, 200);
  step_to(4);
  EXPECT_EQ(leaks(), std::set<std::string>());
  EXPECT_EQ(ask(page()).status, 404);
}

TEST_F(CrawlTest, ARepoThatIsHiddenFromUsIsClosedWithTheFirstRefusalAndToldAsGone) {
  record_secret(3, R"({"events":[{"after":3,"set":{"private":true}}]})");
  begin("");
  step_to(3);
  const std::set<std::string> published = ids_of_secret();
  while (repo(name).visibility == store::Visibility::open && step())
    continue;
  EXPECT_EQ(repo(name).visibility, store::Visibility::lost);
  EXPECT_EQ(leaks(), std::set<std::string>());
  for (const std::string &id : published)
    EXPECT_TRUE(osv(id).contains("withdrawn")) << id;
  rounds(4, minutes(15));
  EXPECT_EQ(told(name, "access.gone"), 1);
  EXPECT_EQ(badge(), "gone");
  EXPECT_EQ(ask(page()).status, 404);
  int gone = 0;
  for (const std::string &id : ids_of_secret())
    gone += osv(id).contains("affected") ? 1 : 0;
  EXPECT_EQ(gone, 1) << "that it is gone is all that is told of it";
}

TEST_F(CrawlTest, WithATokenNothingIsPublicThatAnAnonymousClientCannotRead) {
  record_secret(2, "{}");
  // A mirror that lets nobody in without a token, and does not say so in its facts.
  serve("hf_ok");
  watch(name);
  options.events = std::make_shared<EventHub>();
  options.public_url = "https://watch.example";
  site = make_site(PublicStore(*store_), options);
  hub::HubOptions nobody;
  nobody.endpoint = "http://127.0.0.1:9";
  nobody.retries = 0;
  code_client_ = hub::Client::make(io_.get_executor(), nobody);
  rounds(3, minutes(30));
  EXPECT_EQ(repo(name).visibility, store::Visibility::unseen);
  EXPECT_EQ(leaks(), std::set<std::string>());
  EXPECT_EQ(ask(page()).status, 404);
}

TEST_F(CrawlTest, WhatIsForgottenLeavesNothingButItsIds) {
  record_secret(3, "{}");
  begin("");
  step_to(3);
  const std::set<std::string> published = ids_of_secret();
  ASSERT_FALSE(published.empty());
  const auto now = format_time(now_.load());
  ASSERT_TRUE(*store_->forget_repo(name, now, "2027-01-01T00:00:00.000Z"));
  EXPECT_FALSE(*store_->forget_repo(name, now, "2027-01-01T00:00:00.001Z"));
  EXPECT_FALSE(*store_->find_repo(name));
  EXPECT_EQ(store_->watches()->size(), 1U);
  EXPECT_EQ(leaks(), std::set<std::string>());
  for (const std::string &id : published) {
    EXPECT_TRUE(listed().contains(id));
    EXPECT_TRUE(osv(id).contains("withdrawn")) << id;
  }
  // Not in the file either, but for what other repos have too.
  store_->close();
  store_.reset();
  std::ifstream file(folder_ / "headwater.db", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(bytes.find("HUSHED"), std::string::npos);
  EXPECT_EQ(bytes.find("hush-model"), std::string::npos);
}

TEST_F(CrawlTest, AMisspeltNameIsNotFoundAndLeavesNothing) {
  record_secret(1, "{}");
  begin("");
  watch("hushorg/mispelt");
  rounds(4, minutes(30));
  EXPECT_EQ(repo("hushorg/mispelt").state, store::RepoState::not_found);
  EXPECT_TRUE(kinds("hushorg/mispelt").empty());
  ASSERT_TRUE(store_->remove_watch("hushorg/mispelt", "main"));
  EXPECT_FALSE(*store_->find_repo("hushorg/mispelt"));
  ASSERT_TRUE(store_->remove_watch(name, "main"));
  EXPECT_TRUE(*store_->find_repo(name)) << "what was read stays";
}

} // namespace
} // namespace headwater::http

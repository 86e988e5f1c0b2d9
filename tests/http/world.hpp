#pragma once

#include "daemon/http/public_store.hpp"
#include "daemon/http/site.hpp"
#include "daemon/http/visibility.hpp"
#include "store/store.hpp"
#include "tests/feeds/sample.hpp"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::http {

/// A plan with something in each of its parts, as JSON.
std::string sample_plan();

/// A store in a folder of its own with one repo of three revisions, one advisory, and a repo that
/// is not public.
class World : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "headwater-http-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto opened = store::Store::open(
        {folder_ + "/store.db", [] { return *parse_time("2026-09-02T00:00:00Z"); }});
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
    fill("acme/tiny", "0123456789abcdef01234567", false);
    fill("acme/secret", "89abcdef0123456701234567", true);
    options_.public_url = sample::site;
    options_.hub_origin = sample::origin;
    options_.clock = [] { return *parse_time("2026-08-23T10:00:00Z"); };
    options_.events = std::make_shared<EventHub>();
    site_ = make_site(PublicStore(*store_), options_);
  }
  void TearDown() override {
    site_ = {};
    if (store_)
      store_->close();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void fill(const std::string &name, const std::string &identity, bool hidden) {
    const auto repo = store_->ensure_repo(name, "main");
    ASSERT_TRUE(repo) << repo.error().message;
    const std::string shas[] = {sample::first_sha, sample::second_sha, sample::third_sha};
    for (std::int64_t i = 0; i < 3; ++i) {
      auto snapshot = std::make_shared<Snapshot>();
      snapshot->facts.name = name;
      snapshot->facts.identity = identity;
      snapshot->facts.head = shas[i];
      snapshot->facts.is_private = hidden;
      snapshot->files = {{"config.json", std::string(40, 'e'), 654}};
      snapshot->commit = {shas[i], "commit " + std::to_string(i),
                          "2026-08-1" + std::to_string(i + 3) + "T00:00:00Z"};
      store::RevisionWrite write;
      write.repo_id = repo->id;
      write.snapshot = snapshot;
      write.revision.sequence = i + 1;
      write.revision.sha = shas[i];
      write.revision.title = snapshot->commit.title;
      write.revision.date = snapshot->commit.date;
      write.revision.plan_json = sample_plan();
      write.revision.fact_hash = "facts " + std::to_string(i);
      if (i > 0) {
        write.has_delta = true;
        write.delta.repo = name;
        write.delta.from = shas[i - 1];
        write.delta.to = shas[i];
        write.delta.date = snapshot->commit.date;
        write.delta.title = snapshot->commit.title;
      }
      if (i == 1) {
        Advisory advisory = sample::advisory();
        advisory.repo = name;
        advisory.identity = identity;
        if (hidden)
          advisory.id = "x_HEADWATER-2026-dddddddddddd";
        write.delta.changes = advisory.affected[0].changes;
        write.advisories = {sample::record(advisory)};
        write.revision.delta_level = Level::high;
        write.revision.change_count = 1;
      }
      const auto written = store_->write_revision(write);
      ASSERT_TRUE(written) << written.error().message;
    }
    if (!hidden) {
      ASSERT_TRUE(store_->open_repo(repo->id, {}));
    }
    const auto stored = store_->find_repo(name);
    ASSERT_TRUE(stored && *stored);
    ASSERT_EQ(may_show(**stored), !hidden);
  }

  net::Response ask(const std::string &target, net::Headers headers = {},
                    const std::string &method = "GET", const std::string &body = "") {
    net::Request request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    request.body = body;
    return site_(request);
  }
  std::string header(const net::Response &response, std::string_view name) {
    const std::string *value = net::find_header(response.headers, name);
    return value != nullptr ? *value : std::string();
  }

  std::string folder_;
  std::unique_ptr<store::Store> store_;
  SiteOptions options_;
  net::Handler site_;
};

} // namespace headwater::http

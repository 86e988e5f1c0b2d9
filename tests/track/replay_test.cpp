// The tracker with the real client and the real stages over the replay hub.

#include "daemon/hub/replay.hpp"
#include "daemon/net/server.hpp"
#include "daemon/track/tracker.hpp"
#include "schemas/json.hpp"
#include "tests/folders.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace headwater::track {
namespace {

namespace fs = std::filesystem;

class ReplayTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("track-replay-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    tracker_.reset();
    guard_.reset();
    if (runner_.joinable())
      runner_.join();
    store_.reset();
    server_.reset();
    fs::remove_all(folder_);
  }

  void write(const std::string &path, const std::string &text) {
    const fs::path file = folder_ / "hub" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  /// Serves the recorded folder and watches all that is in it.
  void start(const std::string &recorded, std::optional<std::size_t> revealed = {}) {
    hub::ReplayOptions options;
    options.revealed = revealed;
    auto replay = hub::ReplayHub::open(recorded, options);
    ASSERT_TRUE(replay) << replay.error().message;
    replay_ = std::move(*replay);
    auto server = net::Server::start(
        {}, [hub = replay_](const net::Request &request) { return hub->handle(request); });
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    auto store =
        store::Store::open({(folder_ / "headwater.db").string(), [this] { return now_; }, {}});
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    for (const std::string &name : replay_->repos()) {
      store::Watch watch;
      watch.repo = name;
      watch.history = "all";
      ASSERT_TRUE(store_->put_watch(watch));
    }
    hub::HubOptions client;
    client.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
    client_ = hub::Client::make(io_.get_executor(), client);
    code_client_ = hub::Client::make(io_.get_executor(), client);
    runner_ = std::thread([this] { io_.run(); });
    TrackOptions track;
    track.clock = [this] { return now_; };
    track.confirm.span = std::chrono::milliseconds(0);
    tracker_ =
        std::make_unique<Tracker>(io_.get_executor(), *client_, *code_client_, *store_,
                                  real_stages({"https://huggingface.co", "https://watch.example"}),
                                  track, Listeners{[](LogLevel, const std::string &) {}, {}});
    ASSERT_TRUE(tracker_->start());
    tracker_->wait_until_idle();
  }
  void reveal() {
    const std::optional<std::string> name = replay_->reveal_next();
    ASSERT_TRUE(name);
    tracker_->check_all_now();
    tracker_->wait_until_idle();
  }

  fs::path folder_;
  TimePoint now_ = *parse_time("2026-11-01T00:00:00Z");
  std::shared_ptr<hub::ReplayHub> replay_;
  std::unique_ptr<net::Server> server_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ =
      boost::asio::make_work_guard(io_);
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<hub::Client> client_;
  std::unique_ptr<hub::Client> code_client_;
  std::thread runner_;
  std::unique_ptr<Tracker> tracker_;
};

constexpr const char *config_text = R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,
"num_attention_heads":4,"num_key_value_heads":2,"intermediate_size":128,"vocab_size":100,"max_position_embeddings":512,
"eos_token_id":1})";

TEST_F(ReplayTest, FromARevisionUpstreamToAnAdvisoryAndBack) {
  const std::string one =
      R"({"chat_template":"{% for m in messages %}[{{ m.content }}]{% endfor %}"})";
  const std::string two =
      R"({"chat_template":"{% for m in messages %}[{{ m.content }}]{% endfor %}{{ nothing() }"})";
  write("models/acme/tiny/revisions/0000-first/config.json", config_text);
  write("models/acme/tiny/revisions/0000-first/tokenizer_config.json", one);
  write("models/acme/tiny/revisions/0001-broken/config.json", config_text);
  write("models/acme/tiny/revisions/0001-broken/tokenizer_config.json", two);
  write("models/acme/tiny/revisions/0002-back/config.json", config_text);
  write("models/acme/tiny/revisions/0002-back/tokenizer_config.json", one);
  start((folder_ / "hub").string(), 1);
  reveal();
  auto records = *store_->advisories();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].advisory.level, Level::critical);
  EXPECT_EQ(records[0].advisory.state, AdvisoryState::open);
  EXPECT_EQ(records[0].advisory.affected[0].subject, "template");
  reveal();
  records = *store_->advisories();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].advisory.state, AdvisoryState::reverted);
  const auto osv = parse_json(records[0].osv_json);
  ASSERT_TRUE(osv);
  EXPECT_EQ((*osv)["affected"][0]["ranges"][0]["events"].size(), 2U);
  const auto repo = **store_->find_repo("acme/tiny");
  const auto revisions = *store_->revisions(repo.id);
  ASSERT_EQ(revisions.size(), 3U);
  EXPECT_EQ(revisions[0].fact_hash, revisions[2].fact_hash);
  const auto newest = *store_->find_revision(repo.id, revisions[2].sha);
  ASSERT_TRUE(newest);
  EXPECT_NE(newest->plan_json.find("\"llama\""), std::string::npos);
}

TEST_F(ReplayTest, RecordedHistoriesAreReadToTheEnd) {
  const std::optional<fs::path> corpus = test::shared_path("corpus/replay");
  if (!corpus)
    GTEST_SKIP() << "no recorded histories here";
  start(corpus->string());
  const auto repos = *store_->repos();
  EXPECT_GE(repos.size(), 39U);
  std::set<std::string> ids;
  for (const store::Repo &repo : repos) {
    EXPECT_EQ(repo.state, store::RepoState::ok) << repo.name << ": " << repo.state_note;
    std::int64_t folders = 0;
    for (const auto &entry : fs::directory_iterator(*corpus / "models" / repo.name / "revisions"))
      folders += entry.is_directory() ? 1 : 0;
    EXPECT_EQ(repo.revision_count, folders) << repo.name;
    const auto revisions = *store_->revisions(repo.id);
    // A few recordings keep the pointer in place of a weight file: such a file is said, and nothing
    // else may be.
    for (const store::Revision &revision : revisions)
      EXPECT_TRUE(revision.status == store::RevisionStatus::read ||
                  revision.note.find(".safetensors: its header says") != std::string::npos)
          << repo.name << " " << revision.sha << ": " << revision.note;
    const auto records = *store_->advisories_of(repo.id);
    for (const store::AdvisoryRecord &record : records) {
      EXPECT_TRUE(ids.insert(record.advisory.id).second) << record.advisory.id;
      for (const AffectedEntry &entry : record.advisory.affected)
        EXPECT_FALSE(entry.versions.empty()) << record.advisory.id;
    }
    std::map<std::string, int> open;
    for (const store::AdvisoryRecord &record : records)
      for (const AffectedEntry &entry : record.advisory.affected)
        if (entry.state == AdvisoryState::open) {
          EXPECT_EQ(++open[entry.subject], 1) << repo.name << " " << entry.subject;
        }
  }
}

} // namespace
} // namespace headwater::track

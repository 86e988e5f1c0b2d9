#pragma once

#include "daemon/hub/replay.hpp"
#include "daemon/net/server.hpp"
#include "daemon/track/catch_up.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::track {

/// Looks with the real client and the real stages at a replay hub, one after the other, at times
/// that the test sets.
class HubRun : public testing::Test {
protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("hub-run-" + std::to_string(::getpid()) + "-" + folder_name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.clock = [this] { return now_.load(); };
    options_.confirm = {3, std::chrono::minutes(30)};
  }
  void TearDown() override {
    guard_.reset();
    if (runner_.joinable())
      runner_.join();
    store_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  virtual std::string folder_name() const {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void write(const std::string &path, const std::string &text) {
    const std::filesystem::path file = folder_ / "hub" / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  /// A repo of so many revisions that differ in one key; `facts` is its repo.json.
  void record(const std::string &name, int revisions, const std::string &facts = "{}") {
    for (int i = 0; i < revisions; ++i)
      write("models/" + name + "/revisions/000" + std::to_string(i) + "-step/config.json",
            R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,
"num_key_value_heads":2,"intermediate_size":128,"vocab_size":100,"max_position_embeddings":512,
"eos_token_id":)" +
                std::to_string(i + 1) + "}");
    write("models/" + name + "/repo.json", facts);
  }

  /// Serves what was recorded from its first revisions on.
  void serve(const std::string &token = "", std::size_t revealed = 0) {
    hub::ReplayOptions options;
    options.revealed = revealed;
    auto replay = hub::ReplayHub::open((folder_ / "hub").string(), options);
    ASSERT_TRUE(replay) << replay.error().message;
    replay_ = std::move(*replay);
    auto server = net::Server::start(
        {}, [hub = replay_](const net::Request &request) { return hub->handle(request); });
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    auto store = store::Store::open(
        {(folder_ / "headwater.db").string(), [this] { return now_.load(); }, {}});
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    runner_ = std::thread([this] { io_.run(); });
    code_client_ = hub::Client::make(io_.get_executor(), client_options(""));
    ask_with(token);
  }
  /// From now on upstream is asked with this token; "" = none.
  void ask_with(const std::string &token) {
    options_.has_token = !token.empty();
    client_ = hub::Client::make(io_.get_executor(), client_options(token));
  }
  void watch(const std::string &name, bool publish = false) {
    store::Watch made;
    made.repo = name;
    made.history = "all";
    made.publish = publish;
    ASSERT_TRUE(store_->put_watch(made));
    ++watched_;
  }
  void reveal_all() {
    while (replay_->reveal_next())
      continue;
  }
  /// The next answers to matching requests are this one instead.
  void fault(const std::string &json) {
    net::Request request;
    request.method = "POST";
    request.target = "/_hub/fault";
    request.body = json;
    ASSERT_EQ(replay_->handle(request).status, 200);
  }
  /// How often a request whose path has this part came.
  std::size_t asked(const std::string &part) {
    net::Request request;
    request.method = "GET";
    request.target = "/_hub/log";
    const std::string log = replay_->handle(request).body;
    std::size_t count = 0;
    for (std::size_t at = log.find(part); at != std::string::npos; at = log.find(part, at + 1))
      ++count;
    return count;
  }

  LookResult look(const std::string &name, const std::string &branch = "main") {
    boost::asio::thread_pool pool(1);
    Context context{*client_,
                    *code_client_,
                    *store_,
                    pool,
                    options_,
                    stages_,
                    [this](LogLevel, const std::string &line) { log_.push_back(line); },
                    [this](const Recorded &one) { recorded_.push_back(one); }};
    context.alarm = alarm_;
    context.watched = watched_;
    const LookResult result =
        boost::asio::co_spawn(io_, catch_up(context, Key{name, branch}), boost::asio::use_future)
            .get();
    pool.join();
    return result;
  }
  /// Looks at all watched repos, so many times, so long after each other.
  void rounds(int count, std::chrono::milliseconds apart) {
    for (int round = 0; round < count; ++round) {
      const auto watches = *store_->watches();
      for (const store::Watch &one : watches)
        look(one.repo, one.branch);
      now_ = now_.load() + apart;
    }
  }

  store::Repo repo(const std::string &name) {
    auto found = *store_->find_repo(name);
    return found ? *found : store::Repo{};
  }
  /// Kinds of all changes of a repo, oldest first.
  std::vector<std::string> kinds(const std::string &name) {
    std::vector<std::string> kinds;
    auto deltas = *store_->deltas(repo(name).id, 1000);
    for (auto at = deltas.rbegin(); at != deltas.rend(); ++at)
      for (const Change &change : at->delta.changes)
        kinds.push_back(change.kind);
    return kinds;
  }
  std::ptrdiff_t told(const std::string &name, const std::string &kind) {
    const std::vector<std::string> all = kinds(name);
    return std::ranges::count(all, kind);
  }
  std::ptrdiff_t alarms() {
    return std::ranges::count_if(
        log_, [](const std::string &line) { return line.find("5 %") != std::string::npos; });
  }

  std::filesystem::path folder_;
  std::atomic<TimePoint> now_ = *parse_time("2026-11-01T00:00:00Z");
  std::shared_ptr<hub::ReplayHub> replay_;
  std::unique_ptr<net::Server> server_;
  boost::asio::io_context io_;
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard_{
      boost::asio::make_work_guard(io_)};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<hub::Client> client_;
  std::unique_ptr<hub::Client> code_client_;
  std::thread runner_;
  TrackOptions options_;
  Stages stages_ = real_stages({"https://huggingface.co", "https://watch.example"});
  std::shared_ptr<Alarm> alarm_ = std::make_shared<Alarm>();
  std::size_t watched_ = 0;
  std::vector<std::string> log_;
  std::vector<Recorded> recorded_;

private:
  hub::HubOptions client_options(const std::string &token) const {
    hub::HubOptions options;
    options.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
    options.token = token;
    options.first_backoff_ms = 1;
    return options;
  }
};

} // namespace headwater::track

#include "daemon/service/daemon.hpp"

#include "daemon/diff/rules.hpp"
#include "daemon/http/admin.hpp"
#include "daemon/http/control.hpp"
#include "daemon/http/public_store.hpp"
#include "daemon/http/site.hpp"
#include "daemon/hub/client.hpp"
#include "daemon/net/server.hpp"
#include "daemon/service/crash_marker.hpp"
#include "daemon/service/log.hpp"
#include "daemon/service/state_lock.hpp"
#include "daemon/track/tracker.hpp"
#include "schemas/version.hpp"
#include "store/store.hpp"

#include <atomic>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

namespace headwater::service {
namespace {

constexpr std::string_view database_name = "headwater.db";

LogLevel log_level(track::LogLevel level) {
  switch (level) {
  case track::LogLevel::debug:
    return LogLevel::debug;
  case track::LogLevel::info:
    return LogLevel::info;
  case track::LogLevel::warning:
    return LogLevel::warning;
  case track::LogLevel::error:
    return LogLevel::error;
  }
  return LogLevel::info;
}

/// A thread that runs network coroutines for as long as this lives.
class NetworkThread {
public:
  NetworkThread()
      : guard_(boost::asio::make_work_guard(context_)), thread_([this] { context_.run(); }) {}
  ~NetworkThread() {
    guard_.reset();
    context_.stop();
    thread_.join();
  }
  NetworkThread(const NetworkThread &) = delete;
  NetworkThread &operator=(const NetworkThread &) = delete;
  boost::asio::any_io_executor executor() { return context_.get_executor(); }

private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

hub::HubOptions hub_options(const Config &config, const std::string &token) {
  hub::HubOptions options;
  options.endpoint = config.hub_endpoint;
  options.token = token;
  options.user_agent = fmt::format("headwater/{}", version());
  options.requests_per_second = config.hub_requests_per_second;
  return options;
}

/// A config's rules as the diff room applies them; a level is set from both sides.
std::vector<diff::UserRule> user_rules(const std::vector<Rule> &rules) {
  std::vector<diff::UserRule> out;
  const auto add = [&](const Rule &rule, diff::UserRule::Action action) {
    out.push_back({action, rule.repo, rule.kind, rule.subject, rule.level.value_or(Level::low)});
  };
  for (const Rule &rule : rules) {
    if (rule.ignore) {
      add(rule, diff::UserRule::Action::ignore);
      continue;
    }
    add(rule, diff::UserRule::Action::raise);
    add(rule, diff::UserRule::Action::lower);
  }
  return out;
}

track::TrackOptions track_options(const DaemonOptions &daemon, const std::string &origin) {
  const Config &config = daemon.config;
  track::TrackOptions options;
  options.has_token = !daemon.token.empty();
  options.advise.prefix = config.advisory_prefix;
  options.advise.origin = origin;
  options.schedule.interval = config.poll_interval;
  options.settle = config.settle;
  options.confirm.polls = config.confirm;
  options.confirm.span = config.confirm_span;
  options.concurrency = config.concurrency;
  options.clock = daemon.clock;
  if (!config.rules.empty())
    options.rules = [rules = user_rules(config.rules)](Delta &delta) {
      delta = diff::apply_rules(std::move(delta), rules);
    };
  options.seed = std::random_device()();
  return options;
}

net::ServerOptions listener(const ListenAddress &address) {
  net::ServerOptions options;
  options.address = address.host;
  options.port = address.port;
  return options;
}

class RunningDaemon final : public Daemon {
public:
  static Result<std::unique_ptr<Daemon>> start(DaemonOptions options) {
    auto daemon = std::make_unique<RunningDaemon>(std::move(options));
    Result<void> started = daemon->open_store();
    if (started)
      started = daemon->listen();
    if (started)
      started = daemon->track();
    if (!started)
      return std::unexpected(started.error());
    return daemon;
  }

  explicit RunningDaemon(DaemonOptions options) : options_(std::move(options)) {}
  ~RunningDaemon() override { stop(std::chrono::seconds(5)); }

  std::uint16_t public_port() const override { return public_server_->port(); }
  const std::string &public_url() const override { return site_.public_url; }
  store::Store &store() override { return *store_; }
  const http::SiteOptions &site_options() const override { return site_; }

  Result<void> reload(const Config &config) override {
    std::vector<std::string> needs_restart;
    const Config &now = options_.config;
    if (config.hub_endpoint != now.hub_endpoint)
      needs_restart.emplace_back("hub.endpoint");
    if (config.state_folder != now.state_folder)
      needs_restart.emplace_back("state.folder");
    if (config.listen != now.listen)
      needs_restart.emplace_back("http.listen");
    if (config.admin_listen != now.admin_listen)
      needs_restart.emplace_back("http.admin_listen");
    if (config.public_url != now.public_url)
      needs_restart.emplace_back("public.url");
    if (config.socket_path != now.socket_path)
      needs_restart.emplace_back("control.socket");
    if (config.rules != now.rules)
      needs_restart.emplace_back("rule");
    if (config.settle != now.settle)
      needs_restart.emplace_back("advisories.settle");
    if (config.advisory_prefix != now.advisory_prefix)
      needs_restart.emplace_back("advisories.prefix");
    for (const std::string &key : needs_restart)
      log(LogLevel::warning, key + " has changed in the config: it is taken at the next restart");
    if (Result<void> declared = store_->set_declared_watches(config.watches); !declared)
      return declared;
    tracker_->set_interval(config.poll_interval);
    options_.config.poll_interval = config.poll_interval;
    options_.config.watches = config.watches;
    return tracker_->sync_watches();
  }

  void wait_until_caught_up() override { tracker_->wait_until_idle(); }

  bool poll_now(const std::string &repo) override {
    if (!tracking_)
      return false;
    const Result<std::vector<store::Watch>> watches = store_->watches();
    if (!watches)
      return false;
    bool watched = false;
    for (const store::Watch &watch : *watches)
      if (watch.repo == repo)
        watched = tracker_->check_now(repo, watch.branch, false) || watched;
    return watched;
  }

  void poll_all_now() override { tracker_->check_all_now(); }

  void keep_alive() override { events_->keep_alive(); }

  void stop(std::chrono::milliseconds grace) override {
    if (stopped_)
      return;
    stopped_ = true;
    // Listeners first, so that nothing new begins; then the tracker, which ends the transaction in
    // hand; the store last.
    if (control_server_)
      control_server_->stop(grace / 4);
    if (events_)
      events_->close();
    if (public_server_)
      public_server_->stop(grace / 4);
    if (admin_server_)
      admin_server_->stop(grace / 4);
    if (tracker_)
      tracker_->stop();
    if (hub_)
      hub_->close();
    if (code_hub_)
      code_hub_->close();
    if (store_) {
      if (tracker_)
        if (Result<void> forgotten = store_->forget_unfinished_attempts(); !forgotten)
          log(LogLevel::error, forgotten.error().message);
      store_->close();
    }
  }

private:
  Result<void> open_store() {
    const Config &config = options_.config;
    Result<StateLock> lock = StateLock::take(config.state_folder);
    if (!lock)
      return std::unexpected(lock.error());
    lock_.emplace(std::move(*lock));
    Result<std::unique_ptr<store::Store>> store = store::Store::open(
        {(std::filesystem::path(config.state_folder) / database_name).string(), options_.clock});
    if (!store)
      return std::unexpected(store.error());
    store_ = std::move(*store);
    // A fault of our own speaks against the revision that was being read; an end from outside does
    // so only when it comes again and again.
    if (!take_crash_mark(config.state_folder)) {
      if (Result<void> counted = store_->count_killed_attempts(); !counted)
        return counted;
    }
    mark_crashes(config.state_folder);
    return store_->set_declared_watches(config.watches);
  }

  Result<void> listen() {
    const Config &config = options_.config;
    events_ = std::make_shared<http::EventHub>();
    net::ServerOptions listen_public = listener(config.listen);
    listen_public.inherited_socket = options_.inherited_public_socket;
    // Pages name their own address, which is known only once the listener has its port: a request
    // that comes in between waits for the site.
    Result<std::unique_ptr<net::Server>> server =
        net::Server::start(listen_public, [this](const net::Request &request) {
          site_ready_.wait(false);
          return site_handler_(request);
        });
    if (!server)
      return std::unexpected(server.error());
    public_server_ = std::move(*server);
    site_.public_url =
        config.public_url.empty()
            ? "http://" + to_string(ListenAddress{config.listen.host, public_server_->port()})
            : config.public_url;
    site_.hub_origin = options_.hub_origin.empty() ? config.hub_endpoint : options_.hub_origin;
    site_.title = config.title;
    site_.cache_bytes = config.cache_bytes;
    site_.trusted_proxies = config.trusted_proxies;
    site_.clock = options_.clock;
    site_.events = events_;
    site_handler_ = http::make_site(http::PublicStore(*store_), site_);
    site_ready_.test_and_set();
    site_ready_.notify_all();

    if (options_.admin_listener) {
      http::AdminOptions admin;
      admin.not_ready = [this] {
        return tracking_.load() ? std::string() : std::string("the tracker has not started");
      };
      admin.metrics = [this] { return metrics(); };
      Result<std::unique_ptr<net::Server>> admin_server = net::Server::start(
          listener(config.admin_listen), http::make_admin(*store_, std::move(admin)));
      if (!admin_server)
        return std::unexpected(admin_server.error());
      admin_server_ = std::move(*admin_server);
    }
    if (options_.control_socket) {
      net::ServerOptions control;
      control.unix_path = config.socket_path;
      control.threads = 1;
      Result<std::unique_ptr<net::Server>> control_server =
          net::Server::start(control, http::make_control(*store_, site_.public_url, actions()));
      if (!control_server)
        return std::unexpected(control_server.error());
      control_server_ = std::move(*control_server);
    }
    return {};
  }

  Result<void> track() {
    const Config &config = options_.config;
    hub_ = hub::Client::make(network_.executor(), hub_options(config, options_.token));
    code_hub_ = hub::Client::make(network_.executor(), hub_options(config, ""));
    track::Listeners listeners;
    listeners.log = [](track::LogLevel level, const std::string &message) {
      log(log_level(level), message);
    };
    listeners.recorded = [this](const track::Recorded &recorded) {
      // What a first look finds is recorded, and told to nobody.
      events_->announce(http::PublicStore(*store_),
                        recorded.backfilled ? std::vector<std::string>() : recorded.advisories);
    };
    tracker_ = std::make_unique<track::Tracker>(
        network_.executor(), *hub_, *code_hub_, *store_,
        track::real_stages({site_.hub_origin, site_.public_url}),
        track_options(options_, site_.hub_origin), std::move(listeners));
    if (Result<void> started = tracker_->start(); !started)
      return started;
    tracking_ = true;
    return {};
  }

  http::ControlActions actions() {
    http::ControlActions actions;
    actions.add_watch = [this](const store::Watch &watch) -> Result<void> {
      if (Result<void> put = store_->put_watch(watch); !put)
        return put;
      return tracking_ ? tracker_->sync_watches() : Result<void>();
    };
    actions.remove_watch = [this](const std::string &repo,
                                  const std::string &branch) -> Result<void> {
      if (Result<void> removed = store_->remove_watch(repo, branch); !removed)
        return removed;
      return tracking_ ? tracker_->sync_watches() : Result<void>();
    };
    actions.check_now = [this](const std::string &repo) -> Result<void> {
      if (!tracking_)
        return fail(Errc::transient, "the tracker has not started: try again in a moment");
      poll_now(repo);
      return {};
    };
    actions.forget = [this](const std::string &repo) -> Result<bool> {
      if (!tracking_)
        return fail(Errc::transient, "the tracker has not started: try again in a moment");
      return tracker_->forget(repo);
    };
    actions.trouble = [this] { return tracking_ ? hub_->trouble() : std::string(); };
    return actions;
  }

  std::vector<http::Metric> metrics() const {
    if (!tracking_)
      return {};
    const track::TrackerStatus status = tracker_->status();
    return {{"headwater_watched_repos",
             "Repos that are followed",
             false,
             {},
             static_cast<double>(status.watched)},
            {"headwater_looks_in_hand",
             "Looks at repos that are going on",
             false,
             {},
             static_cast<double>(status.looking)},
            {"headwater_looks_total",
             "Looks at repos that have ended",
             true,
             {},
             static_cast<double>(status.looks)},
            {"headwater_looks_failed_total",
             "Looks that ended on trouble upstream",
             true,
             {},
             static_cast<double>(status.failed)},
            {"headwater_event_listeners",
             "Clients that listen to /events",
             false,
             {},
             static_cast<double>(events_->listeners())}};
  }

  DaemonOptions options_;
  std::optional<StateLock> lock_;
  std::unique_ptr<store::Store> store_;
  http::SiteOptions site_;
  std::shared_ptr<http::EventHub> events_;
  net::Handler site_handler_;
  std::atomic_flag site_ready_;
  NetworkThread network_;
  std::unique_ptr<hub::Client> hub_;
  std::unique_ptr<hub::Client> code_hub_;
  std::unique_ptr<track::Tracker> tracker_;
  std::atomic<bool> tracking_ = false;
  std::unique_ptr<net::Server> public_server_;
  std::unique_ptr<net::Server> admin_server_;
  std::unique_ptr<net::Server> control_server_;
  bool stopped_ = false;
};

} // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
  return RunningDaemon::start(std::move(options));
}

} // namespace headwater::service

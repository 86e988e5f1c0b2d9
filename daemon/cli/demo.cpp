#include "daemon/cli/demo.hpp"

#include "daemon/cli/table.hpp"
#include "daemon/http/export.hpp"
#include "daemon/hub/replay.hpp"
#include "daemon/net/server.hpp"
#include "daemon/service/daemon.hpp"
#include "daemon/service/log.hpp"
#include "daemon/service/stop_signal.hpp"
#include "demo/demo_data.hpp"
#include "schemas/json.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {
namespace {

/// A folder that goes when the demo ends.
class TemporaryFolder {
public:
  static Result<TemporaryFolder> make() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "headwater-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      return fail(
          Errc::bad_input,
          "no temporary folder can be made: set TMPDIR to a folder that this user may write to");
    return TemporaryFolder(pattern);
  }
  TemporaryFolder(TemporaryFolder &&other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder &operator=(TemporaryFolder &&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  const std::string &path() const { return path_; }

private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// How far the recorded time line has been shown; kept beside the database, so that a demo that is
/// started again on the same state never shows less than it had.
class Position {
public:
  explicit Position(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    file >> steps_;
  }
  std::size_t steps() const { return steps_; }
  void set(std::size_t steps) {
    steps_ = steps;
    const std::string next = path_ + ".new";
    std::ofstream(next) << steps;
    std::error_code ignored;
    std::filesystem::rename(next, path_, ignored);
  }

private:
  std::string path_;
  std::size_t steps_ = 0;
};

/// Everything that a demo runs: recorded hub, its listener, the daemon.
struct Stage {
  TemporaryFolder folder;
  std::shared_ptr<hub::ReplayHub> hub;
  std::unique_ptr<net::Server> hub_server;
  std::unique_ptr<service::Daemon> daemon;
  Position position;
};

std::function<TimePoint()> clock_of(const std::string &fixed, Result<void> &problem) {
  if (fixed.empty())
    return [] {
      return std::chrono::time_point_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now());
    };
  const Result<TimePoint> time = parse_time(fixed);
  if (!time) {
    problem = wrap("--clock", time.error());
    return {};
  }
  return [time = *time] { return time; };
}

service::Config config_for(const DemoCommand &command, const std::string &endpoint,
                           const std::string &state, const std::vector<std::string> &repos) {
  service::Config config;
  config.hub_endpoint = endpoint;
  config.state_folder = state;
  config.listen = {"127.0.0.1", command.port};
  config.poll_interval = std::chrono::seconds(command.once ? 3600 : 2);
  config.confirm_span = std::chrono::seconds(0);
  config.history = "all";
  // With a fixed clock the order of the writes is all that tells two records apart in time: one
  // repo after the other.
  config.concurrency = command.clock.empty() ? 4 : 1;
  config.title = "Headwater demo";
  config.socket_path = state + "/control.sock";
  config.log_level = "warning";
  for (const std::string &repo : repos) {
    store::Watch watch;
    watch.repo = repo;
    watch.declared = true;
    watch.publish = true;
    watch.history = "all";
    config.watches.push_back(std::move(watch));
  }
  return config;
}

/// Steps that are there from the start and are read as a backfill; the rest comes while it is
/// watched. A given folder is watched from its first event on, and with --once from the beginning:
/// every step that it holds is seen.
std::size_t shown_at_start(const DemoCommand &command, const hub::ReplayHub &hub) {
  const std::size_t all = hub.timeline_size();
  if (command.from.empty())
    return all - std::min(all, demo_live_steps);
  return command.once ? 0 : std::min(all / 2, hub.steps_before_events());
}

Result<Stage> set_up(const DemoCommand &command) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder)
    return std::unexpected(folder.error());
  std::string recorded = command.from;
  if (recorded.empty()) {
    recorded = folder->path() + "/recorded";
    if (Result<void> unpacked = unpack_demo(recorded); !unpacked)
      return std::unexpected(unpacked.error());
  }
  const std::string state = command.state.empty() ? folder->path() + "/state" : command.state;
  std::error_code error;
  std::filesystem::create_directories(state, error);
  if (error)
    return fail(Errc::bad_input,
                fmt::format("{}: the state folder cannot be made: {}", state, error.message()));

  Result<void> problem;
  std::function<TimePoint()> clock = clock_of(command.clock, problem);
  if (!problem)
    return std::unexpected(problem.error());

  Position position(state + "/replay-position");
  hub::ReplayOptions replay;
  replay.revealed = 0;
  Result<std::unique_ptr<hub::ReplayHub>> opened = hub::ReplayHub::open(recorded, replay);
  if (!opened)
    return std::unexpected(opened.error());
  const std::shared_ptr<hub::ReplayHub> hub = std::move(*opened);
  const auto reveal_up_to = [&hub](std::size_t steps) {
    while (hub->revealed() < steps && hub->reveal_next())
      continue;
  };
  reveal_up_to(shown_at_start(command, *hub));
  // What is watched is what was there when the first run began: a repo that vanished since is news
  // still, however often the run was killed in between.
  const std::vector<std::string> watched = hub->repos();
  reveal_up_to(position.steps());
  position.set(hub->revealed());

  Result<std::unique_ptr<net::Server>> hub_server =
      net::Server::start({}, [hub](const net::Request &request) { return hub->handle(request); });
  if (!hub_server)
    return std::unexpected(hub_server.error());
  const std::string endpoint = fmt::format("http://127.0.0.1:{}", (*hub_server)->port());

  service::DaemonOptions options;
  options.config = config_for(command, endpoint, state, watched);
  options.clock = std::move(clock);
  // The recorded hub's own address differs from run to run; what is told of a repo does not.
  options.hub_origin = "https://huggingface.co";
  options.admin_listener = false;
  options.control_socket = !command.once;
  Result<std::unique_ptr<service::Daemon>> daemon = service::Daemon::start(std::move(options));
  if (!daemon)
    return std::unexpected(daemon.error());
  return Stage{std::move(*folder), hub, std::move(*hub_server), std::move(*daemon),
               std::move(position)};
}

/// Shows the next recorded step and has its repo looked at; false when all is shown. With
/// `look_at_all` every repo is: then what a repo sees of another does not depend on when it was
/// looked at, and a run that was killed and started again finds what an undisturbed one does.
bool reveal_next(Stage &stage, bool look_at_all) {
  if (stage.hub->revealed() >= stage.hub->timeline_size())
    return false;
  stage.position.set(stage.hub->revealed() + 1);
  const std::optional<std::string> repo = stage.hub->reveal_next();
  // A name that is not watched is the new one of a repo that was just renamed.
  if (repo && (look_at_all || !stage.daemon->poll_now(*repo)))
    stage.daemon->poll_all_now();
  return repo.has_value();
}

struct RepoCount {
  std::string repo;
  std::int64_t revisions = 0;
  std::map<std::string, std::int64_t> changes = {}; ///< by impact
  std::int64_t advisories = 0;
};

Result<std::vector<RepoCount>> count_repos(store::Store &store) {
  const Result<std::vector<store::Repo>> repos = store.repos();
  if (!repos)
    return std::unexpected(repos.error());
  std::vector<RepoCount> counts;
  for (const store::Repo &repo : *repos) {
    RepoCount count{repo.name, repo.revision_count};
    const auto deltas = store.deltas(repo.id, 1'000'000);
    const auto advisories = store.advisories_of(repo.id);
    if (!deltas)
      return std::unexpected(deltas.error());
    if (!advisories)
      return std::unexpected(advisories.error());
    for (const store::DeltaRecord &record : *deltas)
      for (const Change &change : record.delta.changes)
        ++count.changes[std::string(to_string(change.impact))];
    count.advisories = static_cast<std::int64_t>(advisories->size());
    counts.push_back(std::move(count));
  }
  return counts;
}

constexpr std::array<std::string_view, 6> impact_words{"breaking",  "security", "access",
                                                       "behaviour", "cost",     "cosmetic"};

void print_counts(const std::vector<RepoCount> &counts, double seconds, bool as_json,
                  std::ostream &out) {
  if (as_json) {
    OrderedJson json;
    json["repos"] = OrderedJson::array();
    for (const RepoCount &count : counts) {
      OrderedJson changes = OrderedJson::object();
      for (const std::string_view impact : impact_words)
        if (const auto at = count.changes.find(std::string(impact)); at != count.changes.end())
          changes[std::string(impact)] = at->second;
      json["repos"].push_back({{"repo", count.repo},
                               {"revisions", count.revisions},
                               {"changes", changes},
                               {"advisories", count.advisories}});
    }
    json["seconds"] = seconds;
    out << json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
    return;
  }
  std::vector<std::string> header{"REPO", "REVISIONS"};
  for (const std::string_view impact : impact_words)
    header.emplace_back(impact);
  header.emplace_back("ADVISORIES");
  std::vector<std::vector<std::string>> rows;
  RepoCount total{"total"};
  const auto row_of = [](const RepoCount &count) {
    std::vector<std::string> row{count.repo, std::to_string(count.revisions)};
    for (const std::string_view impact : impact_words) {
      const auto at = count.changes.find(std::string(impact));
      row.push_back(std::to_string(at == count.changes.end() ? 0 : at->second));
    }
    row.push_back(std::to_string(count.advisories));
    return row;
  };
  for (const RepoCount &count : counts) {
    rows.push_back(row_of(count));
    total.revisions += count.revisions;
    total.advisories += count.advisories;
    for (const auto &[impact, number] : count.changes)
      total.changes[impact] += number;
  }
  rows.push_back(row_of(total));
  out << format_table(header, rows) << fmt::format("read in {:.2f} s\n", seconds);
}

int complain(const Error &error, std::ostream &err) {
  err << "headwater: " << error.message << "\n";
  return error.code == Errc::bad_input ? exit_bad_input : exit_upstream;
}

int run_once(Stage &stage, const DemoCommand &command, std::ostream &out, std::ostream &err) {
  const auto begin = std::chrono::steady_clock::now();
  stage.daemon->wait_until_caught_up();
  while (reveal_next(stage, !command.clock.empty()))
    stage.daemon->wait_until_caught_up();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Result<std::vector<RepoCount>> counts = count_repos(stage.daemon->store());
  if (!counts)
    return complain(counts.error(), err);
  print_counts(*counts, seconds, command.json, out);
  if (!command.export_to.empty()) {
    const Result<http::ExportReport> exported = http::export_site(
        http::PublicStore(stage.daemon->store()), stage.daemon->site_options(), command.export_to);
    if (!exported)
      return complain(exported.error(), err);
    if (!command.json)
      out << fmt::format("published {} files in {}\n", exported->files, command.export_to);
  }
  return exit_fine;
}

int run_live(Stage &stage, const DemoCommand &command, service::StopSignal &stop,
             std::ostream &out) {
  out << "Headwater demo: " << stage.daemon->public_url() << "/\n"
      << fmt::format(
             "{} of {} recorded steps are shown; one more comes every {:.1f} s. Ctrl-C ends it.\n",
             stage.hub->revealed(), stage.hub->timeline_size(),
             command.reveal_milliseconds / 1000.0)
      << std::flush;
  bool more = true;
  while (!stop.wait_for(std::chrono::milliseconds(command.reveal_milliseconds))) {
    if (!more)
      continue;
    more = reveal_next(stage, false);
    if (!more)
      out << "All recorded steps are shown; the pages stay up until you end it.\n" << std::flush;
  }
  return exit_fine;
}

} // namespace

int run_demo(const DemoCommand &command, const Terminal &, std::ostream &out, std::ostream &err) {
  service::start_log("warning");
  service::StopSignal stop;
  Result<Stage> stage = set_up(command);
  if (!stage)
    return complain(stage.error(), err);
  const int code =
      command.once ? run_once(*stage, command, out, err) : run_live(*stage, command, stop, out);
  stage->daemon->stop(std::chrono::seconds(4));
  stage->hub_server->stop(std::chrono::seconds(1));
  return code;
}

} // namespace headwater::cli

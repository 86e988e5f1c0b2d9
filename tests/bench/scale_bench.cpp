// What a step, a look and an answer cost as more is stored: made-up small repos are read through
// the tracker from a hub in memory, and asked for through the site without a cache.
//   bench_scale DISK_FOLDER MEMORY_FOLDER INGEST_REPOS STORED_REPOS WATCHES

#include "daemon/http/event_hub.hpp"
#include "daemon/http/public_store.hpp"
#include "daemon/http/site.hpp"
#include "daemon/track/catch_up.hpp"
#include "daemon/track/schedule.hpp"
#include "daemon/track/tracker.hpp"
#include "store/store.hpp"
#include "tests/track/fake_hub.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

namespace headwater {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int revisions_of_each = 3;
constexpr std::size_t few_repos = 200;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// Bytes that this process gave to the file system.
double bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string key;
  double value = 0;
  while (io >> key >> value)
    if (key == "wchar:")
      return value;
  return 0;
}

double resident_megabytes() {
  std::ifstream status("/proc/self/statm");
  double pages = 0;
  status >> pages >> pages;
  return pages * 4096 / 1e6;
}

TimePoint now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

std::string name_of(std::size_t number) {
  return fmt::format("org{}/model-{}", number % 97, number);
}

/// A small repo's files after `pushed` pushes: a template that changes with one, a base frequency
/// with the other.
track::FakeHub::Files files_of(std::size_t number, int pushed) {
  const int template_at = (pushed + 1) / 2;
  const int config_at = pushed / 2;
  return {
      {"README.md",
       fmt::format(
           "---\nlicense: apache-2.0\ntags:\n- text-generation\n---\n# {}\nA small model.\n",
           name_of(number))},
      {"config.json",
       fmt::format(
           R"({{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":2048,)"
           R"("intermediate_size":5632,"num_hidden_layers":22,"num_attention_heads":32,)"
           R"("num_key_value_heads":4,"vocab_size":32000,"max_position_embeddings":2048,)"
           R"("rms_norm_eps":1e-05,"rope_theta":{}.0,"tie_word_embeddings":false,"torch_dtype":"bfloat16",)"
           R"("bos_token_id":1,"eos_token_id":2,"finetuned":{}}})",
           10000 + 1000 * config_at, number)},
      {"tokenizer_config.json",
       fmt::format(
           R"({{"tokenizer_class":"LlamaTokenizer","bos_token":"<s>","eos_token":"</s>","model_max_length":)"
           R"(2048,"chat_template":"{{% for m in messages %}}<|{}{}|>{{{{ m['content'] }}}}{{% endfor %}}"}})",
           number, template_at)}};
}

void push(track::FakeHub &hub, std::size_t number) {
  const std::string name = name_of(number);
  const int pushed = static_cast<int>(hub.repos.at(name).revisions.size());
  hub.push(name, fmt::format("{} {}", name, pushed), files_of(number, pushed));
}

std::unique_ptr<store::Store> open_store(const fs::path &path) {
  auto store = store::Store::open({path.string(), now});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message.c_str());
    std::exit(3);
  }
  return std::move(*store);
}

double database_bytes(const fs::path &path) {
  return static_cast<double>(fs::file_size(path));
}

track::TrackOptions track_options() {
  track::TrackOptions options;
  options.clock = now;
  options.schedule.interval = std::chrono::hours(24);
  options.confirm = {1, std::chrono::milliseconds(0)};
  return options;
}

track::Stages stages() {
  return track::real_stages({"https://huggingface.co", "https://headwater.example"});
}

/// A thread that runs what the tracker's network would run on.
class Network {
public:
  Network() : guard_(boost::asio::make_work_guard(context_)), thread_([this] { context_.run(); }) {}
  ~Network() {
    guard_.reset();
    context_.stop();
    thread_.join();
  }
  Network(const Network &) = delete;
  Network &operator=(const Network &) = delete;
  boost::asio::io_context &context() { return context_; }

private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

/// Reads all commits of many repos, as the daemon does from its start, then looks at all once more.
void ingest(const fs::path &folder, std::size_t repos) {
  const fs::path path = folder / "ingest.db";
  track::FakeHub hub;
  track::FakeHub code_hub;
  std::vector<store::Watch> watches;
  for (std::size_t i = 0; i < repos; ++i) {
    hub.add(name_of(i));
    for (int pushed = 0; pushed < revisions_of_each; ++pushed)
      push(hub, i);
    store::Watch watch;
    watch.repo = name_of(i);
    watches.push_back(watch);
  }
  auto store = open_store(path);
  if (!store->set_declared_watches(watches))
    std::exit(3);
  std::mutex mutex;
  std::vector<Clock::time_point> times;
  auto events = std::make_shared<http::EventHub>();
  track::Listeners listeners;
  listeners.log = [](track::LogLevel, const std::string &) {};
  listeners.recorded = [&](const track::Recorded &recorded) {
    if (recorded.revision.empty())
      return;
    events->announce(http::PublicStore(*store), recorded.advisories);
    const std::lock_guard lock(mutex);
    times.push_back(Clock::now());
  };
  const double revisions = static_cast<double>(repos) * revisions_of_each;
  {
    Network network;
    track::Tracker tracker(network.context().get_executor(), hub, code_hub, *store, stages(),
                           track_options(), std::move(listeners));
    const Clock::time_point start = Clock::now();
    const double cpu = cpu_seconds();
    if (!tracker.start())
      std::exit(3);
    tracker.wait_until_idle();
    const double spent = cpu_seconds() - cpu;
    const double wall = seconds_since(start);
    std::ranges::sort(times);
    const std::size_t tenth = times.size() / 10;
    const auto rate = [&](std::size_t from, std::size_t to) {
      return static_cast<double>(to - from) /
             std::chrono::duration<double>(times[to] - (from == 0 ? start : times[from])).count();
    };
    fmt::print("ingest: {} repos x {} revisions: {:.0f} revisions/s ({:.0f} in the first tenth, "
               "{:.0f} in the last), "
               "{:.2f} ms of CPU each (goal 500/s)\n",
               repos, revisions_of_each, revisions / wall, rate(0, tenth),
               rate(times.size() - 1 - tenth, times.size() - 1), spent / revisions * 1e3);
    std::fflush(stdout);

    const double idle_cpu = cpu_seconds();
    const double written = bytes_written();
    const Clock::time_point idle_start = Clock::now();
    tracker.check_all_now();
    tracker.wait_until_idle();
    const double count = static_cast<double>(repos);
    fmt::print(
        "idle look: {:.3f} ms of CPU, {:.0f} bytes written, {:.0f} looks/s (goal under 0.3 ms)\n",
        (cpu_seconds() - idle_cpu) / count * 1e3, (bytes_written() - written) / count,
        count / seconds_since(idle_start));
    tracker.stop();
  }
  store->close();
  store.reset();
  fmt::print("database: {:.1f} KB a revision (goal 8)\n", database_bytes(path) / revisions / 1024);
  std::fflush(stdout);
}

/// Looks at repos one by one on the calling thread and a pool of one.
class Looker {
public:
  Looker(store::Store &store, track::FakeHub &hub) : store_(store), hub_(hub) {}

  void look(const std::vector<std::string> &names) {
    boost::asio::thread_pool pool(1);
    track::Context context{hub_,
                           code_hub_,
                           store_,
                           pool,
                           options_,
                           stages_,
                           [](track::LogLevel, const std::string &) {},
                           {}};
    context.watched = names.size();
    for (const std::string &name : names) {
      boost::asio::io_context network;
      auto done = boost::asio::co_spawn(network, track::catch_up(context, {name, "main"}),
                                        boost::asio::use_future);
      network.run();
      if (done.get().failed)
        std::exit(4);
    }
    pool.join();
  }

private:
  store::Store &store_;
  track::FakeHub &hub_;
  track::FakeHub code_hub_ = {};
  track::TrackOptions options_ = track_options();
  track::Stages stages_ = stages();
};

/// CPU seconds of one more revision in each of the first few repos.
double step_cost(store::Store &store, track::FakeHub &hub) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < few_repos; ++i) {
    push(hub, i);
    names.push_back(name_of(i));
  }
  Looker looker(store, hub);
  const double cpu = cpu_seconds();
  looker.look(names);
  return (cpu_seconds() - cpu) / static_cast<double>(few_repos);
}

/// Fills the store with repos that look as if the tracker had read them: what it wrote of the first
/// ones, under other names.
void fill(store::Store &store, std::size_t from, std::size_t to) {
  const auto pattern = store.find_repo(name_of(0));
  const auto revisions = store.revisions((*pattern)->id);
  const auto advisories = store.advisories_of((*pattern)->id);
  const auto deltas = store.deltas((*pattern)->id, 100);
  if (!pattern || !revisions || !advisories || !deltas)
    std::exit(3);
  std::vector<std::shared_ptr<Snapshot>> snapshots;
  for (const store::Revision &revision : *revisions)
    snapshots.push_back(std::make_shared<Snapshot>(**store.snapshot((*pattern)->id, revision.sha)));
  for (std::size_t number = from; number < to; ++number) {
    const std::string name = name_of(number);
    const auto repo = store.ensure_repo(name, "main");
    const auto sha_of = [&](const std::string &sha) { return sha1_hex(name + sha); };
    for (std::size_t i = 0; i < revisions->size(); ++i) {
      store::RevisionWrite write;
      write.repo_id = repo->id;
      write.revision = (*revisions)[i];
      write.revision.sha = sha_of(write.revision.sha);
      auto snapshot = std::make_shared<Snapshot>(*snapshots[i]);
      snapshot->facts.name = name;
      snapshot->facts.identity = "id-" + name;
      snapshot->commit.sha = write.revision.sha;
      for (FileEntry &file : snapshot->files)
        file.oid = sha1_hex(name + file.oid);
      for (auto &[path, content] : snapshot->contents)
        if (content.bytes)
          content.bytes = std::make_shared<const std::string>(*content.bytes + " " + name);
      write.snapshot = snapshot;
      for (const store::DeltaRecord &record : *deltas)
        if (record.delta.to == (*revisions)[i].sha) {
          write.has_delta = true;
          write.delta = record.delta;
          write.delta.repo = name;
          write.delta.from = sha_of(record.delta.from);
          write.delta.to = sha_of(record.delta.to);
        }
      for (const store::AdvisoryRecord &record : *advisories)
        if (record.advisory.to == (*revisions)[i].sha) {
          write.advisories.push_back(record);
          Advisory &advisory = write.advisories.back().advisory;
          advisory.id = "x_HEADWATER-2026-" + sha1_hex(name + advisory.id).substr(0, 12);
          advisory.repo = name;
          advisory.identity = "id-" + name;
          advisory.from = sha_of(advisory.from);
          advisory.to = sha_of(advisory.to);
          for (AffectedEntry &entry : advisory.affected)
            for (std::string &version : entry.versions)
              version = sha_of(version);
        }
      if (!store.write_revision(write))
        std::exit(3);
    }
  }
}

net::Request get(std::string target) {
  net::Request request;
  request.method = "GET";
  request.target = std::move(target);
  return request;
}

/// CPU milliseconds of one answer, the first apart, over as many as a part of a second has room
/// for.
template <class Target> double answer_cost(const net::Handler &site, Target target) {
  site(get(target()));
  const Clock::time_point start = Clock::now();
  const double cpu = cpu_seconds();
  int count = 0;
  while (count < 3 || seconds_since(start) < 0.7) {
    if (site(get(target())).status != 200) {
      std::fprintf(stderr, "%s is not answered\n", target().c_str());
      std::exit(4);
    }
    ++count;
  }
  return (cpu_seconds() - cpu) / count * 1e3;
}

void answers(store::Store &store, std::size_t repos) {
  http::SiteOptions options;
  options.public_url = "https://headwater.example";
  options.clock = now;
  options.cache_bytes = 0;
  const net::Handler site = http::make_site(http::PublicStore(store), options);
  std::mt19937_64 random(1);
  const auto any_name = [&] { return name_of(random() % repos); };
  const double badge = answer_cost(site, [&] {
    return fmt::format("/badges/{}.svg?pin={}", any_name(), sha1_hex(std::to_string(random())));
  });
  std::vector<std::string> pins;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::string name = any_name();
    const auto repo = store.find_repo(name);
    const auto revisions = store.revisions((*repo)->id);
    pins.push_back(
        fmt::format("/badges/{}.svg?pin={}", name, (*revisions)[i % revisions->size()].sha));
  }
  std::size_t next = 0;
  const double known = answer_cost(site, [&] { return pins[next++ % pins.size()]; });
  const double page = answer_cost(site, [&] { return fmt::format("/models/{}/", any_name()); });
  const double before_first = cpu_seconds();
  site(get("/"));
  const double first = (cpu_seconds() - before_first) * 1e3;
  const double front = answer_cost(site, [] { return std::string("/"); });
  fmt::print("uncached answers with {} repos: badge with a random pin {:.0f}/s, with a known pin "
             "{:.0f}/s (goal 5000), "
             "model page {:.2f} ms (goal 2), front page {:.1f} ms (goal 10; the first since the "
             "start {:.0f} ms)\n",
             repos, 1e3 / badge, 1e3 / known, page, front, first);
  std::fflush(stdout);

  options.cache_bytes = 256U << 20U;
  const net::Handler cached = http::make_site(http::PublicStore(store), options);
  const std::string model = fmt::format("/models/{}/", name_of(1));
  const std::string badge_of = fmt::format("/badges/{}.svg", name_of(2));
  std::size_t turn = 0;
  const auto after_a_commit = [&](std::string target) {
    return answer_cost(cached, [&store, &turn, target = std::move(target)] {
      // Another repo's comparison is written: nothing of what is asked for.
      const auto other = store.find_repo(name_of(few_repos / 2));
      if (!store.put_base_comparisons((*other)->id,
                                      {{"org/base", std::to_string(turn++), "b", {}}}))
        std::exit(3);
      return target;
    });
  };
  const double model_after = after_a_commit(model);
  const double badge_after = after_a_commit(badge_of);
  const double feed_after = after_a_commit("/feed.atom");
  const double health_after = after_a_commit("/healthz");
  fmt::print("behind a commit elsewhere (its own cost included): model page {:.2f} ms, badge "
             "{:.2f} ms, feed {:.1f} ms, "
             "health {:.2f} ms\n",
             model_after, badge_after, feed_after, health_after);
  std::fflush(stdout);
}

void stored(const fs::path &folder, std::size_t repos) {
  track::FakeHub hub;
  auto store = open_store(folder / "stored.db");
  std::vector<std::string> names;
  std::vector<store::Watch> watches;
  for (std::size_t i = 0; i < few_repos; ++i) {
    hub.add(name_of(i));
    for (int pushed = 0; pushed < revisions_of_each; ++pushed)
      push(hub, i);
    names.push_back(name_of(i));
  }
  for (std::size_t i = 0; i < repos; ++i) {
    store::Watch watch;
    watch.repo = name_of(i);
    watches.push_back(watch);
  }
  if (!store->set_declared_watches({watches.begin(), watches.begin() + few_repos}))
    std::exit(3);
  Looker(*store, hub).look(names);
  const double small = step_cost(*store, hub);
  fill(*store, few_repos, repos);
  if (!store->set_declared_watches(watches))
    std::exit(3);
  const double large = step_cost(*store, hub);
  fmt::print("a revision: {:.2f} ms of CPU at {} repos, {:.2f} ms at {}: {:.2f} times (goal 1.3)\n",
             small * 1e3, few_repos, large * 1e3, repos, large / small);
  std::fflush(stdout);
  answers(*store, repos);
}

/// The schedule alone, and the start of a tracker, with many watches.
void watch_many(const fs::path &folder, std::size_t count) {
  track::Schedule schedule({}, 1);
  track::Moment time{};
  for (std::size_t i = 0; i < count; ++i)
    schedule.add({name_of(i)}, time);
  const std::size_t turns = std::min<std::size_t>(count, 2000);
  const double cpu = cpu_seconds();
  for (std::size_t i = 0; i < turns; ++i) {
    const auto key = schedule.take_due(time);
    static_cast<void>(schedule.next_due());
    schedule.ended(*key, {}, time);
  }
  const double turn = (cpu_seconds() - cpu) / static_cast<double>(turns);

  auto store = open_store(folder / "watches.db");
  std::vector<store::Watch> watches(count);
  for (std::size_t i = 0; i < count; ++i)
    watches[i].repo = name_of(i);
  if (!store->set_declared_watches(watches))
    std::exit(3);
  watches.clear();
  watches.shrink_to_fit();
  track::FakeHub hub;
  track::FakeHub code_hub;
  track::Listeners listeners;
  listeners.log = [](track::LogLevel, const std::string &) {};
  Network network;
  track::TrackOptions options = track_options();
  track::Tracker tracker(network.context().get_executor(), hub, code_hub, *store, stages(), options,
                         std::move(listeners));
  const Clock::time_point start = Clock::now();
  if (!tracker.start())
    std::exit(3);
  const double started = seconds_since(start);
  const double looks_cpu = cpu_seconds();
  const auto looks = tracker.status().looks;
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto more = tracker.status().looks - looks;
  fmt::print("{} watches: start {:.2f} s, take_due + next_due + ended {:.1f} us, {:.0f} MB "
             "resident; first looks {:.2f} ms "
             "of CPU each\n",
             count, started, turn * 1e6, resident_megabytes(),
             (cpu_seconds() - looks_cpu) / static_cast<double>(std::max<std::size_t>(more, 1)) *
                 1e3);
  tracker.stop();
}

std::size_t number_of(const char *text) {
  std::size_t value = 0;
  const std::string_view all = text;
  std::from_chars(all.data(), all.data() + all.size(), value);
  return value;
}

} // namespace
} // namespace headwater

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(
        stderr, "usage: bench_scale DISK_FOLDER MEMORY_FOLDER INGEST_REPOS STORED_REPOS WATCHES\n");
    return 2;
  }
  const std::filesystem::path disk = argv[1];
  const std::filesystem::path memory = argv[2];
  if (const std::size_t repos = headwater::number_of(argv[3]); repos > 0)
    headwater::ingest(disk, repos);
  if (const std::size_t repos = headwater::number_of(argv[4]); repos > headwater::few_repos)
    headwater::stored(memory, repos);
  if (const std::size_t watches = headwater::number_of(argv[5]); watches > 0)
    headwater::watch_many(memory, watches);
  return 0;
}

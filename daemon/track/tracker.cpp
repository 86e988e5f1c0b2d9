#include "daemon/track/tracker.hpp"

#include "daemon/track/catch_up.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

namespace headwater::track {
namespace {

constexpr std::chrono::seconds longest_wait_for_a_look{50};

} // namespace

Tracker::Tracker(boost::asio::any_io_executor executor, hub::Client &hub, hub::Client &code_hub,
                 store::Store &store, Stages stages, TrackOptions options, Listeners listeners)
    : options_(std::move(options)), stages_(std::move(stages)),
      pool_(std::max(1U, options_.threads)),
      context_{hub, code_hub, store, pool_, options_, stages_, std::move(listeners.log), {}},
      strand_(boost::asio::make_strand(executor)), timer_(strand_),
      schedule_(options_.schedule, options_.seed) {
  context_.recorded = [this, tell = std::move(listeners.recorded)](const Recorded &recorded) {
    if (tell)
      tell(recorded);
    bring_dependants(recorded.repo);
  };
}

Tracker::~Tracker() {
  stop();
}

Result<void> Tracker::start() {
  return sync_watches();
}

Result<void> Tracker::sync_watches() {
  const Result<std::vector<store::Watch>> watches = context_.store.watches();
  if (!watches)
    return std::unexpected(watches.error());
  std::set<Key> wanted;
  for (const store::Watch &watch : *watches)
    wanted.insert({watch.repo, watch.branch});
  {
    const std::lock_guard lock(mutex_);
    for (const Key &key : schedule_.keys())
      if (!wanted.contains(key)) {
        schedule_.remove(key);
        settled_.erase(key);
      }
    for (const Key &key : wanted)
      schedule_.add(key, std::chrono::steady_clock::now());
    context_.watched = schedule_.size();
  }
  wake();
  return {};
}

bool Tracker::check_now(const std::string &repo, const std::string &branch, bool is_hint) {
  {
    const std::lock_guard lock(mutex_);
    const Key key{repo, branch};
    if (!schedule_.bring_forward(key, std::chrono::steady_clock::now(), is_hint))
      return false;
    settled_.erase(key);
  }
  wake();
  return true;
}

void Tracker::check_all_now() {
  {
    const std::lock_guard lock(mutex_);
    for (const Key &key : schedule_.keys())
      schedule_.bring_forward(key, std::chrono::steady_clock::now(), false);
    settled_.clear();
  }
  wake();
}

Result<bool> Tracker::forget(const std::string &repo) {
  {
    // No look at it may end behind its erasure.
    std::unique_lock lock(mutex_);
    for (const Key &key : schedule_.keys())
      if (key.repo == repo) {
        schedule_.remove(key);
        settled_.erase(key);
      }
    const bool free = changed_.wait_for(lock, longest_wait_for_a_look, [&] {
      return context_.stopping ||
             std::ranges::none_of(in_hand_, [&](const Key &key) { return key.repo == repo; });
    });
    if (!free) {
      lock.unlock();
      static_cast<void>(sync_watches());
      return fail(Errc::transient, repo + " is being looked at: try again in a moment");
    }
  }
  Result<bool> known = false;
  {
    const std::lock_guard lock(context_.publishing);
    const Result<std::string> greatest = context_.store.greatest_modified();
    if (!greatest)
      return std::unexpected(greatest.error());
    std::vector<Advisory> stamped(1);
    const std::string now = context_.now();
    if (Result<void> done = stamp(stamped, now, *greatest); !done)
      return std::unexpected(done.error());
    known = context_.store.forget_repo(repo, now, stamped.front().modified);
  }
  if (!known)
    return known;
  if (Result<void> followed = sync_watches(); !followed)
    return std::unexpected(followed.error());
  return known;
}

void Tracker::set_interval(std::chrono::milliseconds interval) {
  const std::lock_guard lock(mutex_);
  schedule_.set_interval(interval);
}

void Tracker::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (context_.stopping)
      return;
    ++posted_;
  }
  changed_.notify_all();
  boost::asio::post(strand_, [this] {
    pump();
    const std::lock_guard lock(mutex_);
    --posted_;
    changed_.notify_all();
  });
}

/// Repos whose heads take something from `repo` are looked at too: what they take may have moved.
void Tracker::bring_dependants(const std::string &repo) {
  const Result<std::vector<store::Watch>> dependants = context_.store.dependants(repo);
  if (!dependants)
    return;
  for (const store::Watch &watch : *dependants)
    check_now(watch.repo, watch.branch, false);
}

void Tracker::look_at(const Key &key) {
  boost::asio::co_spawn(strand_, catch_up(context_, key),
                        [this, key](const std::exception_ptr &thrown, LookResult result) {
                          if (thrown) {
                            context_.log(LogLevel::error,
                                         key.repo + ": a look ended on a defect of ours");
                            result.failed = true;
                          }
                          ended(key, result);
                        });
}

void Tracker::pump() {
  const auto most = static_cast<std::size_t>(std::max(1, options_.concurrency));
  std::vector<Key> due;
  {
    const std::lock_guard lock(mutex_);
    timer_.cancel();
    if (context_.stopping)
      return;
    while (looking_ < most) {
      const std::optional<Key> key = schedule_.take_due(std::chrono::steady_clock::now());
      if (!key)
        break;
      ++looking_;
      in_hand_.insert(*key);
      due.push_back(*key);
    }
  }
  // Outside the lock: a look that ends at once takes it again.
  for (const Key &key : due)
    look_at(key);
  const std::lock_guard lock(mutex_);
  const std::optional<Moment> next = schedule_.next_due();
  if (!next || looking_ >= most || context_.stopping)
    return;
  ++posted_;
  timer_.expires_at(*next);
  timer_.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled)
      pump();
    const std::lock_guard after(mutex_);
    --posted_;
    changed_.notify_all();
  });
}

void Tracker::ended(const Key &key, const LookResult &result) {
  {
    const std::lock_guard lock(mutex_);
    const bool again = schedule_.ended(key, result, std::chrono::steady_clock::now());
    ++looks_;
    failed_ += result.failed ? 1 : 0;
    if (schedule_.contains(key) && !again && (result.failed || !result.look_again))
      settled_.insert(key);
    in_hand_.erase(key);
    --looking_;
    ++posted_;
  }
  pump();
  // Under the lock: the one who waits for the last handler may destroy this right behind it.
  const std::lock_guard last(mutex_);
  --posted_;
  changed_.notify_all();
}

bool Tracker::is_idle() const {
  return looking_ == 0 && settled_.size() == schedule_.size();
}

void Tracker::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return context_.stopping || is_idle(); });
}

TrackerStatus Tracker::status() const {
  const std::lock_guard lock(mutex_);
  return {schedule_.size(), looking_, settled_.size(), looks_, failed_};
}

void Tracker::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (context_.stopping.exchange(true) && looking_ == 0 && posted_ == 0)
      return;
    ++posted_;
  }
  changed_.notify_all();
  context_.hub.close();
  context_.code_hub.close();
  boost::asio::post(strand_, [this] {
    timer_.cancel();
    const std::lock_guard lock(mutex_);
    --posted_;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return looking_ == 0 && posted_ == 0; });
  lock.unlock();
  pool_.join();
}

} // namespace headwater::track

#pragma once

#include "daemon/http/public_store.hpp"
#include "feeds/badge.hpp"
#include "schemas/result.hpp"
#include "schemas/time.hpp"
#include "store/records.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace headwater::http {

/// The repo of that name at that branch ("" = main, else the one that is followed); nothing when
/// there is none.
Result<std::optional<store::Repo>> find_repo(store::Store &store, const std::string &name,
                                             const std::string &branch);

/// What the site's first page tells of all public repos, and those of them that it shows.
struct PublicRepos {
  std::int64_t count = 0;
  std::int64_t with_open = 0;     ///< with open advisories
  std::int64_t open = 0;          ///< open advisories of all
  std::vector<store::Repo> shown; ///< facts hold the name alone
};

/// All public repos in memory as lists show them, read once and from then on only where something
/// was written. Any thread may call it.
class RepoView {
public:
  explicit RepoView(PublicStore store) : store_(store) {}
  /// All public ones by name, or the `most` that changed last when there are more.
  Result<PublicRepos> newest(std::size_t most);
  /// Which of the ids are public. Errors: store.
  Result<std::function<bool(std::int64_t)>> public_ids();
  /// Which of the ids are public or lost. Errors: store.
  Result<std::function<bool(std::int64_t)>> told_ids();

private:
  using Ids = std::set<std::int64_t>;
  Result<void> refresh();
  void put(store::Repo repo);

  PublicStore store_;
  std::mutex mutex_;
  std::int64_t generation_ = 0;              ///< 0 = not read yet
  std::map<std::int64_t, store::Repo> rows_; ///< public ones
  Ids lost_;
  std::shared_ptr<const Ids> public_ = std::make_shared<Ids>();
  std::shared_ptr<const Ids> told_ = std::make_shared<Ids>();
};

/// How far a pin is behind its branch's head, and how much that matters.
struct PinReport {
  std::string status; ///< "current", "behind", "history rewritten", "unknown revision"
  std::string pin;    ///< in full, when it is known
  std::int64_t behind = 0;
  bool moved = false; ///< there are changes, and the head's content differs from the pin's
  Impact impact = Impact::cosmetic;
  Level level = Level::low;
  std::vector<std::string> advisories;  ///< of the deltas between pin and head, newest first
  std::vector<std::string> affected_by; ///< live records that list the pin itself
};
/// `pin` may be cut to seven hex digits where that names one revision. What it costs does not grow
/// with the records of the repo, but for `affected_by`, which reads them all.
Result<PinReport> check_pin(store::Store &store, const store::Repo &repo, const std::string &pin,
                            bool with_affected = true);
Result<PinReport> check_pin(const PublicStore &store, const PublicRepo &repo,
                            const std::string &pin, bool with_affected = true);

/// The records that anybody may read, with what the queries look up. Those whose repo is no longer
/// public have no repo: feeds leave them out.
struct PublicRecords {
  std::int64_t generation = 0;
  std::vector<store::AdvisoryRecord> records; ///< newest modified first
  std::unordered_map<std::string, std::size_t> by_id;
  std::unordered_map<std::string, std::vector<std::size_t>> by_version; ///< live ones alone
  std::unordered_map<std::string, std::vector<std::size_t>>
      by_package; ///< normalised address; live ones alone
};
/// A repo's address without scheme, trailing slashes and ".git", as OSV tools compare it.
std::string normalised_package(std::string_view address);
/// Reads them all.
Result<PublicRecords> load_public_records(const PublicStore &store, const std::string &hub_origin);

/// PublicRecords of the store's present generation, read once for each. Any thread may call it.
class RecordView {
public:
  RecordView(PublicStore store, std::string hub_origin)
      : store_(store), hub_origin_(std::move(hub_origin)) {}
  Result<std::shared_ptr<const PublicRecords>> current();

private:
  PublicStore store_;
  std::string hub_origin_;
  std::mutex mutex_;
  std::shared_ptr<const PublicRecords> held_;
};

} // namespace headwater::http

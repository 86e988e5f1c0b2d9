#pragma once

#include "schemas/time.hpp"
#include "store/records.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwater::store {

/// How a store is opened.
struct StoreOptions {
  std::string path;
  std::function<TimePoint()> clock; ///< the time that is written into records
  std::function<bool()> fault =
      {}; ///< asked before each write step; true makes it fail (tests of half-done work)
};

/// What has been seen, in SQLite (WAL, synchronous=FULL). Reads may come from any thread (a pool of
/// read connections); writes are serialised on one writer thread and block the caller until they
/// are durable. Errors: store, with the file's name and the mend.
class Store {
public:
  /// Opens or makes the database, migrates it (a copy is written beside it before each migration).
  /// A database of a newer version is refused and left as it is.
  static Result<std::unique_ptr<Store>> open(StoreOptions options);
  virtual ~Store() = default;

  // Watches and repos
  virtual Result<void> put_watch(const Watch &watch) = 0;
  /// A repo of which nothing was read goes with its watch.
  virtual Result<void> remove_watch(const std::string &repo, const std::string &branch) = 0;
  virtual Result<std::vector<Watch>> watches() = 0;
  /// Makes the declared watches equal to `declared`; what `watch add` wrote stays.
  virtual Result<void> set_declared_watches(const std::vector<Watch> &declared) = 0;
  virtual Result<std::vector<Repo>> repos() = 0;
  virtual Result<std::optional<Repo>> find_repo(const std::string &name,
                                                const std::string &branch = "main") = 0;
  /// The repo that was once called `name`, when it was renamed since.
  virtual Result<std::optional<Repo>> find_renamed(const std::string &name) = 0;
  virtual Result<Repo> ensure_repo(const std::string &name, const std::string &branch) = 0;

  // Revisions, oldest first
  virtual Result<std::vector<Revision>> revisions(std::int64_t repo_id) = 0;
  virtual Result<std::optional<Revision>> find_revision(std::int64_t repo_id,
                                                        const std::string &sha) = 0;
  /// The stored snapshot of a revision; contents of files whose text is no longer kept are absent.
  virtual Result<std::optional<Snapshot>> snapshot(std::int64_t repo_id,
                                                   const std::string &sha) = 0;
  /// Bytes kept under a content id (git blob id or LFS sha256) and part, so that an unchanged file
  /// is never fetched twice.
  virtual Result<std::optional<std::string>> content(const std::string &content_id,
                                                     FilePart part) = 0;

  /// Where bytes lie that were seen before, by their sha256: in this repo's other revisions, else
  /// in another repo that is public.
  virtual Result<std::map<std::string, KnownFile>>
  known_files(std::int64_t repo_id, const std::vector<std::string> &digests) = 0;

  // Repos that heads name
  virtual Result<std::vector<NamedRepo>> named_repos(std::int64_t repo_id) = 0;
  /// Watches of the repos whose head names `name`.
  virtual Result<std::vector<Watch>> dependants(const std::string &name) = 0;
  virtual Result<std::vector<BaseComparison>> base_comparisons(std::int64_t repo_id) = 0;
  /// In place of those that were there.
  virtual Result<void> put_base_comparisons(std::int64_t repo_id,
                                            const std::vector<BaseComparison> &comparisons) = 0;

  // Attempts (DESIGN.md rule 2)
  virtual Result<Attempt> begin_attempt(std::int64_t repo_id, const std::string &sha) = 0;
  virtual Result<void> fail_attempt(std::int64_t repo_id, const std::string &sha,
                                    const std::string &note, const std::string &next_try_at) = 0;
  /// The attempt ended on trouble that is not its own: it does not count.
  virtual Result<void> drop_attempt(std::int64_t repo_id, const std::string &sha) = 0;
  /// The attempts that never ended were ended from outside, without a word (kill -9, the OOM
  /// killer): each counts as killed.
  virtual Result<void> count_killed_attempts() = 0;
  /// A clean stop: none of the attempts that did not end counts.
  virtual Result<void> forget_unfinished_attempts() = 0;
  /// The oldest unreadable revision whose time to be read again has come by `now`.
  virtual Result<std::optional<Revision>> due_retry(std::int64_t repo_id,
                                                    const std::string &now) = 0;
  virtual Result<std::optional<Attempt>> find_attempt(std::int64_t repo_id,
                                                      const std::string &sha) = 0;

  // Writes of one step each, one transaction
  virtual Result<void> write_revision(const RevisionWrite &write) = 0;
  virtual Result<void> write_access(const AccessWrite &write) = 0;
  virtual Result<void> note_poll(std::int64_t repo_id, const std::string &at, RepoState state,
                                 const std::string &note) = 0;

  // Who may see what
  /// Nobody may see the repo any more, at whatever branch; what was public of it leaves its ids,
  /// withdrawn at `now` and with this `modified`. `lost`: it was not said to be private, it is not
  /// there for us.
  virtual Result<void> close_repo(std::int64_t repo_id, Visibility closed_or_lost,
                                  const std::string &now, const std::string &modified) = 0;
  /// Anybody may see it; its records, stamped anew, take the place of their withdrawn ids.
  virtual Result<void> open_repo(std::int64_t repo_id,
                                 const std::vector<AdvisoryRecord> &stamped) = 0;
  virtual Result<std::vector<Tombstone>> tombstones() = 0;
  /// Erases all that is known of a repo at whatever branch, its watches and the bytes that nothing
  /// else needs included. What was public leaves its ids, as close_repo has it. False when nothing
  /// was known.
  virtual Result<bool> forget_repo(const std::string &name, const std::string &now,
                                   const std::string &modified) = 0;

  // Deltas and advisories
  virtual Result<std::vector<DeltaRecord>> deltas(std::int64_t repo_id,
                                                  std::size_t limit) = 0; ///< newest first
  virtual Result<std::vector<DeltaRecord>>
  deltas_since(std::int64_t serial, std::size_t limit) = 0; ///< oldest first, all repos
  virtual Result<std::optional<DeltaRecord>> delta_to(std::int64_t repo_id,
                                                      const std::string &sha) = 0;
  virtual Result<std::vector<AdvisoryRecord>>
  advisories() = 0; ///< newest modified first, all repos
  virtual Result<std::vector<AdvisoryRecord>> advisories_of(std::int64_t repo_id) = 0;
  virtual Result<std::optional<AdvisoryRecord>> find_advisory(const std::string &id) = 0;
  /// Those that are not public yet: in no other answer of the store.
  virtual Result<std::vector<Advisory>> held_advisories(std::int64_t repo_id) = 0;
  /// Advisories alone: what was held and is public now, and what names it.
  virtual Result<void> write_advisories(std::int64_t repo_id,
                                        const std::vector<AdvisoryRecord> &advisories) = 0;
  /// Greatest `modified` ever written, "" when none was.
  virtual Result<std::string> greatest_modified() = 0;
  /// Rises with every committed write that changes what is served; a cheap key for response caches.
  virtual std::int64_t generation() = 0;

  /// Small durable values of the daemon (confirm counters, alarms): one transaction each.
  virtual Result<std::optional<std::string>> get_note(const std::string &key) = 0;
  virtual Result<void> put_note(const std::string &key, const std::string &value) = 0;

  /// A consistent copy of the database (backup).
  virtual Result<void> copy_to(const std::string &path) = 0;
  /// Ends the writer after the transaction in hand and checkpoints the log.
  virtual void close() = 0;
};

} // namespace headwater::store

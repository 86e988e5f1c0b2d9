#pragma once

#include "schemas/time.hpp"
#include "store/records.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::store {

/// How a store is opened.
struct StoreOptions {
  std::string path;
  std::function<TimePoint()> clock; ///< the time that is written into records
  std::function<bool()> fault =
      {}; ///< asked before each write step; true makes it fail (tests of half-done work)
  /// Told each statement that ran and how many rows it passed over without an index, from any
  /// thread (tests of what a step costs).
  std::function<void(std::string_view sql, std::int64_t scanned)> observe = {};
  /// Beside a daemon that has it open: nothing is written and nothing migrated. A database that is
  /// not there, or of another version, is refused.
  bool read_only = false;
};

/// What has been seen, in SQLite (WAL, synchronous=FULL). Reads may come from any thread (a pool of
/// read connections); writes are serialised on one writer thread and block the caller until they
/// are durable. Errors: store, with the file's name and the mend.
class Store {
public:
  /// Opens or makes the database, migrates it (a copy is written beside it before each migration).
  /// A database of a newer version is refused and left as it is, and so is an empty file: ours is
  /// made beside its place and moved there whole, so that an empty one is a lost one.
  static Result<std::unique_ptr<Store>> open(StoreOptions options);
  virtual ~Store() = default;

  // Watches and repos
  virtual Result<void> put_watch(const Watch &watch) = 0;
  /// A repo of which nothing was read goes with its watch.
  virtual Result<void> remove_watch(const std::string &repo, const std::string &branch) = 0;
  virtual Result<std::vector<Watch>> watches() = 0;
  virtual Result<std::optional<Watch>> find_watch(const std::string &repo,
                                                  const std::string &branch) = 0;
  /// Makes the declared watches equal to `declared`; what `watch add` wrote stays.
  virtual Result<void> set_declared_watches(const std::vector<Watch> &declared) = 0;
  /// All of them: for lists of everything, never for a step, a look or one repo's page.
  virtual Result<std::vector<Repo>> repos() = 0;
  virtual Result<std::optional<Repo>> get_repo(std::int64_t repo_id) = 0;
  /// The repo at main, else at the first of its branches by name.
  virtual Result<std::optional<Repo>> find_at_any_branch(const std::string &name) = 0;
  virtual Result<std::optional<Repo>> find_repo(const std::string &name,
                                                const std::string &branch = "main") = 0;
  /// The repo that was once called `name`, when it was renamed since.
  virtual Result<std::optional<Repo>> find_renamed(const std::string &name) = 0;
  virtual Result<Repo> ensure_repo(const std::string &name, const std::string &branch) = 0;

  // Revisions
  /// Oldest first, as lists show them: without plans and hashes.
  virtual Result<std::vector<Revision>> revisions(std::int64_t repo_id) = 0;
  /// The newest on the branch, before the revision `behind` where that is stored; with `with_tree`,
  /// the newest whose snapshot is kept.
  virtual Result<std::optional<Revision>> newest_revision(std::int64_t repo_id, bool with_tree,
                                                          const std::string &behind = {}) = 0;
  /// The newest revision with these facts, those two left out; "" when there is none.
  virtual Result<std::string> find_equal(std::int64_t repo_id, const std::string &fact_hash,
                                         const std::string &except, const std::string &or_this) = 0;
  /// Revisions whose id begins so, two at most.
  virtual Result<std::vector<Revision>> find_by_prefix(std::int64_t repo_id,
                                                       const std::string &prefix) = 0;
  /// From the revision of that sequence to the head.
  virtual Result<Distance> distance_from(std::int64_t repo_id, std::int64_t sequence) = 0;
  /// What the subjects of a revision hash to, as JSON text; "{}" when it was not read.
  virtual Result<std::string> subject_hashes(std::int64_t repo_id, const std::string &sha) = 0;
  virtual Result<std::optional<Revision>> find_revision(std::int64_t repo_id,
                                                        const std::string &sha) = 0;
  /// The stored snapshot of a revision; contents of files whose text is no longer kept are absent.
  virtual Result<std::optional<Snapshot>> snapshot(std::int64_t repo_id,
                                                   const std::string &sha) = 0;
  /// The files of a revision alone, by path; nothing when it was not read.
  virtual Result<std::optional<std::vector<FileEntry>>> files(std::int64_t repo_id,
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

  // Pins (DESIGN.md rule 7)
  /// Keeps the large texts of a revision that are still there, until the pin is removed. One that a
  /// person added stays that when a check asks for it; of those that checks asked for, the last 100
  /// of a repo are kept. Errors: bad_input when the revision was never read.
  virtual Result<void> put_pin(std::int64_t repo_id, const std::string &sha, bool asked) = 0;
  /// False when there was none.
  virtual Result<bool> remove_pin(std::int64_t repo_id, const std::string &sha) = 0;
  /// All, by repo and time.
  virtual Result<std::vector<Pin>> pins() = 0;

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
  /// A look that found all as it was. Its time alone is written, together with that of other looks:
  /// it may be a second late, and a look that nobody heard of is done again.
  virtual void note_look(std::int64_t repo_id, const std::string &at) = 0;

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
  virtual Result<std::optional<Tombstone>> find_tombstone(const std::string &id) = 0;
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
  /// The deltas of a revision: the one to it, and what changed at it without a commit; newest
  /// first.
  virtual Result<std::vector<DeltaRecord>> deltas_at(std::int64_t repo_id,
                                                     const std::string &sha) = 0;
  /// Over all repos, by commit date, newest first: those of repos that `take` agrees to.
  virtual Result<std::vector<DeltaRecord>>
  newest_deltas(const std::function<bool(std::int64_t repo_id)> &take, std::size_t limit) = 0;
  virtual Result<std::int64_t> newest_serial() = 0;
  virtual Result<std::vector<AdvisoryRecord>>
  advisories() = 0; ///< newest modified first, all repos
  /// Over all repos, newest change of substance first: those of repos that `take` agrees to.
  virtual Result<std::vector<OwnedAdvisory>>
  newest_advisories(const std::function<bool(std::int64_t repo_id)> &take, std::size_t limit) = 0;
  /// When the strongest open advisory of a repo last changed in substance, "" without one.
  virtual Result<std::string> open_since(std::int64_t repo_id) = 0;
  virtual Result<std::vector<AdvisoryRecord>> advisories_of(std::int64_t repo_id) = 0;
  virtual Result<std::optional<AdvisoryRecord>> find_advisory(const std::string &id) = 0;
  virtual Result<std::optional<OwnedAdvisory>> find_owned_advisory(const std::string &id) = 0;
  /// Those that are not public yet: in no other answer of the store.
  virtual Result<std::vector<Advisory>> held_advisories(std::int64_t repo_id) = 0;
  /// Advisories alone: what was held and is public now, and what names it.
  virtual Result<void> write_advisories(std::int64_t repo_id,
                                        const std::vector<AdvisoryRecord> &advisories) = 0;
  /// Greatest `modified` ever written, "" when none was.
  virtual Result<std::string> greatest_modified() = 0;
  /// Rises with every committed write that changes what is served; a cheap key for response caches.
  virtual std::int64_t generation() = 0;
  /// The generation of the last write that may have changed what is served of one repo.
  virtual std::int64_t generation_of(std::int64_t repo_id) = 0;
  /// What was written behind a generation.
  virtual Touched touched_since(std::int64_t generation) = 0;

  /// Small durable values of the daemon (confirm counters, alarms): one transaction each.
  virtual Result<std::optional<std::string>> get_note(const std::string &key) = 0;
  virtual Result<void> put_note(const std::string &key, const std::string &value) = 0;

  /// A consistent copy of the database (backup): written beside its place, checked, made durable
  /// and moved there. Errors: bad_input when something is there that is no copy of ours, or the
  /// database itself; store.
  virtual Result<void> copy_to(const std::string &path) = 0;
  /// The first damage that a read met since the start, with the mend; "" when none did.
  virtual std::string damage() = 0;
  /// Ends the writer after the transaction in hand and checkpoints the log.
  virtual void close() = 0;
};

} // namespace headwater::store

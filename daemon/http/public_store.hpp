#pragma once

#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"
#include "store/records.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headwater::http {

/// A repo that anybody may see. Only a PublicStore gives one.
class PublicRepo : public store::Repo {
public:
  /// The store's generation before it was found.
  std::int64_t generation() const { return generation_; }

private:
  friend class PublicStore;
  PublicRepo(store::Repo repo, std::int64_t generation)
      : store::Repo(std::move(repo)), generation_(generation) {}
  std::int64_t generation_;
};

/// Deltas of public repos, and how far the stream of all of them was read.
struct PublicDeltas {
  std::vector<store::DeltaRecord> records;
  std::int64_t read_to = 0;
  bool more = false;
};

/// How a repo differs from its bases.
struct PublicComparisons {
  std::vector<store::BaseComparison> shown; ///< with bases that are public themselves
  /// Ids of all bases: it says something else when one of them changes its name or who may see it.
  std::vector<std::int64_t> asked;
};

/// What has been seen, as far as anybody may see it: everything that is served to the public, sent
/// to it or exported is read through this, and it can give nothing else (DESIGN.md, Visibility).
/// What a repo holds is read again to be public after it was read: a repo that closes in between
/// gives nothing. Thread-safe as the store is.
class PublicStore {
public:
  explicit PublicStore(store::Store &store) : store_(store) {}

  /// See Store::generation.
  std::int64_t generation() const { return store_.generation(); }
  /// See Store::generation_of.
  std::int64_t generation_of(std::int64_t repo_id) const { return store_.generation_of(repo_id); }
  /// See Store::newest_serial.
  Result<std::int64_t> newest_serial() const { return store_.newest_serial(); }
  /// All of them: for lists of everything, never for one page.
  Result<std::vector<PublicRepo>> repos() const;
  /// The repo of that name at that branch ("" = main, else the one that is followed).
  Result<std::optional<PublicRepo>> find_repo(const std::string &name,
                                              const std::string &branch) const;
  /// The repo that was once called `name`.
  Result<std::optional<PublicRepo>> find_renamed(const std::string &name) const;
  /// True for a repo that was public, and that upstream has no longer for anybody: the name and
  /// that it is gone are all that is told of it.
  Result<bool> is_gone(const std::string &name) const;

  Result<std::vector<store::Revision>> revisions(const PublicRepo &repo) const;
  Result<std::optional<store::Revision>> find_revision(const PublicRepo &repo,
                                                       const std::string &sha) const;
  /// See Store::find_by_prefix.
  Result<std::vector<store::Revision>> find_by_prefix(const PublicRepo &repo,
                                                      const std::string &prefix) const;
  /// See Store::distance_from.
  Result<store::Distance> distance_from(const PublicRepo &repo, std::int64_t sequence) const;
  /// The tree of a revision, empty when it was not read.
  Result<std::vector<FileEntry>> files(const PublicRepo &repo, const std::string &sha) const;
  Result<std::vector<store::DeltaRecord>> deltas(const PublicRepo &repo, std::size_t limit) const;
  /// See Store::deltas_at.
  Result<std::vector<store::DeltaRecord>> deltas_at(const PublicRepo &repo,
                                                    const std::string &sha) const;
  Result<std::vector<store::AdvisoryRecord>> advisories_of(const PublicRepo &repo) const;
  /// See Store::open_since.
  Result<std::string> open_since(const PublicRepo &repo) const;
  /// By the names that the bases have now.
  Result<PublicComparisons> base_comparisons(const PublicRepo &repo) const;

  /// By commit date, newest first, of the public repos among those that `among` agrees to, which
  /// only saves looking at others.
  Result<std::vector<store::DeltaRecord>>
  newest_deltas(const std::function<bool(std::int64_t repo_id)> &among, std::size_t limit) const;
  /// Newest change of substance first, of the public repos among those that `among` agrees to; of a
  /// lost one what says that it is gone.
  Result<std::vector<store::AdvisoryRecord>>
  newest_advisories(const std::function<bool(std::int64_t repo_id)> &among,
                    std::size_t limit) const;

  /// All records, newest modified first. One whose repo closed is its id and its times alone,
  /// withdrawn, without a repo.
  Result<std::vector<store::AdvisoryRecord>> records() const;
  /// The advisory when the repo that it is of is public, and is still the one that it was.
  Result<std::optional<store::OwnedAdvisory>> find_owned_advisory(const std::string &id) const;
  /// True when the id is or was one of ours: records() says whether it is told.
  Result<bool> knows_record(const std::string &id) const;
  /// See find_owned_advisory.
  Result<std::optional<store::AdvisoryRecord>> find_advisory(const std::string &id) const;
  /// At most `limit` of the stream of deltas behind `serial`, oldest first.
  Result<PublicDeltas> deltas_since(std::int64_t serial, std::size_t limit) const;

private:
  friend class RepoView;
  /// The repo of an id when it is public, or lost.
  Result<std::optional<store::Repo>> find_told(std::int64_t repo_id) const;
  Result<bool> still_public(const PublicRepo &repo) const;
  template <class T> Result<T> if_still_public(const PublicRepo &repo, Result<T> read) const;

  store::Store &store_;
};

} // namespace headwater::http

#include "daemon/http/public_store.hpp"

#include "daemon/http/lookup.hpp"
#include "daemon/http/visibility.hpp"
#include "feeds/osv.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace headwater::http {
namespace {

/// A record that was public: what is left of it.
store::AdvisoryRecord withdrawn(const store::Tombstone &tombstone) {
  store::AdvisoryRecord record;
  record.advisory.id = tombstone.id;
  record.advisory.published = tombstone.published;
  record.advisory.modified = tombstone.modified;
  record.advisory.substance_at = tombstone.modified;
  record.advisory.withdrawn = tombstone.withdrawn;
  record.osv_json = feeds::render_withdrawn(tombstone.id, tombstone.published, tombstone.modified,
                                            tombstone.withdrawn);
  return record;
}

/// Says nothing but that the repo is gone.
bool tells_gone_alone(const Advisory &advisory) {
  return advisory.kinds.size() == 1 && advisory.kinds.front() == "access.gone";
}

/// Whose records may be told: a repo is who its identity says, since its name may have passed to
/// another.
struct Names {
  std::set<std::string> names;
  std::set<std::string> identities;
  bool holds(const Advisory &advisory, const std::set<std::string> &known) const {
    if (!advisory.identity.empty() && known.contains(advisory.identity))
      return identities.contains(advisory.identity);
    return names.contains(advisory.repo);
  }
};

} // namespace

Result<bool> PublicStore::still_public(const PublicRepo &repo) const {
  if (store_.generation() == repo.generation())
    return true;
  const Result<std::optional<store::Repo>> now = store_.find_repo(repo.name, repo.branch);
  if (!now)
    return std::unexpected(now.error());
  return *now && (*now)->id == repo.id && may_show(**now);
}

template <class T>
Result<T> PublicStore::if_still_public(const PublicRepo &repo, Result<T> read) const {
  if (!read)
    return read;
  const Result<bool> is = still_public(repo);
  if (!is)
    return std::unexpected(is.error());
  return *is ? std::move(read) : Result<T>(T());
}

Result<std::vector<PublicRepo>> PublicStore::repos() const {
  const std::int64_t generation = store_.generation();
  Result<std::vector<store::Repo>> all = store_.repos();
  if (!all)
    return std::unexpected(all.error());
  std::vector<PublicRepo> shown;
  for (store::Repo &repo : *all)
    if (may_show(repo))
      shown.push_back(PublicRepo(std::move(repo), generation));
  return shown;
}

Result<std::optional<PublicRepo>> PublicStore::find_repo(const std::string &name,
                                                         const std::string &branch) const {
  const std::int64_t generation = store_.generation();
  Result<std::optional<store::Repo>> repo = http::find_repo(store_, name, branch);
  if (!repo)
    return std::unexpected(repo.error());
  if (!*repo || !may_show(**repo))
    return std::optional<PublicRepo>();
  return std::optional(PublicRepo(std::move(**repo), generation));
}

Result<std::optional<PublicRepo>> PublicStore::find_renamed(const std::string &name) const {
  const std::int64_t generation = store_.generation();
  Result<std::optional<store::Repo>> repo = store_.find_renamed(name);
  if (!repo)
    return std::unexpected(repo.error());
  if (!*repo || !may_show(**repo))
    return std::optional<PublicRepo>();
  return std::optional(PublicRepo(std::move(**repo), generation));
}

Result<bool> PublicStore::is_gone(const std::string &name) const {
  const Result<std::optional<store::Repo>> repo = http::find_repo(store_, name, "");
  if (!repo)
    return std::unexpected(repo.error());
  return *repo && (*repo)->state == store::RepoState::gone &&
         (*repo)->visibility == store::Visibility::lost;
}

Result<std::vector<store::Revision>> PublicStore::revisions(const PublicRepo &repo) const {
  return if_still_public(repo, store_.revisions(repo.id));
}

Result<std::optional<store::Revision>> PublicStore::find_revision(const PublicRepo &repo,
                                                                  const std::string &sha) const {
  return if_still_public(repo, store_.find_revision(repo.id, sha));
}

Result<std::vector<FileEntry>> PublicStore::files(const PublicRepo &repo,
                                                  const std::string &sha) const {
  Result<std::optional<Snapshot>> snapshot = store_.snapshot(repo.id, sha);
  if (!snapshot)
    return std::unexpected(snapshot.error());
  std::vector<FileEntry> files;
  if (*snapshot)
    files = std::move((*snapshot)->files);
  return if_still_public(repo, Result<std::vector<FileEntry>>(std::move(files)));
}

Result<std::vector<store::DeltaRecord>> PublicStore::deltas(const PublicRepo &repo,
                                                            std::size_t limit) const {
  return if_still_public(repo, store_.deltas(repo.id, limit));
}

Result<std::vector<store::AdvisoryRecord>>
PublicStore::advisories_of(const PublicRepo &repo) const {
  return if_still_public(repo, store_.advisories_of(repo.id));
}

Result<std::vector<store::BaseComparison>>
PublicStore::base_comparisons(const PublicRepo &repo) const {
  Result<std::vector<store::BaseComparison>> bases =
      if_still_public(repo, store_.base_comparisons(repo.id));
  if (!bases)
    return bases;
  std::vector<store::BaseComparison> shown;
  for (store::BaseComparison &comparison : *bases) {
    const Result<std::optional<PublicRepo>> base = find_repo(comparison.base, "");
    if (!base)
      return std::unexpected(base.error());
    if (!*base)
      continue;
    comparison.base = (*base)->name;
    shown.push_back(std::move(comparison));
  }
  return shown;
}

Result<std::vector<store::AdvisoryRecord>> PublicStore::records() const {
  // Read again when a write came in between: what was public is not told beside what is not.
  for (int tries = 0;; ++tries) {
    const std::int64_t generation = store_.generation();
    Result<std::vector<store::AdvisoryRecord>> records = store_.advisories();
    const Result<std::vector<store::Tombstone>> buried = store_.tombstones();
    const Result<std::vector<store::Repo>> repos = store_.repos();
    if (!records || !buried || !repos)
      return std::unexpected(!records ? records.error() : !buried ? buried.error() : repos.error());
    if (store_.generation() != generation && tries < 3)
      continue;
    Names open;
    Names lost;
    std::set<std::string> known;
    for (const store::Repo &repo : *repos) {
      known.insert(repo.facts.identity);
      Names *names = may_show(repo)                               ? &open
                     : repo.visibility == store::Visibility::lost ? &lost
                                                                  : nullptr;
      if (names == nullptr)
        continue;
      names->names.insert(repo.name);
      names->identities.insert(repo.facts.identity);
    }
    std::set<std::string> dead;
    for (const store::Tombstone &tombstone : *buried)
      dead.insert(tombstone.id);
    std::erase_if(*records, [&](const store::AdvisoryRecord &record) {
      const Advisory &advisory = record.advisory;
      if (open.holds(advisory, known))
        return false;
      return !tells_gone_alone(advisory) || dead.contains(advisory.id) ||
             !lost.holds(advisory, known);
    });
    std::set<std::string> told;
    for (const store::AdvisoryRecord &record : *records)
      told.insert(record.advisory.id);
    for (const store::Tombstone &tombstone : *buried)
      if (!told.contains(tombstone.id))
        records->push_back(withdrawn(tombstone));
    std::ranges::stable_sort(
        *records, [](const store::AdvisoryRecord &one, const store::AdvisoryRecord &two) {
          return one.advisory.modified != two.advisory.modified
                     ? one.advisory.modified > two.advisory.modified
                     : one.advisory.id < two.advisory.id;
        });
    return records;
  }
}

Result<std::optional<store::AdvisoryRecord>>
PublicStore::find_advisory(const std::string &id) const {
  Result<std::optional<store::AdvisoryRecord>> record = store_.find_advisory(id);
  if (!record || !*record)
    return record;
  const Result<std::optional<PublicRepo>> repo =
      find_repo((*record)->advisory.repo, (*record)->advisory.branch);
  if (!repo)
    return std::unexpected(repo.error());
  if (!*repo)
    return std::optional<store::AdvisoryRecord>();
  return record;
}

Result<PublicDeltas> PublicStore::deltas_since(std::int64_t serial, std::size_t limit) const {
  Result<std::vector<store::DeltaRecord>> deltas = store_.deltas_since(serial, limit);
  if (!deltas)
    return std::unexpected(deltas.error());
  PublicDeltas read;
  read.read_to = serial;
  read.more = deltas->size() == limit;
  if (deltas->empty())
    return read;
  read.read_to = deltas->back().serial;
  const Result<std::vector<PublicRepo>> shown = repos();
  if (!shown)
    return std::unexpected(shown.error());
  std::set<std::pair<std::string, std::string>> names;
  for (const PublicRepo &repo : *shown)
    names.emplace(repo.name, repo.branch);
  for (store::DeltaRecord &record : *deltas)
    if (names.contains({record.delta.repo, record.delta.branch}))
      read.records.push_back(std::move(record));
  return read;
}

} // namespace headwater::http

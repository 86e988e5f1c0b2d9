#include "daemon/http/public_store.hpp"

#include "daemon/http/lookup.hpp"
#include "daemon/http/visibility.hpp"
#include "feeds/osv.hpp"

#include <algorithm>
#include <map>
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

/// True when the repo is the one that the advisory is of: not another that took its name or place.
bool is_of(const Advisory &advisory, const store::Repo &repo) {
  return advisory.identity.empty() ? advisory.repo == repo.name
                                   : advisory.identity == repo.facts.identity;
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
  if (store_.generation_of(repo.id) <= repo.generation())
    return true;
  const Result<std::optional<store::Repo>> now = store_.get_repo(repo.id);
  if (!now)
    return std::unexpected(now.error());
  return *now && may_show(**now);
}

Result<std::optional<store::Repo>> PublicStore::find_told(std::int64_t repo_id) const {
  Result<std::optional<store::Repo>> repo = store_.get_repo(repo_id);
  if (repo && *repo && !may_show(**repo) && (*repo)->visibility != store::Visibility::lost)
    repo->reset();
  return repo;
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
  Result<std::optional<std::vector<FileEntry>>> files = store_.files(repo.id, sha);
  if (!files)
    return std::unexpected(files.error());
  return if_still_public(
      repo, Result<std::vector<FileEntry>>(std::move(*files).value_or(std::vector<FileEntry>())));
}

Result<std::vector<store::Revision>> PublicStore::find_by_prefix(const PublicRepo &repo,
                                                                 const std::string &prefix) const {
  return if_still_public(repo, store_.find_by_prefix(repo.id, prefix));
}

Result<store::Distance> PublicStore::distance_from(const PublicRepo &repo,
                                                   std::int64_t sequence) const {
  return if_still_public(repo, store_.distance_from(repo.id, sequence));
}

Result<std::vector<store::DeltaRecord>> PublicStore::deltas_at(const PublicRepo &repo,
                                                               const std::string &sha) const {
  return if_still_public(repo, store_.deltas_at(repo.id, sha));
}

Result<std::string> PublicStore::open_since(const PublicRepo &repo) const {
  return if_still_public(repo, store_.open_since(repo.id));
}

Result<std::vector<store::DeltaRecord>> PublicStore::deltas(const PublicRepo &repo,
                                                            std::size_t limit) const {
  return if_still_public(repo, store_.deltas(repo.id, limit));
}

Result<std::vector<store::AdvisoryRecord>>
PublicStore::advisories_of(const PublicRepo &repo) const {
  return if_still_public(repo, store_.advisories_of(repo.id));
}

Result<PublicComparisons> PublicStore::base_comparisons(const PublicRepo &repo) const {
  Result<std::vector<store::BaseComparison>> bases =
      if_still_public(repo, store_.base_comparisons(repo.id));
  if (!bases)
    return std::unexpected(bases.error());
  PublicComparisons comparisons;
  for (store::BaseComparison &comparison : *bases) {
    const Result<std::optional<store::Repo>> base = http::find_repo(store_, comparison.base, "");
    if (!base)
      return std::unexpected(base.error());
    if (*base)
      comparisons.asked.push_back((*base)->id);
    if (!*base || !may_show(**base))
      continue;
    comparison.base = (*base)->name;
    comparisons.shown.push_back(std::move(comparison));
  }
  return comparisons;
}

Result<std::vector<store::DeltaRecord>>
PublicStore::newest_deltas(const std::function<bool(std::int64_t)> &among,
                           std::size_t limit) const {
  // Read again when a repo closed meanwhile: it gives nothing.
  for (int tries = 0;; ++tries) {
    const std::int64_t generation = store_.generation();
    std::map<std::int64_t, bool> shown;
    Result<void> looked;
    const auto take = [&](std::int64_t repo_id) {
      if (!among(repo_id))
        return false;
      const auto [at, is_new] = shown.try_emplace(repo_id, false);
      if (is_new) {
        const Result<std::optional<store::Repo>> repo = store_.get_repo(repo_id);
        if (!repo)
          looked = std::unexpected(repo.error());
        at->second = repo && *repo && may_show(**repo);
      }
      return at->second;
    };
    Result<std::vector<store::DeltaRecord>> deltas = store_.newest_deltas(take, limit);
    if (!looked)
      return std::unexpected(looked.error());
    bool is_closed = false;
    for (const auto &[repo_id, is_shown] : shown) {
      if (!is_shown || store_.generation_of(repo_id) <= generation)
        continue;
      const Result<std::optional<store::Repo>> now = store_.get_repo(repo_id);
      if (!now)
        return std::unexpected(now.error());
      is_closed = is_closed || !*now || !may_show(**now);
    }
    if (!is_closed)
      return deltas;
    if (tries == 3)
      return std::vector<store::DeltaRecord>();
  }
}

Result<std::vector<store::AdvisoryRecord>>
PublicStore::newest_advisories(const std::function<bool(std::int64_t)> &among,
                               std::size_t limit) const {
  // More are read when not all of them are told, until there are no more.
  for (std::size_t read = limit;; read *= 2) {
    Result<std::vector<store::OwnedAdvisory>> newest = store_.newest_advisories(among, read);
    if (!newest)
      return std::unexpected(newest.error());
    const bool more = newest->size() == read;
    std::map<std::int64_t, std::optional<store::Repo>> owners;
    std::vector<store::AdvisoryRecord> told;
    for (store::OwnedAdvisory &owned : *newest) {
      if (told.size() == limit)
        break;
      const auto [at, is_new] = owners.try_emplace(owned.repo_id);
      if (is_new) {
        Result<std::optional<store::Repo>> repo = find_told(owned.repo_id);
        if (!repo)
          return std::unexpected(repo.error());
        at->second = std::move(*repo);
      }
      const Advisory &advisory = owned.record.advisory;
      if (!at->second || !is_of(advisory, *at->second))
        continue;
      if (!may_show(*at->second)) {
        if (!tells_gone_alone(advisory))
          continue;
        const Result<std::optional<store::Tombstone>> dead = store_.find_tombstone(advisory.id);
        if (!dead)
          return std::unexpected(dead.error());
        if (*dead)
          continue;
      }
      told.push_back(std::move(owned.record));
    }
    if (told.size() == limit || !more)
      return told;
  }
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

Result<std::optional<store::OwnedAdvisory>>
PublicStore::find_owned_advisory(const std::string &id) const {
  Result<std::optional<store::OwnedAdvisory>> found = store_.find_owned_advisory(id);
  if (!found || !*found)
    return found;
  const Result<std::optional<store::Repo>> repo = store_.get_repo((*found)->repo_id);
  if (!repo)
    return std::unexpected(repo.error());
  if (!*repo || !may_show(**repo) || !is_of((*found)->record.advisory, **repo))
    return std::optional<store::OwnedAdvisory>();
  return found;
}

Result<bool> PublicStore::knows_record(const std::string &id) const {
  const Result<std::optional<store::OwnedAdvisory>> found = store_.find_owned_advisory(id);
  const Result<std::optional<store::Tombstone>> buried = store_.find_tombstone(id);
  if (!found || !buried)
    return std::unexpected(!found ? found.error() : buried.error());
  return *found || *buried;
}

Result<std::optional<store::AdvisoryRecord>>
PublicStore::find_advisory(const std::string &id) const {
  Result<std::optional<store::OwnedAdvisory>> found = find_owned_advisory(id);
  if (!found)
    return std::unexpected(found.error());
  if (!*found)
    return std::optional<store::AdvisoryRecord>();
  return std::optional(std::move((*found)->record));
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
  std::map<std::pair<std::string, std::string>, bool> shown;
  for (store::DeltaRecord &record : *deltas) {
    const auto [at, is_new] = shown.try_emplace({record.delta.repo, record.delta.branch}, false);
    if (is_new) {
      const Result<std::optional<store::Repo>> repo =
          store_.find_repo(record.delta.repo, record.delta.branch);
      if (!repo)
        return std::unexpected(repo.error());
      at->second = *repo && may_show(**repo);
    }
    if (at->second)
      read.records.push_back(std::move(record));
  }
  return read;
}

} // namespace headwater::http

#include "daemon/http/lookup.hpp"

#include "daemon/http/visibility.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace headwater::http {
namespace {

constexpr std::size_t shortest_pin = 7;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// What there is of a repo to compare a pin with.
struct PinSource {
  std::function<Result<std::vector<store::Revision>>(const std::string &prefix)> by_prefix;
  std::function<Result<store::Distance>(std::int64_t sequence)> distance;
  std::function<Result<std::vector<store::AdvisoryRecord>>()> advisories;
};

/// The one revision that the pin names, or nothing.
Result<std::optional<store::Revision>> find_pin(const PinSource &source, const std::string &pin) {
  if (pin.size() < shortest_pin || pin.size() > 40 || !is_hex(pin))
    return std::optional<store::Revision>();
  Result<std::vector<store::Revision>> found = source.by_prefix(pin);
  if (!found)
    return std::unexpected(found.error());
  if (found->size() != 1)
    return std::optional<store::Revision>();
  return std::optional(std::move(found->front()));
}

bool lists(const Advisory &advisory, const std::string &sha) {
  return std::ranges::any_of(advisory.affected, [&](const AffectedEntry &entry) {
    return std::ranges::find(entry.versions, sha) != entry.versions.end();
  });
}

Result<PinReport> report_pin(const PinSource &source, const store::Repo &repo,
                             const std::string &pin, bool with_affected) {
  const Result<std::optional<store::Revision>> pinned = find_pin(source, pin);
  if (!pinned)
    return std::unexpected(pinned.error());
  PinReport report;
  if (!*pinned) {
    report.status = "unknown revision";
    return report;
  }
  report.pin = (*pinned)->sha;
  const Result<store::Distance> distance = source.distance((*pinned)->sequence);
  if (!distance)
    return std::unexpected(distance.error());
  report.behind = distance->revisions;
  report.status = !(*pinned)->on_branch ? "history rewritten"
                  : report.behind == 0  ? "current"
                                        : "behind";
  bool same_content = false;
  if (report.behind > 0) {
    // All that happened in between may have been undone.
    const Result<std::vector<store::Revision>> head = source.by_prefix(repo.head);
    if (!head)
      return std::unexpected(head.error());
    same_content = head->size() == 1 && !head->front().fact_hash.empty() &&
                   head->front().fact_hash == (*pinned)->fact_hash;
  }
  for (const store::PassedDelta &delta : distance->deltas) {
    if (!delta.advisory_id.empty())
      report.advisories.push_back(delta.advisory_id);
    if (same_content)
      continue;
    // As of all their changes together: the impact is that of the highest.
    if (delta.level > report.level || (delta.level == report.level && delta.impact < report.impact))
      report.impact = delta.impact;
    report.level = std::max(report.level, delta.level);
  }
  report.moved = report.level > Level::low || report.impact != Impact::cosmetic;
  if (!with_affected)
    return report;
  const Result<std::vector<store::AdvisoryRecord>> advisories = source.advisories();
  if (!advisories)
    return std::unexpected(advisories.error());
  for (const store::AdvisoryRecord &record : *advisories)
    if (record.advisory.withdrawn.empty() && lists(record.advisory, (*pinned)->sha))
      report.affected_by.push_back(record.advisory.id);
  return report;
}

} // namespace

Result<std::optional<store::Repo>> find_repo(store::Store &store, const std::string &name,
                                             const std::string &branch) {
  return branch.empty() ? store.find_at_any_branch(name) : store.find_repo(name, branch);
}

Result<PinReport> check_pin(store::Store &store, const store::Repo &repo, const std::string &pin,
                            bool with_affected) {
  return report_pin(
      {[&](const std::string &prefix) { return store.find_by_prefix(repo.id, prefix); },
       [&](std::int64_t sequence) { return store.distance_from(repo.id, sequence); },
       [&] { return store.advisories_of(repo.id); }},
      repo, pin, with_affected);
}

Result<PinReport> check_pin(const PublicStore &store, const PublicRepo &repo,
                            const std::string &pin, bool with_affected) {
  return report_pin({[&](const std::string &prefix) { return store.find_by_prefix(repo, prefix); },
                     [&](std::int64_t sequence) { return store.distance_from(repo, sequence); },
                     [&] { return store.advisories_of(repo); }},
                    repo, pin, with_affected);
}

void RepoView::put(store::Repo repo) {
  const std::int64_t id = repo.id;
  if (repo.visibility == store::Visibility::lost)
    lost_.insert(id);
  if (!may_show(repo))
    return;
  // What lists do not show need not lie here for each repo.
  const std::string name = repo.facts.name;
  repo.facts = {};
  repo.facts.name = name;
  rows_.insert_or_assign(id, std::move(repo));
}

Result<void> RepoView::refresh() {
  // Read before the repos: a write in between only makes the next look read again.
  const std::int64_t generation = store_.generation();
  if (generation_ == generation)
    return {};
  store::Store &store = store_.store_;
  const store::Touched touched = store.touched_since(generation_);
  bool is_other = false;
  if (generation_ == 0 || touched.all) {
    Result<std::vector<store::Repo>> repos = store.repos();
    if (!repos)
      return std::unexpected(repos.error());
    rows_.clear();
    lost_.clear();
    for (store::Repo &repo : *repos)
      put(std::move(repo));
    is_other = true;
  } else {
    for (const std::int64_t repo_id : touched.repos) {
      Result<std::optional<store::Repo>> repo = store.get_repo(repo_id);
      if (!repo) {
        // What changed before it is not remembered: all is read again.
        generation_ = 0;
        return std::unexpected(repo.error());
      }
      const bool was_public = rows_.erase(repo_id) > 0;
      const bool was_lost = lost_.erase(repo_id) > 0;
      if (*repo)
        put(std::move(**repo));
      is_other =
          is_other || was_public != rows_.contains(repo_id) || was_lost != lost_.contains(repo_id);
    }
  }
  if (is_other) {
    auto shown = std::make_shared<Ids>();
    for (const auto &[id, repo] : rows_)
      shown->insert(shown->end(), id);
    auto told = std::make_shared<Ids>(*shown);
    told->insert(lost_.begin(), lost_.end());
    public_ = std::move(shown);
    told_ = std::move(told);
  }
  generation_ = generation;
  return {};
}

Result<PublicRepos> RepoView::newest(std::size_t most) {
  const std::lock_guard lock(mutex_);
  if (Result<void> fresh = refresh(); !fresh)
    return std::unexpected(fresh.error());
  PublicRepos all;
  std::vector<const store::Repo *> order;
  order.reserve(rows_.size());
  for (const auto &[id, repo] : rows_) {
    ++all.count;
    all.open += repo.open_advisories;
    all.with_open += repo.open_advisories > 0 ? 1 : 0;
    order.push_back(&repo);
  }
  const auto by_name = [](const store::Repo *a, const store::Repo *b) {
    return std::tie(a->name, a->branch) < std::tie(b->name, b->branch);
  };
  const auto by_change = [&](const store::Repo *a, const store::Repo *b) {
    return a->last_changed != b->last_changed ? a->last_changed > b->last_changed : by_name(a, b);
  };
  if (order.size() > most) {
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), by_change);
    order.resize(most);
  } else {
    std::ranges::sort(order, by_name);
  }
  for (const store::Repo *repo : order)
    all.shown.push_back(*repo);
  return all;
}

Result<std::function<bool(std::int64_t)>> RepoView::public_ids() {
  const std::lock_guard lock(mutex_);
  if (Result<void> fresh = refresh(); !fresh)
    return std::unexpected(fresh.error());
  return [ids = public_](std::int64_t id) { return ids->contains(id); };
}

Result<std::function<bool(std::int64_t)>> RepoView::told_ids() {
  const std::lock_guard lock(mutex_);
  if (Result<void> fresh = refresh(); !fresh)
    return std::unexpected(fresh.error());
  return [ids = told_](std::int64_t id) { return ids->contains(id); };
}

std::string normalised_package(std::string_view address) {
  if (const auto scheme = address.find("://"); scheme != std::string_view::npos)
    address.remove_prefix(scheme + 3);
  while (address.ends_with('/'))
    address.remove_suffix(1);
  if (address.ends_with(".git"))
    address.remove_suffix(4);
  while (address.ends_with('/'))
    address.remove_suffix(1);
  return std::string(address);
}

Result<PublicRecords> load_public_records(const PublicStore &store, const std::string &hub_origin) {
  PublicRecords view;
  // Read before the records: a write in between only makes the next look read again.
  view.generation = store.generation();
  Result<std::vector<store::AdvisoryRecord>> records = store.records();
  if (!records)
    return std::unexpected(records.error());
  view.records = std::move(*records);
  for (std::size_t i = 0; i < view.records.size(); ++i) {
    const Advisory &advisory = view.records[i].advisory;
    view.by_id.emplace(advisory.id, i);
    if (!advisory.withdrawn.empty())
      continue;
    view.by_package[normalised_package(hub_origin + "/" + advisory.repo)].push_back(i);
    std::set<std::string> versions;
    for (const AffectedEntry &entry : advisory.affected)
      versions.insert(entry.versions.begin(), entry.versions.end());
    for (const std::string &version : versions)
      view.by_version[version].push_back(i);
  }
  return view;
}

Result<std::shared_ptr<const PublicRecords>> RecordView::current() {
  const std::lock_guard lock(mutex_);
  if (held_ && held_->generation == store_.generation())
    return held_;
  Result<PublicRecords> loaded = load_public_records(store_, hub_origin_);
  if (!loaded)
    return std::unexpected(loaded.error());
  held_ = std::make_shared<const PublicRecords>(std::move(*loaded));
  return held_;
}

} // namespace headwater::http

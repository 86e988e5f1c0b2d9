#include "daemon/http/lookup.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace headwater::http {
namespace {

constexpr std::size_t shortest_pin = 7;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// The one revision that the pin names, or null.
const store::Revision *find_pin(const std::vector<store::Revision> &revisions,
                                const std::string &pin) {
  if (pin.size() < shortest_pin || pin.size() > 40 || !is_hex(pin))
    return nullptr;
  const store::Revision *found = nullptr;
  for (const store::Revision &revision : revisions) {
    if (!revision.sha.starts_with(pin))
      continue;
    if (found != nullptr)
      return nullptr;
    found = &revision;
  }
  return found;
}

bool lists(const Advisory &advisory, const std::string &sha) {
  return std::ranges::any_of(advisory.affected, [&](const AffectedEntry &entry) {
    return std::ranges::find(entry.versions, sha) != entry.versions.end();
  });
}

/// What there is of a repo to compare a pin with.
struct PinSource {
  Result<std::vector<store::Revision>> revisions;
  Result<std::vector<store::DeltaRecord>> deltas;
  Result<std::vector<store::AdvisoryRecord>> advisories;
};

Result<PinReport> report_pin(const PinSource &facts, const store::Repo &repo,
                             const std::string &pin) {
  const Result<std::vector<store::Revision>> &revisions = facts.revisions;
  const Result<std::vector<store::DeltaRecord>> &deltas = facts.deltas;
  const Result<std::vector<store::AdvisoryRecord>> &advisories = facts.advisories;
  if (!revisions || !deltas || !advisories)
    return std::unexpected(!revisions ? revisions.error()
                           : !deltas  ? deltas.error()
                                      : advisories.error());
  PinReport report;
  const store::Revision *pinned = find_pin(*revisions, pin);
  if (pinned == nullptr) {
    report.status = "unknown revision";
    return report;
  }
  report.pin = pinned->sha;
  std::set<std::string> later;
  std::string head_facts;
  for (const store::Revision &revision : *revisions) {
    if (revision.sha == repo.head)
      head_facts = revision.fact_hash;
    if (revision.on_branch && revision.sequence > pinned->sequence)
      later.insert(revision.sha);
  }
  report.behind = static_cast<std::int64_t>(later.size());
  report.status = !pinned->on_branch ? "history rewritten" : later.empty() ? "current" : "behind";

  std::vector<Change> changes;
  for (const store::DeltaRecord &record : *deltas) {
    if (!later.contains(record.delta.to))
      continue;
    changes.insert(changes.end(), record.delta.changes.begin(), record.delta.changes.end());
    if (!record.advisory_id.empty())
      report.advisories.push_back(record.advisory_id);
  }
  // All that happened in between may have been undone.
  const bool same_content = !head_facts.empty() && head_facts == pinned->fact_hash;
  if (!same_content) {
    report.level = level_of(changes);
    report.impact = impact_of(changes);
    report.moved = report.level > Level::low || report.impact != Impact::cosmetic;
  }

  for (const store::AdvisoryRecord &record : *advisories)
    if (record.advisory.withdrawn.empty() && lists(record.advisory, pinned->sha))
      report.affected_by.push_back(record.advisory.id);
  return report;
}

constexpr std::size_t all_deltas = std::numeric_limits<std::int32_t>::max();

} // namespace

Result<std::optional<store::Repo>> find_repo(store::Store &store, const std::string &name,
                                             const std::string &branch) {
  Result<std::optional<store::Repo>> repo = store.find_repo(name, branch.empty() ? "main" : branch);
  if (!repo || *repo || !branch.empty())
    return repo;
  Result<std::vector<store::Repo>> repos = store.repos();
  if (!repos)
    return std::unexpected(repos.error());
  for (store::Repo &candidate : *repos)
    if (candidate.name == name)
      return std::optional(std::move(candidate));
  return std::optional<store::Repo>();
}

Result<PinReport> check_pin(store::Store &store, const store::Repo &repo, const std::string &pin) {
  return report_pin(
      {store.revisions(repo.id), store.deltas(repo.id, all_deltas), store.advisories_of(repo.id)},
      repo, pin);
}

Result<PinReport> check_pin(const PublicStore &store, const PublicRepo &repo,
                            const std::string &pin) {
  return report_pin(
      {store.revisions(repo), store.deltas(repo, all_deltas), store.advisories_of(repo)}, repo,
      pin);
}

std::string open_since(const std::vector<store::AdvisoryRecord> &advisories) {
  Level strongest = Level::low;
  std::string since;
  for (const auto &[advisory, osv] : advisories) {
    if (advisory.state != AdvisoryState::open || !advisory.withdrawn.empty())
      continue;
    if (advisory.level > strongest ||
        (advisory.level == strongest && advisory.substance_at > since)) {
      strongest = advisory.level;
      since = advisory.substance_at;
    }
  }
  return since;
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

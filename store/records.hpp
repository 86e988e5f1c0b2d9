#pragma once

#include "schemas/advisory.hpp"
#include "schemas/change.hpp"
#include "schemas/repo.hpp"
#include "schemas/snapshot.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headwater::store {

/// A repo that is followed at a branch. Declared ones come from the config, the others from `watch
/// add`.
struct Watch {
  std::string repo;
  std::string branch = "main";
  bool declared = false;
  bool publish = false;       ///< show it although an anonymous client could not read it
  std::string history = "20"; ///< "all", "none" or a number: revisions read on the first watch
  friend bool operator==(const Watch &, const Watch &) = default;
};

/// How upstream answered for a repo, as people are told.
/// `gone` only of what was once read, else `not found`.
enum class RepoState : std::uint8_t {
  pending,
  ok,
  gated,
  gone,
  disabled,
  unreadable,
  waiting,
  not_found
};
std::string_view to_string(RepoState state);

/// Whether anybody may see a repo upstream. It closes with the first answer that says so and opens
/// with the confirmed one.
enum class Visibility : std::uint8_t {
  unseen, ///< nobody without a token is known to have read it
  open,   ///< an anonymous client could read it
  closed, ///< it is private, gated or disabled
  lost,   ///< it was open, and upstream has no such repo for us any more
};
std::string_view to_string(Visibility visibility);

/// One followed repo on one branch, with what is known about it now.
struct Repo {
  std::int64_t id = 0;
  std::string name;
  std::string branch = "main";
  RepoFacts facts;
  RepoState state = RepoState::pending;
  std::string state_note = {};    ///< a sentence: what is wrong and what to do
  bool anonymous_can_read = true; ///< as it was told last
  Visibility visibility = Visibility::unseen;
  bool publish = false;
  bool watched = true;
  std::string head; ///< newest revision read; "" before the first
  std::string head_date = {};
  std::string last_polled = {};
  std::string last_changed = {}; ///< commit date of the last delta that was not cosmetic
  std::int64_t revision_count = 0;
  std::int64_t open_advisories = 0;
  Level open_level = Level::low; ///< highest level of its open advisories
  /// True when its pages, badges and records are public (DESIGN.md, The public listener).
  bool is_public() const { return visibility == Visibility::open || publish; }
};

enum class RevisionStatus : std::uint8_t { read, unreadable, quarantined };
std::string_view to_string(RevisionStatus status);

/// One revision in the order of the hub's commit list.
struct Revision {
  std::int64_t sequence = 0; ///< per repo and branch, rising
  std::string sha;
  std::string title;
  std::string date;
  RevisionStatus status = RevisionStatus::read;
  std::string note = {};      ///< why it is unreadable
  bool on_branch = true;      ///< false once history was rewritten past it
  bool has_tree = false;      ///< its snapshot is kept
  std::string plan_json = {}; ///< the plan of this revision, "" when there is none; not in lists
  std::string fact_hash = {}; ///< equal for revisions with equal content
  std::string subject_hashes_json =
      "{}"; ///< {"template": hash, ...}: which subjects stand as they stood; not in lists
  Level delta_level = Level::low;
  std::int64_t change_count = 0;
};

/// A stored delta with its place in the one stream of deltas.
struct DeltaRecord {
  std::int64_t serial = 0; ///< rises by one per delta over all repos; feeds resume by it
  Delta delta;
  std::string recorded_at;
  std::string advisory_id = {};
};

/// One delta between a pin and its branch's head, as far as it counts there.
struct PassedDelta {
  Level level = Level::low;
  Impact impact = Impact::cosmetic;
  std::string advisory_id;
  friend bool operator==(const PassedDelta &, const PassedDelta &) = default;
};

/// What lies between a revision and the head of its branch.
struct Distance {
  std::int64_t revisions = 0;
  std::vector<PassedDelta> deltas; ///< newest first
};

/// Which repos' records a write touched since a generation.
struct Touched {
  bool all = false; ///< more than single repos, or too long ago to say
  std::vector<std::int64_t> repos;
};

/// A revision that somebody depends on: what it needs is kept.
struct Pin {
  std::int64_t repo_id = 0;
  std::string repo;
  std::string branch;
  std::string sha;
  bool asked = false; ///< a check asked for it; else a person added it
  std::string at;
  friend bool operator==(const Pin &, const Pin &) = default;
};

/// A stored advisory: the value, and the OSV bytes as they are served.
struct AdvisoryRecord {
  Advisory advisory;
  std::string osv_json;
};

/// A record that was public and is so no longer: its id stays, its content is gone.
struct Tombstone {
  std::string id;
  std::string published;
  std::string modified;
  std::string withdrawn;
  friend bool operator==(const Tombstone &, const Tombstone &) = default;
};

/// An advisory with the repo that it is of.
struct OwnedAdvisory {
  std::int64_t repo_id = 0;
  AdvisoryRecord record;
};

/// One attempt to read a revision, stored before it starts.
struct Attempt {
  std::string sha;
  int unfinished = 0; ///< started and never ended: two of them quarantine the revision
  int failed = 0;     ///< ended with an error; retried with backoff
  std::string next_try_at = {};
  std::string note = {};
  int killed = 0; ///< ended from outside, without a word: five in a row quarantine it too
};

/// A repo that a head names.
struct NamedRepo {
  std::string role; ///< "code": it takes code from there; "base": it says that it was made of it
  std::string name;
  friend bool operator==(const NamedRepo &, const NamedRepo &) = default;
};

/// How a head differs from a base model that is followed too.
struct BaseComparison {
  std::string base; ///< "org/name" as the card has it
  std::string sha;
  std::string base_sha;
  std::vector<Change> changes;
  friend bool operator==(const BaseComparison &, const BaseComparison &) = default;
};

/// Everything that one revision adds, written in one transaction and idempotent by (repo, branch,
/// sha).
struct RevisionWrite {
  std::int64_t repo_id = 0;
  Revision revision;
  std::shared_ptr<const Snapshot> snapshot; ///< null for an unreadable revision
  bool has_delta = false;
  Delta delta = {};
  std::vector<AdvisoryRecord> advisories = {};  ///< new and touched ones, rendered
  std::vector<std::string> dropped = {};        ///< held advisories of which nothing is left
  std::vector<NamedRepo> names = {};            ///< kept when the revision is the head
  std::vector<std::string> rewritten_away = {}; ///< revisions that are no longer on the branch
  std::string next_try_at = {};                 ///< when an unreadable one is read again
};

/// What changed about a repo without a commit (gate, gone, renamed): facts, state and perhaps a
/// delta and advisories.
struct AccessWrite {
  std::int64_t repo_id = 0;
  RepoFacts facts;
  RepoState state = RepoState::ok;
  std::string state_note = {};
  bool has_delta = false;
  Delta delta = {};
  std::vector<AdvisoryRecord> advisories = {};
  std::vector<std::string> dropped = {}; ///< held advisories of which nothing is left
};

} // namespace headwater::store

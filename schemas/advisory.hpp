#pragma once

#include "schemas/change.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace headwater {

/// Where an entry or an advisory stands.
enum class AdvisoryState : std::uint8_t { open, reverted, superseded, restored };
std::string_view to_string(AdvisoryState state);
std::optional<AdvisoryState> advisory_state_from(std::string_view word);

/// One subject that a delta changed: from which revision to which, and all revisions between.
struct AffectedEntry {
  std::string subject;
  AdvisoryState state = AdvisoryState::open;
  std::string introduced;
  std::string fixed = {};            ///< revision that reverts or supersedes it
  std::string last_affected = {};    ///< history rewritten, or access restored
  std::vector<std::string> versions; ///< every affected revision, oldest first
  std::vector<Change> changes;
  friend bool operator==(const AffectedEntry &, const AffectedEntry &) = default;
};

/// What a subscriber reads about one delta at medium or above (DESIGN.md, Advisories). Times are
/// RFC 3339 UTC.
struct Advisory {
  std::string id;
  std::string repo;
  std::string identity; ///< the hub's _id
  std::string branch = "main";
  std::string published;
  std::string modified;
  std::string substance_at; ///< last change of substance; drives feeds
  std::string withdrawn = {};
  std::string withdrawn_reason = {};
  std::string held_until = {}; ///< shown to nobody before this time; "" = public
  Impact impact = Impact::cosmetic;
  Level level = Level::low;
  std::vector<std::string> kinds;
  AdvisoryState state = AdvisoryState::open; ///< open while any entry is
  bool backfilled = false;
  bool introduced_is_lower_bound = false;
  std::string from;  ///< revision before the delta
  std::string to;    ///< introducing revision
  std::string title; ///< commit title of `to`
  std::vector<std::string> related = {};
  std::vector<AffectedEntry> affected;
  std::vector<PlanChange> plan_changes = {};
  friend bool operator==(const Advisory &, const Advisory &) = default;
};

/// PREFIX-YYYY-H (DESIGN.md): H = first 12 hex digits of SHA-256(origin NUL identity-or-name NUL
/// introducing [NUL branch]). `introducing` is the revision, or the day for an access change
/// without a commit.
std::string advisory_id(std::string_view prefix, std::string_view year_source, std::string_view now,
                        std::string_view origin, std::string_view identity_or_name,
                        std::string_view introducing, std::string_view branch);

/// Our own lossless form, for the store.
OrderedJson to_json(const Advisory &advisory);
Result<Advisory> advisory_from_json(const Json &json);

} // namespace headwater

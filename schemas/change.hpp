#pragma once

#include "schemas/json.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwater {

/// What kind of effect a change has, most pressing first.
enum class Impact : std::uint8_t { breaking, security, access, behaviour, cost, cosmetic };
/// How much it matters; advisories from medium.
enum class Level : std::uint8_t { low, medium, high, critical };

std::string_view to_string(Impact impact);
std::string_view to_string(Level level);
std::optional<Impact> impact_from(std::string_view word);
std::optional<Level> level_from(std::string_view word);

/// A row of the table of change kinds: the only place where a kind's impact and level are decided.
struct ChangeKind {
  std::string_view kind;    ///< dotted and stable: "template.generation-prompt"
  std::string_view subject; ///< of the closed list below
  Impact impact;
  Level level;
  std::string_view meaning; ///< one sentence for the docs
  std::string_view example;
};

/// All kinds, in the order of the docs.
std::span<const ChangeKind> change_kinds();
/// The row of a kind, or null.
const ChangeKind *find_change_kind(std::string_view kind);
/// The closed list of subjects: template, stop-set, sampling, tokenizer, config.<group>...,
/// weights, code, licence, access, history.
std::span<const std::string_view> subjects();

/// One fact: what changed between two revisions. `before` and `after` are compact JSON texts,
/// "null" for absent.
struct Change {
  std::string kind;
  std::string subject;
  Impact impact = Impact::cosmetic;
  Level level = Level::low;
  std::string path; ///< file, with "#/json/pointer" behind it for a key
  std::string before_json = "null";
  std::string after_json = "null";
  std::string explanation; ///< a sentence for a person, plain text, safe to show
  friend bool operator==(const Change &, const Change &) = default;
};

/// A change of a known kind, with the table's subject, impact and level. The kind must be in the
/// table.
Change make_change(std::string_view kind, std::string path, std::string before_json,
                   std::string after_json, std::string explanation);

/// One figure of the plan that moved.
struct PlanChange {
  std::string figure; ///< "kv_cache_bytes", "cards.L4 24 GB.serve", ...
  std::string before_json = "null";
  std::string after_json = "null";
  std::string sentence;
  friend bool operator==(const PlanChange &, const PlanChange &) = default;
};

/// All changes from one revision to the next on one branch.
struct Delta {
  std::string repo;
  std::string branch = "main";
  std::string from; ///< revision before
  std::string
      to; ///< revision that introduces the changes; == from for a change of access without a commit
  std::string date;  ///< commit date of `to`, RFC 3339 UTC; for access without a commit the time of
                     ///< the first confirming poll
  std::string title; ///< commit title of `to`
  std::vector<Change> changes; ///< strongest first
  std::string equals_revision =
      {}; ///< earlier revision with the same content: this one is a revert to it
  std::vector<PlanChange> plan_changes = {};
  bool backfilled = false;
  friend bool operator==(const Delta &, const Delta &) = default;
};

/// Highest level of the changes; low when there are none.
Level level_of(const std::vector<Change> &changes);
/// Impact of the highest change (ties: the order of Impact); cosmetic when there are none.
Impact impact_of(const std::vector<Change> &changes);
/// Sorts strongest first: by level, then impact, then kind and path.
void sort_changes(std::vector<Change> &changes);

OrderedJson to_json(const Change &change);
OrderedJson to_json(const PlanChange &change);
/// {"repo","branch","from","to","date","title","impact","level","advisory","reverts_to"?,"changes":[...],"plan_changes":[...]}
OrderedJson to_json(const Delta &delta);
Result<Change> change_from_json(const Json &json);
Result<Delta> delta_from_json(const Json &json);

} // namespace headwater

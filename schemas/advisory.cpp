#include "schemas/advisory.hpp"

#include "schemas/digest.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace headwater {
namespace {

constexpr std::array states{std::pair{AdvisoryState::open, std::string_view("open")},
                            std::pair{AdvisoryState::reverted, std::string_view("reverted")},
                            std::pair{AdvisoryState::superseded, std::string_view("superseded")},
                            std::pair{AdvisoryState::restored, std::string_view("restored")}};

std::string text_at(const Json &json, const char *key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool flag_at(const Json &json, const char *key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_boolean() && at->get<bool>();
}

std::vector<std::string> texts_at(const Json &json, const char *key) {
  std::vector<std::string> texts;
  if (const auto at = json.find(key); at != json.end() && at->is_array())
    for (const Json &item : *at)
      if (item.is_string())
        texts.push_back(item.get<std::string>());
  return texts;
}

/// The year of an RFC 3339 text as a number, 0 when there is none.
int year_of(std::string_view text) {
  if (text.size() < 4)
    return 0;
  int year = 0;
  for (const char c : text.substr(0, 4)) {
    if (c < '0' || c > '9')
      return 0;
    year = year * 10 + (c - '0');
  }
  return year;
}

OrderedJson to_json(const AffectedEntry &entry) {
  OrderedJson json;
  json["subject"] = entry.subject;
  json["state"] = to_string(entry.state);
  json["introduced"] = entry.introduced;
  json["fixed"] = entry.fixed;
  json["last_affected"] = entry.last_affected;
  json["versions"] = entry.versions;
  json["changes"] = OrderedJson::array();
  for (const Change &change : entry.changes)
    json["changes"].push_back(headwater::to_json(change));
  return json;
}

Result<AffectedEntry> entry_from_json(const Json &json) {
  if (!json.is_object())
    return fail(Errc::malformed, "a stored affected entry is not an object");
  AffectedEntry entry;
  entry.subject = text_at(json, "subject");
  const auto state = advisory_state_from(text_at(json, "state"));
  if (!state)
    return fail(Errc::malformed, "a stored affected entry has no state");
  entry.state = *state;
  entry.introduced = text_at(json, "introduced");
  entry.fixed = text_at(json, "fixed");
  entry.last_affected = text_at(json, "last_affected");
  entry.versions = texts_at(json, "versions");
  if (const auto at = json.find("changes"); at != json.end() && at->is_array()) {
    for (const Json &item : *at) {
      Result<Change> change = change_from_json(item);
      if (!change)
        return std::unexpected(change.error());
      entry.changes.push_back(std::move(*change));
    }
  }
  return entry;
}

} // namespace

std::string_view to_string(AdvisoryState state) {
  for (const auto &[value, word] : states)
    if (value == state)
      return word;
  return {};
}

std::optional<AdvisoryState> advisory_state_from(std::string_view word) {
  for (const auto &[value, text] : states)
    if (text == word)
      return value;
  return std::nullopt;
}

std::string advisory_id(std::string_view prefix, std::string_view year_source, std::string_view now,
                        std::string_view origin, std::string_view identity_or_name,
                        std::string_view introducing, std::string_view branch) {
  const int year = std::clamp(year_of(year_source), 2000, std::max(2000, year_of(now)));
  std::string material;
  material.append(origin).push_back('\0');
  material.append(identity_or_name).push_back('\0');
  material.append(introducing);
  if (branch != "main") {
    material.push_back('\0');
    material.append(branch);
  }
  return std::string(prefix) + "-" + std::to_string(year) + "-" +
         sha256_hex(material).substr(0, 12);
}

OrderedJson to_json(const Advisory &advisory) {
  OrderedJson json;
  json["id"] = advisory.id;
  json["repo"] = advisory.repo;
  json["identity"] = advisory.identity;
  json["branch"] = advisory.branch;
  json["published"] = advisory.published;
  json["modified"] = advisory.modified;
  json["substance_at"] = advisory.substance_at;
  json["withdrawn"] = advisory.withdrawn;
  json["withdrawn_reason"] = advisory.withdrawn_reason;
  if (!advisory.held_until.empty())
    json["held_until"] = advisory.held_until;
  json["impact"] = to_string(advisory.impact);
  json["level"] = to_string(advisory.level);
  json["kinds"] = advisory.kinds;
  json["state"] = to_string(advisory.state);
  json["backfilled"] = advisory.backfilled;
  json["introduced_is_lower_bound"] = advisory.introduced_is_lower_bound;
  json["from"] = advisory.from;
  json["to"] = advisory.to;
  json["title"] = advisory.title;
  json["related"] = advisory.related;
  json["affected"] = OrderedJson::array();
  for (const AffectedEntry &entry : advisory.affected)
    json["affected"].push_back(to_json(entry));
  json["plan_changes"] = OrderedJson::array();
  for (const PlanChange &change : advisory.plan_changes)
    json["plan_changes"].push_back(to_json(change));
  return json;
}

Result<Advisory> advisory_from_json(const Json &json) {
  if (!json.is_object())
    return fail(Errc::malformed, "a stored advisory is not an object");
  Advisory advisory;
  advisory.id = text_at(json, "id");
  advisory.repo = text_at(json, "repo");
  advisory.identity = text_at(json, "identity");
  advisory.branch = text_at(json, "branch");
  advisory.published = text_at(json, "published");
  advisory.modified = text_at(json, "modified");
  advisory.substance_at = text_at(json, "substance_at");
  advisory.withdrawn = text_at(json, "withdrawn");
  advisory.withdrawn_reason = text_at(json, "withdrawn_reason");
  advisory.held_until = text_at(json, "held_until");
  const auto impact = impact_from(text_at(json, "impact"));
  const auto level = level_from(text_at(json, "level"));
  const auto state = advisory_state_from(text_at(json, "state"));
  if (advisory.id.empty() || !impact || !level || !state)
    return fail(Errc::malformed, "a stored advisory lacks its id, impact, level or state");
  advisory.impact = *impact;
  advisory.level = *level;
  advisory.state = *state;
  advisory.kinds = texts_at(json, "kinds");
  advisory.backfilled = flag_at(json, "backfilled");
  advisory.introduced_is_lower_bound = flag_at(json, "introduced_is_lower_bound");
  advisory.from = text_at(json, "from");
  advisory.to = text_at(json, "to");
  advisory.title = text_at(json, "title");
  advisory.related = texts_at(json, "related");
  if (const auto at = json.find("affected"); at != json.end() && at->is_array()) {
    for (const Json &item : *at) {
      Result<AffectedEntry> entry = entry_from_json(item);
      if (!entry)
        return std::unexpected(entry.error());
      advisory.affected.push_back(std::move(*entry));
    }
  }
  Result<Delta> plan_part =
      delta_from_json(json.contains("plan_changes") ? Json{{"plan_changes", json["plan_changes"]}}
                                                    : Json::object());
  if (!plan_part)
    return std::unexpected(plan_part.error());
  advisory.plan_changes = std::move(plan_part->plan_changes);
  return advisory;
}

} // namespace headwater

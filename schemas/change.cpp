#include "schemas/change.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

namespace headwater {
namespace {

constexpr std::array impacts{std::pair{Impact::breaking, std::string_view("breaking")},
                             std::pair{Impact::security, std::string_view("security")},
                             std::pair{Impact::access, std::string_view("access")},
                             std::pair{Impact::behaviour, std::string_view("behaviour")},
                             std::pair{Impact::cost, std::string_view("cost")},
                             std::pair{Impact::cosmetic, std::string_view("cosmetic")}};
constexpr std::array levels{std::pair{Level::low, std::string_view("low")},
                            std::pair{Level::medium, std::string_view("medium")},
                            std::pair{Level::high, std::string_view("high")},
                            std::pair{Level::critical, std::string_view("critical")}};

template <class T, std::size_t N>
std::optional<T> value_of(const std::array<std::pair<T, std::string_view>, N> &words,
                          std::string_view word) {
  for (const auto &[value, text] : words)
    if (text == word)
      return value;
  return std::nullopt;
}

template <class T, std::size_t N>
std::string_view word_of(const std::array<std::pair<T, std::string_view>, N> &words, T value) {
  for (const auto &[candidate, text] : words)
    if (candidate == value)
      return text;
  return {};
}

OrderedJson embedded(const std::string &text) {
  OrderedJson value = OrderedJson::parse(text, nullptr, false);
  return value.is_discarded() ? OrderedJson(text) : value;
}

std::string text_at(const Json &json, const char *key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string dump_at(const Json &json, const char *key) {
  const auto at = json.find(key);
  return at != json.end() ? at->dump() : "null";
}

} // namespace

std::string_view to_string(Impact impact) {
  return word_of(impacts, impact);
}
std::string_view to_string(Level level) {
  return word_of(levels, level);
}
std::optional<Impact> impact_from(std::string_view word) {
  return value_of(impacts, word);
}
std::optional<Level> level_from(std::string_view word) {
  return value_of(levels, word);
}

Change make_change(std::string_view kind, std::string path, std::string before_json,
                   std::string after_json, std::string explanation) {
  const ChangeKind *row = find_change_kind(kind);
  assert(row != nullptr && "a kind that is emitted stands in the table");
  Change change;
  change.kind = kind;
  change.subject = row->subject;
  change.impact = row->impact;
  change.level = row->level;
  change.path = std::move(path);
  change.before_json = std::move(before_json);
  change.after_json = std::move(after_json);
  change.explanation = std::move(explanation);
  return change;
}

Level level_of(const std::vector<Change> &changes) {
  Level level = Level::low;
  for (const Change &change : changes)
    level = std::max(level, change.level);
  return level;
}

Impact impact_of(const std::vector<Change> &changes) {
  const Level level = level_of(changes);
  Impact impact = Impact::cosmetic;
  for (const Change &change : changes)
    if (change.level == level)
      impact = std::min(impact, change.impact);
  return impact;
}

void sort_changes(std::vector<Change> &changes) {
  std::ranges::stable_sort(changes, [](const Change &a, const Change &b) {
    return std::tuple(b.level, a.impact, std::string_view(a.kind), std::string_view(a.path)) <
           std::tuple(a.level, b.impact, std::string_view(b.kind), std::string_view(b.path));
  });
}

OrderedJson to_json(const Change &change) {
  OrderedJson json;
  json["kind"] = change.kind;
  json["impact"] = to_string(change.impact);
  json["level"] = to_string(change.level);
  json["subject"] = change.subject;
  json["path"] = change.path;
  json["before"] = embedded(change.before_json);
  json["after"] = embedded(change.after_json);
  json["explanation"] = change.explanation;
  return json;
}

OrderedJson to_json(const PlanChange &change) {
  OrderedJson json;
  json["figure"] = change.figure;
  json["before"] = embedded(change.before_json);
  json["after"] = embedded(change.after_json);
  json["sentence"] = change.sentence;
  return json;
}

OrderedJson to_json(const Delta &delta) {
  OrderedJson json;
  json["repo"] = delta.repo;
  json["branch"] = delta.branch;
  json["from"] = delta.from;
  json["to"] = delta.to;
  json["date"] = delta.date;
  json["title"] = delta.title;
  const Level level = level_of(delta.changes);
  json["impact"] = to_string(impact_of(delta.changes));
  json["level"] = to_string(level);
  json["advisory"] = level >= Level::medium;
  if (!delta.equals_revision.empty())
    json["reverts_to"] = delta.equals_revision;
  if (delta.backfilled)
    json["backfilled"] = true;
  json["changes"] = OrderedJson::array();
  for (const Change &change : delta.changes)
    json["changes"].push_back(to_json(change));
  json["plan_changes"] = OrderedJson::array();
  for (const PlanChange &change : delta.plan_changes)
    json["plan_changes"].push_back(to_json(change));
  return json;
}

Result<Change> change_from_json(const Json &json) {
  if (!json.is_object())
    return fail(Errc::malformed, "a stored change is not an object");
  Change change;
  change.kind = text_at(json, "kind");
  change.subject = text_at(json, "subject");
  const auto impact = impact_from(text_at(json, "impact"));
  const auto level = level_from(text_at(json, "level"));
  if (change.kind.empty() || !impact || !level)
    return fail(Errc::malformed, "a stored change lacks its kind, impact or level");
  change.impact = *impact;
  change.level = *level;
  change.path = text_at(json, "path");
  change.before_json = dump_at(json, "before");
  change.after_json = dump_at(json, "after");
  change.explanation = text_at(json, "explanation");
  return change;
}

Result<Delta> delta_from_json(const Json &json) {
  if (!json.is_object())
    return fail(Errc::malformed, "a stored delta is not an object");
  Delta delta;
  delta.repo = text_at(json, "repo");
  delta.branch = text_at(json, "branch");
  delta.from = text_at(json, "from");
  delta.to = text_at(json, "to");
  delta.date = text_at(json, "date");
  delta.title = text_at(json, "title");
  delta.equals_revision = text_at(json, "reverts_to");
  if (const auto at = json.find("backfilled"); at != json.end())
    delta.backfilled = at->is_boolean() && at->get<bool>();
  if (const auto at = json.find("changes"); at != json.end() && at->is_array()) {
    for (const Json &item : *at) {
      Result<Change> change = change_from_json(item);
      if (!change)
        return std::unexpected(change.error());
      delta.changes.push_back(std::move(*change));
    }
  }
  if (const auto at = json.find("plan_changes"); at != json.end() && at->is_array()) {
    for (const Json &item : *at) {
      if (!item.is_object())
        return fail(Errc::malformed, "a stored plan change is not an object");
      delta.plan_changes.push_back({text_at(item, "figure"), dump_at(item, "before"),
                                    dump_at(item, "after"), text_at(item, "sentence")});
    }
  }
  return delta;
}

} // namespace headwater

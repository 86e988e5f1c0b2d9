#include "daemon/http/control.hpp"

#include "daemon/http/document.hpp"
#include "daemon/http/lookup.hpp"
#include "daemon/http/visibility.hpp"
#include "feeds/osv.hpp"
#include "schemas/branch.hpp"
#include "schemas/json.hpp"
#include "schemas/repo.hpp"
#include "schemas/text.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::http {
namespace {

/// What a request asks for, checked by the verb.
struct Asked {
  store::Store &store;
  const std::string &public_url;
  const ControlActions &actions;
  const net::Request &request;
  net::Target target;

  std::string value(const char *key) const {
    const std::string *found = net::find_query(target, key);
    return found != nullptr ? *found : std::string();
  }
};

net::Response answer(int status, const OrderedJson &json) {
  return json_answer(status,
                     json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

net::Response refusal(const Error &error) {
  switch (error.code) {
  case Errc::bad_input:
    return json_error(400, to_string(error.code), error.message);
  case Errc::gone:
    return json_error(404, to_string(error.code), error.message);
  default:
    return json_error(503, to_string(error.code), error.message);
  }
}

net::Response not_wired(std::string_view what) {
  return json_error(501, "not_implemented", fmt::format("this daemon cannot {}", what));
}

Result<store::Repo> asked_repo(const Asked &asked) {
  const Result<RepoId> id = parse_repo_id(asked.value("repo"));
  if (!id)
    return std::unexpected(id.error());
  Result<std::optional<store::Repo>> repo =
      find_repo(asked.store, id->str(), asked.value("branch"));
  if (repo && !*repo)
    repo = asked.store.find_renamed(id->str());
  if (!repo)
    return std::unexpected(repo.error());
  if (!*repo)
    return fail(Errc::gone,
                fmt::format("{} is not watched{}: headwater watch add {}", id->str(),
                            asked.value("branch").empty() ? "" : " at " + asked.value("branch"),
                            id->str()));
  return **repo;
}

/// Filters that several verbs take: impacts, and a level to start from.
struct Filter {
  std::vector<Impact> impacts;
  Level level = Level::low;
  bool takes(Impact impact, Level of) const {
    return of >= level && (impacts.empty() || std::ranges::find(impacts, impact) != impacts.end());
  }
};

Result<Filter> asked_filter(const Asked &asked) {
  Filter filter;
  if (const std::string word = asked.value("level"); !word.empty()) {
    const auto level = level_from(word);
    if (!level)
      return fail(Errc::bad_input,
                  fmt::format("level '{}' is none of low, medium, high, critical", word));
    filter.level = *level;
  }
  const std::string words = asked.value("impact");
  for (std::string_view rest = words; !rest.empty();) {
    const auto comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const auto impact = impact_from(word);
    if (!impact)
      return fail(
          Errc::bad_input,
          fmt::format(
              "impact '{}' is none of breaking, security, access, behaviour, cost, cosmetic",
              word));
    filter.impacts.push_back(*impact);
  }
  return filter;
}

Result<std::size_t> asked_limit(const Asked &asked) {
  const std::string text = asked.value("limit");
  std::size_t limit = std::numeric_limits<std::int32_t>::max();
  if (!text.empty() && std::from_chars(text.data(), text.data() + text.size(), limit).ptr !=
                           text.data() + text.size())
    return fail(Errc::bad_input, fmt::format("limit '{}' is not a number", text));
  return limit;
}

net::Response list_watches(const Asked &asked) {
  const auto watches = asked.store.watches();
  if (!watches)
    return refusal(watches.error());
  OrderedJson rows = OrderedJson::array();
  for (const store::Watch &watch : *watches)
    rows.push_back({{"repo", watch.repo},
                    {"branch", watch.branch},
                    {"declared", watch.declared},
                    {"publish", watch.publish},
                    {"history", watch.history}});
  return answer(200, {{"watches", std::move(rows)}});
}

Result<store::Watch> read_watch(const std::string &body) {
  const Result<Json> json = parse_json(body);
  if (!json || !json->is_object())
    return fail(Errc::bad_input, "the body is not a JSON object {\"repo\": \"org/name\"}");
  store::Watch watch;
  for (const auto &[key, value] : json->items()) {
    if (key == "repo" && value.is_string())
      watch.repo = value.get<std::string>();
    else if (key == "branch" && value.is_string())
      watch.branch = value.get<std::string>();
    else if (key == "history" && value.is_string())
      watch.history = value.get<std::string>();
    else if (key == "publish" && value.is_boolean())
      watch.publish = value.get<bool>();
    else
      return fail(Errc::bad_input, fmt::format("'{}' is not known here, or has another type", key));
  }
  if (const Result<RepoId> id = parse_repo_id(watch.repo); !id)
    return std::unexpected(id.error());
  const bool number = !watch.history.empty() && watch.history.size() <= 9 &&
                      watch.history.find_first_not_of("0123456789") == std::string::npos;
  if (watch.history != "all" && watch.history != "none" && !number)
    return fail(Errc::bad_input,
                fmt::format("history '{}' is none of all, none or a number", watch.history));
  if (!is_branch_name(watch.branch))
    return fail(Errc::bad_input,
                fmt::format("\"{}\" is no name that a branch can have", plain_text(watch.branch)));
  return watch;
}

net::Response add_watch(const Asked &asked) {
  const Result<store::Watch> watch = read_watch(asked.request.body);
  if (!watch)
    return refusal(watch.error());
  const auto watches = asked.store.watches();
  if (!watches)
    return refusal(watches.error());
  for (const store::Watch &row : *watches)
    if (row.declared && row.repo == watch->repo && row.branch == watch->branch)
      return json_error(
          409, "declared",
          fmt::format("{} is declared in the config: change its [[watch]] and reload", row.repo));
  if (!asked.actions.add_watch)
    return not_wired("add watches");
  if (const Result<void> added = asked.actions.add_watch(*watch); !added)
    return refusal(added.error());
  return answer(201, {{"repo", watch->repo}, {"branch", watch->branch}});
}

net::Response remove_watch(const Asked &asked) {
  const std::string repo = asked.value("repo");
  const std::string branch = asked.value("branch").empty() ? "main" : asked.value("branch");
  const auto watches = asked.store.watches();
  if (!watches)
    return refusal(watches.error());
  const auto watch = std::ranges::find_if(
      *watches, [&](const store::Watch &row) { return row.repo == repo && row.branch == branch; });
  if (watch == watches->end())
    return json_error(404, "gone",
                      fmt::format("{} is not watched at {}: headwater watch list", repo, branch));
  if (watch->declared)
    return json_error(
        409, "declared",
        fmt::format("{} is declared in the config: remove its [[watch]] and reload", repo));
  if (!asked.actions.remove_watch)
    return not_wired("remove watches");
  if (const Result<void> removed = asked.actions.remove_watch(repo, branch); !removed)
    return refusal(removed.error());
  return answer(200, {{"repo", repo}, {"branch", branch}});
}

net::Response forget(const Asked &asked) {
  const std::string repo = asked.value("repo");
  const auto watches = asked.store.watches();
  if (!watches)
    return refusal(watches.error());
  for (const store::Watch &watch : *watches)
    if (watch.declared && watch.repo == repo)
      return json_error(
          409, "declared",
          fmt::format("{} is declared in the config: remove its [[watch]] and reload", repo));
  if (!asked.actions.forget)
    return not_wired("forget repos");
  const Result<bool> known = asked.actions.forget(repo);
  if (!known)
    return refusal(known.error());
  if (!*known)
    return json_error(404, "gone", fmt::format("nothing is known of {}: headwater status", repo));
  return answer(200, {{"repo", repo}});
}

OrderedJson text_or_null(const std::string &text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

net::Response status(const Asked &asked) {
  const auto repos = asked.store.repos();
  if (!repos)
    return refusal(repos.error());
  // Said while it is waited out, not only once a look has ended on it.
  const std::string trouble = asked.actions.trouble ? asked.actions.trouble() : std::string();
  OrderedJson rows = OrderedJson::array();
  for (const store::Repo &repo : *repos)
    rows.push_back({{"repo", repo.name},
                    {"branch", repo.branch},
                    {"state", store::to_string(repo.state)},
                    {"note", text_or_null(repo.state_note.empty() && repo.last_polled.empty()
                                              ? trouble
                                              : repo.state_note)},
                    {"head", text_or_null(repo.head)},
                    {"level", repo.open_advisories > 0 ? OrderedJson(to_string(repo.open_level))
                                                       : OrderedJson(nullptr)},
                    {"open_advisories", repo.open_advisories},
                    {"revisions", repo.revision_count},
                    {"last_polled", text_or_null(repo.last_polled)},
                    {"last_changed", text_or_null(repo.last_changed)},
                    {"public", may_show(repo)},
                    {"watched", repo.watched}});
  OrderedJson body = {{"repos", std::move(rows)}};
  if (!trouble.empty())
    body["trouble"] = trouble;
  return answer(200, body);
}

net::Response revisions(const Asked &asked) {
  const Result<store::Repo> repo = asked_repo(asked);
  if (!repo)
    return refusal(repo.error());
  auto rows = asked.store.revisions(repo->id);
  if (!rows)
    return refusal(rows.error());
  std::ranges::reverse(*rows);
  OrderedJson list = OrderedJson::array();
  for (const store::Revision &revision : *rows) {
    OrderedJson row = {{"sha", revision.sha},
                       {"date", revision.date},
                       {"title", revision.title},
                       {"status", store::to_string(revision.status)}};
    if (!revision.note.empty())
      row["note"] = revision.note;
    row["on_branch"] = revision.on_branch;
    row["level"] = revision.change_count > 0 ? OrderedJson(to_string(revision.delta_level))
                                             : OrderedJson(nullptr);
    row["changes"] = revision.change_count;
    list.push_back(std::move(row));
  }
  return answer(200,
                {{"repo", repo->name}, {"branch", repo->branch}, {"revisions", std::move(list)}});
}

net::Response changes(const Asked &asked) {
  const Result<store::Repo> repo = asked_repo(asked);
  const Result<Filter> filter = asked_filter(asked);
  const Result<std::size_t> limit = asked_limit(asked);
  if (!repo)
    return refusal(repo.error());
  if (!filter)
    return refusal(filter.error());
  if (!limit)
    return refusal(limit.error());
  auto deltas = asked.store.deltas(repo->id, *limit);
  if (!deltas)
    return refusal(deltas.error());
  const bool filtered = !filter->impacts.empty() || filter->level > Level::low;
  OrderedJson list = OrderedJson::array();
  for (store::DeltaRecord &record : *deltas) {
    OrderedJson row;
    if (filtered) {
      std::erase_if(record.delta.changes, [&](const Change &change) {
        return !filter->takes(change.impact, change.level);
      });
      if (record.delta.changes.empty())
        continue;
    }
    row = to_json(record.delta);
    row["serial"] = record.serial;
    if (!record.advisory_id.empty())
      row["advisory_id"] = record.advisory_id;
    list.push_back(std::move(row));
  }
  return answer(200,
                {{"repo", repo->name}, {"branch", repo->branch}, {"changes", std::move(list)}});
}

net::Response advisories(const Asked &asked) {
  const Result<Filter> filter = asked_filter(asked);
  if (!filter)
    return refusal(filter.error());
  Result<std::vector<store::AdvisoryRecord>> records = std::vector<store::AdvisoryRecord>();
  if (asked.value("repo").empty()) {
    records = asked.store.advisories();
  } else {
    const Result<store::Repo> repo = asked_repo(asked);
    if (!repo)
      return refusal(repo.error());
    records = asked.store.advisories_of(repo->id);
  }
  if (!records)
    return refusal(records.error());
  OrderedJson list = OrderedJson::array();
  for (const auto &[advisory, osv] : *records) {
    const std::string state =
        advisory.withdrawn.empty() ? std::string(to_string(advisory.state)) : "withdrawn";
    if (!filter->takes(advisory.impact, advisory.level) ||
        (!asked.value("state").empty() && asked.value("state") != state))
      continue;
    OrderedJson row = {{"id", advisory.id},
                       {"repo", advisory.repo},
                       {"level", to_string(advisory.level)},
                       {"impact", to_string(advisory.impact)},
                       {"state", state},
                       {"summary", feeds::advisory_summary(advisory)},
                       {"introduced", advisory.to},
                       {"published", advisory.published},
                       {"modified", advisory.modified}};
    if (!asked.public_url.empty())
      row["url"] = asked.public_url + "/osv/" + advisory.id + ".json";
    list.push_back(std::move(row));
  }
  return answer(200, {{"advisories", std::move(list)}});
}

net::Response check(const Asked &asked) {
  const Result<store::Repo> repo = asked_repo(asked);
  if (!repo)
    return refusal(repo.error());
  const Result<PinReport> report = check_pin(asked.store, *repo, asked.value("pin"));
  if (!report)
    return refusal(report.error());
  const bool known = !report->pin.empty();
  // Somebody depends on it, so what it needs is kept. That it could not be is no reason not to
  // answer.
  if (known)
    static_cast<void>(asked.store.put_pin(repo->id, report->pin, true));
  OrderedJson json;
  json["repo"] = repo->name;
  json["pin"] = known ? report->pin : asked.value("pin");
  json["status"] = report->status;
  json["head"] = text_or_null(repo->head);
  json["behind"] = known ? OrderedJson(report->behind) : OrderedJson(nullptr);
  json["impact"] = known ? OrderedJson(to_string(report->impact)) : OrderedJson(nullptr);
  json["level"] = known ? OrderedJson(to_string(report->level)) : OrderedJson(nullptr);
  json["advisories"] = report->advisories;
  json["affected_by"] = report->affected_by;
  return answer(200, json);
}

/// The repo and the whole revision that a request about a pin names. A pin may be cut short as for
/// `check`.
struct AskedPin {
  store::Repo repo;
  std::string sha;
};

Result<AskedPin> asked_pin(const Asked &asked) {
  Result<store::Repo> repo = asked_repo(asked);
  if (!repo)
    return std::unexpected(repo.error());
  const Result<PinReport> report = check_pin(asked.store, *repo, asked.value("pin"), false);
  if (!report)
    return std::unexpected(report.error());
  if (report->pin.empty())
    return fail(Errc::gone,
                fmt::format("{}@{}: this revision was never read, so nothing is known of it: "
                            "headwater revisions {} lists those that were",
                            repo->name, asked.value("pin"), repo->name));
  return AskedPin{std::move(*repo), report->pin};
}

net::Response add_pin(const Asked &asked) {
  const Result<AskedPin> pin = asked_pin(asked);
  if (!pin)
    return refusal(pin.error());
  if (const Result<void> put = asked.store.put_pin(pin->repo.id, pin->sha, false); !put)
    return refusal(put.error());
  return answer(201, {{"repo", pin->repo.name}, {"branch", pin->repo.branch}, {"pin", pin->sha}});
}

net::Response remove_pin(const Asked &asked) {
  const Result<AskedPin> pin = asked_pin(asked);
  if (!pin)
    return refusal(pin.error());
  const Result<bool> removed = asked.store.remove_pin(pin->repo.id, pin->sha);
  if (!removed)
    return refusal(removed.error());
  if (!*removed)
    return json_error(
        404, "gone",
        fmt::format("{}@{} is not pinned: headwater pin list", pin->repo.name, asked.value("pin")));
  return answer(200, {{"repo", pin->repo.name}, {"branch", pin->repo.branch}, {"pin", pin->sha}});
}

net::Response list_pins(const Asked &asked) {
  const Result<std::vector<store::Pin>> pins = asked.store.pins();
  if (!pins)
    return refusal(pins.error());
  OrderedJson rows = OrderedJson::array();
  for (const store::Pin &pin : *pins)
    rows.push_back({{"repo", pin.repo},
                    {"branch", pin.branch},
                    {"pin", pin.sha},
                    {"from", pin.asked ? "check" : "pin add"},
                    {"at", pin.at}});
  return answer(200, {{"pins", std::move(rows)}});
}

net::Response check_now(const Asked &asked) {
  const Result<store::Repo> repo = asked_repo(asked);
  if (!repo)
    return refusal(repo.error());
  if (!asked.actions.check_now)
    return not_wired("bring a poll forward");
  if (const Result<void> done = asked.actions.check_now(repo->name); !done)
    return refusal(done.error());
  return answer(202, {{"repo", repo->name}});
}

struct Verb {
  std::string_view method;
  std::string_view path;
  net::Response (*run)(const Asked &);
};
constexpr Verb verbs[] = {
    {"GET", "watches", list_watches},    {"POST", "watches", add_watch},
    {"DELETE", "watches", remove_watch}, {"GET", "status", status},
    {"GET", "revisions", revisions},     {"GET", "changes", changes},
    {"GET", "advisories", advisories},   {"GET", "check", check},
    {"GET", "pins", list_pins},          {"POST", "pins", add_pin},
    {"DELETE", "pins", remove_pin},      {"POST", "check-now", check_now},
    {"DELETE", "repos", forget},
};

} // namespace

net::Handler make_control(store::Store &store, std::string public_url, ControlActions actions) {
  return [&store, public_url = std::move(public_url),
          actions = std::move(actions)](const net::Request &request) {
    const std::optional<net::Target> target = net::split_target(request.target);
    if (!target || target->segments.size() != 1)
      return json_error(404, "not_found", "the control socket has no such path");
    const Asked asked{store, public_url, actions, request, *target};
    bool known = false;
    for (const Verb &verb : verbs) {
      if (verb.path != target->segments[0])
        continue;
      known = true;
      if (verb.method == request.method)
        return verb.run(asked);
    }
    return known ? json_error(
                       405, "method_not_allowed",
                       fmt::format("/{} does not take {}", target->segments[0], request.method))
                 : json_error(404, "not_found",
                              fmt::format("the control socket has no /{}", target->segments[0]));
  };
}

} // namespace headwater::http

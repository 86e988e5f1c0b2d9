#include "feeds/osv.hpp"

#include "schemas/repo.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::feeds {
namespace {

constexpr std::size_t summary_limit = 120;
constexpr std::string_view default_origin = "https://huggingface.co";

std::string repo_url(const Advisory &advisory, const OsvOptions &options) {
  return options.hub_origin + "/" + advisory.repo;
}

/// A package URL of the huggingface type; another hub is named by its qualifier.
std::string package_url(const Advisory &advisory, const OsvOptions &options) {
  std::string purl = "pkg:huggingface/" + advisory.repo;
  if (options.hub_origin != default_origin) {
    purl += "?repository_url=";
    for (const char c : options.hub_origin)
      purl += c == ':' ? "%3A" : c == '/' ? "%2F" : std::string(1, c);
  }
  return purl;
}

const Change *strongest(const Advisory &advisory) {
  const Change *best = nullptr;
  for (const AffectedEntry &entry : advisory.affected)
    for (const Change &change : entry.changes)
      if (best == nullptr || change.level > best->level ||
          (change.level == best->level && change.impact < best->impact))
        best = &change;
  return best;
}

/// A JSON text as a person reads it: a string without its quotes, anything else compact.
std::string shown_value(const std::string &json_text) {
  const Json value = Json::parse(json_text, nullptr, false);
  if (value.is_string())
    return value.get<std::string>();
  return json_text;
}

std::string advice(Impact impact) {
  switch (impact) {
  case Impact::breaking:
    return "Keep to the revision before it until what loads this repo has been tested with the new "
           "one.";
  case Impact::security:
    return "Review what will run before you take the new revision; pin a revision that you have "
           "reviewed.";
  case Impact::access:
    return "Check that you may and can still fetch this repo, and keep a copy of the revision that "
           "you depend on.";
  case Impact::behaviour:
    return "Test your own prompts with the new revision before you take it; pin the one before it "
           "until then.";
  case Impact::cost:
    return "Check memory and price against your machines before you take the new revision.";
  case Impact::cosmetic:
    return "Nothing is to be done.";
  }
  return {};
}

std::string state_sentence(const AffectedEntry &entry) {
  switch (entry.state) {
  case AdvisoryState::open:
    return "still in place";
  case AdvisoryState::reverted:
    return "reverted by " + entry.fixed.substr(0, 12);
  case AdvisoryState::superseded:
    return entry.fixed.empty() ? "gone with the history that was rewritten"
                               : "changed again by " + entry.fixed.substr(0, 12);
  case AdvisoryState::restored:
    return "restored";
  }
  return {};
}

/// The revision that undoes all of it, "" when there is none.
std::string undone_by(const Advisory &advisory) {
  std::string revision;
  for (const AffectedEntry &entry : advisory.affected) {
    if (entry.state != AdvisoryState::reverted || entry.fixed.empty())
      return {};
    // Entries close one after the other; the record knows no order but its own, so only one
    // revision can be named.
    if (!revision.empty() && revision != entry.fixed)
      return {};
    revision = entry.fixed;
  }
  return revision;
}

std::string what_to_do(const Advisory &advisory) {
  const std::string undone = undone_by(advisory);
  std::string text = undone.empty()
                         ? advice(advisory.impact)
                         : fmt::format("Revision {} undoes it: take that one or a later one.",
                                       markdown_code(undone));
  if (is_revision(advisory.from) && advisory.from != advisory.to)
    text += fmt::format(" The revision before it is {}.", markdown_code(advisory.from));
  return text;
}

OrderedJson affected_json(const Advisory &advisory, const AffectedEntry &entry,
                          const OsvOptions &options) {
  OrderedJson events = OrderedJson::array();
  events.push_back({{"introduced", entry.introduced}});
  if (!entry.fixed.empty())
    events.push_back({{"fixed", entry.fixed}});
  else if (!entry.last_affected.empty())
    events.push_back({{"last_affected", entry.last_affected}});

  OrderedJson range;
  range["type"] = "GIT";
  range["repo"] = repo_url(advisory, options);
  range["events"] = std::move(events);

  OrderedJson changes = OrderedJson::array();
  for (const Change &change : entry.changes)
    changes.push_back(to_json(change));

  OrderedJson json;
  json["package"] = {{"ecosystem", "GIT"},
                     {"name", repo_url(advisory, options)},
                     {"purl", package_url(advisory, options)}};
  json["ranges"] = OrderedJson::array({std::move(range)});
  json["versions"] = entry.versions;
  json["database_specific"] = {{"subject", entry.subject},
                               {"state", to_string(entry.state)},
                               {"changes", std::move(changes)}};
  return json;
}

OrderedJson references_json(const Advisory &advisory, const OsvOptions &options) {
  OrderedJson references = OrderedJson::array();
  const auto add = [&](const char *type, std::string url) {
    references.push_back({{"type", type}, {"url", std::move(url)}});
  };
  const std::string repo = repo_url(advisory, options);
  add("PACKAGE", repo);
  if (is_revision(advisory.to))
    add("INTRODUCED", repo + "/commit/" + advisory.to);
  std::set<std::string> fixes;
  for (const AffectedEntry &entry : advisory.affected)
    if (!entry.fixed.empty() && entry.state == AdvisoryState::reverted &&
        fixes.insert(entry.fixed).second)
      add("FIX", repo + "/commit/" + entry.fixed);
  if (!options.public_url.empty())
    add("ADVISORY",
        options.public_url + "/models/" + advisory.repo + "/revisions/" + advisory.to + "/");
  return references;
}

} // namespace

std::string advisory_summary(const Advisory &advisory) {
  if (!advisory.withdrawn.empty())
    return plain_text(advisory.repo + ": withdrawn: " + advisory.withdrawn_reason,
                      summary_limit - 1);
  const Change *change = strongest(advisory);
  std::size_t changes = 0;
  for (const AffectedEntry &entry : advisory.affected)
    changes += entry.changes.size();
  std::string text =
      advisory.repo + ": " + (change != nullptr ? change->explanation : std::string("changed"));
  const std::string more = changes > 1 ? fmt::format(" (and {} more)", changes - 1) : "";
  return plain_text(text, summary_limit - 1 - more.size()) + more;
}

std::string advisory_details(const Advisory &advisory) {
  std::string out;
  if (!advisory.withdrawn.empty())
    out += "**Withdrawn:** " + markdown_text(advisory.withdrawn_reason) + "\n\n";
  const std::string when =
      advisory.branch == "main" ? "" : ", branch " + markdown_code(advisory.branch);
  if (advisory.from == advisory.to)
    out += fmt::format("Access to {}{} changed without a commit.\n\n", markdown_code(advisory.repo),
                       when);
  else
    out += fmt::format("Revision {} of {}{} ({}) differs from {} as follows.\n\n",
                       markdown_code(advisory.to.substr(0, 12)), markdown_code(advisory.repo), when,
                       markdown_text(advisory.title), markdown_code(advisory.from.substr(0, 12)));
  for (const AffectedEntry &entry : advisory.affected) {
    out += fmt::format("### {}: {}\n\n", markdown_text(entry.subject),
                       markdown_text(state_sentence(entry)));
    for (const Change &change : entry.changes) {
      out += fmt::format("- **{} {}** {} in {}: {}\n", to_string(change.impact),
                         to_string(change.level), markdown_code(change.kind),
                         markdown_code(change.path), markdown_text(change.explanation));
      if (change.before_json != "null")
        out += "\n  Before:\n\n" + markdown_fence(plain_text(shown_value(change.before_json), 600));
      if (change.after_json != "null")
        out += "\n  After:\n\n" + markdown_fence(plain_text(shown_value(change.after_json), 600));
    }
    out += "\n";
  }
  if (!advisory.plan_changes.empty()) {
    out += "### What it costs\n\n";
    for (const PlanChange &change : advisory.plan_changes)
      out += "- " + markdown_text(change.sentence) + "\n";
    out += "\n";
  }
  out += "### What to do\n\n" + what_to_do(advisory) + "\n";
  if (advisory.introduced_is_lower_bound)
    out += "\nThe history before the first revision that was read is not known: the change may be "
           "older than the revision named here.\n";
  return out;
}

std::string render_osv(const Advisory &advisory, const OsvOptions &options) {
  OrderedJson json;
  json["schema_version"] = "1.7.5";
  json["id"] = advisory.id;
  json["modified"] = advisory.modified;
  json["published"] = advisory.published;
  if (!advisory.withdrawn.empty())
    json["withdrawn"] = advisory.withdrawn;
  if (!advisory.related.empty())
    json["related"] = advisory.related;
  json["summary"] = advisory_summary(advisory);
  json["details"] = advisory_details(advisory);
  json["affected"] = OrderedJson::array();
  for (const AffectedEntry &entry : advisory.affected)
    json["affected"].push_back(affected_json(advisory, entry, options));
  json["references"] = references_json(advisory, options);
  json["credits"] = OrderedJson::array({{{"name", "Headwater"}, {"type", "TOOL"}}});
  OrderedJson &own = json["database_specific"];
  own["impact"] = to_string(advisory.impact);
  own["level"] = to_string(advisory.level);
  own["kinds"] = advisory.kinds;
  own["state"] = to_string(advisory.state);
  if (advisory.branch != "main")
    own["branch"] = advisory.branch;
  if (advisory.backfilled)
    own["backfilled"] = true;
  if (advisory.introduced_is_lower_bound)
    own["introduced_is_lower_bound"] = true;
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string render_withdrawn(const std::string &id, const std::string &published,
                             const std::string &modified, const std::string &withdrawn) {
  OrderedJson json;
  json["schema_version"] = "1.7.5";
  json["id"] = id;
  json["modified"] = modified;
  if (!published.empty())
    json["published"] = published;
  json["withdrawn"] = withdrawn;
  json["summary"] = "Withdrawn: the repository is no longer public.";
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

} // namespace headwater::feeds

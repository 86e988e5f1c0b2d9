#include "feeds/osv.hpp"
#include "feeds/pages.hpp"
#include "schemas/json.hpp"
#include "schemas/plan.hpp"
#include "schemas/text.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::feeds {
namespace {

constexpr std::size_t shown_deltas = 20;

std::string dump(const OrderedJson &json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson repo_head(const store::Repo &repo, const SiteText &site) {
  OrderedJson json;
  json["repo"] = repo.name;
  json["branch"] = repo.branch;
  json["url"] = site.public_url + "/" + repo_path(repo);
  json["state"] = store::to_string(repo.state);
  if (!repo.state_note.empty())
    json["note"] = repo.state_note;
  json["head"] = repo.head.empty() ? OrderedJson(nullptr) : OrderedJson(repo.head);
  json["head_date"] = repo.head_date.empty() ? OrderedJson(nullptr) : OrderedJson(repo.head_date);
  json["last_changed"] =
      repo.last_changed.empty() ? OrderedJson(nullptr) : OrderedJson(repo.last_changed);
  json["revisions"] = repo.revision_count;
  json["open_advisories"] = repo.open_advisories;
  json["open_level"] = repo.open_advisories > 0 ? OrderedJson(headwater::to_string(repo.open_level))
                                                : OrderedJson(nullptr);
  return json;
}

OrderedJson delta_json(const store::DeltaRecord &record) {
  OrderedJson json = to_json(record.delta);
  if (!record.advisory_id.empty())
    json["advisory_id"] = record.advisory_id;
  return json;
}

OrderedJson embedded(const std::string &text) {
  OrderedJson value = OrderedJson::parse(text, nullptr, false);
  return value.is_discarded() ? OrderedJson(nullptr) : value;
}

OrderedJson revision_row(const store::Revision &revision) {
  OrderedJson json;
  json["revision"] = revision.sha;
  json["date"] = revision.date;
  json["title"] = revision.title;
  json["status"] = store::to_string(revision.status);
  if (!revision.note.empty())
    json["note"] = revision.note;
  json["on_branch"] = revision.on_branch;
  json["changes"] = revision.change_count;
  json["level"] = headwater::to_string(revision.delta_level);
  return json;
}

std::string delta_markdown(const store::DeltaRecord &record, const SiteText &site, bool show_repo) {
  const Delta &delta = record.delta;
  const std::string url =
      fmt::format("{}/models/{}/revisions/{}/", site.public_url, delta.repo, delta.to);
  const std::string title = markdown_text(delta_title(delta));
  std::string out = fmt::format(
      "### {}[{}]({})\n\n{} {}, {}, {}{}\n\n", show_repo ? markdown_text(delta.repo) + ": " : "",
      title, url, to_string(level_of(delta.changes)), to_string(impact_of(delta.changes)),
      delta.date.substr(0, 10), markdown_code(delta.to.substr(0, 12)),
      record.advisory_id.empty() ? "" : ", advisory " + markdown_code(record.advisory_id));
  for (const Change &change : delta.changes)
    out += fmt::format("- **{}** {} ({} in {})\n", to_string(change.level),
                       markdown_text(change.explanation), markdown_code(change.kind),
                       markdown_code(change.path));
  for (const PlanChange &change : delta.plan_changes)
    out += "- " + markdown_text(change.sentence) + "\n";
  return out + "\n";
}

std::string deltas_markdown(const std::vector<store::DeltaRecord> &deltas, const SiteText &site,
                            bool show_repo) {
  std::string out = "## Latest changes\n\n";
  if (deltas.empty())
    return out + "No change has been read yet.\n";
  std::size_t left = shown_deltas;
  for (const store::DeltaRecord &record : deltas) {
    if (left-- == 0)
      break;
    out += delta_markdown(record, site, show_repo);
  }
  return out;
}

std::string plan_markdown(const std::string &plan_json) {
  const Json json = Json::parse(plan_json, nullptr, false);
  const Result<Plan> plan =
      json.is_object() ? plan_from_json(json) : Result<Plan>(fail(Errc::malformed, "no plan"));
  if (!plan)
    return "This revision has no config.json that can be planned from.\n\n";
  if (!plan->parameters || !plan->memory)
    return markdown_text(plan->reading_note) + "\n\n";
  std::string out = fmt::format("{} parameters, read from the config ({}).\n\n",
                                with_thousands(plan->parameters->total), plan->reading);
  out += fmt::format("- Full fine-tune: {}, {}\n- LoRA: {}, {}\n- Serve: {}, {}\n\n",
                     plan->summary.full_fine_tune, plan->summary.full_fine_tune_fits,
                     plan->summary.lora, plan->summary.lora_fits, plan->summary.serve,
                     plan->summary.serve_fits);
  out += "| Card | Full fine-tune | LoRA | Serve |\n| --- | --- | --- | --- |\n";
  for (const PlanCard &card : plan->cards)
    out += fmt::format("| {} | {} | {} | {} |\n", card.card, to_string(card.full),
                       to_string(card.lora), to_string(card.serve));
  return out + "\n";
}

std::string bases_markdown(const std::vector<store::BaseComparison> &bases, const SiteText &site) {
  std::string out;
  for (const store::BaseComparison &comparison : bases) {
    out += fmt::format("{}- [{}]({}/models/{}/): {} (compared at {} and {})\n",
                       out.empty() ? "## Beside its base model\n\n" : "",
                       markdown_text(comparison.base), site.public_url, comparison.base,
                       base_verdict(comparison), markdown_code(comparison.sha.substr(0, 12)),
                       markdown_code(comparison.base_sha.substr(0, 12)));
    for (const Change &change : comparison.changes)
      out += fmt::format("  - **{}** {}\n", to_string(change.level),
                         markdown_text(change.explanation));
  }
  return out.empty() ? out : out + "\n";
}

OrderedJson base_json(const store::BaseComparison &comparison) {
  OrderedJson json;
  json["base"] = comparison.base;
  json["revision"] = comparison.sha;
  json["base_revision"] = comparison.base_sha;
  json["differences"] = OrderedJson::array();
  for (const Change &change : comparison.changes)
    json["differences"].push_back(to_json(change));
  return json;
}

OrderedJson file_json(const FileEntry &file) {
  OrderedJson json;
  json["path"] = plain_text(file.path, 1000);
  json["size"] = file.size;
  json["id"] = file.content_id();
  return json;
}

} // namespace

std::string front_markdown(const FrontPage &page) {
  std::string out =
      "# " + markdown_text(page.site.title) +
      "\n\n| Repository | Now | Last change | Revisions |\n| --- | --- | --- | --- |\n";
  for (const store::Repo &repo : page.repos)
    out += fmt::format("| [{}]({}/{}) | {} | {} | {} |\n", markdown_text(repo.name),
                       page.site.public_url, repo_path(repo), state_words(repo),
                       repo.last_changed.empty() ? "none" : repo.last_changed.substr(0, 10),
                       repo.revision_count);
  if (page.counts && page.counts->repos > static_cast<std::int64_t>(page.repos.size()))
    out += fmt::format("\nThese {} of {} changed last. All of them: [index.json]({}/index.json).\n",
                       page.repos.size(), page.counts->repos, page.site.public_url);
  return out + "\n" + deltas_markdown(page.deltas, page.site, true);
}

std::string repo_markdown(const RepoPage &page) {
  const store::Repo &repo = page.repo;
  std::string out = fmt::format("# {}\n\n**{}**", markdown_text(repo.name), state_words(repo));
  if (!repo.state_note.empty())
    out += ": " + markdown_text(repo.state_note);
  out += "\n\n";
  if (!repo.head.empty())
    out += fmt::format("Head {} of {}; {} revisions read.\n\n", markdown_code(repo.head),
                       repo.head_date.substr(0, 10), repo.revision_count);
  out += "## Open advisories\n\n";
  bool any = false;
  for (const store::AdvisoryRecord &record : page.advisories) {
    const Advisory &advisory = record.advisory;
    if (advisory.state != AdvisoryState::open || !advisory.withdrawn.empty())
      continue;
    any = true;
    out += fmt::format("- **{}** [{}]({}/osv/{}.json): {}\n", to_string(advisory.level),
                       markdown_text(advisory.id), page.site.public_url, advisory.id,
                       markdown_text(advisory_summary(advisory)));
  }
  if (!any)
    out += "None.\n";
  return out + "\n## What it takes\n\n" + plan_markdown(page.plan_json) +
         bases_markdown(page.bases, page.site) + deltas_markdown(page.deltas, page.site, false);
}

std::string front_json(const FrontPage &page) {
  OrderedJson json;
  json["title"] = page.site.title;
  json["repos"] = OrderedJson::array();
  for (const store::Repo &repo : page.repos)
    json["repos"].push_back(repo_head(repo, page.site));
  return dump(json);
}

std::string repo_json(const RepoPage &page) {
  OrderedJson json = repo_head(page.repo, page.site);
  json["identity"] = page.repo.facts.identity;
  json["gated"] = headwater::to_string(page.repo.facts.gate);
  json["tags"] = page.repo.facts.tags;
  json["advisories"] = OrderedJson::array();
  for (const store::AdvisoryRecord &record : page.advisories) {
    const Advisory &advisory = record.advisory;
    OrderedJson row;
    row["id"] = advisory.id;
    row["state"] = to_string(advisory.state);
    row["impact"] = to_string(advisory.impact);
    row["level"] = to_string(advisory.level);
    row["kinds"] = advisory.kinds;
    row["summary"] = advisory_summary(advisory);
    row["url"] = page.site.public_url + "/osv/" + advisory.id + ".json";
    json["advisories"].push_back(std::move(row));
  }
  json["changes"] = OrderedJson::array();
  for (const store::DeltaRecord &record : page.deltas) {
    if (json["changes"].size() == shown_deltas)
      break;
    json["changes"].push_back(delta_json(record));
  }
  json["revision_list"] = OrderedJson::array();
  for (const store::Revision &revision : page.revisions)
    json["revision_list"].push_back(revision_row(revision));
  json["base_models"] = OrderedJson::array();
  for (const store::BaseComparison &comparison : page.bases)
    json["base_models"].push_back(base_json(comparison));
  json["plan"] = embedded(page.plan_json);
  return dump(json);
}

std::string changes_json(const RepoPage &page) {
  OrderedJson json;
  json["repo"] = page.repo.name;
  json["changes"] = OrderedJson::array();
  for (const store::DeltaRecord &record : page.deltas)
    json["changes"].push_back(delta_json(record));
  return dump(json);
}

std::string revision_json(const RevisionPage &page) {
  OrderedJson json = revision_row(page.revision);
  json["repo"] = page.repo.name;
  json["branch"] = page.repo.branch;
  json["changes"] = OrderedJson::array();
  for (const store::DeltaRecord &record : page.deltas)
    json["changes"].push_back(delta_json(record));
  json["files"] = OrderedJson::array();
  for (const FileEntry &file : page.files)
    json["files"].push_back(file_json(file));
  json["plan"] = embedded(page.revision.plan_json);
  return dump(json);
}

std::string latest_json(const store::Repo &repo, const SiteText &site) {
  OrderedJson json;
  json["repo"] = repo.name;
  json["revision"] = repo.head.empty() ? OrderedJson(nullptr) : OrderedJson(repo.head);
  json["date"] = repo.head_date.empty() ? OrderedJson(nullptr) : OrderedJson(repo.head_date);
  json["state"] = store::to_string(repo.state);
  json["open_advisories"] = repo.open_advisories;
  json["level"] = repo.open_advisories > 0 ? OrderedJson(headwater::to_string(repo.open_level))
                                           : OrderedJson(nullptr);
  json["url"] = site.public_url + "/" + repo_path(repo);
  return dump(json);
}

} // namespace headwater::feeds

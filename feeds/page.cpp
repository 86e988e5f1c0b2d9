#include "feeds/badge.hpp"
#include "feeds/osv.hpp"
#include "feeds/pages.hpp"
#include "feeds/side_by_side.hpp"
#include "feeds/templates.hpp"
#include "schemas/json.hpp"
#include "schemas/plan.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>

namespace headwater::feeds {
namespace {

namespace mustache = kainjow::mustache;

constexpr std::size_t shown_value_bytes = 4000;
constexpr std::size_t front_deltas = 20;
constexpr std::size_t repo_deltas = 10;
constexpr std::size_t shown_files = 500;

std::string render(std::string_view name, const mustache::data &data) {
  mustache::mustache page{std::string(page_template(name))};
  page.set_custom_escape([](const std::string &text) { return escape_html(text); });
  return page.render(data);
}

mustache::data partial(std::string_view name) {
  return mustache::data(mustache::partial([name] { return std::string(page_template(name)); }));
}

/// A value only when it is not empty, so that a section can ask for it.
void set_text(mustache::data &data, const std::string &key, const std::string &value) {
  if (!value.empty())
    data.set(key, value);
}

std::string day_of(const std::string &time) {
  return time.substr(0, 10);
}

std::string_view state_class(const store::Repo &repo) {
  switch (repo.state) {
  case store::RepoState::gone:
  case store::RepoState::disabled:
    return "critical";
  case store::RepoState::gated:
  case store::RepoState::unreadable:
    return "high";
  case store::RepoState::pending:
  case store::RepoState::not_found:
  case store::RepoState::waiting:
    if (repo.head.empty())
      return "low";
    break;
  case store::RepoState::ok:
    break;
  }
  return repo.open_advisories > 0 ? headwater::to_string(repo.open_level) : "ok";
}

/// A sentence as HTML: what it quotes between backticks as code.
std::string sentence_html(std::string_view sentence) {
  std::string html;
  while (true) {
    const std::size_t open = sentence.find('`');
    const std::size_t close = open == std::string_view::npos ? open : sentence.find('`', open + 1);
    if (close == std::string_view::npos)
      return html + escape_html(sentence);
    html += escape_html(sentence.substr(0, open)) + "<code>" +
            escape_html(sentence.substr(open + 1, close - open - 1)) + "</code>";
    sentence.remove_prefix(close + 1);
  }
}

mustache::data change_data(const Change &change) {
  mustache::data data;
  data.set("level", std::string(to_string(change.level)));
  data.set("impact", std::string(to_string(change.impact)));
  data.set("kind", change.kind);
  set_text(data, "path", plain_text(change.path));
  data.set("explanation", sentence_html(change.explanation));
  const std::string before =
      change.before_json == "null" ? "" : readable_value(change.before_json, shown_value_bytes);
  const std::string after =
      change.after_json == "null" ? "" : readable_value(change.after_json, shown_value_bytes);
  if (before != after) {
    data.set("has_values", true);
    const MarkedSides sides = mark_difference(before, after);
    if (!before.empty())
      data.set("before", sides.before);
    if (!after.empty())
      data.set("after", sides.after);
  }
  return data;
}

mustache::data delta_data(const store::DeltaRecord &record, const std::string &root,
                          bool show_repo) {
  const Delta &delta = record.delta;
  mustache::data data;
  if (show_repo)
    data.set("show_repo", true);
  data.set("repo", delta.repo);
  data.set("repo_url", root + "models/" + delta.repo + "/");
  data.set("url", root + "models/" + delta.repo + "/revisions/" + delta.to + "/");
  data.set("title", delta_title(delta));
  data.set("level", std::string(to_string(level_of(delta.changes))));
  data.set("impact", std::string(to_string(impact_of(delta.changes))));
  data.set("date", delta.date);
  data.set("day", day_of(delta.date));
  data.set("to", delta.to.substr(0, 12));
  if (delta.from != delta.to)
    set_text(data, "from", delta.from.substr(0, 12));
  set_text(data, "reverts", delta.equals_revision.substr(0, 12));
  set_text(data, "advisory", record.advisory_id);
  data.set("advisory_url", root + "osv/" + record.advisory_id + ".json");
  mustache::data changes{mustache::data::type::list};
  for (const Change &change : delta.changes)
    changes.push_back(change_data(change));
  data.set("changes", changes);
  mustache::data plan_changes{mustache::data::type::list};
  for (const PlanChange &change : delta.plan_changes) {
    mustache::data item;
    item.set("sentence", change.sentence);
    plan_changes.push_back(item);
  }
  data.set("plan_changes", plan_changes);
  return data;
}

void set_deltas(mustache::data &data, const std::vector<store::DeltaRecord> &deltas,
                const std::string &root, bool show_repo, std::size_t most) {
  mustache::data list{mustache::data::type::list};
  for (const store::DeltaRecord &record : deltas) {
    if (most-- == 0)
      break;
    list.push_back(delta_data(record, root, show_repo));
  }
  data.set("deltas", list);
  data.set("delta", partial("delta.html"));
  data.set("change", partial("change.html"));
}

std::string shape_text(const std::vector<std::int64_t> &shape) {
  std::string text;
  for (const std::int64_t size : shape)
    text += (text.empty() ? "" : " \u00d7 ") + std::to_string(size);
  return text;
}

std::string reading_sentence(const Plan &plan) {
  if (plan.reading == "unknown")
    return plan.reading_note.empty() ? "The architecture is not known here: no figure is given."
                                     : plan.reading_note;
  std::string text = fmt::format("{} read from its config ({}).", plan.model_type, plan.reading);
  if (!plan.reading_note.empty())
    text += " " + plan.reading_note;
  return text;
}

/// Sets what the plan partial asks for, from a stored plan.
void set_plan(mustache::data &data, const std::string &plan_json) {
  data.set("plan", partial("plan.html"));
  const Json json = Json::parse(plan_json, nullptr, false);
  Result<Plan> read =
      json.is_object() ? plan_from_json(json) : Result<Plan>(fail(Errc::malformed, "no plan"));
  if (!read) {
    data.set("reading", "This revision has no config.json that can be planned from.");
    return;
  }
  const Plan &plan = *read;
  data.set("reading", reading_sentence(plan));
  if (!plan.parameters || !plan.memory)
    return;
  data.set("known", true);
  data.set("parameters", with_thousands(plan.parameters->total));
  data.set("full", plan.summary.full_fine_tune);
  data.set("full_fits", plan.summary.full_fine_tune_fits);
  data.set("lora", plan.summary.lora);
  data.set("lora_fits", plan.summary.lora_fits);
  data.set("serve", plan.summary.serve);
  data.set("serve_fits", plan.summary.serve_fits);
  data.set("kv", print_bytes(static_cast<double>(plan.memory->kv_cache_bytes)));
  data.set("serve_seq", with_thousands(plan.memory->serve_seq));
  set_text(data, "regime", plan.regime);
  mustache::data cards{mustache::data::type::list};
  for (const PlanCard &card : plan.cards) {
    mustache::data row;
    row.set("card", card.card);
    row.set("full", to_string(card.full));
    row.set("lora", to_string(card.lora));
    row.set("serve", to_string(card.serve));
    cards.push_back(row);
  }
  data.set("cards", cards);
  mustache::data findings{mustache::data::type::list};
  for (const PlanFinding &finding : plan.findings) {
    mustache::data row;
    row.set("class", finding.severity == "block"  ? "critical"
                     : finding.severity == "warn" ? "medium"
                                                  : "low");
    row.set("severity", finding.severity);
    row.set("id", finding.id);
    row.set("message", finding.message);
    set_text(row, "fix", finding.fix);
    findings.push_back(row);
  }
  if (!plan.findings.empty())
    data.set("has_findings", true);
  data.set("findings", findings);
  if (plan.structure.empty())
    return;
  data.set("has_structure", true);
  data.set("nodes", std::to_string(plan.layers));
  mustache::data structure{mustache::data::type::list};
  for (const PlanNode &node : plan.structure) {
    mustache::data row;
    row.set("name", node.name);
    row.set("type", node.type);
    row.set("shape", shape_text(node.shape));
    structure.push_back(row);
  }
  data.set("structure", structure);
}

std::string in_layout(const SiteText &site, const std::string &title,
                      const std::string &description, const std::string &root,
                      const std::string &feed, const std::string &body) {
  mustache::data data;
  data.set("title", title);
  data.set("description", description);
  data.set("site", site.title);
  data.set("root", root);
  data.set("feed", feed);
  data.set("body", body);
  return render("layout.html", data);
}

void set_bases(mustache::data &data, const std::vector<store::BaseComparison> &bases,
               const std::string &root) {
  if (bases.empty())
    return;
  mustache::data rows{mustache::data::type::list};
  for (const store::BaseComparison &comparison : bases) {
    mustache::data row;
    row.set("base_name", comparison.base);
    row.set("base_url", root + "models/" + comparison.base + "/");
    row.set("verdict", base_verdict(comparison));
    row.set("differs", !comparison.changes.empty());
    row.set("head", comparison.sha.substr(0, 12));
    row.set("base_head", comparison.base_sha.substr(0, 12));
    mustache::data differences{mustache::data::type::list};
    for (const Change &change : comparison.changes)
      differences.push_back(change_data(change));
    row.set("differences", differences);
    rows.push_back(row);
  }
  data.set("has_bases", true);
  data.set("bases", rows);
}

void set_files(mustache::data &data, const std::vector<FileEntry> &files) {
  data.set("files", partial("files.html"));
  if (files.empty())
    return;
  mustache::data rows{mustache::data::type::list};
  double bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileEntry &file = files[i];
    bytes += static_cast<double>(file.size);
    if (i >= shown_files)
      continue;
    mustache::data row;
    row.set("path", plain_text(file.path));
    row.set("size", human_bytes(static_cast<double>(file.size)));
    row.set("content", file.content_id().substr(0, 16));
    rows.push_back(row);
  }
  data.set("has_files", true);
  data.set("file_rows", rows);
  data.set("file_count", fmt::format("{} {}", files.size(), files.size() == 1 ? "file" : "files"));
  data.set("file_bytes", human_bytes(bytes));
  if (files.size() > shown_files)
    data.set("more_files", std::to_string(files.size() - shown_files));
}

FrontCounts front_counts(const FrontPage &page) {
  if (page.counts)
    return *page.counts;
  FrontCounts counts;
  for (const store::Repo &repo : page.repos) {
    ++counts.repos;
    counts.open += repo.open_advisories;
    counts.with_open += repo.open_advisories > 0 ? 1 : 0;
  }
  return counts;
}

std::string front_sentence(const FrontPage &page) {
  const FrontCounts counts = front_counts(page);
  if (counts.repos == 0)
    return "No repository is watched.";
  const std::string watched =
      fmt::format("{} {} watched", counts.repos, counts.repos == 1 ? "repository" : "repositories");
  if (counts.open == 0)
    return watched + ", none with an open advisory.";
  return fmt::format("{}, {} with open advisories ({} in all).", watched, counts.with_open,
                     counts.open);
}

void set_identity(mustache::data &data, const store::Repo &repo, const SiteText &site,
                  const std::string &base) {
  data.set("name", repo.name);
  data.set("base", base);
  if (repo.branch != "main")
    data.set("branch", plain_text(repo.branch, 60));
  data.set("hub_url", site.hub_origin + "/" + repo.name);
}

} // namespace

std::string state_words(const store::Repo &repo) {
  switch (repo.state) {
  case store::RepoState::gone:
    return "gone";
  case store::RepoState::not_found:
    return "not found";
  case store::RepoState::disabled:
    return "disabled";
  case store::RepoState::gated:
    return "gated";
  case store::RepoState::unreadable:
    return "unreadable";
  case store::RepoState::pending:
    if (repo.head.empty())
      return "not read yet";
    break;
  case store::RepoState::waiting:
    if (repo.head.empty())
      return "waiting for the hub";
    break;
  case store::RepoState::ok:
    break;
  }
  if (repo.open_advisories == 0)
    return "unchanged";
  return fmt::format("{} open, {}", repo.open_advisories, headwater::to_string(repo.open_level));
}

std::string delta_title(const Delta &delta) {
  if (delta.from != delta.to)
    return delta.title.empty() ? delta.to.substr(0, 12) : plain_text(delta.title);
  const bool is_code = !delta.changes.empty() && delta.changes.front().subject == "code";
  return is_code ? "Code that it takes from another repository changed" : "Access changed";
}

std::string base_verdict(const store::BaseComparison &comparison) {
  if (comparison.changes.empty())
    return "The same template, stop tokens and tokenizer";
  std::string subjects;
  for (const Change &change : comparison.changes)
    subjects += (subjects.empty() ? "" : ", ") +
                (change.subject == "stop-set" ? std::string("stop tokens") : change.subject);
  return "Differs in " + subjects;
}

std::string repo_path(const store::Repo &repo) {
  return "models/" + repo.name + "/";
}

std::string front_html(const FrontPage &page) {
  mustache::data data;
  data.set("site", page.site.title);
  data.set("sentence", front_sentence(page));
  if (!page.repos.empty())
    data.set("has_repos", true);
  mustache::data repos{mustache::data::type::list};
  for (const store::Repo &repo : page.repos) {
    mustache::data row;
    row.set("name", repo.name);
    row.set("url", repo_path(repo));
    if (repo.branch != "main")
      row.set("branch", plain_text(repo.branch, 60));
    row.set("class", std::string(state_class(repo)));
    row.set("now", state_words(repo));
    set_text(row, "note", repo.state_note);
    set_text(row, "changed", repo.last_changed);
    row.set("changed_day", day_of(repo.last_changed));
    row.set("revisions", std::to_string(repo.revision_count));
    repos.push_back(row);
  }
  data.set("repos", repos);
  if (const FrontCounts counts = front_counts(page);
      counts.repos > static_cast<std::int64_t>(page.repos.size()))
    data.set("part", std::to_string(page.repos.size()));
  set_deltas(data, page.deltas, "", true, front_deltas);
  return in_layout(page.site, page.site.title, front_sentence(page), "", "",
                   render("front.html", data));
}

std::string repo_html(const RepoPage &page) {
  const store::Repo &repo = page.repo;
  const std::string root = "../../../";
  mustache::data data;
  set_identity(data, repo, page.site, "");
  data.set("class", std::string(state_class(repo)));
  data.set("now", state_words(repo));
  set_text(data, "note", repo.state_note);
  if (!repo.head.empty()) {
    data.set("head", repo.head.substr(0, 12));
    data.set("head_url", "revisions/" + repo.head + "/");
    data.set("head_date", repo.head_date);
    data.set("head_day", day_of(repo.head_date));
  }
  data.set("revision_count",
           fmt::format("{} revision{}", repo.revision_count, repo.revision_count == 1 ? "" : "s"));
  mustache::data advisories{mustache::data::type::list};
  for (const store::AdvisoryRecord &record : page.advisories) {
    const Advisory &advisory = record.advisory;
    if (advisory.state != AdvisoryState::open || !advisory.withdrawn.empty())
      continue;
    mustache::data row;
    row.set("summary", advisory_summary(advisory));
    row.set("level", std::string(to_string(advisory.level)));
    row.set("impact", std::string(to_string(advisory.impact)));
    row.set("id", advisory.id);
    row.set("osv_url", root + "osv/" + advisory.id + ".json");
    row.set("url", "revisions/" + advisory.to + "/");
    row.set("to", advisory.to.substr(0, 12));
    mustache::data subjects{mustache::data::type::list};
    for (const AffectedEntry &entry : advisory.affected)
      subjects.push_back(mustache::data(entry.subject));
    row.set("subjects", subjects);
    advisories.push_back(row);
  }
  data.set("advisories", advisories);
  set_plan(data, page.plan_json);
  set_deltas(data, page.deltas, root, false, repo_deltas);
  mustache::data revisions{mustache::data::type::list};
  for (const store::Revision &revision : page.revisions) {
    mustache::data row;
    row.set("date", revision.date);
    row.set("day", day_of(revision.date));
    row.set("sha", revision.sha.substr(0, 12));
    row.set("url", "revisions/" + revision.sha + "/");
    row.set("title", plain_text(revision.title));
    // An absent name would be looked up in the page around the row.
    row.set("note", false);
    if (revision.status != store::RevisionStatus::read)
      row.set("note", fmt::format("{}: {}", store::to_string(revision.status), revision.note));
    if (!revision.on_branch)
      row.set("rewritten", true);
    if (revision.change_count > 0)
      row.set("count", std::to_string(revision.change_count));
    row.set("level", std::string(headwater::to_string(revision.delta_level)));
    revisions.push_back(row);
  }
  data.set("revisions", revisions);
  set_files(data, page.files);
  set_bases(data, page.bases, root);
  // The page shows the badge of its own site, wherever that is reached; what people copy is
  // absolute.
  data.set("badge_image", root + "badges/" + repo.name + ".svg");
  set_text(data, "badge_pin", repo.head);
  data.set("badge_url", page.site.public_url + "/badges/" + repo.name + ".svg");
  data.set("badge_alt", "upstream: " + state_words(repo));
  data.set("page_url", page.site.public_url + "/" + repo_path(repo));
  return in_layout(page.site, repo.name + " \u00b7 " + page.site.title,
                   repo.name + ": " + state_words(repo), root, repo_path(repo),
                   render("repo.html", data));
}

std::string changes_html(const RepoPage &page) {
  const std::string root = "../../../../";
  mustache::data data;
  set_identity(data, page.repo, page.site, "../");
  set_deltas(data, page.deltas, root, false, page.deltas.size());
  return in_layout(page.site, "Changes of " + page.repo.name, "All changes of " + page.repo.name,
                   root, repo_path(page.repo), render("changes.html", data));
}

std::string revision_html(const RevisionPage &page) {
  const std::string root = "../../../../../";
  const store::Revision &revision = page.revision;
  mustache::data data;
  set_identity(data, page.repo, page.site, "../../");
  data.set("short", revision.sha.substr(0, 12));
  data.set("sha", revision.sha);
  data.set("title", plain_text(revision.title));
  data.set("date", revision.date);
  data.set("day", day_of(revision.date));
  if (revision.status != store::RevisionStatus::read)
    data.set("note", fmt::format("{}: {}", store::to_string(revision.status), revision.note));
  if (!revision.on_branch)
    data.set("rewritten", true);
  data.set("hub_url", page.site.hub_origin + "/" + page.repo.name + "/commit/" + revision.sha);
  set_deltas(data, page.deltas, root, false, page.deltas.size());
  set_plan(data, revision.plan_json);
  set_files(data, page.files);
  return in_layout(page.site, page.repo.name + " at " + revision.sha.substr(0, 12),
                   "What changed and what it takes", root, repo_path(page.repo),
                   render("revision.html", data));
}

} // namespace headwater::feeds

#include "daemon/hub/replay_view.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders_in(const fs::path &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory()) {
      names.push_back(at->path().filename().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

/// The steps of one repo in recorded order, each dated no earlier than the one before it.
std::vector<ReplayStep> steps_of(const ReplayRepo &repo, std::size_t index) {
  std::vector<ReplayStep> steps;
  std::size_t event = 0;
  for (std::size_t commit = 0; commit <= repo.commits.size(); ++commit) {
    for (; event < repo.events.size() && repo.events[event].after <= commit; ++event) {
      steps.push_back({index, true, event, repo.events[event].date});
    }
    if (commit < repo.commits.size()) {
      steps.push_back({index, false, commit, repo.commits[commit].date});
    }
  }
  for (std::size_t i = 1; i < steps.size(); ++i) {
    steps[i].date = std::max(steps[i].date, steps[i - 1].date);
  }
  return steps;
}

void build_timeline(ReplayWorld &world) {
  std::vector<ReplayStep> rest;
  for (std::size_t i = 0; i < world.repos.size(); ++i) {
    bool first_seen = world.repos[i].commits.empty();
    for (const ReplayStep &step : steps_of(world.repos[i], i)) {
      (first_seen ? rest : world.timeline).push_back(step);
      first_seen = first_seen || !step.is_event;
    }
  }
  world.first_steps = world.timeline.size();
  std::ranges::stable_sort(rest, {}, &ReplayStep::date);
  world.timeline.insert(world.timeline.end(), rest.begin(), rest.end());
}

void apply(ReplayView &view, const ReplayEvent &event, ReplayShown &shown) {
  for (const auto &[key, value] : event.set.items()) {
    if (key == "id" && value.is_string()) {
      shown.renames[{view.repo->kind, view.id}] = value.get<std::string>();
      view.id = value.get<std::string>();
    } else if (key == "_id" && value.is_string()) {
      view.oid = value.get<std::string>();
    } else {
      view.meta[key] = value;
    }
  }
  view.gone = event.gone.value_or(view.gone);
  if (event.head) {
    view.refs["refs/heads/main"] = *event.head;
  }
}

/// Branches, tags and pull requests of repo.json whose commits are revealed.
void add_named_refs(ReplayView &view, std::size_t revealed) {
  constexpr std::pair<const char *, const char *> groups[] = {{"branches", "refs/heads/"},
                                                              {"git_tags", "refs/tags/"},
                                                              {"prs", "refs/pr/"},
                                                              {"converts", "refs/convert/"}};
  for (const auto &[key, prefix] : groups) {
    const auto group = view.meta.find(key);
    if (group == view.meta.end() || !group->is_object()) {
      continue;
    }
    for (const auto &[name, index] : group->items()) {
      if (index.is_number_integer() && index.get<std::int64_t>() >= 0 &&
          index.get<std::size_t>() < revealed) {
        view.refs[prefix + name] = index.get<std::size_t>();
      }
    }
  }
}

void mark_reachable(ReplayView &view) {
  view.reachable.assign(view.repo->commits.size(), false);
  for (const auto &[ref, target] : view.refs) {
    for (std::size_t at = target; at != no_commit && !view.reachable[at];
         at = view.repo->commits[at].parent) {
      view.reachable[at] = true;
    }
  }
}

} // namespace

Result<std::shared_ptr<const ReplayWorld>> read_replay_world(const std::string &root,
                                                             const ReplayReadOptions &options) {
  auto world = std::make_shared<ReplayWorld>();
  for (const char *kind : {"models", "datasets", "spaces"}) {
    const fs::path base = fs::path(root) / kind;
    for (const std::string &org : folders_in(base)) {
      for (const std::string &name : folders_in(base / org)) {
        Result<ReplayRepo> repo =
            read_replay_repo(kind, org + "/" + name, (base / org / name).string(), options);
        if (!repo) {
          return std::unexpected(repo.error());
        }
        world->repos.push_back(std::move(*repo));
      }
    }
  }
  if (world->repos.empty()) {
    return fail(
        Errc::bad_input,
        fmt::format(
            "{} holds no recorded repos: expected {}/models/ORG/NAME/revisions/NNNN-title/...",
            root, root));
  }
  build_timeline(*world);
  return world;
}

bool ReplayView::flag(const char *key) const {
  const auto found = meta.find(key);
  return found != meta.end() && found->is_boolean() && found->get<bool>();
}

std::string ReplayView::text(const char *key) const {
  const auto found = meta.find(key);
  return found != meta.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t ReplayView::number(const char *key) const {
  const auto found = meta.find(key);
  return found != meta.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

const ReplayCommit *ReplayView::resolve(std::string_view revision) const {
  const std::string name(revision.empty() || revision == "HEAD" ? "main" : revision);
  for (const std::string &full : {name, "refs/heads/" + name, "refs/tags/" + name}) {
    const auto found = refs.find(full);
    if (found != refs.end()) {
      return &repo->commits[found->second];
    }
  }
  if (name.size() < 5 || name.size() > 40 ||
      name.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return nullptr;
  }
  for (std::size_t i = 0; i < repo->commits.size(); ++i) {
    if (reachable[i] && repo->commits[i].sha.starts_with(name)) {
      return &repo->commits[i];
    }
  }
  return nullptr;
}

std::vector<const ReplayCommit *> ReplayView::history(const ReplayCommit &commit) const {
  std::vector<const ReplayCommit *> list = {&commit};
  while (list.back()->parent != no_commit) {
    list.push_back(&repo->commits[list.back()->parent]);
  }
  return list;
}

ReplayShown show(std::shared_ptr<const ReplayWorld> world, std::size_t steps) {
  ReplayShown shown;
  shown.world = std::move(world);
  shown.steps = std::clamp(steps, shown.world->first_steps, shown.world->timeline.size());
  for (const ReplayRepo &repo : shown.world->repos) {
    shown.views.push_back({&repo, repo.id, repo.oid, repo.meta});
  }
  std::vector<std::size_t> revealed(shown.views.size(), 0);
  for (std::size_t i = 0; i < shown.steps; ++i) {
    const ReplayStep &step = shown.world->timeline[i];
    ReplayView &view = shown.views[step.repo];
    if (step.is_event) {
      apply(view, view.repo->events[step.index], shown);
    } else {
      view.refs["refs/heads/main"] = step.index;
      revealed[step.repo] = step.index + 1;
    }
  }
  for (std::size_t i = 0; i < shown.views.size(); ++i) {
    ReplayView &view = shown.views[i];
    add_named_refs(view, revealed[i]);
    mark_reachable(view);
    shown.by_name[{view.repo->kind, view.id}] = i;
    const auto old_names = view.meta.find("renamed_from");
    if (old_names != view.meta.end() && old_names->is_array()) {
      for (const Json &old : *old_names) {
        if (old.is_string()) {
          shown.renames[{view.repo->kind, old.get<std::string>()}] = view.id;
        }
      }
    }
    for (std::size_t c = 0; c < revealed[i]; ++c) {
      for (const auto &[path, file] : view.repo->commits[c].files) {
        if (file.lfs()) {
          shown.blobs.emplace(file.sha256, &file);
        }
      }
    }
  }
  return shown;
}

} // namespace headwater::hub

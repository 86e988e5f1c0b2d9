#include "daemon/track/stages.hpp"
#include "schemas/json.hpp"
#include "schemas/repo.hpp"
#include "schemas/text.hpp"

#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

namespace headwater::track {
namespace {

/// Files whose "auto_map" a loader follows.
constexpr std::string_view configs_with_code[] = {
    "config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json",
    "generation_config.json"};

/// "other/repo--module.Class" -> "other/repo"; nothing for code of the repo itself.
void add_repo_of(const Json &reference, std::set<std::string> &repos) {
  if (!reference.is_string())
    return;
  const std::string &text = reference.get_ref<const std::string &>();
  const std::size_t dashes = text.find("--");
  if (dashes == std::string::npos)
    return;
  if (const Result<RepoId> repo = parse_repo_id(std::string_view(text).substr(0, dashes)))
    repos.insert(repo->str());
}

} // namespace

std::vector<std::string> named_code_repos(const Snapshot &snapshot, std::size_t limit) {
  std::set<std::string> repos;
  for (const std::string_view path : configs_with_code) {
    const std::string *text = find_text(snapshot, path);
    if (text == nullptr)
      continue;
    const Result<Json> config = parse_json(*text);
    if (!config || !config->is_object())
      continue;
    const auto map = config->find("auto_map");
    if (map == config->end())
      continue;
    // A value is one reference, or a list of them (slow and fast tokenizer); an old form is the
    // list itself.
    for (const Json &value : map->is_structured() ? *map : Json::array({*map})) {
      if (value.is_array())
        for (const Json &item : value)
          add_repo_of(item, repos);
      else
        add_repo_of(value, repos);
    }
  }
  repos.erase(snapshot.facts.name);
  std::vector<std::string> list(repos.begin(), repos.end());
  if (list.size() > limit)
    list.resize(limit);
  return list;
}

std::string reading_problem(const Snapshot &snapshot) {
  for (const auto &[path, content] : snapshot.contents)
    if (!content.problem.empty())
      return plain_text(path) + ": " + content.problem;
  const std::string *config = find_text(snapshot, "config.json");
  if (config == nullptr)
    return {};
  const Result<Json> parsed = parse_json(*config);
  return parsed ? std::string() : "config.json: " + parsed.error().message;
}

} // namespace headwater::track

// What the replay hub says of a repo: its facts at a revision, and the list of all repos.

#include "daemon/hub/replay_answer.hpp"
#include "daemon/read/card.hpp"
#include "daemon/read/safetensors.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

constexpr std::array expandable = {"author",        "baseModels",
                                   "cardData",      "childrenModelCount",
                                   "config",        "createdAt",
                                   "disabled",      "downloads",
                                   "evalResults",   "downloadsAllTime",
                                   "gated",         "gguf",
                                   "inference",     "lastModified",
                                   "likes",         "library_name",
                                   "mask_token",    "inferenceProviderMapping",
                                   "model-index",   "pipeline_tag",
                                   "private",       "resourceGroup",
                                   "safetensors",   "sha",
                                   "siblings",      "spaces",
                                   "tags",          "transformersInfo",
                                   "trendingScore", "usedStorage",
                                   "widgetData",    "xetEnabled",
                                   "citation",      "description",
                                   "mainSize",      "paperswithcode_id",
                                   "datasets",      "models",
                                   "region",        "runtime",
                                   "sdk",           "subdomain",
                                   "gitalyUid"};

/// Fields of an info answer; all when nothing is asked for by name.
struct Wanted {
  std::vector<std::string> fields;
  bool blobs = false;
  bool has(std::string_view field) const {
    return fields.empty() || std::ranges::find(fields, field) != fields.end();
  }
};

std::optional<net::Response> refuse_expand(const ReplayCall &call) {
  for (const std::string &field : call.values("expand")) {
    if (std::ranges::find(expandable, field) == expandable.end()) {
      return error_answer(call, 400, "",
                          fmt::format("Invalid option: expand contains \"{}\"", field));
    }
  }
  return std::nullopt;
}

/// The tags that the hub shows: those of repo.json, and what the card of main says.
std::vector<std::string> tags_of(const ReplayView &view, const ReplayCommit *head) {
  std::vector<std::string> tags;
  if (const auto listed = view.meta.find("tags"); listed != view.meta.end() && listed->is_array()) {
    for (const Json &tag : *listed) {
      if (tag.is_string()) {
        tags.push_back(tag.get<std::string>());
      }
    }
  }
  if (!view.text("library_name").empty()) {
    tags.push_back(view.text("library_name"));
  }
  if (head != nullptr) {
    const Result<read::Card> card = read::read_card(file_text(*head, "README.md"));
    if (card && !card->licence.empty()) {
      tags.push_back("license:" + card->licence);
    }
    for (const std::string &base : card ? card->base_models : std::vector<std::string>()) {
      tags.push_back("base_model:" + base);
    }
  }
  tags.emplace_back("region:us");
  std::set<std::string> seen;
  std::erase_if(tags, [&](const std::string &tag) { return !seen.insert(tag).second; });
  return tags;
}

OrderedJson siblings_of(const ReplayCommit &commit, bool blobs) {
  OrderedJson list = OrderedJson::array();
  for (const auto &[path, file] : commit.files) {
    OrderedJson entry = {{"rfilename", path}};
    if (blobs) {
      entry["blobId"] = file.oid;
      entry["size"] = file.size;
      if (file.lfs()) {
        entry["lfs"] = {
            {"sha256", file.sha256}, {"size", file.size}, {"pointerSize", file.pointer.size()}};
      }
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// Elements by dtype over the weight files at the top of the tree; null where there are none.
OrderedJson safetensors_count(const ReplayCommit &commit) {
  std::map<std::string, std::int64_t> parameters;
  std::int64_t total = 0;
  for (const auto &[path, file] : commit.files) {
    if (!path.ends_with(".safetensors") || path.contains('/')) {
      continue;
    }
    const std::optional<std::string> bytes = header_bytes(file);
    const Result<read::SafetensorsHeader> header =
        read::read_safetensors_header(bytes.value_or(""));
    if (!header) {
      continue;
    }
    for (const read::StoredTensor &tensor : header->tensors) {
      parameters[tensor.dtype] += tensor.elements();
      total += tensor.elements();
    }
  }
  return parameters.empty() ? OrderedJson()
                            : OrderedJson{{"parameters", parameters}, {"total", total}};
}

OrderedJson config_digest(const ReplayCommit &commit) {
  const Result<OrderedJson> config = parse_ordered_json(file_text(commit, "config.json"));
  OrderedJson digest = OrderedJson::object();
  for (const char *key : {"architectures", "model_type", "auto_map"}) {
    if (config && config->is_object() && config->contains(key)) {
      digest[key] = (*config)[key];
    }
  }
  return digest;
}

OrderedJson card_data(const ReplayCommit &commit) {
  const Result<read::Card> card = read::read_card(file_text(commit, "README.md"));
  OrderedJson data = OrderedJson::object();
  if (card && !card->licence.empty()) {
    data["license"] = card->licence;
  }
  if (card && !card->licence_name.empty()) {
    data["license_name"] = card->licence_name;
  }
  if (card && !card->licence_link.empty()) {
    data["license_link"] = card->licence_link;
  }
  if (card && !card->base_models.empty()) {
    data["base_model"] = card->base_models;
  }
  return data;
}

/// The facts of a repo at a commit (null for an empty repo), of which the caller keeps the wanted
/// ones.
OrderedJson info_of(const ReplayView &view, const ReplayCommit *commit, const Wanted &wanted) {
  OrderedJson info = {{"_id", view.oid}, {"id", view.id}};
  const auto put = [&](const char *key, OrderedJson value) {
    if (wanted.has(key)) {
      info[key] = std::move(value);
    }
  };
  put("author",
      view.text("author").empty() ? view.id.substr(0, view.id.find('/')) : view.text("author"));
  put("private", view.flag("private"));
  put("gated", OrderedJson(view.meta.value("gated", Json(false))));
  put("disabled", view.flag("disabled"));
  put("downloads", view.number("downloads"));
  put("likes", view.number("likes"));
  put("trendingScore", view.number("trendingScore"));
  if (wanted.has("tags")) {
    put("tags", tags_of(view, view.head()));
  }
  put("spaces", OrderedJson::array());
  if (view.repo->kind == "models") {
    if (wanted.fields.empty()) {
      info["modelId"] = view.id;
    }
    for (const char *key : {"pipeline_tag", "library_name"}) {
      if (!view.text(key).empty()) {
        put(key, view.text(key));
      }
    }
  }
  if (!view.repo->commits.empty()) {
    put("createdAt", view.text("createdAt").empty() ? hub_time(view.repo->commits.front().date)
                                                    : view.text("createdAt"));
  }
  if (commit == nullptr) {
    put("siblings", OrderedJson::array());
    put("usedStorage", 0);
    return info;
  }
  put("sha", commit->sha);
  put("lastModified", hub_time(commit->date));
  if (wanted.has("siblings")) {
    put("siblings", siblings_of(*commit, wanted.blobs));
  }
  std::uint64_t storage = 0;
  for (const auto &[path, file] : commit->files) {
    storage += file.size;
  }
  put("usedStorage", storage);
  if (wanted.has("config") && commit->files.contains("config.json")) {
    put("config", config_digest(*commit));
  }
  if (wanted.has("cardData") && commit->files.contains("README.md")) {
    put("cardData", card_data(*commit));
  }
  if (wanted.has("safetensors")) {
    if (OrderedJson count = safetensors_count(*commit); !count.is_null()) {
      put("safetensors", std::move(count));
    }
  }
  return info;
}

std::int64_t sort_number(const ReplayView &view, const std::string &key) {
  if (key == "lastModified") {
    return view.head() != nullptr ? view.head()->date : 0;
  }
  if (key == "createdAt") {
    return view.repo->commits.empty() ? 0 : view.repo->commits.front().date;
  }
  return view.number(key.c_str());
}

/// The repos of a kind that the caller may see, filtered and sorted as asked.
std::vector<const ReplayView *> listed_repos(const ReplayCall &call, const std::string &kind,
                                             const std::string &sort) {
  std::vector<const ReplayView *> rows;
  const std::string author = call.value("author");
  const std::string search = call.value("search");
  for (const ReplayView &view : call.shown.views) {
    const bool readable =
        !view.gone && (!view.flag("private") || call.user() == ReplayUser::with_access);
    if (view.repo->kind == kind && readable &&
        (author.empty() || view.id.starts_with(author + "/")) && view.id.contains(search)) {
      rows.push_back(&view);
    }
  }
  for (const std::string &filter : call.values("filter")) {
    std::erase_if(rows, [&](const ReplayView *view) {
      const std::vector<std::string> tags = tags_of(*view, view->head());
      return std::ranges::find(tags, filter) == tags.end();
    });
  }
  const bool ascending = call.value("direction", "-1") == "1";
  std::ranges::sort(rows, [&](const ReplayView *a, const ReplayView *b) {
    const auto key = [&](const ReplayView *view) {
      return std::tuple(sort == "id" ? 0 : sort_number(*view, sort), sort == "id" ? view->id : "",
                        view->oid);
    };
    return ascending ? key(a) < key(b) : key(b) < key(a);
  });
  return rows;
}

} // namespace

net::Response answer_info(const ReplayCall &call, const ReplayView &view,
                          const std::string &revision) {
  if (std::optional<net::Response> refusal = refuse_expand(call)) {
    return *refusal;
  }
  const ReplayCommit *commit = nullptr;
  if (!revision.empty() || !view.refs.empty()) {
    const auto found = find_commit(call, view, revision.empty() ? "main" : revision);
    if (!found) {
      return found.error();
    }
    commit = *found;
  }
  OrderedJson info = info_of(view, commit, {call.values("expand"), call.flag("blobs")});
  if (call.flag("securityStatus")) {
    info["securityRepoStatus"] = {{"scansDone", true}, {"filesWithIssues", OrderedJson::array()}};
  }
  return json_answer(call, info);
}

net::Response answer_listing(const ReplayCall &call, const std::string &kind) {
  if (std::optional<net::Response> refusal = refuse_expand(call)) {
    return *refusal;
  }
  const std::string sort = call.value("sort", "trendingScore");
  constexpr std::array keys = {"lastModified", "createdAt",     "downloads",
                               "likes",        "trendingScore", "id"};
  if (std::ranges::find(keys, sort) == keys.end()) {
    return error_answer(call, 400, "", "Invalid sort: " + sort);
  }
  const std::vector<const ReplayView *> rows = listed_repos(call, kind, sort);
  const std::uint64_t limit = std::max<std::uint64_t>(call.number("limit", 1000, 1000), 1);
  const std::uint64_t start = call.number("cursor", 0, rows.size());
  net::Headers headers;
  if (start + limit < rows.size()) {
    headers.push_back(next_link(call, {{"cursor", std::to_string(start + limit)}}));
  }
  Wanted wanted = {call.values("expand"), false};
  if (wanted.fields.empty()) {
    wanted.fields = {"likes",        "private",      "downloads", "tags",
                     "pipeline_tag", "library_name", "createdAt", "trendingScore"};
    const bool full = call.flag("full");
    if (kind != "models" || full) {
      wanted.fields.insert(wanted.fields.end(), {"author", "sha", "lastModified", "gated"});
    }
    if (full) {
      wanted.fields.emplace_back("siblings");
    }
    for (const char *key : {"config", "cardData"}) {
      if (call.flag(key)) {
        wanted.fields.emplace_back(key);
      }
    }
  }
  OrderedJson list = OrderedJson::array();
  for (std::uint64_t i = start; i < std::min<std::uint64_t>(start + limit, rows.size()); ++i) {
    OrderedJson row = info_of(*rows[i], rows[i]->head(), wanted);
    if (kind == "models" && call.values("expand").empty()) {
      row["modelId"] = rows[i]->id;
    }
    list.push_back(std::move(row));
  }
  return json_answer(call, list, 200, std::move(headers));
}

} // namespace headwater::hub

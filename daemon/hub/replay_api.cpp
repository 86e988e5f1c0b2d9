// The JSON side of the replay hub: which question is asked, history, refs, trees.

#include "daemon/hub/replay_answer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

net::Response answer_commits(const ReplayCall &call, const ReplayView &view,
                             const std::string &revision) {
  const auto commit = find_commit(call, view, revision);
  if (!commit) {
    return commit.error();
  }
  const std::vector<const ReplayCommit *> history = view.history(**commit);
  const std::uint64_t limit = std::max<std::uint64_t>(call.number("limit", 50, 1000), 1);
  const std::uint64_t page = call.number("p", 0, 1'000'000);
  net::Headers headers = {{"X-Total-Count", std::to_string(history.size())}};
  if ((page + 1) * limit < history.size()) {
    headers.push_back(
        next_link(call, {{"p", std::to_string(page + 1)}, {"limit", std::to_string(limit)}}));
  }
  const std::vector<std::string> expand = call.values("expand");
  const bool formatted = std::ranges::find(expand, "formatted") != expand.end();
  OrderedJson list = OrderedJson::array();
  for (std::uint64_t i = page * limit;
       i < std::min<std::uint64_t>((page + 1) * limit, history.size()); ++i) {
    const ReplayCommit &at = *history[i];
    OrderedJson row = {
        {"id", at.sha},
        {"title", at.title},
        {"message", at.message},
        {"authors", OrderedJson::array({{{"user", "replay"}, {"avatar", "/avatars/0.svg"}}})},
        {"date", hub_time(at.date)}};
    if (formatted) {
      row["formatted"] = {{"title", at.title}, {"message", at.message}};
    }
    list.push_back(std::move(row));
  }
  return json_answer(call, list, 200, std::move(headers));
}

net::Response answer_refs(const ReplayCall &call, const ReplayView &view) {
  OrderedJson refs = {{"branches", OrderedJson::array()},
                      {"converts", OrderedJson::array()},
                      {"tags", OrderedJson::array()}};
  if (call.flag("include_prs")) {
    refs["pullRequests"] = OrderedJson::array();
  }
  constexpr std::pair<std::string_view, const char *> groups[] = {{"refs/heads/", "branches"},
                                                                  {"refs/tags/", "tags"},
                                                                  {"refs/convert/", "converts"},
                                                                  {"refs/pr/", "pullRequests"}};
  for (const auto &[full, target] : view.refs) {
    for (const auto &[prefix, key] : groups) {
      if (full.starts_with(prefix) && refs.contains(key)) {
        refs[key].push_back({{"name", full.substr(prefix.size())},
                             {"ref", full},
                             {"targetCommit", view.repo->commits[target].sha}});
      }
    }
  }
  return json_answer(call, refs);
}

/// A row of a tree listing, null for a path that is not there.
OrderedJson tree_entry(const ReplayView &view, const ReplayCommit &commit, const std::string &path,
                       bool expand) {
  OrderedJson entry;
  const auto file = commit.files.find(path);
  const auto tree = commit.trees.find(path);
  if (file != commit.files.end()) {
    entry = {{"type", "file"}, {"oid", file->second.oid}, {"size", file->second.size}};
    if (file->second.lfs()) {
      entry["lfs"] = {{"oid", file->second.sha256},
                      {"size", file->second.size},
                      {"pointerSize", file->second.pointer.size()}};
      // No "xetHash": a client that sees one downloads through the Xet service instead of HTTP.
    }
  } else if (tree != commit.trees.end()) {
    entry = {{"type", "directory"}, {"oid", tree->second}, {"size", 0}};
  } else {
    return entry;
  }
  entry["path"] = path;
  if (expand) {
    const ReplayCommit &last = view.repo->commits[commit.touched.at(path)];
    entry["lastCommit"] = {{"id", last.sha}, {"title", last.title}, {"date", hub_time(last.date)}};
    if (file != commit.files.end()) {
      entry["securityFileStatus"] = {
          {"status", "safe"}, {"avScan", {{"status", "safe"}}}, {"pickleImportScan", nullptr}};
    }
  }
  return entry;
}

std::string trimmed(std::string path) {
  path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
  while (path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

net::Response answer_tree(const ReplayCall &call, const ReplayView &view,
                          const std::string &revision, const std::string &folder) {
  const auto commit = find_commit(call, view, revision);
  if (!commit) {
    return commit.error();
  }
  if (!folder.empty() && !(*commit)->trees.contains(folder)) {
    return error_answer(call, 404, "EntryNotFound",
                        fmt::format("{} does not exist on \"{}\"", folder, revision));
  }
  const std::string prefix = folder.empty() ? "" : folder + "/";
  const bool recursive = call.flag("recursive");
  std::vector<std::string> names;
  const auto take = [&](const auto &entries) {
    for (const auto &[path, unused] : entries) {
      if (path.starts_with(prefix) &&
          (recursive || path.find('/', prefix.size()) == std::string::npos)) {
        names.push_back(path);
      }
    }
  };
  take((*commit)->trees);
  take((*commit)->files);
  std::ranges::sort(names);
  const bool expand = call.flag("expand");
  const std::uint64_t limit =
      std::max<std::uint64_t>(call.number("limit", expand ? 100 : 1000, 1000), 1);
  const std::uint64_t start = call.number("cursor", 0, names.size());
  net::Headers headers;
  if (start + limit < names.size()) {
    headers.push_back(next_link(
        call, {{"limit", std::to_string(limit)}, {"cursor", std::to_string(start + limit)}}));
  }
  OrderedJson list = OrderedJson::array();
  for (std::uint64_t i = start; i < std::min<std::uint64_t>(start + limit, names.size()); ++i) {
    list.push_back(tree_entry(view, **commit, names[i], expand));
  }
  return json_answer(call, list, 200, std::move(headers));
}

struct PathsQuestion {
  std::vector<std::string> paths;
  bool expand = false;
};

std::optional<PathsQuestion> read_paths_question(const ReplayCall &call) {
  PathsQuestion question;
  const std::string *type = net::find_header(call.request.headers, "Content-Type");
  if (type != nullptr && type->contains("json")) {
    const Result<Json> body = parse_json(call.request.body);
    if (!body || !body->is_object()) {
      return std::nullopt;
    }
    const Json paths = body->value("paths", Json::array());
    for (const Json &path : paths.is_array() ? paths : Json::array({paths})) {
      if (path.is_string()) {
        question.paths.push_back(path.get<std::string>());
      }
    }
    question.expand = body->contains("expand") && (*body)["expand"] == true;
    return question;
  }
  std::string form = call.request.body;
  std::ranges::replace(form, '+', ' ');
  const std::optional<net::Target> fields = net::split_target("/?" + form);
  if (!fields) {
    return std::nullopt;
  }
  for (const auto &[key, value] : fields->query) {
    if (key == "paths" || key == "paths[]") {
      question.paths.push_back(value);
    } else if (key == "expand") {
      question.expand = value == "true" || value == "True" || value == "1";
    }
  }
  return question;
}

net::Response answer_paths_info(const ReplayCall &call, const ReplayView &view,
                                const std::string &revision) {
  const auto commit = find_commit(call, view, revision);
  if (!commit) {
    return commit.error();
  }
  const std::optional<PathsQuestion> question = read_paths_question(call);
  if (!question || question->paths.size() > 2000) {
    return error_answer(call, 400, "", "paths must be a list of at most 2000 paths");
  }
  OrderedJson list = OrderedJson::array();
  for (const std::string &path : question->paths) {
    if (OrderedJson entry = tree_entry(view, **commit, trimmed(path), question->expand);
        !entry.is_null()) {
      list.push_back(std::move(entry));
    }
  }
  return json_answer(call, list);
}

net::Response answer_treesize(const ReplayCall &call, const ReplayView &view,
                              const std::string &revision, const std::string &folder) {
  const auto commit = find_commit(call, view, revision);
  if (!commit) {
    return commit.error();
  }
  std::uint64_t size = 0;
  for (const auto &[path, file] : (*commit)->files) {
    size += folder.empty() || path == folder || path.starts_with(folder + "/") ? file.size : 0;
  }
  return json_answer(call, {{"path", "/" + folder}, {"size", size}});
}

net::Response answer_compare(const ReplayCall &call, const ReplayView &view,
                             const std::string &range) {
  const std::size_t dots = range.find("..");
  const std::string second =
      dots == std::string::npos ? "" : range.substr(range.find_first_not_of('.', dots));
  const ReplayCommit *before =
      dots == std::string::npos ? nullptr : view.resolve(range.substr(0, dots));
  const ReplayCommit *after = dots == std::string::npos ? nullptr : view.resolve(second);
  if (before == nullptr || after == nullptr) {
    return error_answer(call, 404, "RevisionNotFound", "Invalid rev id");
  }
  std::set<std::string> paths;
  for (const ReplayCommit *commit : {before, after}) {
    for (const auto &[path, file] : commit->files) {
      paths.insert(path);
    }
  }
  std::string text;
  const std::string none(40, '0');
  for (const std::string &path : paths) {
    const auto old_file = before->files.find(path);
    const auto new_file = after->files.find(path);
    const bool added = old_file == before->files.end();
    const bool removed = new_file == after->files.end();
    const std::string &old_id = added ? none : old_file->second.oid;
    const std::string &new_id = removed ? none : new_file->second.oid;
    if (old_id == new_id) {
      continue;
    }
    if (call.flag("raw")) {
      text += fmt::format(":{} {} {} {} {}\t{}\n", added ? "000000" : "100644",
                          removed ? "000000" : "100644", old_id, new_id,
                          added     ? "A"
                          : removed ? "D"
                                    : "M",
                          path);
    } else {
      text += fmt::format("diff --git a/{0} b/{0}\nindex {1}..{2} 100644\n", path,
                          old_id.substr(0, 7), new_id.substr(0, 7));
    }
  }
  return text_answer(call, 200, std::move(text));
}

net::Response answer_discussions(const ReplayCall &call, const ReplayView &view) {
  const Json list = view.meta.value("discussions", Json::array());
  return json_answer(call,
                     {{"discussions", OrderedJson(list)}, {"count", list.size()}, {"start", 0}});
}

/// One request that carries an index and the headers of its shards, at the head of main.
net::Response answer_sharded_metadata(const ReplayCall &call, const ReplayView &view,
                                      const std::string &path) {
  const ReplayCommit *commit = view.head();
  if (commit == nullptr || !commit->files.contains(path)) {
    return error_answer(call, 404, "EntryNotFound", "Entry not found");
  }
  const Result<OrderedJson> index = parse_ordered_json(file_text(*commit, path));
  if (!index || !index->is_object() || !index->contains("weight_map") ||
      !(*index)["weight_map"].is_object()) {
    return error_answer(call, 400, "", "not a safetensors index");
  }
  const std::size_t slash = path.rfind('/');
  const std::string prefix = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::set<std::string> shards;
  for (const auto &[tensor, shard] : (*index)["weight_map"].items()) {
    if (shard.is_string()) {
      shards.insert(shard.get<std::string>());
    }
  }
  OrderedJson headers = OrderedJson::object();
  for (const std::string &shard : shards) {
    const auto file = commit->files.find(prefix + shard);
    const std::optional<std::string> bytes =
        file == commit->files.end() ? std::nullopt : header_bytes(file->second);
    Result<OrderedJson> header =
        parse_ordered_json(bytes ? std::string_view(*bytes).substr(8) : std::string_view());
    if (!header) {
      return error_answer(call, 404, "EntryNotFound", fmt::format("{} cannot be read", shard));
    }
    headers[shard] = std::move(*header);
  }
  return json_answer(call, {{"index", {{"metadata", index->value("metadata", OrderedJson())}}},
                            {"headers", headers}});
}

net::Response answer_whoami(const ReplayCall &call) {
  const ReplayUser user = call.user();
  if (user == ReplayUser::anonymous || user == ReplayUser::invalid) {
    return error_answer(call, 401, "", "Invalid username or password.");
  }
  const std::string name = user == ReplayUser::with_access ? "ok" : "noaccess";
  return json_answer(call, {{"type", "user"},
                            {"id", std::string(24, '0')},
                            {"name", name},
                            {"fullname", name},
                            {"orgs", OrderedJson::array()},
                            {"auth",
                             {{"type", "access_token"},
                              {"accessToken", {{"displayName", "t"}, {"role", "read"}}}}}});
}

constexpr std::array operations = {
    "revision", "commits",     "refs", "tree",     "paths-info",
    "compare",  "discussions", "scan", "treesize", "safetensors-metadata"};

bool is_operation(std::string_view word) {
  return std::ranges::find(operations, word) != operations.end();
}

net::Response answer_operation(const ReplayCall &call, const ReplayView &view,
                               const std::string &operation, std::size_t rest) {
  const std::string argument = join_segments(call.target, rest);
  const std::string revision =
      rest < call.target.segments.size() ? call.target.segments[rest] : "main";
  const std::string folder = trimmed(join_segments(call.target, rest + 1));
  if (operation.empty()) {
    return answer_info(call, view, "");
  }
  if (operation == "revision") {
    return answer_info(call, view, argument);
  }
  if (operation == "commits") {
    return answer_commits(call, view, argument.empty() ? "main" : argument);
  }
  if (operation == "refs") {
    return answer_refs(call, view);
  }
  if (operation == "tree") {
    return answer_tree(call, view, revision, folder);
  }
  if (operation == "paths-info") {
    return answer_paths_info(call, view, argument.empty() ? "main" : argument);
  }
  if (operation == "compare") {
    return answer_compare(call, view, argument);
  }
  if (operation == "discussions") {
    return answer_discussions(call, view);
  }
  if (operation == "treesize") {
    return answer_treesize(call, view, revision, folder);
  }
  if (operation == "safetensors-metadata") {
    return answer_sharded_metadata(call, view, argument);
  }
  return json_answer(call,
                     {{"scansDone", true}, {"filesWithIssues", OrderedJson::array()}}); // scan
}

} // namespace

net::Response answer_api(const ReplayCall &call) {
  const std::vector<std::string> &parts = call.target.segments;
  const std::string kind = parts.size() > 1 ? parts[1] : "";
  if (kind == "whoami-v2" && parts.size() == 2) {
    return answer_whoami(call);
  }
  if (kind == "resolve-cache") {
    return answer_resolve_cache(call);
  }
  if (kind != "models" && kind != "datasets" && kind != "spaces") {
    return error_answer(call, 404, "", "Sorry, we can't find the page you are looking for.");
  }
  if (parts.size() == 2) {
    return answer_listing(call, kind);
  }
  // org/name, or a legacy name of one part.
  const bool legacy = parts.size() == 3 ||
                      (is_operation(parts[3]) && !(parts.size() > 4 && is_operation(parts[4])));
  const std::string id = legacy ? parts[2] : parts[2] + "/" + parts[3];
  const std::size_t at = legacy ? 3 : 4;
  const std::string operation = parts.size() > at ? parts[at] : "";
  if (!operation.empty() && !is_operation(operation)) {
    return error_answer(call, 404, "", "Sorry, we can't find the page you are looking for.");
  }
  const bool content =
      operation == "commits" || operation == "safetensors-metadata" || operation == "compare";
  const auto view = find_repo(call, kind, id, content);
  return view ? answer_operation(call, **view, operation, at + 1) : view.error();
}

} // namespace headwater::hub

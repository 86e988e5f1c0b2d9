#include "daemon/hub/http_answers.hpp"

#include "schemas/repo.hpp"
#include "schemas/text.hpp"
#include "schemas/time.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

constexpr std::size_t max_tags = 10'000;
constexpr std::size_t max_path_bytes = 4096;

const Json *member(const Json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text(const Json &object, const char *key) {
  const Json *value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

bool flag(const Json &object, const char *key) {
  const Json *value = member(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

/// -1 for what is no count.
std::int64_t count(const Json &object, const char *key) {
  const Json *value = member(object, key);
  if (value == nullptr || !value->is_number_integer())
    return -1;
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return -1;
  return value->get<std::int64_t>();
}

/// A date in one spelling, "" for what is none.
std::string date(const Json &object, const char *key) {
  const std::string given = text(object, key);
  const Result<TimePoint> time = parse_time(given);
  return time ? format_time(*time) : std::string();
}

Result<Gate> gate(const Json &answer) {
  const Json *value = member(answer, "gated");
  if (value == nullptr)
    return Gate::open;
  if (value->is_boolean())
    return value->get<bool>() ? Gate::automatic : Gate::open;
  if (value->is_string() && *value == "auto")
    return Gate::automatic;
  if (value->is_string() && *value == "manual")
    return Gate::manual;
  return fail(Errc::malformed, "\"gated\" is neither false nor \"auto\" nor \"manual\"");
}

bool is_hex(std::string_view id, std::size_t digits) {
  return id.size() == digits && std::ranges::all_of(id, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// A path within a repo that can be asked for and shown: relative, no empty or dot segments, no
/// control characters.
bool is_path(std::string_view path) {
  if (path.empty() || path.size() > max_path_bytes)
    return false;
  if (std::ranges::any_of(path,
                          [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (segment.empty() || segment == "." || segment == "..")
      return false;
    if (slash == std::string_view::npos)
      return true;
    path.remove_prefix(slash + 1);
  }
}

/// The forms of tree and siblings differ in the names of the fields alone.
struct FileFields {
  const char *path;
  const char *oid;
  const char *lfs_sha256;
};

Result<void> add_file(const Json &row, const FileFields &fields, std::vector<FileEntry> &files) {
  FileEntry file;
  file.path = text(row, fields.path);
  if (!is_path(file.path))
    return fail(Errc::malformed, fmt::format("a file has the path \"{}\"", plain_text(file.path)));
  file.oid = text(row, fields.oid);
  file.size = count(row, "size");
  if (const Json *lfs = member(row, "lfs"); lfs != nullptr && lfs->is_object()) {
    file.sha256 = text(*lfs, fields.lfs_sha256);
    if (file.sha256.starts_with("sha256:"))
      file.sha256.erase(0, 7);
    if (count(*lfs, "size") >= 0)
      file.size = count(*lfs, "size");
    if (!is_hex(file.sha256, 64))
      return fail(Errc::malformed,
                  fmt::format("{}: its LFS digest is not a sha256", plain_text(file.path)));
  }
  if (file.size < 0)
    return fail(Errc::malformed, fmt::format("{}: it has no size", plain_text(file.path)));
  if (file.content_id().empty() ||
      (!file.oid.empty() && !is_hex(file.oid, 40) && !is_hex(file.oid, 64)))
    return fail(Errc::malformed, fmt::format("{}: its object id \"{}\" is not one",
                                             plain_text(file.path), plain_text(file.oid, 80)));
  files.push_back(std::move(file));
  return {};
}

} // namespace

Result<RepoFacts> read_facts(const Json &answer, const std::string &asked) {
  if (!answer.is_object())
    return fail(Errc::malformed, "the facts of a repo are not an object");
  RepoFacts facts;
  facts.name = text(answer, "id");
  if (facts.name.empty())
    facts.name = text(answer, "modelId");
  if (facts.name.empty())
    facts.name = asked;
  if (const Result<RepoId> id = parse_repo_id(facts.name); !id)
    return fail(Errc::malformed, "the hub names the repo wrongly: " + id.error().message);
  facts.identity = text(answer, "_id");
  if (!facts.identity.empty() && !is_hex(facts.identity, 24))
    facts.identity = plain_text(facts.identity, 80);
  facts.head = text(answer, "sha");
  if (!facts.head.empty() && !is_revision(facts.head))
    return fail(
        Errc::malformed,
        fmt::format(
            "\"{}\" is not a git revision: this mirror numbers its commits in a way of its own",
            plain_text(facts.head, 80)));
  facts.is_private = flag(answer, "private");
  facts.disabled = flag(answer, "disabled");
  const Result<Gate> gated = gate(answer);
  if (!gated)
    return std::unexpected(gated.error());
  facts.gate = *gated;
  if (const Json *tags = member(answer, "tags"); tags != nullptr && tags->is_array()) {
    for (const Json &tag : *tags)
      if (tag.is_string() && facts.tags.size() < max_tags)
        facts.tags.push_back(tag.get<std::string>());
    std::ranges::sort(facts.tags);
  }
  facts.library_name = text(answer, "library_name");
  facts.pipeline_tag = text(answer, "pipeline_tag");
  facts.created_at = date(answer, "createdAt");
  facts.last_modified = date(answer, "lastModified");
  if (const Json *weights = member(answer, "safetensors");
      weights != nullptr && weights->is_object())
    facts.safetensors_json = weights->dump();
  return facts;
}

Result<void> read_commits(const Json &answer, std::vector<Commit> &commits) {
  if (!answer.is_array())
    return fail(Errc::malformed, "the commit list is not a list");
  for (const Json &row : answer) {
    Commit commit;
    commit.sha = text(row, "id");
    if (!is_revision(commit.sha))
      return fail(Errc::malformed, fmt::format("\"{}\" in the commit list is not a git revision",
                                               plain_text(commit.sha, 80)));
    commit.title = text(row, "title");
    commit.date = date(row, "date");
    commits.push_back(std::move(commit));
  }
  return {};
}

Result<Refs> read_refs(const Json &answer) {
  if (!answer.is_object())
    return fail(Errc::malformed, "the refs are not an object");
  Refs refs;
  const auto take = [&answer](const char *key, std::vector<Refs::Ref> &into) {
    const Json *rows = member(answer, key);
    if (rows == nullptr || !rows->is_array())
      return;
    for (const Json &row : *rows) {
      Refs::Ref ref{text(row, "name"), text(row, "targetCommit")};
      if (!ref.name.empty() && is_revision(ref.target))
        into.push_back(std::move(ref));
    }
  };
  take("branches", refs.branches);
  take("tags", refs.tags);
  return refs;
}

Result<void> read_tree(const Json &answer, std::vector<FileEntry> &files) {
  if (!answer.is_array())
    return fail(Errc::malformed, "the tree is not a list");
  constexpr FileFields fields{"path", "oid", "oid"};
  for (const Json &row : answer) {
    if (text(row, "type") != "file")
      continue;
    if (Result<void> added = add_file(row, fields, files); !added)
      return added;
  }
  return {};
}

Result<std::vector<std::string>> read_paths(const Json &answer) {
  const Json *rows = member(answer, "siblings");
  if (rows == nullptr || !rows->is_array())
    return fail(Errc::malformed, "the hub lists no files");
  std::vector<std::string> paths;
  for (const Json &row : *rows)
    paths.push_back(text(row, "rfilename"));
  std::ranges::sort(paths);
  return paths;
}

Result<void> read_siblings(const Json &answer, std::vector<FileEntry> &files) {
  const Json *rows = member(answer, "siblings");
  if (rows == nullptr || !rows->is_array())
    return fail(Errc::malformed, "the hub lists no files");
  constexpr FileFields fields{"rfilename", "blobId", "sha256"};
  for (const Json &row : *rows)
    if (Result<void> added = add_file(row, fields, files); !added)
      return added;
  return {};
}

} // namespace headwater::hub

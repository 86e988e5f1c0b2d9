// Reading a recorded repository. Commit k is the folder k in name order. Its parent is wherever
// main pointed when k came: commit k-1, unless an event moved main in between. Trees are built from
// the sorted paths, one git tree object a directory.

#include "daemon/hub/replay_repo.hpp"

#include "schemas/digest.hpp"
#include "schemas/time.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t first_commit_date = 1'700'000'000;
constexpr std::int64_t seconds_between_commits = 3600;
constexpr std::uint64_t max_kept_bytes = 1U << 30U;

/// Suffixes that the hub's default .gitattributes sends to LFS.
constexpr std::array lfs_suffixes = {".safetensors", ".bin",   ".gguf", ".h5",
                                     ".msgpack",     ".onnx",  ".pt",   ".pth",
                                     ".ckpt",        ".model", ".zip",  ".parquet"};

/// Digest and size of a file that is kept only in part.
struct LfsRecord {
  std::size_t from = 0; ///< index of the first revision that this holds for
  std::uint64_t size = 0;
  std::string sha256;
};
using LfsRecords = std::map<std::string, std::vector<LfsRecord>>;

std::string git_id(std::string_view kind, std::string_view data) {
  std::string object = fmt::format("{} {}", kind, data.size());
  object.push_back('\0');
  object.append(data);
  return sha1_hex(object);
}

std::string hex_to_bytes(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return out;
}

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::string> read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return fail(Errc::bad_input,
                fmt::format("{} cannot be read: check that it exists and its permissions", path));
  }
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return bytes;
}

Result<std::uint64_t> natural(const Json &object, const char *key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0) {
    return fail(Errc::bad_input, fmt::format("\"{}\" must be a number that is not negative", key));
  }
  return found->get<std::uint64_t>();
}

/// The string at `key`, or `otherwise` when there is none.
std::string text_or(const Json &object, const char *key, std::string otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

Result<LfsRecord> read_lfs_record(const Json &entry) {
  if (!entry.is_object()) {
    return fail(Errc::bad_input, "must be {\"size\", \"sha256\"} or a list of them with \"from\"");
  }
  LfsRecord record;
  const Result<std::uint64_t> size = natural(entry, "size");
  if (!size) {
    return std::unexpected(size.error());
  }
  record.size = *size;
  record.sha256 = text_or(entry, "sha256", "");
  if (!is_hex(record.sha256, 64)) {
    return fail(Errc::bad_input, "\"sha256\" must be 64 lower-case hex digits");
  }
  if (entry.contains("from")) {
    const Result<std::uint64_t> from = natural(entry, "from");
    if (!from) {
      return std::unexpected(from.error());
    }
    record.from = *from;
  }
  return record;
}

Result<LfsRecords> read_lfs_records(const Json &meta) {
  LfsRecords records;
  const auto lfs = meta.find("lfs");
  if (lfs == meta.end()) {
    return records;
  }
  if (!lfs->is_object()) {
    return fail(Errc::bad_input, "\"lfs\" must be an object");
  }
  for (const auto &[path, value] : lfs->items()) {
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json &entry : list) {
      Result<LfsRecord> record = read_lfs_record(entry);
      if (!record) {
        return wrap(fmt::format("\"lfs\": \"{}\"", path), record.error());
      }
      records[path].push_back(std::move(*record));
    }
    std::ranges::stable_sort(records[path], {}, &LfsRecord::from);
  }
  return records;
}

const LfsRecord *find_lfs_record(const LfsRecords &records, const std::string &path,
                                 std::size_t commit) {
  const auto found = records.find(path);
  const LfsRecord *last = nullptr;
  if (found != records.end()) {
    for (const LfsRecord &record : found->second) {
      last = record.from <= commit ? &record : last;
    }
  }
  return last;
}

Result<ReplayFile> read_replay_file(const std::string &path, const fs::path &disk,
                                    const LfsRecord *record, const ReplayReadOptions &options) {
  std::error_code error;
  ReplayFile file;
  file.disk = disk.string();
  file.kept = fs::file_size(disk, error);
  if (error || file.kept > max_kept_bytes) {
    return fail(Errc::bad_input,
                fmt::format("{}: {}", file.disk, error ? error.message() : "over 1 GiB is kept"));
  }
  file.size = file.kept;
  const Result<std::string> bytes = read_file(file.disk);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  if (record != nullptr) {
    if (record->size < file.kept) {
      return fail(Errc::bad_input,
                  fmt::format("\"lfs\": \"{}\": the file on disk is longer than its size", path));
    }
    file.size = record->size;
    file.sha256 = record->sha256;
  } else if (file.size > options.lfs_threshold ||
             std::ranges::any_of(lfs_suffixes,
                                 [&](const char *suffix) { return path.ends_with(suffix); })) {
    file.sha256 = sha256_hex(*bytes);
  }
  if (file.lfs()) {
    file.pointer =
        fmt::format("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n",
                    file.sha256, file.size);
    file.oid = git_blob_id(file.pointer);
  } else {
    file.oid = git_blob_id(*bytes);
  }
  return file;
}

struct TreeEntry {
  std::string sort_key; ///< git sorts a directory as if its name ended in '/'
  std::string name;
  std::string_view mode;
  std::string oid;
};

using FileIterator = std::map<std::string, ReplayFile>::const_iterator;

/// Id of the tree whose files are [begin, end), all of whose paths start with `prefix`;
/// sub-directories go into `trees`.
std::string build_tree(const std::string &prefix, FileIterator begin, FileIterator end,
                       std::map<std::string, std::string> &trees) {
  std::vector<TreeEntry> entries;
  while (begin != end) {
    const std::string rest = begin->first.substr(prefix.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos) {
      entries.push_back({rest, rest, "100644", begin->second.oid});
      ++begin;
      continue;
    }
    const std::string name = rest.substr(0, slash);
    const std::string inner = prefix + name + "/";
    const FileIterator stop = std::find_if(
        begin, end, [&](const auto &entry) { return !entry.first.starts_with(inner); });
    entries.push_back({name + "/", name, "40000", build_tree(inner, begin, stop, trees)});
    begin = stop;
  }
  std::ranges::sort(entries, {}, &TreeEntry::sort_key);
  std::string data;
  for (const TreeEntry &entry : entries) {
    data += fmt::format("{} {}", entry.mode, entry.name);
    data.push_back('\0');
    data += hex_to_bytes(entry.oid);
  }
  const std::string oid = git_id("tree", data);
  if (!prefix.empty()) {
    trees[prefix.substr(0, prefix.size() - 1)] = oid;
  }
  return oid;
}

Result<std::int64_t> read_date(const Json &object) {
  if (!object["date"].is_string()) {
    return fail(Errc::bad_input, "\"date\" must be a string");
  }
  const Result<TimePoint> time = parse_time(object["date"].get<std::string>());
  if (!time) {
    return fail(Errc::bad_input, "\"date\": " + time.error().message);
  }
  return std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
}

Result<ReplayEvent> read_event(const Json &entry, std::size_t commits) {
  ReplayEvent event;
  if (!entry.is_object()) {
    return fail(Errc::bad_input, "an event must be an object");
  }
  const Result<std::uint64_t> after = natural(entry, "after");
  if (!after) {
    return std::unexpected(after.error());
  }
  event.after = *after;
  if (entry.contains("set")) {
    if (!entry["set"].is_object()) {
      return fail(Errc::bad_input, "\"set\" must be an object");
    }
    event.set = entry["set"];
  }
  if (entry.contains("gone")) {
    if (!entry["gone"].is_boolean()) {
      return fail(Errc::bad_input, "\"gone\" must be true or false");
    }
    event.gone = entry["gone"].get<bool>();
  }
  if (entry.contains("head")) {
    const Result<std::uint64_t> head = natural(entry, "head");
    if (!head) {
      return std::unexpected(head.error());
    }
    if (*head >= event.after || *head >= commits) {
      return fail(Errc::bad_input, "\"head\" must be a revision that is revealed by then");
    }
    event.head = *head;
  }
  if (entry.contains("date")) {
    const Result<std::int64_t> date = read_date(entry);
    if (!date) {
      return std::unexpected(date.error());
    }
    event.date = *date;
  }
  return event;
}

Result<void> read_events(ReplayRepo &repo, std::size_t commits) {
  const auto list = repo.meta.find("events");
  if (list == repo.meta.end()) {
    return {};
  }
  if (!list->is_array()) {
    return fail(Errc::bad_input, "\"events\" must be a list");
  }
  for (const Json &entry : *list) {
    Result<ReplayEvent> event = read_event(entry, commits);
    if (!event) {
      return wrap(fmt::format("\"events\": entry {}", repo.events.size() + 1), event.error());
    }
    repo.events.push_back(std::move(*event));
  }
  std::ranges::stable_sort(repo.events, {}, &ReplayEvent::after);
  return {};
}

/// Where main points just before commit `index` comes.
std::size_t parent_of(const ReplayRepo &repo, std::size_t index) {
  std::size_t head = index == 0 ? no_commit : index - 1;
  for (const ReplayEvent &event : repo.events) {
    if (event.after == index && event.head) {
      head = *event.head;
    }
  }
  return head;
}

Result<ReplayCommit> read_commit(const ReplayRepo &repo, std::size_t index, const fs::path &folder,
                                 const LfsRecords &lfs, const ReplayReadOptions &options) {
  ReplayCommit commit;
  const std::string folder_name = folder.filename().string();
  const std::size_t digits =
      std::min(folder_name.find_first_not_of("0123456789"), folder_name.size());
  const std::size_t text = folder_name.find_first_not_of("-_ ", digits);
  commit.title = digits == 0 || text == std::string::npos ? folder_name : folder_name.substr(text);
  const std::int64_t offset =
      std::stoll(repo.oid.substr(0, 4), nullptr, 16) % seconds_between_commits;
  commit.date =
      first_commit_date + seconds_between_commits * static_cast<std::int64_t>(index) + offset;
  commit.parent = parent_of(repo, index);

  const auto overrides = repo.meta.find("commits");
  if (overrides != repo.meta.end() && overrides->is_array() && index < overrides->size()) {
    const Json &entry = (*overrides)[index];
    if (!entry.is_object()) {
      return fail(Errc::bad_input, "\"commits\" must hold objects");
    }
    commit.title = text_or(entry, "title", commit.title);
    commit.message = text_or(entry, "message", "");
    commit.sha = text_or(entry, "sha", "");
    if (!commit.sha.empty() && !is_hex(commit.sha, 40)) {
      return fail(Errc::bad_input, "\"commits\": \"sha\" must be 40 lower-case hex digits");
    }
    if (entry.contains("date")) {
      const Result<std::int64_t> date = read_date(entry);
      if (!date) {
        return wrap("\"commits\"", date.error());
      }
      commit.date = *date;
    }
  }

  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_symlink() || !at->is_regular_file()) {
      continue;
    }
    const std::string path = at->path().lexically_relative(folder).generic_string();
    Result<ReplayFile> file =
        read_replay_file(path, at->path(), find_lfs_record(lfs, path, index), options);
    if (!file) {
      return std::unexpected(file.error());
    }
    commit.files.emplace(path, std::move(*file));
  }
  if (error) {
    return fail(Errc::bad_input, fmt::format("{}: {}", folder.string(), error.message()));
  }

  const std::string root = build_tree("", commit.files.begin(), commit.files.end(), commit.trees);
  const ReplayCommit *parent = commit.parent == no_commit ? nullptr : &repo.commits[commit.parent];
  if (commit.sha.empty()) {
    const std::string who = fmt::format("replay <replay@localhost> {} +0000", commit.date);
    commit.sha = git_id(
        "commit",
        fmt::format("tree {}\n{}author {}\ncommitter {}\n\n{}\n{}", root,
                    parent == nullptr ? "" : fmt::format("parent {}\n", parent->sha), who, who,
                    commit.title, commit.message.empty() ? "" : "\n" + commit.message + "\n"));
  }
  for (const auto &[path, file] : commit.files) {
    const bool same =
        parent != nullptr && parent->files.contains(path) && parent->files.at(path).oid == file.oid;
    commit.touched[path] = same ? parent->touched.at(path) : index;
  }
  for (const auto &[path, oid] : commit.trees) {
    const bool same =
        parent != nullptr && parent->trees.contains(path) && parent->trees.at(path) == oid;
    commit.touched[path] = same ? parent->touched.at(path) : index;
  }
  return commit;
}

std::string stand_in_identity(std::string_view kind, std::string_view id) {
  return sha256_hex(fmt::format("{}/{}", kind, id)).substr(0, 24);
}

Result<ReplayRepo> read_repo(const std::string &kind, const std::string &id, const fs::path &folder,
                             const ReplayReadOptions &options) {
  ReplayRepo repo;
  repo.kind = kind;
  repo.id = id;
  std::error_code error;
  if (fs::exists(folder / "repo.json", error)) {
    const Result<std::string> text = read_file((folder / "repo.json").string());
    if (!text) {
      return std::unexpected(text.error());
    }
    Result<Json> meta = parse_json(*text);
    if (!meta || !meta->is_object()) {
      return fail(Errc::bad_input,
                  fmt::format("repo.json: {}", meta ? "must be an object" : meta.error().message));
    }
    repo.meta = std::move(*meta);
  }
  repo.oid = text_or(repo.meta, "_id", stand_in_identity(kind, id));
  if (!is_hex(repo.oid, 24)) {
    return fail(Errc::bad_input, "repo.json: \"_id\" must be 24 lower-case hex digits");
  }

  std::vector<fs::path> folders;
  for (fs::directory_iterator at(folder / "revisions", error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory()) {
      folders.push_back(at->path());
    }
  }
  std::ranges::sort(folders);

  const Result<LfsRecords> lfs = read_lfs_records(repo.meta);
  if (!lfs) {
    return wrap("repo.json", lfs.error());
  }
  if (const Result<void> events = read_events(repo, folders.size()); !events) {
    return wrap("repo.json", events.error());
  }
  std::set<std::string> ids;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    Result<ReplayCommit> commit = read_commit(repo, i, folders[i], *lfs, options);
    if (!commit) {
      return wrap(folders[i].filename().string(), commit.error());
    }
    if (!ids.insert(commit->sha).second) {
      return fail(Errc::bad_input,
                  fmt::format("repo.json: \"commits\" names {} twice", commit->sha));
    }
    repo.commits.push_back(std::move(*commit));
  }
  for (ReplayEvent &event : repo.events) {
    if (event.date == 0 && !repo.commits.empty()) {
      const std::size_t last =
          std::min(std::max<std::size_t>(event.after, 1), repo.commits.size()) - 1;
      event.date = repo.commits[last].date;
    }
  }
  return repo;
}

} // namespace

std::string hub_time(std::int64_t seconds) {
  const TimePoint time{std::chrono::seconds(seconds)};
  std::string text = format_time(time);
  text.insert(text.size() - 1, ".000");
  return text;
}

Result<std::string> read_replay_bytes(const ReplayFile &file, std::uint64_t offset,
                                      std::uint64_t count) {
  std::string out(count, '\0');
  if (offset < file.kept && count > 0) {
    const std::uint64_t wanted = std::min(count, file.kept - offset);
    std::ifstream in(file.disk, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(offset));
    in.read(out.data(), static_cast<std::streamsize>(wanted));
    if (!in) {
      return fail(Errc::store, fmt::format("{} cannot be read", file.disk));
    }
  }
  return out;
}

Result<ReplayRepo> read_replay_repo(const std::string &kind, const std::string &id,
                                    const std::string &folder, const ReplayReadOptions &options) {
  Result<ReplayRepo> repo = read_repo(kind, id, folder, options);
  if (!repo) {
    return wrap(folder, repo.error());
  }
  return repo;
}

} // namespace headwater::hub

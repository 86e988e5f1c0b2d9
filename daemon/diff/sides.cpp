#include "daemon/diff/sides.hpp"

#include "schemas/digest.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

constexpr std::size_t longest_value = 4096;

bool same_content(const Snapshot &before, const Snapshot &after, const FileEntry &a,
                  const FileEntry &b) {
  if (a.content_id() == b.content_id())
    return true;
  // A file that moves into or out of LFS gets another kind of id for the same bytes.
  if (a.sha256.empty() == b.sha256.empty() || a.size != b.size)
    return false;
  const std::string *left = find_text(before, a.path);
  const std::string *right = find_text(after, b.path);
  return left != nullptr && right != nullptr && *left == *right;
}

} // namespace

Sides make_sides(const Side &old, const Side &now) {
  const Snapshot &before = old.snapshot;
  const Snapshot &after = now.snapshot;
  Sides sides{old, now, {}};
  auto left = before.files.begin();
  auto right = after.files.begin();
  while (left != before.files.end() || right != after.files.end()) {
    FilePair pair;
    const bool has_left =
        left != before.files.end() && (right == after.files.end() || left->path <= right->path);
    const bool has_right =
        right != after.files.end() && (left == before.files.end() || right->path <= left->path);
    if (has_left)
      pair.before = &*left++;
    if (has_right)
      pair.after = &*right++;
    pair.path = pair.before != nullptr ? pair.before->path : pair.after->path;
    pair.role = read::role_of(pair.path);
    pair.differs = pair.before == nullptr || pair.after == nullptr ||
                   !same_content(before, after, *pair.before, *pair.after);
    sides.files.push_back(std::move(pair));
  }
  return sides;
}

bool any_differs(const Sides &sides, read::FileRole role) {
  return std::ranges::any_of(
      sides.files, [&](const FilePair &file) { return file.role == role && file.differs; });
}

bool loadable(const Snapshot &snapshot, std::string_view folder) {
  return std::ranges::any_of(snapshot.files, [&](const FileEntry &file) {
    if (!file.path.starts_with(folder))
      return false;
    const read::FileRole role = read::role_of(file.path);
    return role == read::FileRole::config || role == read::FileRole::safetensors ||
           role == read::FileRole::gguf || role == read::FileRole::pickle;
  });
}

const std::string *bytes_of(const Snapshot &snapshot, std::string_view path, std::string *problem) {
  const auto at = snapshot.contents.find(std::string(path));
  if (at != snapshot.contents.end() && at->second.bytes)
    return at->second.bytes.get();
  if (problem != nullptr) {
    const FileEntry *entry = find_file(snapshot, path);
    if (at != snapshot.contents.end() && !at->second.problem.empty())
      *problem = at->second.problem;
    else if (entry != nullptr && read::wanted_part(*entry) == FilePart::none)
      *problem = fmt::format("it has {}, more than is read",
                             human_bytes(static_cast<double>(entry->size)));
    else
      *problem = "its content was not fetched";
  }
  return nullptr;
}

bool is_lfs_pointer(std::string_view bytes) {
  return bytes.starts_with("version https://git-lfs.github.com/spec/");
}

Document parse_document(const Snapshot &snapshot, std::string_view path) {
  static const auto empty = std::make_shared<const Json>(Json::object());
  Document document;
  document.json = empty;
  if (find_file(snapshot, path) == nullptr)
    return document;
  const std::string *text = bytes_of(snapshot, path, &document.problem);
  if (text == nullptr) {
    document.state = Document::State::unread;
    return document;
  }
  Result<Json> json = parse_json(*text);
  if (!json) {
    document.state =
        json.error().code == Errc::malformed ? Document::State::malformed : Document::State::unread;
    document.problem = plain_text(json.error().message);
    return document;
  }
  if (!json->is_object()) {
    document.state = Document::State::malformed;
    document.problem =
        fmt::format("it holds a JSON {} where an object is expected", json->type_name());
    return document;
  }
  document.state = Document::State::ok;
  document.json = std::make_shared<const Json>(std::move(*json));
  return document;
}

std::string json_text(const Json &value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= longest_value)
    return text;
  Json summary;
  summary["length"] = value.is_structured() ? value.size() : text.size();
  summary["sha256"] = sha256_hex(text);
  return summary.dump();
}

std::string id_text(const FileEntry *entry) {
  return entry != nullptr ? Json(entry->content_id()).dump() : "null";
}

std::string shown_text(std::string_view text, std::size_t limit) {
  std::string plain = plain_text(text, limit);
  std::ranges::replace(plain, '`', '\'');
  return "`" + plain + "`";
}

std::string shown(const Json &value) {
  if (value.is_string())
    return shown_text(value.get_ref<const std::string &>());
  if (value.is_number_integer())
    return with_thousands(value.get<long long>());
  if (value.is_null())
    return "nothing";
  if (value.is_array() && value.size() > 8)
    return fmt::format("a list of {}", value.size());
  return plain_text(value.dump(-1, ' ', false, Json::error_handler_t::replace), 120);
}

std::string counted(std::size_t n, std::string_view singular, std::string_view plural) {
  const std::string word = n == 1           ? std::string(singular)
                           : plural.empty() ? std::string(singular) + "s"
                                            : std::string(plural);
  return with_thousands(static_cast<long long>(n)) + " " + word;
}

std::string listed(const std::vector<std::string> &items, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < items.size() && i < limit; ++i)
    text += (i > 0 ? ", " : "") + items[i];
  if (items.size() > limit)
    text += fmt::format(" and {} more", items.size() - limit);
  return text;
}

std::string pointer_key(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

Json canonical_numbers(const Json &value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::nearbyint(number) == number && std::abs(number) < 9e15)
      return static_cast<std::int64_t>(number);
    return value;
  }
  if (value.is_array() || value.is_object()) {
    Json result = value;
    for (Json &item : result)
      item = canonical_numbers(item);
    return result;
  }
  return value;
}

} // namespace headwater::diff

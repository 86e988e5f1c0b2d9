#include "daemon/diff/weight_lists.hpp"

#include "schemas/digest.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

Result<read::WeightIndex> index_of(const Snapshot &snapshot, const WeightGroup &group) {
  if (group.index == nullptr)
    return fail(Errc::gone, "there is none");
  std::string problem;
  const std::string *text = bytes_of(snapshot, group.index->path, &problem);
  if (text == nullptr)
    return fail(Errc::gone, problem);
  return read::read_weight_index(*text);
}

/// What is wrong with an index, one sentence a fault.
std::vector<std::string> faults(const Snapshot &snapshot, const WeightGroup &group,
                                const read::WeightIndex &index) {
  std::vector<std::string> texts;
  const std::string folder(read::folder_of(group.index->path));
  std::vector<std::string> missing;
  for (const std::string &file : index.files)
    if (find_file(snapshot, folder + file) == nullptr)
      missing.push_back(folder + file);
  if (!missing.empty())
    texts.push_back("it names files that are not there: " + listed(missing));
  const TensorTable table = tensor_table(snapshot, group);
  if (!table.unreadable.empty() || !table.malformed.empty() || !missing.empty())
    return texts;
  std::size_t lost = 0;
  std::size_t elsewhere = 0;
  std::string example;
  auto placed = table.tensors.begin();
  for (const auto &[tensor, file] : index.weight_map) {
    while (placed != table.tensors.end() && placed->tensor->name < tensor)
      ++placed;
    if (placed == table.tensors.end() || placed->tensor->name != tensor) {
      if (lost++ == 0)
        example = tensor;
    } else if (group.files[placed->file]->path != folder + file && elsewhere++ == 0 &&
               example.empty()) {
      example = tensor;
    }
  }
  if (lost > 0)
    texts.push_back(fmt::format("{} it names are in no file, such as {}", counted(lost, "tensor"),
                                shown_text(example, 100)));
  if (elsewhere > 0)
    texts.push_back(fmt::format("{} in another file than it says",
                                counted(elsewhere, "tensor lies", "tensors lie")));
  if (index.weight_map.size() < table.tensors.size() + lost)
    texts.push_back(fmt::format(
        "it leaves out {}",
        counted(table.tensors.size() + lost - index.weight_map.size(), "stored tensor")));
  return texts;
}

std::vector<std::string> names_of(const read::WeightIndex &index) {
  std::vector<std::string> names;
  names.reserve(index.weight_map.size());
  for (const auto &[tensor, file] : index.weight_map)
    names.push_back(tensor);
  return names;
}

bool is_digest(std::string_view word) {
  return word.size() == 64 && std::ranges::all_of(word, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

void collect(const Json &value, std::map<std::string, std::string> &digests, int depth) {
  if (depth > 12)
    return;
  if (value.is_object()) {
    std::string path;
    std::string digest;
    for (const auto &[key, item] : value.items()) {
      if (item.is_string()) {
        const std::string word = item.get<std::string>();
        if (is_digest(word)) {
          digest = word;
          if (key.find('.') != std::string::npos)
            digests.emplace(key, word);
        } else if (key.ends_with("path") || key == "file" || key == "name" || key == "filename") {
          path = word;
        }
      } else {
        collect(item, digests, depth + 1);
      }
    }
    if (!path.empty() && !digest.empty())
      digests.emplace(path, digest);
  } else if (value.is_array()) {
    for (const Json &item : value)
      collect(item, digests, depth + 1);
  }
}

/// The digests a text names: path -> 64 hex digits. Understands `sha256sum` lines and JSON objects
/// that hold a path and a digest side by side.
std::map<std::string, std::string> digests_in(std::string_view text) {
  std::map<std::string, std::string> digests;
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
    if (const Result<Json> json = parse_json(text))
      collect(*json, digests, 0);
    return digests;
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || !is_digest(line.substr(0, space)))
      continue;
    const std::string digest(line.substr(0, space));
    line.remove_prefix(space + 1);
    while (line.starts_with(' ') || line.starts_with('*'))
      line.remove_prefix(1);
    if (line.starts_with("./"))
      line.remove_prefix(2);
    digests.emplace(line, digest);
  }
  return digests;
}

std::optional<std::string> digest_of(const Snapshot &snapshot, const FileEntry &file) {
  if (!file.sha256.empty())
    return file.sha256;
  const auto content = snapshot.contents.find(file.path);
  if (content != snapshot.contents.end() && content->second.part == FilePart::whole &&
      content->second.bytes)
    return sha256_hex(*content->second.bytes);
  return std::nullopt;
}

} // namespace

bool index_names_differ(const Sides &sides, const WeightGroup &before, const WeightGroup &after) {
  const Result<read::WeightIndex> was = index_of(sides.before, before);
  const Result<read::WeightIndex> is = index_of(sides.after, after);
  return was && is && names_of(*was) != names_of(*is);
}

void compare_index(const Sides &sides, const WeightGroup &before, const WeightGroup &after,
                   Changes &changes) {
  if (after.index == nullptr)
    return;
  const std::string &path = after.index->path;
  const auto add = [&](std::string_view kind, std::string sentence) {
    changes.push_back(
        make_change(kind, path, id_text(before.index), id_text(after.index), std::move(sentence)));
  };
  const Result<read::WeightIndex> is = index_of(sides.after, after);
  const Result<read::WeightIndex> was = index_of(sides.before, before);
  if (!is) {
    if (is.error().code != Errc::gone)
      add(was || before.index == nullptr ? "weights.malformed" : "weights.unreadable",
          fmt::format("{} does not load: {}.", path, plain_text(is.error().message)));
    return;
  }
  const std::vector<std::string> found = faults(sides.after, after, *is);
  const std::vector<std::string> old =
      was ? faults(sides.before, before, *was) : std::vector<std::string>();
  // Shards are uploaded one commit after another: an index that comes before its files is no fault
  // yet.
  const bool upload = before.files.empty() && after.files.empty();
  if (!found.empty() && old.empty() && !upload)
    return add("weights.index-mismatch",
               fmt::format("{} disagrees with the files: {}.", path, listed(found)));
  if (!was)
    return;
  const std::vector<std::string> old_names = names_of(*was);
  const std::vector<std::string> new_names = names_of(*is);
  const bool told = std::ranges::any_of(changes, [](const Change &change) {
    return change.kind == "weights.renamed" || change.kind == "weights.tensors-added" ||
           change.kind == "weights.tensors-removed";
  });
  if (old_names != new_names && !told) {
    std::vector<std::string> lost;
    std::vector<std::string> gained;
    std::ranges::set_difference(old_names, new_names, std::back_inserter(lost));
    std::ranges::set_difference(new_names, old_names, std::back_inserter(gained));
    if (!lost.empty() && !gained.empty() && lost.size() == old_names.size())
      return add("weights.renamed",
                 fmt::format("No tensor name is left as it was: {} became {}, by the index.",
                             counted(lost.size(), "tensor"),
                             with_thousands(static_cast<long long>(gained.size()))));
    if (!lost.empty())
      add("weights.tensors-removed",
          fmt::format("{} removed, by the index: {}.",
                      counted(lost.size(), "tensor was", "tensors were"), listed(lost)));
    if (!gained.empty())
      add("weights.tensors-added",
          fmt::format("{} added, by the index: {}.",
                      counted(gained.size(), "tensor was", "tensors were"), listed(gained)));
  } else if (old_names == new_names && before.index->content_id() != after.index->content_id()) {
    const bool same_map = was->weight_map == is->weight_map;
    if (!same_map && std::ranges::any_of(changes, [](const Change &change) {
          return change.kind == "weights.resharded";
        }))
      return;
    add(same_map ? "weights.header-text" : "weights.resharded",
        fmt::format("{} is written differently; it names the same tensors.", path));
  }
}

std::set<std::string> stale_digests(const Snapshot &snapshot, const std::string &list) {
  std::set<std::string> paths;
  const std::string *text = bytes_of(snapshot, list);
  if (text == nullptr)
    return paths;
  const std::string folder(read::folder_of(list));
  for (const auto &[path, digest] : digests_in(*text)) {
    const FileEntry *file = find_file(snapshot, folder + path);
    if (file == nullptr)
      file = find_file(snapshot, path);
    if (file == nullptr)
      continue;
    if (const std::optional<std::string> actual = digest_of(snapshot, *file);
        actual && *actual != digest)
      paths.insert(file->path);
  }
  return paths;
}

void compare_digest_lists(const Sides &sides, Changes &changes) {
  for (const FilePair &file : sides.files) {
    if (file.role != read::FileRole::digests || file.after == nullptr)
      continue;
    const std::set<std::string> is = stale_digests(sides.after, file.path);
    if (is.empty())
      continue;
    const std::set<std::string> was =
        file.before != nullptr ? stale_digests(sides.before, file.path) : std::set<std::string>();
    if (std::ranges::includes(was, is))
      continue;
    changes.push_back(make_change("weights.manifest-mismatch", file.path, json_text(Json(was)),
                                  json_text(Json(is)),
                                  fmt::format("{} gives other digests than the files have: {}.",
                                              file.path, listed({is.begin(), is.end()}))));
  }
}

} // namespace headwater::diff

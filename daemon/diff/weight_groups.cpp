#include "daemon/diff/weight_groups.hpp"

#include "daemon/diff/sides.hpp"
#include "daemon/read/wanted.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include <fmt/format.h>

namespace headwater::diff {
namespace {

using read::FileRole;

/// "x-00001-of-00002" -> "x".
std::string_view without_shard(std::string_view stem) {
  const std::size_t of = stem.rfind("-of-");
  if (of == std::string_view::npos)
    return stem;
  const auto digits = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
  };
  const std::size_t dash = stem.rfind('-', of - 1);
  if (of == 0 || dash == std::string_view::npos || !digits(stem.substr(of + 4)) ||
      !digits(stem.substr(dash + 1, of - dash - 1)))
    return stem;
  return stem.substr(0, dash);
}

std::string key_of(std::string_view path, std::string_view ending) {
  const std::string_view folder = read::folder_of(path);
  std::string_view stem = read::base_name(path);
  stem.remove_suffix(std::min(ending.size(), stem.size()));
  return std::string(folder) + std::string(without_shard(stem));
}

std::string_view ending_of(std::string_view path) {
  const std::string_view name = read::base_name(path);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot);
}

/// Files that an index names belong to its group, wherever they lie.
std::map<std::string, std::string>
keys_by_index(const Snapshot &snapshot, std::string_view ending,
              std::map<std::string, const FileEntry *> &indexes) {
  std::map<std::string, std::string> keys;
  const std::string index_ending = std::string(ending) + ".index.json";
  for (const FileEntry &file : snapshot.files) {
    if (read::role_of(file.path) != FileRole::weight_index || !file.path.ends_with(index_ending))
      continue;
    const std::string key = key_of(file.path, index_ending);
    indexes[key] = &file;
    const std::string *text = bytes_of(snapshot, file.path);
    if (text == nullptr)
      continue;
    const Result<read::WeightIndex> index = read::read_weight_index(*text);
    if (!index)
      continue;
    for (const std::string &name : index->files)
      keys.emplace(std::string(read::folder_of(file.path)) + name, key);
  }
  return keys;
}

std::map<std::string, WeightGroup> groups_of(const Snapshot &snapshot, FileRole role,
                                             std::string_view ending) {
  std::map<std::string, const FileEntry *> indexes;
  const std::map<std::string, std::string> by_index =
      ending.empty() ? std::map<std::string, std::string>()
                     : keys_by_index(snapshot, ending, indexes);
  std::map<std::string, WeightGroup> groups;
  for (const FileEntry &file : snapshot.files) {
    if (read::role_of(file.path) != role ||
        (role == FileRole::pickle && !is_weight_pickle(file.path)))
      continue;
    const auto named = by_index.find(file.path);
    const std::string key =
        named != by_index.end() ? named->second : key_of(file.path, ending_of(file.path));
    WeightGroup &group = groups[key];
    group.key = key;
    group.files.push_back(&file);
  }
  for (const auto &[key, index] : indexes)
    if (const auto group = groups.find(key); group != groups.end())
      group->second.index = index;
  return groups;
}

} // namespace

std::int64_t WeightGroup::bytes() const {
  std::int64_t sum = 0;
  for (const FileEntry *file : files)
    sum += file->size;
  return sum;
}

bool is_weight_pickle(std::string_view path) {
  const std::string_view name = read::base_name(path);
  constexpr auto training = std::to_array<std::string_view>(
      {"training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "scheduler.bin",
       "scaler.pt", "random_states"});
  return !name.starts_with("rng_state") &&
         std::ranges::none_of(training,
                              [&](std::string_view known) { return name.starts_with(known); });
}

std::map<std::string, WeightGroup> safetensors_groups(const Snapshot &snapshot) {
  return groups_of(snapshot, FileRole::safetensors, ".safetensors");
}

std::map<std::string, WeightGroup> pickle_groups(const Snapshot &snapshot) {
  return groups_of(snapshot, FileRole::pickle, ".bin");
}

std::map<std::string, WeightGroup> gguf_groups(const Snapshot &snapshot) {
  return groups_of(snapshot, FileRole::gguf, "");
}

std::string pointer_sentence(const std::vector<std::string> &paths) {
  return fmt::format("{} a git-lfs pointer, the short text that names a file, in place of the "
                     "weights: the weights themselves were not "
                     "uploaded, and loading fails. Stay on the revision before until they are.",
                     paths.size() == 1 ? paths.front() + " now holds"
                                       : listed(paths) + " now hold");
}

TensorTable tensor_table(const Snapshot &snapshot, const WeightGroup &group) {
  TensorTable table;
  table.headers.resize(group.files.size());
  for (std::size_t i = 0; i < group.files.size(); ++i) {
    const FileEntry &file = *group.files[i];
    std::string problem;
    const std::string *bytes = bytes_of(snapshot, file.path, &problem);
    if (bytes == nullptr) {
      table.unreadable.push_back(file.path + ": " + problem);
      continue;
    }
    // A recording keeps pointers or zeros where the weights were: that says nothing about the
    // weights.
    constexpr std::int64_t smallest_kept = 1024;
    if (is_lfs_pointer(*bytes)) {
      table.unreadable.push_back(file.path + ": only a git-lfs pointer is here, not the weights");
      table.pointers.push_back(file.path);
      continue;
    }
    if (file.size > smallest_kept && bytes->starts_with(std::string_view("\0\0\0\0\0\0\0\0", 8))) {
      table.unreadable.push_back(file.path + ": its header is not here");
      continue;
    }
    Result<read::SafetensorsHeader> header = read::read_safetensors_header(*bytes, file.size);
    if (!header) {
      table.malformed.push_back(file.path + ": " + plain_text(header.error().message));
      continue;
    }
    table.headers[i] = std::move(*header);
  }
  std::size_t count = 0;
  for (const read::SafetensorsHeader &header : table.headers)
    count += header.tensors.size();
  table.tensors.reserve(count);
  for (std::size_t i = 0; i < table.headers.size(); ++i)
    for (const read::StoredTensor &tensor : table.headers[i].tensors) {
      table.tensors.push_back({&tensor, static_cast<std::uint32_t>(i)});
      if (__builtin_add_overflow(table.elements, tensor.elements(), &table.elements))
        table.elements = std::numeric_limits<std::int64_t>::max();
    }
  const auto by_name = [](const PlacedTensor &placed) {
    return std::string_view(placed.tensor->name);
  };
  if (!std::ranges::is_sorted(table.tensors, {}, by_name))
    std::ranges::stable_sort(table.tensors, {}, by_name);
  return table;
}

} // namespace headwater::diff

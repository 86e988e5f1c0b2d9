#include "daemon/diff/config_shapes.hpp"
#include "daemon/diff/gguf_compare.hpp"
#include "daemon/diff/subjects.hpp"
#include "daemon/diff/tensor_compare.hpp"
#include "daemon/diff/weight_groups.hpp"
#include "daemon/diff/weight_lists.hpp"
#include "daemon/read/gguf.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;
using Groups = std::map<std::string, WeightGroup>;

std::string signed_bytes(std::int64_t bytes) {
  if (bytes == 0)
    return "the same size";
  const std::string size = human_bytes(static_cast<double>(std::abs(bytes)));
  return (bytes < 0 ? "-" : "+") + size;
}

std::vector<TensorView> views_of(const TensorTable &table) {
  std::vector<TensorView> views;
  views.reserve(table.tensors.size());
  for (const PlacedTensor &placed : table.tensors)
    views.push_back({placed.tensor->name, placed.tensor->dtype, &placed.tensor->shape});
  return views;
}

std::string ids_text(const WeightGroup &group) {
  Json ids = Json::object();
  for (const FileEntry *file : group.files)
    ids[file->path] = file->content_id();
  return json_text(ids);
}

/// A format that weights are kept in, with its groups on both sides.
struct Format {
  std::string_view name; ///< in a sentence
  Groups before;
  Groups after;
};

class WeightDiff {
public:
  WeightDiff(const Sides &sides, Changes &changes)
      : sides_(sides), changes_(changes),
        safetensors_{"safetensors", safetensors_groups(sides.before),
                     safetensors_groups(sides.after)},
        pickles_{"pickle", pickle_groups(sides.before), pickle_groups(sides.after)},
        gguf_{"GGUF", gguf_groups(sides.before), gguf_groups(sides.after)} {}

  void run() {
    moved_files();
    const bool had = has(&Format::before);
    const bool has_now = has(&Format::after);
    if (!had && has_now)
      return first_weights();
    if (had && !has_now)
      return no_weights();
    pair_single_groups(safetensors_);
    pair_single_groups(pickles_);
    for (Format *format : {&safetensors_, &pickles_, &gguf_})
      compare_format(*format);
    lone_indexes();
    sizes();
    side_files();
    training_pickles();
  }

private:
  void add(std::string_view kind, std::string path, std::string before, std::string after,
           std::string sentence) {
    changes_.push_back(make_change(kind, std::move(path), std::move(before), std::move(after),
                                   std::move(sentence)));
  }

  bool has(Groups Format::*side) const {
    return !(safetensors_.*side).empty() || !(pickles_.*side).empty() || !(gguf_.*side).empty();
  }

  /// The same bytes under another path: told once, and left out of all that follows.
  void moved_files() {
    std::map<std::string, const FilePair *> gone;
    for (const FilePair &file : sides_.files)
      if (file.after == nullptr && is_weight(file))
        gone.emplace(file.before->content_id(), &file);
    for (const FilePair &file : sides_.files) {
      if (file.before != nullptr || !is_weight(file))
        continue;
      const auto from = gone.find(file.after->content_id());
      if (from == gone.end() || shard_of_the_same(from->second->path, file.path))
        continue;
      add("weights.file-moved", file.path, json_text(Json(from->second->path)),
          json_text(Json(file.path)),
          fmt::format("{} is now {}; the bytes are the same.", from->second->path, file.path));
      drop(from->second->path, &Format::before);
      drop(file.path, &Format::after);
      gone.erase(from);
    }
  }

  /// True where both files are shards of one checkpoint, which is told as cut otherwise.
  bool shard_of_the_same(const std::string &from, const std::string &to) const {
    const auto group_of = [](const Groups &groups, const std::string &path) -> const WeightGroup * {
      for (const auto &[key, group] : groups)
        if (std::ranges::any_of(group.files,
                                [&](const FileEntry *file) { return file->path == path; }))
          return &group;
      return nullptr;
    };
    for (const Format *format : {&safetensors_, &pickles_, &gguf_}) {
      const WeightGroup *before = group_of(format->before, from);
      const WeightGroup *after = group_of(format->after, to);
      if (before != nullptr && after != nullptr)
        return before->key == after->key && before->files.size() + after->files.size() > 2;
    }
    return false;
  }

  static bool is_weight(const FilePair &file) {
    return file.role == FileRole::safetensors || file.role == FileRole::gguf ||
           (file.role == FileRole::pickle && is_weight_pickle(file.path));
  }

  void drop(const std::string &path, Groups Format::*side) {
    for (Format *format : {&safetensors_, &pickles_, &gguf_})
      for (auto group = (format->*side).begin(); group != (format->*side).end(); ++group) {
        std::erase_if(group->second.files,
                      [&](const FileEntry *file) { return file->path == path; });
        if (group->second.files.empty()) {
          (format->*side).erase(group);
          moved_ = true;
          break;
        }
      }
  }

  void first_weights() {
    if (moved_)
      return;
    std::vector<std::string> names;
    std::int64_t bytes = 0;
    for (const Format *format : {&safetensors_, &pickles_, &gguf_})
      for (const auto &[key, group] : format->after) {
        bytes += group.bytes();
        for (const FileEntry *file : group.files)
          names.push_back(file->path);
      }
    add("weights.added", names.front(), "null", json_text(Json(names)),
        fmt::format(
            "Weights were added: {}, {}.{}", listed(names), human_bytes(static_cast<double>(bytes)),
            pickles_.after.empty() ? "" : " Pickles are among them; loading one can run code."));
    for (const auto &[key, group] : safetensors_.after)
      tell_malformed(group, tensor_table(sides_.after, group));
  }

  void no_weights() {
    if (moved_)
      return;
    std::vector<std::string> names;
    for (const Format *format : {&safetensors_, &pickles_, &gguf_})
      for (const auto &[key, group] : format->before)
        for (const FileEntry *file : group.files)
          names.push_back(file->path);
    add("weights.removed", names.front(), json_text(Json(names)), "null",
        fmt::format("The weights were removed: {}.", listed(names)));
  }

  /// One group on each side under two names is one checkpoint whose file was renamed and rewritten.
  static void pair_single_groups(Format &format) {
    if (format.before.size() != 1 || format.after.size() != 1 ||
        format.before.begin()->first == format.after.begin()->first)
      return;
    auto node = format.before.extract(format.before.begin());
    node.key() = format.after.begin()->first;
    format.before.insert(std::move(node));
  }

  void compare_format(Format &format) {
    std::vector<const WeightGroup *> gone;
    std::vector<const WeightGroup *> came;
    for (const auto &[key, group] : format.before)
      if (!format.after.contains(key))
        gone.push_back(&group);
    for (const auto &[key, group] : format.after) {
      const auto old = format.before.find(key);
      if (old == format.before.end())
        came.push_back(&group);
      else
        compare_group(format, old->second, group);
    }
    if (!gone.empty())
      groups_gone(format, gone);
    if (!came.empty())
      groups_came(format, came);
  }

  static std::vector<std::string> names_of(const std::vector<const WeightGroup *> &groups) {
    std::vector<std::string> names;
    for (const WeightGroup *group : groups)
      for (const FileEntry *file : group->files)
        names.push_back(file->path);
    return names;
  }

  /// "pytorch_model" and "model" are what one library calls the same weights in its two formats.
  static std::string in_safetensors(const std::string &key) {
    const std::string folder(read::folder_of(key));
    const std::string stem(read::base_name(key));
    return folder + (stem.starts_with("pytorch_model") ? stem.substr(8) : stem);
  }

  /// How the weights of a pickle and of safetensors differ as far as it can be told without opening
  /// the pickle: in size, and in names where an index gives them. "" when nothing does.
  std::string against_pickle(const Snapshot &pickled, const WeightGroup &pickle,
                             const Snapshot &kept, const WeightGroup &tensors) const {
    constexpr double tolerance = 0.02;
    constexpr std::int64_t overhead = 1 << 20;
    const std::int64_t apart = std::abs(tensors.bytes() - pickle.bytes());
    if (apart > overhead &&
        static_cast<double>(apart) > tolerance * static_cast<double>(pickle.bytes()))
      return fmt::format("they take {} and the pickle {}",
                         human_bytes(static_cast<double>(tensors.bytes())),
                         human_bytes(static_cast<double>(pickle.bytes())));
    const std::string *text =
        pickle.index != nullptr ? bytes_of(pickled, pickle.index->path) : nullptr;
    const Result<read::WeightIndex> index =
        text != nullptr ? read::read_weight_index(*text) : fail(Errc::gone, "");
    const TensorTable table = tensor_table(kept, tensors);
    if (!index || !table.unreadable.empty() || !table.malformed.empty())
      return {};
    // Tied weights and buffers are left out of safetensors, so names may be missing there but not
    // be new.
    std::vector<std::string> unknown;
    auto at = index->weight_map.begin();
    for (const PlacedTensor &placed : table.tensors) {
      while (at != index->weight_map.end() && at->first < placed.tensor->name)
        ++at;
      if (at == index->weight_map.end() || at->first != placed.tensor->name)
        unknown.push_back(placed.tensor->name);
    }
    return unknown.empty() ? std::string()
                           : fmt::format("{} not in the pickle's index, such as {}",
                                         counted(unknown.size(), "tensor is", "tensors are"),
                                         shown_text(unknown.front(), 100));
  }

  /// Sizes that two number formats of one model can have; others are not of one model, and say
  /// nothing.
  static bool comparable(const WeightGroup &pickle, const WeightGroup &tensors) {
    const double ratio =
        static_cast<double>(tensors.bytes()) / std::max(1.0, static_cast<double>(pickle.bytes()));
    return ratio > 0.2 && ratio < 5;
  }

  /// Pickles that went while safetensors of the same weights stay or came.
  bool converted(const Format &format, const std::vector<const WeightGroup *> &groups) const {
    return &format == &pickles_ && std::ranges::all_of(groups, [&](const WeightGroup *group) {
      const auto kept = safetensors_.after.find(in_safetensors(group->key));
      return kept != safetensors_.after.end() &&
             against_pickle(sides_.before, *group, sides_.after, kept->second).empty();
    });
  }

  void groups_gone(const Format &format, const std::vector<const WeightGroup *> &groups) {
    const std::vector<std::string> names = names_of(groups);
    if (converted(format, groups))
      return add("weights.converted", names.front(), json_text(Json(names)), "null",
                 fmt::format("{} of pickles removed: {}. The same weights are kept as safetensors, "
                             "which loaders take first; values were not compared.",
                             counted(names.size(), "file"), listed(names)));
    std::vector<std::string> rest;
    for (const Format *other : {&safetensors_, &pickles_, &gguf_})
      if (!other->after.empty())
        rest.emplace_back(other->name);
    add("weights.format-removed", names.front(), json_text(Json(names)), "null",
        fmt::format("{} of {} removed: {}. What remains is in {}.", counted(names.size(), "file"),
                    format.name, listed(names), listed(rest)));
  }

  void groups_came(const Format &format, const std::vector<const WeightGroup *> &groups) {
    const std::vector<std::string> names = names_of(groups);
    if (&format == &pickles_) {
      add("weights.pickle", names.front(), "null", json_text(Json(names)),
          fmt::format("{} added that loading unpickles, which can run code: {}. Pickles are never "
                      "opened here.",
                      counted(names.size(), "file was", "files were"), listed(names)));
      return;
    }
    if (&format == &safetensors_)
      for (const WeightGroup *group : groups)
        for (const auto &[key, pickle] : pickles_.after)
          if (in_safetensors(key) == group->key && comparable(pickle, *group))
            if (const std::string differs =
                    against_pickle(sides_.after, pickle, sides_.after, *group);
                !differs.empty())
              return add("weights.format-differs", group->files.front()->path, "null",
                         json_text(Json(names_of({group}))),
                         fmt::format("Weights were added as safetensors, which loaders take before "
                                     "the pickle beside them, and they are not the same: {}.",
                                     differs));
    const bool other_format = format.before.empty();
    add(other_format ? "weights.format-added" : "weights.side-file", names.front(), "null",
        json_text(Json(names)),
        fmt::format("{} of {} added beside the weights: {}. Values were not compared.",
                    counted(names.size(), "file"), format.name, listed(names)));
    if (&format == &safetensors_)
      for (const WeightGroup *group : groups)
        tell_malformed(*group, tensor_table(sides_.after, *group));
  }

  static std::set<std::string> rewritten(const WeightGroup &before, const WeightGroup &after) {
    std::set<std::string> paths;
    for (const FileEntry *now : after.files) {
      const auto old = std::ranges::find(before.files, now->path,
                                         [](const FileEntry *file) { return file->path; });
      if (old == before.files.end() || (*old)->content_id() != now->content_id())
        paths.insert(now->path);
    }
    return paths;
  }

  void compare_group(const Format &format, const WeightGroup &before, const WeightGroup &after) {
    const bool same_paths = std::ranges::equal(
        before.files, after.files, {}, [](const FileEntry *file) { return file->path; },
        [](const FileEntry *file) { return file->path; });
    const std::set<std::string> changed = rewritten(before, after);
    const bool index_differs =
        (before.index != nullptr) != (after.index != nullptr) ||
        (before.index != nullptr && before.index->content_id() != after.index->content_id());
    if (same_paths && changed.empty() && !index_differs)
      return;
    if (&format == &gguf_)
      return compare_gguf_group(before, after, same_paths, changed);
    if (&format == &pickles_) {
      if (!same_paths || !changed.empty())
        add("weights.values", after.files.front()->path, ids_text(before), ids_text(after),
            fmt::format(
                "{} ({}). Compared by digest alone: a pickle is never opened.",
                same_paths
                    ? fmt::format("Weights rewritten in place under the same names: {}",
                                  listed({changed.begin(), changed.end()}))
                    : fmt::format("The weights are in other files: {} became {}",
                                  counted(before.files.size(), "file"),
                                  with_thousands(static_cast<long long>(after.files.size()))),
                signed_bytes(after.bytes() - before.bytes())));
      return;
    }
    if (!same_paths || !changed.empty())
      compare_safetensors(before, after, same_paths, changed);
    compare_index(sides_, before, after, changes_);
  }

  /// The tensors of all parts of a split GGUF file; nothing when a header cannot be read. `headers`
  /// keeps what the views need.
  static std::optional<std::vector<TensorView>>
  gguf_tensors(const Snapshot &snapshot, const WeightGroup &group,
               std::vector<read::GgufHeader> &headers) {
    for (const FileEntry *file : group.files) {
      const std::string *bytes = bytes_of(snapshot, file->path);
      Result<read::GgufHeader> header =
          bytes != nullptr ? read::read_gguf_header(*bytes) : fail(Errc::gone, "");
      if (!header)
        return std::nullopt;
      headers.push_back(std::move(*header));
    }
    std::vector<TensorView> tensors;
    for (const read::GgufHeader &header : headers)
      for (const read::StoredTensor &tensor : header.tensors)
        tensors.push_back({tensor.name, tensor.dtype, &tensor.shape});
    std::ranges::sort(tensors, {}, &TensorView::name);
    return tensors;
  }

  void compare_gguf_group(const WeightGroup &before, const WeightGroup &after, bool same_paths,
                          const std::set<std::string> &changed) {
    if (!same_paths) {
      std::vector<read::GgufHeader> old_headers;
      std::vector<read::GgufHeader> new_headers;
      const std::optional<std::vector<TensorView>> was =
          gguf_tensors(sides_.before, before, old_headers);
      const std::optional<std::vector<TensorView>> is =
          gguf_tensors(sides_.after, after, new_headers);
      if (was && is && !was->empty()) {
        if (!compare_tensors(after.files.front()->path, *was, *is, changes_))
          add("weights.resharded", after.files.front()->path, json_text(Json(before.files.size())),
              json_text(Json(after.files.size())),
              fmt::format(
                  "The same {} split into other files, {} became {}; values were not compared.",
                  counted(is->size(), "tensor is", "tensors are"),
                  counted(before.files.size(), "file"),
                  with_thousands(static_cast<long long>(after.files.size()))));
        return;
      }
      add("weights.values", after.files.front()->path, ids_text(before), ids_text(after),
          fmt::format("The weights are in other files: {} became {}.",
                      counted(before.files.size(), "file"),
                      with_thousands(static_cast<long long>(after.files.size()))));
      return;
    }
    for (const FilePair &file : sides_.files)
      if (changed.contains(file.path))
        compare_gguf(sides_, file, changes_);
  }

  bool tell_malformed(const WeightGroup &group, const TensorTable &table) {
    if (table.malformed.empty())
      return false;
    add("weights.malformed", table.malformed.front().substr(0, table.malformed.front().find(": ")),
        "null", ids_text(group),
        fmt::format("{} does not load: {}.", counted(table.malformed.size(), "weight file"),
                    listed(table.malformed, 2)));
    return true;
  }

  void compare_safetensors(const WeightGroup &before, const WeightGroup &after, bool same_paths,
                           const std::set<std::string> &changed) {
    const std::string &path = (after.index != nullptr ? *after.index : *after.files.front()).path;
    const TensorTable old_table = tensor_table(sides_.before, before);
    const TensorTable new_table = tensor_table(sides_.after, after);
    if (!new_table.pointers.empty() && old_table.pointers.empty())
      return add("weights.malformed", new_table.pointers.front(), ids_text(before), ids_text(after),
                 pointer_sentence(new_table.pointers));
    if (!new_table.malformed.empty()) {
      if (old_table.malformed.empty())
        tell_malformed(after, new_table);
      else
        add("weights.unreadable", path, ids_text(before), ids_text(after),
            fmt::format("{}; it was broken before as well.", listed(new_table.malformed, 2)));
      return;
    }
    std::vector<std::string> unknown = new_table.unreadable;
    unknown.insert(unknown.end(), old_table.unreadable.begin(), old_table.unreadable.end());
    unknown.insert(unknown.end(), old_table.malformed.begin(), old_table.malformed.end());
    if (!unknown.empty())
      return without_headers(before, after, same_paths, changed, unknown);
    const auto announced = [this](const std::vector<std::pair<TensorView, TensorView>> &rows) {
      const ConfigShapes was = shapes_by_config(sides_.before);
      const ConfigShapes is = shapes_by_config(sides_.after);
      return std::ranges::all_of(rows, [&](const auto &row) {
        return follows_config(was, is, row.first.name, *row.first.shape, *row.second.shape);
      });
    };
    if (compare_tensors(path, views_of(old_table), views_of(new_table), changes_, announced))
      return;
    same_tensors(before, after, same_paths, old_table, new_table, path);
  }

  /// Names, shapes and dtypes are equal; what is left is where the tensors lie and what bytes they
  /// hold.
  void same_tensors(const WeightGroup &before, const WeightGroup &after, bool same_paths,
                    const TensorTable &old_table, const TensorTable &new_table,
                    const std::string &path) {
    bool same_cut = before.files.size() == after.files.size();
    for (std::size_t i = 0; same_cut && i < new_table.tensors.size(); ++i)
      same_cut = old_table.tensors[i].file == new_table.tensors[i].file;
    const bool same_bytes = std::ranges::equal(
        before.files, after.files, {}, [](const FileEntry *file) { return file->content_id(); },
        [](const FileEntry *file) { return file->content_id(); });
    if (!same_cut || (!same_paths && same_bytes)) {
      add("weights.resharded", path, json_text(Json(before.files.size())),
          json_text(Json(after.files.size())),
          fmt::format("The same {} cut into other files, {} became {}; values were not compared.",
                      counted(new_table.tensors.size(), "tensor is", "tensors are"),
                      counted(before.files.size(), "file"),
                      with_thousands(static_cast<long long>(after.files.size()))));
      return;
    }
    std::vector<std::string> values;
    std::vector<std::string> headers;
    for (std::size_t i = 0; i < after.files.size(); ++i) {
      if (before.files[i]->content_id() == after.files[i]->content_id())
        continue;
      const std::string *old_header = bytes_of(sides_.before, before.files[i]->path);
      const std::string *new_header = bytes_of(sides_.after, after.files[i]->path);
      (*old_header == *new_header ? values : headers).push_back(after.files[i]->path);
    }
    if (!values.empty())
      add("weights.values", values.front(), ids_text(before), ids_text(after),
          fmt::format("Weights rewritten in place under the same {}: {} of {}, tensors the same in "
                      "name, shape and format, {}.",
                      same_paths ? "names" : "tensor names", counted(values.size(), "file"),
                      with_thousands(static_cast<long long>(after.files.size())), listed(values)));
    if (!headers.empty())
      add("weights.header-text", headers.front(), ids_text(before), ids_text(after),
          fmt::format("{} rewritten with the same tensors and another header text or order; values "
                      "were not compared: {}.",
                      counted(headers.size(), "file was", "files were"), listed(headers)));
  }

  /// No header on one side: the index still tells the names, digests tell the rest.
  void without_headers(const WeightGroup &before, const WeightGroup &after, bool same_paths,
                       const std::set<std::string> &changed,
                       const std::vector<std::string> &unknown) {
    const std::string why = "tensors were not compared, " + plain_text(unknown.front(), 160);
    const std::string size = signed_bytes(after.bytes() - before.bytes());
    if (same_paths) {
      add("weights.values", *changed.begin(), ids_text(before), ids_text(after),
          fmt::format("Weights rewritten in place under the same names: {} of {}, {} ({}; {}).",
                      counted(changed.size(), "file"),
                      with_thousands(static_cast<long long>(after.files.size())),
                      listed({changed.begin(), changed.end()}), size, why));
      return;
    }
    const double ratio =
        static_cast<double>(after.bytes()) / std::max(1.0, static_cast<double>(before.bytes()));
    const bool as_large = ratio > 0.999 && ratio < 1.001;
    if (as_large && !index_names_differ(sides_, before, after))
      add("weights.resharded", after.files.front()->path, ids_text(before), ids_text(after),
          fmt::format("{} became {} of the same size in all; values were not compared ({}).",
                      counted(before.files.size(), "file"),
                      with_thousands(static_cast<long long>(after.files.size())), why));
    else
      add("weights.values", after.files.front()->path, ids_text(before), ids_text(after),
          fmt::format("The weights are in other files: {} became {}, {} ({}).",
                      counted(before.files.size(), "file"),
                      with_thousands(static_cast<long long>(after.files.size())), size, why));
  }

  /// Index files whose weights are not in the repository at all.
  void lone_indexes() {
    for (const FilePair &file : sides_.files) {
      if (file.role != FileRole::weight_index || !file.differs || file.after == nullptr)
        continue;
      bool told = false;
      for (const Format *format : {&safetensors_, &pickles_})
        told = told || names_index(format->before, file) || names_index(format->after, file);
      if (told)
        continue;
      WeightGroup before;
      WeightGroup after;
      before.index = file.before;
      after.index = file.after;
      compare_index(sides_, before, after, changes_);
    }
  }

  static bool names_index(const Groups &groups, const FilePair &file) {
    return std::ranges::any_of(groups, [&](const auto &entry) {
      return entry.second.index != nullptr &&
             (entry.second.index == file.before || entry.second.index == file.after);
    });
  }

  /// Bytes of the checkpoints that are on both sides.
  void sizes() {
    const Format &main =
        !safetensors_.before.empty() && !safetensors_.after.empty() ? safetensors_ : pickles_;
    std::int64_t was = 0;
    std::int64_t is = 0;
    std::string path;
    for (const auto &[key, group] : main.after)
      if (const auto old = main.before.find(key); old != main.before.end()) {
        was += old->second.bytes();
        is += group.bytes();
        if (path.empty() && old->second.bytes() != group.bytes())
          path = (group.index != nullptr ? *group.index : *group.files.front()).path;
      }
    // A longer header is no larger model.
    constexpr std::int64_t header_noise = 64 << 10;
    if (was > 0 && is > 0 && std::abs(is - was) >= header_noise &&
        std::abs(static_cast<double>(is - was)) >= 0.01 * static_cast<double>(was))
      add("weights.size", path, json_text(Json(was)), json_text(Json(is)),
          fmt::format("The weights take {} instead of {} ({}).",
                      human_bytes(static_cast<double>(is)), human_bytes(static_cast<double>(was)),
                      signed_bytes(is - was)));
  }

  void side_files() {
    std::map<std::string, std::vector<const FilePair *>> by_event;
    for (const FilePair &file : sides_.files)
      if (file.role == FileRole::side_weights && file.differs)
        by_event[file.before == nullptr  ? "added"
                 : file.after == nullptr ? "removed"
                                         : "changed"]
            .push_back(&file);
    for (const auto &[event, files] : by_event) {
      std::vector<std::string> names;
      for (const FilePair *file : files)
        names.push_back(file->path);
      add("weights.side-file", names.front(), event == "added" ? "null" : json_text(Json(names)),
          event == "removed" ? "null" : json_text(Json(names)),
          fmt::format("{} for other runtimes {}: {}.", counted(names.size(), "file"), event,
                      listed(names)));
    }
  }

  void training_pickles() {
    for (const FilePair &file : sides_.files)
      if (file.role == FileRole::pickle && !is_weight_pickle(file.path) && file.before == nullptr)
        add("weights.pickle", file.path, "null", id_text(file.after),
            fmt::format("{} was added: a pickle of a training run. Loading it can run code.",
                        file.path));
  }

  const Sides &sides_;
  Changes &changes_;
  Format safetensors_;
  Format pickles_;
  Format gguf_;
  bool moved_ = false;
};

} // namespace

void diff_weights(const Sides &sides, Changes &changes) {
  const bool touched = std::ranges::any_of(sides.files, [](const FilePair &file) {
    return file.differs && (file.role == FileRole::safetensors || file.role == FileRole::gguf ||
                            file.role == FileRole::pickle || file.role == FileRole::side_weights ||
                            file.role == FileRole::weight_index);
  });
  if (touched)
    WeightDiff(sides, changes).run();
  compare_digest_lists(sides, changes);
}

} // namespace headwater::diff

#include "daemon/diff/auto_maps.hpp"
#include "daemon/diff/subjects.hpp"
#include "daemon/read/python_source.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

/// The auto_map of a config and of the configs inside it.
void collect(const Json &config, const std::string &at, int depth,
             std::map<std::string, std::string> &targets) {
  constexpr int deepest = 4;
  for (const auto &[key, value] : config.items()) {
    const std::string place = at + "/" + pointer_key(key);
    if (key == "auto_map" && value.is_object()) {
      for (const auto &[name, target] : value.items())
        if (target.is_string())
          targets[place + "/" + pointer_key(name)] = target.get<std::string>();
        else if (!target.is_null())
          targets[place + "/" + pointer_key(name)] =
              target.dump(-1, ' ', false, Json::error_handler_t::replace);
    } else if (value.is_object() && depth < deepest) {
      collect(value, place, depth + 1, targets);
    }
  }
}

/// Every auto_map of a revision: "file#/auto_map/AutoModel" -> target.
std::map<std::string, std::string> auto_maps(const Side &side) {
  std::map<std::string, std::string> targets;
  for (const FileEntry &file : side.snapshot.files) {
    const FileRole role = read::role_of(file.path);
    if (role != FileRole::config && role != FileRole::tokenizer_config &&
        role != FileRole::processor_config && role != FileRole::generation_config)
      continue;
    collect_auto_maps(*read_document(side, file.path).json, file.path + "#", targets);
  }
  return targets;
}

/// True when loading the model can run a file of this repository: one that auto_map reaches (it and
/// what it imports lie together), or one that a library looks for by name.
bool runs_on_load(const std::string &path, bool custom_code) {
  if (path.starts_with("custom_generate/") || path == "handler.py" || path == "pipeline.py")
    return true;
  return custom_code;
}

struct LineChanges {
  std::size_t added = 0;
  std::size_t removed = 0;
};

/// How many lines came and went, whatever their order.
LineChanges count_lines(const std::vector<std::string> &before,
                        const std::vector<std::string> &after) {
  std::map<std::string_view, long> balance;
  for (const std::string &line : before)
    --balance[line];
  for (const std::string &line : after)
    ++balance[line];
  LineChanges changes;
  for (const auto &[line, n] : balance)
    (n > 0 ? changes.added : changes.removed) += static_cast<std::size_t>(n > 0 ? n : -n);
  return changes;
}

std::vector<std::string> new_items(const std::vector<std::string> &before,
                                   const std::vector<std::string> &after) {
  std::vector<std::string> items;
  std::ranges::set_difference(after, before, std::back_inserter(items));
  return items;
}

class CodeDiff {
public:
  CodeDiff(const Sides &sides, Changes &changes)
      : sides_(sides), changes_(changes), maps_before_(auto_maps(sides.before)),
        maps_after_(auto_maps(sides.after)) {}

  void run() {
    compare_maps();
    for (const FilePair &file : sides_.files) {
      if (!file.differs)
        continue;
      if (file.role == FileRole::code)
        python(file);
      else if (file.role == FileRole::script)
        other(file, "code.script", "a script that loading the model does not run");
      else if (file.role == FileRole::binary)
        other(file, "code.binary", "machine code");
      else if (file.role == FileRole::requirements)
        requirements(file);
    }
    referenced();
  }

private:
  void add(std::string_view kind, std::string path, std::string before, std::string after,
           std::string sentence) {
    changes_.push_back(make_change(kind, std::move(path), std::move(before), std::move(after),
                                   std::move(sentence)));
  }

  void compare_maps() {
    std::set<std::string> places;
    for (const auto &[place, target] : maps_before_)
      places.insert(place);
    for (const auto &[place, target] : maps_after_)
      places.insert(place);
    for (const std::string &place : places) {
      const auto was = maps_before_.find(place);
      const auto is = maps_after_.find(place);
      if (was != maps_before_.end() && is != maps_after_.end() && was->second == is->second)
        continue;
      const std::string before = was != maps_before_.end() ? json_text(Json(was->second)) : "null";
      if (is == maps_after_.end()) {
        if (find_file(sides_.after, place.substr(0, place.find('#'))) != nullptr)
          add("code.auto-map-removed", place, before, "null",
              fmt::format("{} no longer names {}: software must know the model by itself.",
                          plain_text(place, 100), shown_text(was->second)));
        continue;
      }
      // A config that comes with the first files of its folder brings its code along; that is told
      // as code.
      const std::string file = place.substr(0, place.find('#'));
      if (find_file(sides_.before, file) == nullptr &&
          !loadable(sides_.before, read::folder_of(file)))
        continue;
      const bool elsewhere = is->second.find("--") != std::string::npos;
      add("code.auto-map", place, before, json_text(Json(is->second)),
          fmt::format("{} now names {}{}; {}.", plain_text(place, 100), shown_text(is->second),
                      elsewhere ? ", code of another repository" : "",
                      was != maps_before_.end() ? "it was " + shown_text(was->second)
                                                : std::string("before, it named none")));
    }
  }

  void python(const FilePair &file) {
    const bool custom = !maps_before_.empty() || !maps_after_.empty();
    const bool runs = runs_on_load(file.path, custom);
    const std::string before_id = id_text(file.before);
    const std::string after_id = id_text(file.after);
    if (file.after == nullptr) {
      const std::string *text = bytes_of(sides_.before, file.path);
      const bool empty = text != nullptr && read::read_python(*text).lines.empty();
      add(empty ? "code.comments" : "code.removed", file.path, before_id, "null",
          fmt::format("{} was removed{}.", file.path, empty ? "; it held no code" : ""));
      return;
    }
    std::string problem;
    const std::string *new_text = bytes_of(sides_.after, file.path, &problem);
    const std::string *old_text =
        file.before != nullptr ? bytes_of(sides_.before, file.path, &problem) : nullptr;
    const std::string who =
        runs ? " Users who allow this model's code run it." : " Loading the model does not run it.";
    const std::string_view changed = runs ? "code.changed" : "code.script";
    if (new_text == nullptr || (file.before != nullptr && old_text == nullptr)) {
      add(file.before != nullptr ? changed
          : runs                 ? "code.added"
                                 : "code.script",
          file.path, before_id, after_id,
          fmt::format("{} {} and was not compared: {}.{}", file.path,
                      file.before != nullptr ? "changed" : "was added", problem, who));
      return;
    }
    const read::PythonFacts after = read::read_python(*new_text);
    const read::PythonFacts before =
        old_text != nullptr ? read::read_python(*old_text) : read::PythonFacts();
    const std::vector<std::string> modules = new_items(before.modules, after.modules);
    const std::vector<std::string> reaches = new_items(before.reaches, after.reaches);
    std::string imports =
        modules.empty() ? "" : fmt::format(" Newly imported: {}.", plain_text(listed(modules, 6)));
    if (!runs && !reaches.empty())
      imports += fmt::format(" It reaches for: {}.", listed(reaches, 6));
    if (file.before == nullptr && after.lines.empty()) {
      add("code.comments", file.path, "null", after_id,
          fmt::format("{} was added and holds no code.", file.path));
    } else if (file.before == nullptr) {
      add(runs ? "code.added" : "code.script", file.path, "null", after_id,
          fmt::format("{} was added ({}).{}{}", file.path, counted(after.lines.size(), "line"),
                      imports, who));
    } else if (before.lines == after.lines) {
      add("code.comments", file.path, before_id, after_id,
          fmt::format("{} differs in comments, empty lines or spaces at line ends alone.",
                      file.path));
      return;
    } else {
      const LineChanges lines = count_lines(before.lines, after.lines);
      add(changed, file.path, before_id, after_id,
          fmt::format("{} changed: {} added, {} removed.{}{}", file.path,
                      counted(lines.added, "line"),
                      with_thousands(static_cast<long long>(lines.removed)), imports, who));
    }
    if (runs && !reaches.empty())
      add("code.imports", file.path, json_text(Json(before.reaches)),
          json_text(Json(after.reaches)),
          fmt::format("{} now reaches for: {}.{}", file.path, listed(reaches, 6), who));
  }

  void other(const FilePair &file, std::string_view kind, std::string_view what) {
    if (file.after == nullptr)
      return add("code.removed", file.path, id_text(file.before), "null",
                 fmt::format("{} was removed.", file.path));
    add(kind, file.path, id_text(file.before), id_text(file.after),
        fmt::format("{}, {}, {}.", file.path, what,
                    file.before != nullptr ? "changed" : "was added"));
  }

  void requirements(const FilePair &file) {
    const auto lines = [](const std::string *text) {
      return required_packages(text != nullptr ? std::string_view(*text) : std::string_view());
    };
    const std::vector<std::string> before = lines(bytes_of(sides_.before, file.path));
    const std::vector<std::string> after = lines(bytes_of(sides_.after, file.path));
    if (before == after)
      return add("code.comments", file.path, id_text(file.before), id_text(file.after),
                 fmt::format("{} lists the same, written differently.", file.path));
    const std::vector<std::string> gone = new_items(after, before);
    const std::vector<std::string> came = new_items(before, after);
    add("code.requirements", file.path, json_text(Json(gone)), json_text(Json(came)),
        plain_text(fmt::format("{} asks {}{}{}.", file.path,
                               came.empty() ? "" : "now for " + listed(came, 6),
                               came.empty() || gone.empty() ? "" : "; ",
                               gone.empty() ? "" : "no longer for " + listed(gone, 6)),
                   400));
  }

  /// Code of other repositories that this one's config names.
  void referenced() {
    for (const ReferencedRepo &now : sides_.after.snapshot.referenced) {
      const auto old =
          std::ranges::find(sides_.before.snapshot.referenced, now.name, &ReferencedRepo::name);
      if (old == sides_.before.snapshot.referenced.end() || old->head.empty() || now.head.empty() ||
          old->files == now.files)
        continue;
      std::vector<std::string> paths;
      for (const FileEntry &file : now.files) {
        const auto same = std::ranges::find(old->files, file.path, &FileEntry::path);
        if (same == old->files.end() || same->content_id() != file.content_id())
          paths.push_back(file.path);
      }
      for (const FileEntry &file : old->files)
        if (std::ranges::find(now.files, file.path, &FileEntry::path) == now.files.end())
          paths.push_back(file.path);
      if (paths.empty())
        continue;
      add("code.remote-changed", now.name, json_text(Json(old->head)), json_text(Json(now.head)),
          fmt::format("Code of {} that this model loads changed: {}. Pin it with code_revision.",
                      plain_text(now.name, 100), listed(paths)));
    }
  }

  const Sides &sides_;
  Changes &changes_;
  std::map<std::string, std::string> maps_before_;
  std::map<std::string, std::string> maps_after_;
};

} // namespace

void collect_auto_maps(const Json &config, const std::string &at,
                       std::map<std::string, std::string> &targets) {
  collect(config, at, 0, targets);
}

std::vector<std::string> required_packages(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
      line.remove_suffix(1);
    if (!line.empty())
      items.emplace_back(line);
  }
  std::ranges::sort(items);
  return items;
}

void diff_code(const Sides &sides, Changes &changes) {
  CodeDiff(sides, changes).run();
}

} // namespace headwater::diff

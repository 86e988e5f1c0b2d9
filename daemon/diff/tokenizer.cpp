#include "daemon/read/tokenizer.hpp"

#include "daemon/diff/subjects.hpp"
#include "daemon/diff/tokenizer_compare.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

using Reader = Result<read::TokenizerFacts> (*)(std::string_view);

struct Format {
  FileRole role;
  std::string_view name; ///< in a sentence
  Reader reader;
};

constexpr auto formats = std::to_array<Format>({
    {FileRole::tokenizer_json, "tokenizer.json", read::read_tokenizer_json},
    {FileRole::sentencepiece, "sentencepiece", read::read_sentencepiece},
    {FileRole::tekken, "tekken", read::read_tekken},
    {FileRole::tiktoken, "tiktoken", read::read_tiktoken},
    {FileRole::vocabulary_json, "vocab.json with merges.txt", read::read_vocabulary_json},
    {FileRole::merges, "vocab.json with merges.txt", read::read_merges},
    {FileRole::vocabulary_lines, "vocab.txt", read::read_vocabulary_lines},
});

const Format *format_of(FileRole role) {
  const auto at = std::ranges::find(formats, role, &Format::role);
  return at != formats.end() ? &*at : nullptr;
}

/// Formats of a folder on each side and whether any of its files came or went.
struct FolderFormats {
  std::set<std::string> before;
  std::set<std::string> after;
  std::set<std::string> added;   ///< paths
  std::set<std::string> removed; ///< paths
};

std::string joined(const std::set<std::string> &items) {
  return listed({items.begin(), items.end()}, 6);
}

Json as_json(const std::set<std::string> &items) {
  return items.empty() ? Json() : Json(items);
}

void compare_formats(const std::string &folder, const FolderFormats &formats_, bool first_upload,
                     Changes &changes) {
  const auto &before = formats_.before;
  const auto &after = formats_.after;
  std::vector<std::string> lost;
  std::vector<std::string> gained;
  std::ranges::set_difference(before, after, std::back_inserter(lost));
  std::ranges::set_difference(after, before, std::back_inserter(gained));
  if (lost.empty() && gained.empty())
    return;
  const std::string place = *(!formats_.added.empty() ? formats_.added : formats_.removed).begin();
  const auto add = [&](std::string_view kind, std::string sentence) {
    changes.push_back(make_change(kind, place, json_text(as_json(before)),
                                  json_text(as_json(after)), std::move(sentence)));
  };
  const std::string where = folder.empty() ? "" : " in " + plain_text(folder, 80);
  if (before.empty())
    return add("tokenizer.added",
               fmt::format("A tokenizer was added{}: {}.{}", where, joined(formats_.added),
                           first_upload ? "" : " Before, software had none to load."));
  if (after.empty())
    return add("tokenizer.removed",
               fmt::format("The tokenizer was removed{}: {}.", where, joined(formats_.removed)));
  if (lost.size() == before.size())
    return add("tokenizer.replaced",
               fmt::format("The tokenizer{} was kept as {} and is now kept as {}: software needs "
                           "another loader. Ids of existing "
                           "text may change.",
                           where, listed(lost), listed(gained)));
  if (!gained.empty())
    add("tokenizer.format-added",
        fmt::format("The tokenizer{} is now also kept as {}.", where, listed(gained)));
  if (!lost.empty())
    add("tokenizer.format-removed",
        fmt::format(
            "The tokenizer{} is no longer kept as {}, still as {}: software that reads only the "
            "removed form fails.",
            where, listed(lost), joined(after)));
}

void compare_contents(const Sides &sides, const FilePair &file, Changes &changes) {
  const auto note = [&](std::string_view kind, std::string sentence) {
    changes.push_back(make_change(kind, file.path, id_text(file.before), id_text(file.after),
                                  std::move(sentence)));
  };
  std::string problem;
  const std::string *old_bytes =
      file.before != nullptr ? bytes_of(sides.before, file.path, &problem) : nullptr;
  const std::string *new_bytes = bytes_of(sides.after, file.path, &problem);
  const auto pointer = [](const std::string *bytes) {
    return bytes != nullptr && is_lfs_pointer(*bytes);
  };
  if (pointer(old_bytes) || pointer(new_bytes)) {
    if (file.before != nullptr)
      note("tokenizer.file", fmt::format("{} differs; only its digest is here, so its content was "
                                         "not compared. Ids of existing "
                                         "text may change.",
                                         file.path));
    return;
  }
  if (new_bytes == nullptr) {
    if (file.before != nullptr)
      note("tokenizer.file",
           fmt::format("{} differs and was not compared: {}. Ids of existing text may change.",
                       file.path, problem));
    return;
  }
  const Result<read::TokenizerFacts> &after = *sides.after.facts.files.at(file.path)->tokenizer;
  if (!after) {
    const bool was_bad =
        old_bytes != nullptr && !*sides.before.facts.files.at(file.path)->tokenizer;
    return note(was_bad ? "tokenizer.unreadable" : "tokenizer.malformed",
                fmt::format("{} does not load: {}.", file.path, plain_text(after.error().message)));
  }
  if (file.before == nullptr)
    return;
  if (old_bytes == nullptr)
    return note("tokenizer.unreadable",
                fmt::format("{} differs and was not compared: {}.", file.path, problem));
  const Result<read::TokenizerFacts> &before = *sides.before.facts.files.at(file.path)->tokenizer;
  if (!before)
    return note("tokenizer.unreadable",
                fmt::format("{} can be read now and could not before, so it was not compared: {}.",
                            file.path, plain_text(before.error().message)));
  if (!compare_tokenizers(file.path, *before, *after, changes))
    note("tokenizer.serialised-form",
         fmt::format(
             "{} is written differently and says the same. Ids of existing text cannot change.",
             file.path));
}

} // namespace

Result<read::TokenizerFacts> read_tokenizer(read::FileRole role, std::string_view bytes) {
  const Format *format = format_of(role);
  return format != nullptr ? format->reader(bytes)
                           : fail(Errc::malformed, "it is no tokenizer file");
}

void diff_tokenizer(const Sides &sides, Changes &changes) {
  std::map<std::string, FolderFormats> folders;
  for (const FilePair &file : sides.files) {
    const Format *format = format_of(file.role);
    if (format == nullptr)
      continue;
    FolderFormats &folder = folders[std::string(read::folder_of(file.path))];
    if (file.before != nullptr)
      folder.before.insert(std::string(format->name));
    if (file.after != nullptr)
      folder.after.insert(std::string(format->name));
    if (file.before == nullptr)
      folder.added.insert(file.path);
    if (file.after == nullptr)
      folder.removed.insert(file.path);
    if (file.differs && file.after != nullptr)
      compare_contents(sides, file, changes);
  }
  for (const auto &[folder, both] : folders)
    if (!both.added.empty() || !both.removed.empty())
      compare_formats(folder, both, !loadable(sides.before, folder), changes);
  for (const FilePair &file : sides.files)
    if (file.differs &&
        (file.role == FileRole::tokenizer_config || file.role == FileRole::special_tokens_map ||
         file.role == FileRole::added_tokens))
      diff_tokenizer_settings(sides, file, changes);
}

} // namespace headwater::diff

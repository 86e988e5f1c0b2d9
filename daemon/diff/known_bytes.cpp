#include "daemon/diff/known_bytes.hpp"

#include "schemas/json.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

/// The digests that a change names as its new state: its value is {path: digest}, or a digest.
std::vector<std::string> digests_of(const Change &change) {
  const Json after = Json::parse(change.after_json, nullptr, false);
  std::vector<std::string> digests;
  const auto add = [&](const Json &value) {
    if (value.is_string() && value.get_ref<const std::string &>().size() == 64)
      digests.push_back(value.get<std::string>());
  };
  if (after.is_object())
    for (const auto &[path, id] : after.items())
      add(id);
  else
    add(after);
  return digests;
}

std::string place(const KnownFile &known, const Snapshot &after) {
  const std::string revision = known.revision.substr(0, 7);
  return known.repo == after.facts.name
             ? fmt::format("{} at {}", plain_text(known.path, 100), revision)
             : fmt::format("{} of {} at {}", plain_text(known.path, 100),
                           plain_text(known.repo, 100), revision);
}

} // namespace

std::vector<std::string> new_digests(const Snapshot *before, const Snapshot &after) {
  std::set<std::string> had;
  if (before != nullptr)
    for (const FileEntry &file : before->files)
      had.insert(file.sha256);
  std::set<std::string> digests;
  for (const FileEntry &file : after.files)
    if (!file.sha256.empty() && !had.contains(file.sha256))
      digests.insert(file.sha256);
  return {digests.begin(), digests.end()};
}

void name_known_bytes(const Snapshot &after, std::vector<Change> &changes) {
  for (Change &change : changes) {
    if (change.subject != "weights")
      continue;
    const KnownFile *first = nullptr;
    std::size_t known = 0;
    const std::vector<std::string> digests = digests_of(change);
    for (const std::string &digest : digests)
      if (const auto at = after.known.find(digest); at != after.known.end()) {
        first = first == nullptr ? &at->second : first;
        ++known;
      }
    if (known == 0)
      continue;
    change.explanation +=
        known == 1 && digests.size() == 1
            ? fmt::format(" These bytes were seen before: {}.", place(*first, after))
            : fmt::format(" The bytes of {} of {} files were seen before, such as {}.", known,
                          digests.size(), place(*first, after));
  }
}

} // namespace headwater::diff

#include "daemon/diff/facts.hpp"

#include "daemon/diff/config_facts.hpp"
#include "daemon/diff/file_facts.hpp"
#include "daemon/read/wanted.hpp"
#include "schemas/change.hpp"
#include "schemas/digest.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

/// Grows when the readers change what they take from a file: digests of another version are neither
/// the same as ours nor different.
constexpr std::string_view readers = "2:";

const Fact *find(const Facts &facts, std::string_view subject, const std::string &place) {
  const auto places = facts.subjects.find(subject);
  if (places == facts.subjects.end())
    return nullptr;
  const auto fact = places->second.find(place);
  return fact != places->second.end() ? &fact->second : nullptr;
}

/// True for a place that is brought along by `holder`.
bool lies_below(std::string_view place, std::string_view holder) {
  return place.size() > holder.size() && place.starts_with(holder) &&
         (place[holder.size()] == '#' || place[holder.size()] == '/');
}

bool has_loadable(const Facts &facts, std::string_view folder) {
  return facts.loadable.contains(folder);
}

} // namespace

namespace {

/// Files of many MB whose facts no other file's depend on.
bool is_large(read::FileRole role) {
  constexpr auto roles = std::to_array<read::FileRole>(
      {read::FileRole::tokenizer_json, read::FileRole::sentencepiece, read::FileRole::tekken,
       read::FileRole::tiktoken, read::FileRole::vocabulary_json, read::FileRole::merges,
       read::FileRole::vocabulary_lines, read::FileRole::gguf, read::FileRole::weight_index});
  return std::ranges::find(roles, role) != roles.end();
}

/// A file that is known by its content alone.
std::shared_ptr<const FileFacts> unopened(const FileEntry &file, read::FileRole role) {
  FileFacts facts;
  facts.id = file.content_id();
  const bool weights = role == read::FileRole::gguf || role == read::FileRole::weight_index;
  facts.subjects[weights ? "weights" : "tokenizer"][file.path].value = facts.id;
  return std::make_shared<const FileFacts>(std::move(facts));
}

Facts make_facts(const Snapshot &snapshot, const Snapshot *other, const Facts *known) {
  Facts facts;
  for (const FileEntry &file : snapshot.files) {
    std::shared_ptr<const FileFacts> here;
    const read::FileRole role = read::role_of(file.path);
    if (const FileEntry *same =
            other != nullptr && is_large(role) ? find_file(*other, file.path) : nullptr;
        same != nullptr && same->content_id() == file.content_id())
      here = unopened(file, role);
    else if (known != nullptr)
      if (const auto at = known->files.find(file.path);
          at != known->files.end() && at->second->id == file.content_id() &&
          (at->second->read || !snapshot.contents.contains(file.path)))
        here = at->second;
    if (!here)
      here = read_file_facts(snapshot, file);
    for (const auto &[subject, places] : here->subjects)
      facts.subjects[subject].insert(places.begin(), places.end());
    facts.objects.insert(here->objects.begin(), here->objects.end());
    facts.files.emplace(file.path, std::move(here));
    if (role != read::FileRole::config && role != read::FileRole::safetensors &&
        role != read::FileRole::gguf && role != read::FileRole::pickle)
      continue;
    for (std::size_t end = 0; end != std::string::npos; end = file.path.find('/', end + 1))
      facts.loadable.insert(end == 0 ? std::string() : file.path.substr(0, end + 1));
  }
  add_facts_of_several(snapshot, facts, known);
  return facts;
}

} // namespace

Facts facts_of(const Snapshot &snapshot, const Facts *known) {
  return make_facts(snapshot, nullptr, known);
}

Facts facts_beside(const Snapshot &snapshot, const Snapshot &other, const Facts *known) {
  return make_facts(snapshot, &other, known);
}

const Document &document_of(const Facts &facts, std::string_view path) {
  static const Document absent{Document::State::absent,
                               std::make_shared<const Json>(Json::object())};
  const auto file = facts.files.find(path);
  return file != facts.files.end() && file->second->document.json ? file->second->document : absent;
}

bool Judge::comes_with_another(const Fact &fact, const std::string &place) const {
  if (fact.first_upload) {
    const std::string file = place.substr(0, place.find('#'));
    for (const Facts *side : {&before_, &after_})
      if (!side->files.contains(file) && !has_loadable(*side, read::folder_of(file)))
        return true;
  }
  for (std::string holder = fact.under; !holder.empty();) {
    if (before_.objects.contains(holder) != after_.objects.contains(holder))
      return true;
    const std::size_t hash = holder.find('#');
    const std::size_t slash = holder.rfind('/');
    if (hash == std::string::npos)
      break;
    holder = holder.substr(0, slash != std::string::npos && slash > hash + 1 ? slash : hash);
  }
  return false;
}

bool Judge::differs(const Fact *before, const Fact *after, const std::string &place) const {
  const auto holds = [](const Fact *fact) {
    return fact != nullptr && fact->force == Force::holds;
  };
  if (before == nullptr || after == nullptr) {
    if (!holds(before) && !holds(after))
      return false;
  } else if (before->value == after->value) {
    return false;
  } else if (!holds(before) && !holds(after) &&
             (before->force == Force::no_effect || after->force == Force::no_effect)) {
    return false;
  }
  const bool by_build = before != nullptr ? before->by_build : after->by_build;
  if (!by_build)
    return true;
  const auto left = before_.files.find("config.json");
  const auto right = after_.files.find("config.json");
  if (left == before_.files.end() || right == after_.files.end() || !left->second->config ||
      !right->second->config)
    return true;
  return !builds_alike() && !key_builds_alike(*left->second->config, *right->second->config,
                                              place.substr(place.find('#') + 1));
}

bool Judge::builds_alike() const {
  if (!builds_alike_) {
    const auto left = before_.files.find("config.json");
    const auto right = after_.files.find("config.json");
    builds_alike_ = left != before_.files.end() && right != after_.files.end() &&
                    left->second->config && right->second->config &&
                    configs_build_alike(*left->second->config, *right->second->config);
  }
  return *builds_alike_;
}

bool Judge::moves(std::string_view subject, const std::string &place) const {
  const Fact *before = find(before_, subject, place);
  const Fact *after = find(after_, subject, place);
  const Fact *any = before != nullptr ? before : after;
  if (any == nullptr || (before != nullptr && (before->unread || before->broken)) ||
      (after != nullptr && after->unread))
    return false;
  if (before == nullptr && any->counts == Counts::when_gone)
    return false;
  if (after == nullptr && any->counts == Counts::when_new)
    return false;
  const bool on_both = before != nullptr && after != nullptr;
  return (on_both || !comes_with_another(*any, place)) && differs(before, after, place);
}

std::vector<std::string> Judge::moved(std::string_view subject) const {
  std::set<std::string> places;
  for (const Facts *side : {&before_, &after_})
    if (const auto at = side->subjects.find(subject); at != side->subjects.end())
      for (const auto &[place, fact] : at->second)
        places.insert(place);
  std::vector<std::string> list;
  std::ranges::copy_if(places, std::back_inserter(list),
                       [&](const std::string &place) { return moves(subject, place); });
  return list;
}

bool Judge::same(std::string_view subject, const std::string &place) const {
  if (differs(find(before_, subject, place), find(after_, subject, place), place))
    return false;
  // What a file or an object brings along is told with it, whatever the subject.
  for (const auto &[side, other] : {std::pair(&before_, &after_), std::pair(&after_, &before_)}) {
    if (!side->objects.contains(place))
      continue;
    for (const auto &[name, places] : side->subjects)
      for (auto at = places.upper_bound(place); at != places.end() && at->first.starts_with(place);
           ++at)
        if (const Fact *there = find(*other, name, at->first);
            lies_below(at->first, place) &&
            (side == &before_ ? differs(&at->second, there, at->first)
                              : differs(there, &at->second, at->first)))
          return false;
  }
  return true;
}

bool tells(std::string_view path, const std::string &place, const Fact &fact) {
  const std::string_view where = fact.where.empty() ? place : fact.where;
  return path == where || lies_below(where, path) || lies_below(path, where);
}

std::string subject_hash(const Facts &facts, std::string_view subject) {
  const auto places = facts.subjects.find(subject);
  std::string text;
  if (places != facts.subjects.end())
    for (const auto &[place, fact] : places->second)
      if (fact.force == Force::holds || fact.force == Force::said_elsewhere)
        text += place + '\0' + fact.value + '\0';
  return std::string(readers) + sha256_hex(text);
}

std::string fact_hash(const Facts &facts) {
  std::string hashes;
  for (const std::string_view subject : subjects())
    hashes += subject_hash(facts, subject) + "\n";
  return std::string(readers) + sha256_hex(hashes);
}

} // namespace headwater::diff

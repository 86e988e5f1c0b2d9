#include "daemon/diff/sampling.hpp"

#include "daemon/diff/config_keys.hpp"
#include "daemon/diff/subjects.hpp"
#include "schemas/text.hpp"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

std::string kind_of(const std::string &key, const Json *a, const Json *b) {
  if (key == "transformers_version" || key == "_from_model_config" || key == "_commit_hash")
    return "config.provenance";
  if ((a == nullptr && is_generation_default(key, *b)) ||
      (b == nullptr && is_generation_default(key, *a)))
    return "sampling.default-stated";
  if (key == "stop_token_ids" || key == "stop_strings")
    return "stop-set.source";
  if (key == "pad_token_id" || key == "bos_token_id" || key == "eos_token_id" ||
      key == "decoder_start_token_id")
    return "config.token-ids";
  if (key.find("length") != std::string::npos || key.find("new_tokens") != std::string::npos)
    return key == "length_penalty" ? "sampling.default" : "sampling.length";
  return is_generation_key(key) ? "sampling.default" : "sampling.other";
}

/// Without a generation_config.json, generation takes these from config.json.
bool said_by_config(const Json &config, const std::string &key, const Json &value) {
  const auto at = config.find(key);
  return at != config.end() && canonical_numbers(*at) == value;
}

/// `without`: the config beside a generation_config.json that came or went.
void compare(const std::string &path, const Json &before, const Json &after, const Json &without,
             Changes &changes) {
  std::set<std::string> keys;
  for (const auto &[key, value] : before.items())
    keys.insert(key);
  for (const auto &[key, value] : after.items())
    keys.insert(key);
  std::size_t told = 0;
  for (const std::string &key : keys) {
    // Of the model itself, this is told with the stop set.
    if (((key == "eos_token_id" || key == "stop_strings") && read::folder_of(path).empty()) ||
        key == "auto_map") // told with the code
      continue;
    const auto left = before.find(key);
    const auto right = after.find(key);
    const Json *a = left != before.end() ? &*left : nullptr;
    const Json *b = right != after.end() ? &*right : nullptr;
    if ((a != nullptr && b != nullptr && *a == *b) || ++told > 60)
      continue;
    const bool held =
        (a == nullptr || b == nullptr) && said_by_config(without, key, a != nullptr ? *a : *b);
    const std::string kind = held ? "sampling.default-stated" : kind_of(key, a, b);
    std::string sentence = describe("", {path, key, a, b});
    if (kind == "sampling.default" || kind == "sampling.length")
      sentence += " Requests that do not set it are answered differently.";
    changes.push_back(make_change(kind, path + "#/" + pointer_key(key),
                                  a != nullptr ? json_text(*a) : "null",
                                  b != nullptr ? json_text(*b) : "null", std::move(sentence)));
  }
}

void compare_file(const Sides &sides, const FilePair &file, Changes &changes) {
  using State = Document::State;
  const Document &before = read_document(sides.before, file.path);
  const Document &after = read_document(sides.after, file.path);
  const auto note = [&](std::string_view kind, std::string sentence) {
    changes.push_back(make_change(kind, file.path, id_text(file.before), id_text(file.after),
                                  std::move(sentence)));
  };
  if (after.state == State::malformed && before.state != State::malformed)
    return note("sampling.malformed",
                fmt::format("{} does not load: {}.", file.path, after.problem));
  if (before.state == State::unread || after.state == State::unread ||
      before.state == State::malformed || after.state == State::malformed) {
    const Document &bad = after.state == State::ok || after.state == State::absent ? before : after;
    return note("sampling.unreadable",
                fmt::format("{} differs and was not compared: {}.", file.path, bad.problem));
  }
  if (before.state == State::absent && !loadable(sides.before, read::folder_of(file.path)))
    return note("sampling.added", fmt::format("{} was added.", file.path));
  const Side &bare = before.state == State::absent ? sides.before : sides.after;
  const bool one_sided = before.state == State::absent || after.state == State::absent;
  const Document &config =
      read_document(bare, std::string(read::folder_of(file.path)) + "config.json");
  compare(file.path, canonical_numbers(*before.json), canonical_numbers(*after.json),
          one_sided ? *config.json : Json::object(), changes);
}

} // namespace

bool is_generation_default(std::string_view key, const Json &value) {
  if (value.is_null())
    return true;
  const std::string_view known = generation_default(key);
  return !known.empty() && Json::parse(known) == value;
}

std::string generation_kind(const std::string &key, const Json *before, const Json *after) {
  return kind_of(key, before, after);
}

void diff_sampling(const Sides &sides, Changes &changes) {
  for (const FilePair &file : sides.files)
    if (file.role == FileRole::generation_config && file.differs)
      compare_file(sides, file, changes);
}

} // namespace headwater::diff

#include "daemon/diff/file_facts.hpp"

#include "daemon/diff/auto_maps.hpp"
#include "daemon/diff/config_facts.hpp"
#include "daemon/diff/gguf_compare.hpp"
#include "daemon/diff/licence_terms.hpp"
#include "daemon/diff/sampling.hpp"
#include "daemon/diff/sides.hpp"
#include "daemon/diff/tokenizer_compare.hpp"
#include "daemon/diff/tokenizer_settings.hpp"
#include "daemon/read/card.hpp"
#include "daemon/read/python_source.hpp"
#include "daemon/read/weight_index.hpp"
#include "schemas/digest.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

/// Whether a file loads, and that it is there: what a subject loses with it.
void add_presence(FileFacts &facts, const std::string &subject, const std::string &path,
                  const Document &document, Counts counts) {
  Fact fact = value_of(document.state == Document::State::ok ? "loads" : "does not load");
  if (document.state == Document::State::unread) {
    fact.value = facts.id;
    fact.unread = true;
  }
  fact.broken = document.state == Document::State::malformed;
  fact.counts = counts;
  facts.subjects[subject].emplace(path, std::move(fact));
  if (document.state == Document::State::ok)
    facts.objects.push_back(path);
}

void add_config(FileFacts &facts, FileRole role, const std::string &path) {
  const RoleKinds &kinds = *role_kinds(role);
  const ChangeKind *removed = find_change_kind(kinds.removed);
  const ChangeKind *added = find_change_kind(kinds.added);
  add_presence(facts, std::string(removed->subject), path, facts.document,
               added->impact == Impact::cosmetic || added->subject != removed->subject
                   ? Counts::when_gone
                   : Counts::both_ways);
  if (added->impact != Impact::cosmetic && added->subject != removed->subject) {
    Fact fact = value_of("there");
    fact.counts = Counts::when_new;
    facts.subjects[std::string(added->subject)].emplace(path, std::move(fact));
  }
  if (facts.document.state != Document::State::ok)
    return;
  if (kinds.keys.empty()) {
    facts.config = std::make_shared<const ConfigFacts>(config_facts(path, *facts.document.json));
    add_places(path, *facts.config, facts);
  } else {
    add_role_places(kinds, path, canonical_numbers(*facts.document.json), facts);
  }
}

std::string digest_of(const std::vector<read::VocabularyEntry> &entries) {
  std::vector<const read::VocabularyEntry *> sorted;
  sorted.reserve(entries.size());
  for (const read::VocabularyEntry &entry : entries)
    sorted.push_back(&entry);
  std::ranges::stable_sort(sorted, {}, &read::VocabularyEntry::text);
  std::string text;
  for (const read::VocabularyEntry *entry : sorted)
    fmt::format_to(std::back_inserter(text), "{} {} {} {}\n", entry->id, entry->score, entry->type,
                   entry->text);
  return sha256_hex(text);
}

std::string digest_of(const std::vector<read::Merge> &merges) {
  std::string text;
  for (const auto &[left, right] : merges)
    fmt::format_to(std::back_inserter(text), "{} {}\n", left, right);
  return sha256_hex(text);
}

/// The places of a tokenizer in any form, below `at`.
void add_tokenizer_places(const read::TokenizerFacts &tokenizer, const std::string &at,
                          const std::string &under, Places &places) {
  if (!tokenizer.vocabulary.empty())
    places.emplace(at + "/model/vocab", value_of(digest_of(tokenizer.vocabulary), under));
  if (!tokenizer.merges.empty())
    places.emplace(at + "/model/merges", value_of(digest_of(tokenizer.merges), under));
  for (const read::TokenizerPart &part : tokenizer.parts) {
    std::string name = "/" + part.name;
    std::ranges::replace(name, '.', '/');
    places.emplace(at + name, value_of(sha256_hex(part.json), under));
  }
  if (!tokenizer.added.empty())
    places.emplace(at + "/added_tokens",
                   value_of(json_text(added_tokens_json(tokenizer.added)), under));
}

void add_tokenizer(FileFacts &facts, FileRole role, const std::string &path) {
  Places &places = facts.subjects["tokenizer"];
  Fact file = value_of("loads");
  file.counts = Counts::when_gone;
  if (!facts.read || is_lfs_pointer(*facts.bytes)) {
    file.value = "content " + facts.id;
    places.emplace(path, std::move(file));
    return;
  }
  facts.tokenizer =
      std::make_shared<const Result<read::TokenizerFacts>>(read_tokenizer(role, *facts.bytes));
  if (!*facts.tokenizer) {
    file.value = "does not load";
    file.broken = true;
    places.emplace(path, std::move(file));
    return;
  }
  places.emplace(path, std::move(file));
  facts.objects.push_back(path);
  add_tokenizer_places(**facts.tokenizer, path + "#", path, places);
}

void add_gguf(FileFacts &facts, const std::string &path) {
  facts.subjects["weights"].emplace(path, value_of(facts.id));
  if (!facts.read)
    return;
  facts.gguf =
      std::make_shared<const Result<read::GgufHeader>>(read::read_gguf_header(*facts.bytes));
  if (!*facts.gguf)
    return;
  facts.objects.push_back(path);
  const read::GgufHeader &header = **facts.gguf;
  for (const GgufKey &key : gguf_keys(header))
    facts.subjects[std::string(find_change_kind(key.kind)->subject)].emplace(
        path + "#/" + pointer_key(key.key), value_of(key.value_text, path));
  add_tokenizer_places(gguf_tokenizer(header), path + "#/tokenizer.ggml", path,
                       facts.subjects["tokenizer"]);
  if (const std::optional<std::string> text = gguf_template(header))
    facts.subjects["template"].emplace(path + "#/tokenizer.chat_template",
                                       value_of(sha256_hex(*text), path));
}

void add_code(FileFacts &facts, FileRole role, const std::string &path) {
  Fact fact = value_of(facts.id);
  if (role == FileRole::code && facts.read) {
    const std::vector<std::string> lines = read::read_python(*facts.bytes).lines;
    fact.value = sha256_hex(fmt::format("{}", fmt::join(lines, "\n")));
    if (lines.empty())
      fact.force = Force::stands_without;
  } else if (role == FileRole::requirements) {
    const std::vector<std::string> lines =
        required_packages(facts.read ? *facts.bytes : std::string());
    fact.value = sha256_hex(fmt::format("{}", fmt::join(lines, "\n")));
    if (lines.empty())
      fact.force = Force::stands_without;
  }
  facts.subjects["code"].emplace(path, std::move(fact));
}

void add_auto_maps(FileFacts &facts, const std::string &path) {
  std::map<std::string, std::string> targets;
  collect_auto_maps(*facts.document.json, path + "#", targets);
  for (auto &[place, target] : targets) {
    Fact fact = value_of(json_text(Json(target)), path + " named code");
    fact.first_upload = true;
    facts.subjects["code"].emplace(place, std::move(fact));
  }
  facts.objects.push_back(path + " named code");
}

void add_licence(FileFacts &facts, FileRole role, const std::string &path) {
  if (role == FileRole::licence) {
    std::string text = facts.read ? std::string() : facts.id;
    if (facts.read)
      for (const char c : *facts.bytes)
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
          text += c;
    facts.subjects["licence"].emplace(path, value_of(sha256_hex(text), path));
    facts.objects.push_back(path);
    return;
  }
  if (!read::folder_of(path).empty())
    return;
  const Result<read::Card> card =
      facts.read ? read::read_card(*facts.bytes) : fail(Errc::gone, "not read");
  const std::string place = path + "#/license";
  if (!card) {
    Fact fact = value_of(facts.id);
    fact.unread = true;
    facts.subjects["licence"].emplace(place, std::move(fact));
  } else if (const std::string name = licence_name(full_licence_name(*card)); !name.empty()) {
    facts.subjects["licence"].emplace(place, value_of(json_text(Json(name))));
  }
}

void add_weight_index(FileFacts &facts, const std::string &path) {
  const Result<read::WeightIndex> index =
      facts.read ? read::read_weight_index(*facts.bytes) : fail(Errc::gone, "not read");
  std::string text;
  if (index)
    for (const auto &[name, file] : index->weight_map)
      text += fmt::format("{} {}\n", name, file);
  facts.subjects["weights"].emplace(path, value_of(index ? sha256_hex(text) : facts.id));
}

} // namespace

Fact value_of(std::string value, std::string under) {
  Fact fact;
  fact.value = std::move(value);
  fact.under = std::move(under);
  return fact;
}

std::shared_ptr<const FileFacts> read_file_facts(const Snapshot &snapshot, const FileEntry &file) {
  FileFacts facts;
  const FileRole role = read::role_of(file.path);
  facts.id = file.content_id();
  if (read::is_json_object(role)) {
    facts.document = parse_document(snapshot, file.path);
    facts.read = facts.document.state != Document::State::unread;
  } else if (const auto at = snapshot.contents.find(file.path);
             at != snapshot.contents.end() && at->second.bytes) {
    facts.bytes = at->second.bytes;
    facts.read = true;
  }
  switch (role) {
  case FileRole::config:
  case FileRole::native_params:
  case FileRole::model_index:
  case FileRole::adapter_config:
  case FileRole::processor_config:
  case FileRole::quantisation_config:
    add_config(facts, role, file.path);
    break;
  case FileRole::tokenizer_json:
  case FileRole::sentencepiece:
  case FileRole::tekken:
  case FileRole::tiktoken:
  case FileRole::vocabulary_json:
  case FileRole::merges:
  case FileRole::vocabulary_lines:
    add_tokenizer(facts, role, file.path);
    break;
  case FileRole::gguf:
    add_gguf(facts, file.path);
    break;
  case FileRole::safetensors:
  case FileRole::pickle:
    facts.subjects["weights"].emplace(file.path, value_of(facts.id));
    break;
  case FileRole::weight_index:
    add_weight_index(facts, file.path);
    break;
  case FileRole::code:
  case FileRole::script:
  case FileRole::binary:
  case FileRole::requirements:
    add_code(facts, role, file.path);
    break;
  case FileRole::licence:
  case FileRole::card:
    add_licence(facts, role, file.path);
    break;
  default:
    break;
  }
  if (role == FileRole::config || role == FileRole::tokenizer_config ||
      role == FileRole::processor_config || role == FileRole::generation_config)
    add_auto_maps(facts, file.path);
  return std::make_shared<const FileFacts>(std::move(facts));
}

} // namespace headwater::diff

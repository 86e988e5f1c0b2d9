#include "daemon/diff/config_canonical.hpp"
#include "daemon/diff/config_keys.hpp"
#include "daemon/diff/diff.hpp"
#include "daemon/diff/effective_templates.hpp"
#include "daemon/diff/licence_terms.hpp"
#include "daemon/diff/sides.hpp"
#include "daemon/diff/stop_set.hpp"
#include "daemon/read/card.hpp"
#include "daemon/read/python_source.hpp"
#include "schemas/digest.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

/// The subject that a config's key belongs to, by the table of kinds.
std::string_view subject_of_key(const std::string &key) {
  const ConfigKey *row = find_config_key(key);
  const ChangeKind *kind = row != nullptr ? find_change_kind(row->kind) : nullptr;
  return kind != nullptr ? kind->subject : std::string_view("config.other");
}

bool only_says_where_from(const std::string &key) {
  const ConfigKey *row = find_config_key(key);
  return row != nullptr && row->kind == "config.provenance";
}

/// The parts of all configs that belong to one subject.
Json config_facts(const Snapshot &snapshot, std::string_view subject) {
  Json facts = Json::object();
  for (const FileEntry &file : snapshot.files) {
    const FileRole role = read::role_of(file.path);
    const bool whole_file =
        (role == FileRole::adapter_config && subject == "config.adapter") ||
        (role == FileRole::processor_config && subject == "config.processor") ||
        (role == FileRole::quantisation_config && subject == "config.quantisation") ||
        ((role == FileRole::model_index || role == FileRole::native_params) &&
         subject == "config.other");
    const Document document = read_document(snapshot, file.path);
    if (whole_file) {
      facts[file.path] = document.state == Document::State::ok ? canonical_numbers(*document.json)
                                                               : Json(file.content_id());
    } else if (role == FileRole::config) {
      if (document.state != Document::State::ok) {
        if (subject == "config.architecture")
          facts[file.path] = file.content_id();
        continue;
      }
      const CanonicalConfig config = canonical_config(*document.json, *document.json);
      for (const auto &[key, value] : config.json->items())
        if (key != "eos_token_id" && key != "auto_map" && !only_says_where_from(key) &&
            subject_of_key(key) == subject)
          facts[file.path][key] = value;
    }
  }
  return facts;
}

Json template_facts(const Snapshot &snapshot) {
  const EffectiveTemplates templates = effective_templates(snapshot);
  Json facts = Json::object();
  for (const EffectiveTemplate &item : templates.tokenizer)
    facts["tokenizer"][item.name] = sha256_hex(item.text);
  for (const EffectiveTemplate &item : templates.processor)
    facts["processor"][item.name] = sha256_hex(item.text);
  return facts;
}

Json stop_facts(const Snapshot &snapshot) {
  const StopSet set = stop_set(snapshot);
  Json facts;
  facts["config"] = set.config.ids ? Json(*set.config.ids) : Json();
  facts["map"] = set.map_text ? Json(*set.map_text) : Json();
  facts["ids"] = set.effective() ? Json(*set.effective()) : Json();
  facts["strings"] = set.strings;
  facts["text"] = set.tokenizer_text ? Json(*set.tokenizer_text) : Json();
  return facts;
}

Json sampling_facts(const Snapshot &snapshot) {
  const Document document = read_document(snapshot, "generation_config.json");
  Json facts = canonical_numbers(*document.json);
  for (const char *key :
       {"eos_token_id", "stop_strings", "transformers_version", "_from_model_config"})
    facts.erase(key);
  return facts;
}

Json tokenizer_facts(const Snapshot &snapshot) {
  Json facts = Json::object();
  for (const FileEntry &file : snapshot.files)
    switch (read::role_of(file.path)) {
    case FileRole::tokenizer_json:
    case FileRole::sentencepiece:
    case FileRole::tekken:
    case FileRole::tiktoken:
    case FileRole::vocabulary_json:
    case FileRole::merges:
    case FileRole::vocabulary_lines:
      facts[file.path] = file.content_id();
      break;
    case FileRole::tokenizer_config: {
      const Document document = read_document(snapshot, file.path);
      Json settings = canonical_numbers(*document.json);
      for (const char *key :
           {"chat_template", "eos_token", "auto_map", "transformers_version", "name_or_path"})
        settings.erase(key);
      facts[file.path] =
          document.state == Document::State::ok ? std::move(settings) : Json(file.content_id());
      break;
    }
    default:
      break;
    }
  return facts;
}

Json weight_facts(const Snapshot &snapshot) {
  Json facts = Json::object();
  for (const FileEntry &file : snapshot.files) {
    const FileRole role = read::role_of(file.path);
    if (role == FileRole::safetensors || role == FileRole::gguf || role == FileRole::pickle ||
        role == FileRole::side_weights || role == FileRole::digests ||
        role == FileRole::weight_index)
      facts[file.path] = file.content_id();
  }
  return facts;
}

Json code_facts(const Snapshot &snapshot) {
  Json facts = Json::object();
  for (const FileEntry &file : snapshot.files) {
    const FileRole role = read::role_of(file.path);
    if (role == FileRole::code) {
      const std::string *text = bytes_of(snapshot, file.path);
      facts[file.path] =
          text != nullptr ? Json(read::read_python(*text).lines) : Json(file.content_id());
    } else if (role == FileRole::script || role == FileRole::binary ||
               role == FileRole::requirements) {
      facts[file.path] = file.content_id();
    } else if (role == FileRole::config || role == FileRole::tokenizer_config ||
               role == FileRole::processor_config) {
      const Document document = read_document(snapshot, file.path);
      if (const auto map = document.json->find("auto_map"); map != document.json->end())
        facts["auto_map " + file.path] = *map;
    }
  }
  return facts;
}

Json licence_facts(const Snapshot &snapshot) {
  Json facts = Json::object();
  for (const FileEntry &file : snapshot.files) {
    const FileRole role = read::role_of(file.path);
    if (role == FileRole::licence)
      facts[file.path] = file.content_id();
    if (role != FileRole::card || !read::folder_of(file.path).empty())
      continue;
    if (const std::string *text = bytes_of(snapshot, file.path))
      if (const Result<read::Card> card = read::read_card(*text))
        facts["card"] = licence_name(card->licence) + " " + card->licence_name;
  }
  return facts;
}

Json access_facts(const RepoFacts &facts) {
  return {{"name", facts.name},
          {"private", facts.is_private},
          {"disabled", facts.disabled},
          {"gate", to_string(facts.gate)}};
}

Json facts_of(const Snapshot &snapshot, std::string_view subject) {
  if (subject.starts_with("config."))
    return config_facts(snapshot, subject);
  if (subject == "template")
    return template_facts(snapshot);
  if (subject == "stop-set")
    return stop_facts(snapshot);
  if (subject == "sampling")
    return sampling_facts(snapshot);
  if (subject == "tokenizer")
    return tokenizer_facts(snapshot);
  if (subject == "weights")
    return weight_facts(snapshot);
  if (subject == "code")
    return code_facts(snapshot);
  if (subject == "licence")
    return licence_facts(snapshot);
  if (subject == "access")
    return access_facts(snapshot.facts);
  return {};
}

} // namespace

std::string subject_hash(const Snapshot &snapshot, std::string_view subject) {
  return sha256_hex(
      facts_of(snapshot, subject).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string fact_hash(const Snapshot &snapshot) {
  std::string hashes;
  for (const std::string_view subject : subjects())
    if (subject != "access" && subject != "history")
      hashes += subject_hash(snapshot, subject) + "\n";
  return sha256_hex(hashes);
}

} // namespace headwater::diff

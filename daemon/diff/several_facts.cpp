#include "daemon/diff/config_facts.hpp"
#include "daemon/diff/effective_templates.hpp"
#include "daemon/diff/file_facts.hpp"
#include "daemon/diff/sampling.hpp"
#include "daemon/diff/sides.hpp"
#include "daemon/diff/stop_set.hpp"
#include "daemon/diff/tokenizer_class.hpp"
#include "daemon/diff/tokenizer_settings.hpp"
#include "daemon/diff/weight_lists.hpp"
#include "schemas/digest.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

/// A fact whose place in the file is `where`.
Fact value_at(std::string value, std::string where) {
  Fact fact = value_of(std::move(value));
  fact.where = std::move(where);
  return fact;
}

class Several {
public:
  Several(const Snapshot &snapshot, Facts &facts, const Facts *known)
      : snapshot_(snapshot), facts_(facts), side_{snapshot, facts}, known_(known) {}

  void run() {
    std::set<std::string> folders;
    for (const auto &[path, file] : facts_.files) {
      const FileRole role = read::role_of(path);
      const std::string folder(read::folder_of(path));
      if (role == FileRole::tokenizer_config || role == FileRole::special_tokens_map)
        folders.insert(folder);
      if (role == FileRole::added_tokens)
        added_tokens(path, folder);
      if (role == FileRole::generation_config)
        sampling(path, *file);
      if (role == FileRole::config && file->config) {
        without_generation_config(path, folder);
        quantisation(path, folder);
      }
      if (role == FileRole::digests)
        stale_lists(path);
    }
    for (const std::string &folder : folders)
      settings(folder);
    stops();
    templates();
    other_repos();
  }

private:
  void add(const std::string &subject, const std::string &place, Fact fact) {
    facts_.subjects[subject].insert_or_assign(place, std::move(fact));
  }

  bool has(const std::string &path) const { return facts_.files.contains(path); }

  // --- tokenizer ---

  void settings(const std::string &folder) {
    const std::string path = folder + "tokenizer_config.json";
    const Document &config = document_of(facts_, path);
    const Document &map = document_of(facts_, folder + "special_tokens_map.json");
    for (const auto &[name, document] :
         {std::pair(path, &config), std::pair(folder + "special_tokens_map.json", &map)})
      if (document->state == Document::State::malformed ||
          document->state == Document::State::unread) {
        Fact fact = value_of("does not load");
        fact.broken = document->state == Document::State::malformed;
        fact.unread = document->state == Document::State::unread;
        add("tokenizer", name, std::move(fact));
      } else if (document->state == Document::State::ok) {
        Fact fact = value_of("loads");
        fact.force = Force::stands_without;
        add("tokenizer", name, std::move(fact));
      }
    const Json stated = canonical_numbers(*config.json);
    const Json by_map = canonical_numbers(*map.json);
    specials(path, stated);
    for (const auto &[key, value] : stated.items())
      setting(path, key, value, stated);
    for (const auto &[key, value] : by_map.items()) {
      const auto own = stated.find(key);
      if (own == stated.end())
        role(path, folder + "special_tokens_map.json#/" + pointer_key(key), key, value,
             folder.empty());
      else if (same_token(*own, value) || (key == "eos_token" && folder.empty()))
        continue;
      else
        add("tokenizer", folder + "special_tokens_map.json#/" + pointer_key(key),
            value_of(token_value(value)));
    }
  }

  /// The list of further special tokens goes by another name in newer libraries.
  void specials(const std::string &path, const Json &stated) {
    const Json tokens = further_specials(stated);
    if (!tokens.empty()) {
      Fact fact = value_at(json_text(tokens), path + "#/" +
                                                  (stated.contains("extra_special_tokens")
                                                       ? "extra_special_tokens"
                                                       : "additional_special_tokens"));
      fact.first_upload = true;
      add("tokenizer", path + "#/additional_special_tokens", std::move(fact));
    }
  }

  void setting(const std::string &path, const std::string &key, const Json &value,
               const Json &stated) {
    if (key == "chat_template" || key == "auto_map" || key == "additional_special_tokens" ||
        key == "extra_special_tokens")
      return;
    const std::string place = path + "#/" + pointer_key(key);
    if (is_token_role(key))
      return role(path, place, key, value, read::folder_of(path).empty());
    Fact fact = value_of(json_text(value));
    fact.first_upload = true;
    if (key == "added_tokens_decoder") {
      if (has(std::string(read::folder_of(path)) + "tokenizer.json"))
        fact.force = Force::said_elsewhere;
      return add("tokenizer", place, std::move(fact));
    }
    const std::string kind = setting_kind(key);
    const ChangeKind &row = *find_change_kind(kind);
    if (row.impact == Impact::cosmetic)
      return;
    if (key == "model_max_length" && no_bound(value)) {
      fact.value = "no bound";
      fact.force = Force::stands_without;
    } else if (setting_stands_without(key, value, stated)) {
      fact.force = Force::stands_without;
    }
    if (key == "tokenizer_class" && value.is_string())
      fact.value = tokenizer_stem(value.get_ref<const std::string &>());
    add("tokenizer", place, std::move(fact));
  }

  /// What plays a role: tokenizer_config.json says it, else the older special_tokens_map.json.
  void role(const std::string &path, const std::string &where, const std::string &key,
            const Json &value, bool at_root) {
    const std::string place = path + "#/" + pointer_key(key);
    if (value.is_null())
      return;
    if (const Json flags = token_flags(value); !flags.is_null()) {
      Fact fact = value_at(json_text(flags), where);
      fact.force = Force::said_elsewhere;
      fact.first_upload = true;
      add("tokenizer", place + "/flags", std::move(fact));
    }
    if (key == "eos_token" && at_root && token_text(&value))
      return; // a stop
    Fact fact = value_at(token_text(&value) ? *token_text(&value) : json_text(value), where);
    fact.first_upload = true;
    add("tokenizer", place, std::move(fact));
  }

  void added_tokens(const std::string &path, const std::string &folder) {
    const Document &document = document_of(facts_, path);
    Fact fact = value_of(json_text(added_tokens_json(listed_tokens(*document.json))));
    if (document.state != Document::State::ok) {
      fact.value = "does not load";
      fact.broken = document.state == Document::State::malformed;
      fact.unread = document.state == Document::State::unread;
    }
    if (has(folder + "tokenizer_config.json") || has(folder + "tokenizer.json"))
      fact.force = Force::said_elsewhere;
    add("tokenizer", path, std::move(fact));
  }

  // --- sampling ---

  void sampling(const std::string &path, const FileFacts &file) {
    if (file.document.state != Document::State::ok) {
      Fact fact = value_of("does not load");
      fact.broken = file.document.state == Document::State::malformed;
      fact.unread = file.document.state == Document::State::unread;
      return add("sampling", path, std::move(fact));
    }
    Fact loads = value_of("loads");
    loads.force = Force::stands_without;
    add("sampling", path, std::move(loads));
    facts_.objects.insert(path);
    const Json json = canonical_numbers(*file.document.json);
    for (const auto &[key, value] : json.items()) {
      if ((key == "eos_token_id" || key == "stop_strings") && read::folder_of(path).empty())
        continue;
      if (key == "auto_map")
        continue;
      const ChangeKind &kind = *find_change_kind(generation_kind(key, &value, &value));
      if (kind.impact == Impact::cosmetic)
        continue;
      Fact fact = value_of(json_text(value));
      fact.first_upload = true;
      if (is_generation_default(key, value))
        fact.force = Force::stands_without;
      add(std::string(kind.subject), path + "#/" + pointer_key(key), std::move(fact));
    }
  }

  /// Without a generation_config.json, generation takes its defaults from config.json.
  void without_generation_config(const std::string &config, const std::string &folder) {
    const std::string path = folder + "generation_config.json";
    if (has(path))
      return;
    for (const auto &[key, value] : document_of(facts_, config).json->items()) {
      if ((key == "eos_token_id" || key == "stop_strings") && folder.empty())
        continue;
      const Json canonical = canonical_numbers(value);
      const ChangeKind &kind = *find_change_kind(generation_kind(key, &canonical, &canonical));
      const ChangeKind *in_config = find_change_kind(config_kind(key, &value, &value, ""));
      if (kind.impact == Impact::cosmetic || kind.kind == "sampling.other" ||
          in_config->subject != kind.subject)
        continue;
      Fact fact = value_at(json_text(canonical), config + "#/" + pointer_key(key));
      fact.force = Force::stands_without;
      add(std::string(kind.subject), path + "#/" + pointer_key(key), std::move(fact));
    }
  }

  // --- config ---

  /// The older quantize_config.json says the same as a config's quantization_config.
  void quantisation(const std::string &path, const std::string &folder) {
    const Document &older = document_of(facts_, folder + "quantize_config.json");
    const Json &config = *document_of(facts_, path).json;
    const auto stated = config.find("quantization_config");
    const auto places = facts_.subjects.find("config.quantisation");
    if (older.state != Document::State::ok || stated == config.end() ||
        places == facts_.subjects.end() ||
        !repeats_quantize_config(*older.json, canonical_numbers(*stated)))
      return;
    if (const auto fact = places->second.find(path + "#/quantization_config");
        fact != places->second.end())
      fact->second.force = Force::said_elsewhere;
  }

  // --- weights ---

  void stale_lists(const std::string &path) {
    for (const std::string &name : stale_digests(snapshot_, path)) {
      Fact fact = value_at("stale", path);
      fact.counts = Counts::when_new;
      add("weights", path + "#" + name, std::move(fact));
    }
  }

  // --- stops ---

  void stops() {
    for (const char *path : {"generation_config.json", "config.json", "tokenizer_config.json",
                             "special_tokens_map.json"}) {
      const Document::State state = document_of(facts_, path).state;
      if (state == Document::State::ok)
        facts_.objects.insert(std::string("stops in ") + path);
      else if (state != Document::State::absent)
        return;
    }
    facts_.objects.insert("stops are known");
    const StopSet set = stop_set(side_);
    const auto ids = [](const std::set<std::int64_t> &all) { return json_text(Json(all)); };
    if (set.effective()) {
      Fact fact = value_at(ids(*set.effective()), effective_stop_path(set));
      fact.under = "stops are known";
      if (set.assumed)
        fact.force = Force::no_effect;
      add("stop-set", "stops", std::move(fact));
    }
    const auto source = [&](const StopSet::Source &said, const StopSet::Source &other,
                            const std::string &file) {
      if (!said.ids)
        return;
      Fact fact = value_at(ids(*said.ids), file + "#" + said.pointer);
      fact.under = "stops in " + file;
      if (!other.ids && said.ids == assumed_stops(side_))
        fact.force = Force::stands_without;
      add("stop-set", "stops by " + file, std::move(fact));
    };
    source(set.generation_config, set.config, "generation_config.json");
    source(set.config, set.generation_config, "config.json");
    const auto by_tokenizer =
        token_text(*document_of(facts_, "tokenizer_config.json").json, "eos_token");
    if (set.tokenizer_text) {
      Fact fact =
          value_at(*set.tokenizer_text, by_tokenizer ? "tokenizer_config.json#/eos_token"
                                                     : "special_tokens_map.json#/eos_token");
      fact.under = "stops in tokenizer_config.json";
      if (set.tokenizer_id && set.effective() && set.effective()->contains(*set.tokenizer_id))
        fact.force = Force::said_elsewhere;
      add("stop-set", "stop of the tokenizer", std::move(fact));
    }
    if (set.map_text) {
      Fact fact = value_at(*set.map_text, "special_tokens_map.json#/eos_token");
      fact.under = "stops in special_tokens_map.json";
      add("stop-set", "stop of the map", std::move(fact));
    }
    if (!set.strings.empty())
      add("stop-set", "stop strings",
          value_at(json_text(Json(set.strings)), "generation_config.json#/stop_strings"));
    if (!set.disagreement().empty()) {
      Fact fact = value_at("true", effective_stop_path(set));
      fact.counts = Counts::when_new;
      add("stop-set", "stops disagree", std::move(fact));
    }
  }

  // --- templates ---

  void templates() {
    const EffectiveTemplates all = effective_templates(side_);
    const TemplateTokens tokens = template_tokens(side_);
    if (all.unreadable.empty())
      facts_.objects.insert("templates");
    for (const auto &[reader, list] :
         {std::pair(std::string("template "), &all.tokenizer),
          std::pair(std::string("processor's template "), &all.processor)})
      for (const EffectiveTemplate &item : *list) {
        Fact fact = value_at(rendered(item.text, tokens), item.path);
        fact.under = "templates";
        add("template", reader + item.name, std::move(fact));
      }
  }

  std::string rendered(const std::string &text, const TemplateTokens &tokens) {
    std::string key = text + '\0' + (tokens.add_bos ? "bos" : "");
    for (const auto &[name, token] : tokens.tokens)
      key += '\0' + name + '\0' + token;
    key = sha256_hex(key);
    if (known_ != nullptr)
      if (const auto at = known_->rendered.find(key); at != known_->rendered.end())
        return facts_.rendered[key] = at->second;
    const auto [at, is_new] = facts_.rendered.try_emplace(key);
    if (is_new)
      at->second = rendering_digest(text, tokens.tokens, tokens.add_bos);
    return at->second;
  }

  // --- code ---

  /// Code of other repositories that this one's config names.
  void other_repos() {
    for (const ReferencedRepo &repo : snapshot_.referenced) {
      if (repo.head.empty())
        continue;
      std::string files;
      for (const FileEntry &file : repo.files)
        files += file.path + '\0' + file.content_id() + '\0';
      Fact fact = value_at(sha256_hex(files), repo.name);
      fact.under = "code of " + repo.name;
      facts_.objects.insert(fact.under);
      add("code", "code of " + repo.name, std::move(fact));
    }
  }

  const Snapshot &snapshot_;
  Facts &facts_;
  Side side_;
  const Facts *known_;
};

} // namespace

void add_facts_of_several(const Snapshot &snapshot, Facts &facts, const Facts *known) {
  Several(snapshot, facts, known).run();
}

} // namespace headwater::diff

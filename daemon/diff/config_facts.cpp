#include "daemon/diff/config_facts.hpp"

#include "daemon/diff/config_effect.hpp"
#include "daemon/diff/config_keys.hpp"
#include "daemon/diff/model_defaults.hpp"
#include "daemon/diff/sides.hpp"
#include "daemon/diff/tokenizer_class.hpp"
#include "schemas/change.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

/// Keys where an explicit null and an absent key are not the same thing to the code that reads
/// them.
bool null_matters(std::string_view key) {
  constexpr auto keys = std::to_array<std::string_view>(
      {"sliding_window", "num_key_value_heads", "pad_token_id", "bos_token_id"});
  return std::ranges::find(keys, key) != keys.end();
}

bool is_quantisation(std::string_view group) {
  return group == "quantization_config" || group == "compression_config";
}

std::string parent_of(const std::string &pointer) {
  return pointer.substr(0, pointer.rfind('/'));
}

/// Positions of the usual kind with nothing said about them.
bool says_no_positions(const Json &rope) {
  for (const auto &[key, value] : rope.items())
    if (!value.is_null() && !(key == "rope_type" && value == Json("default")))
      return false;
  return true;
}

bool is_leaf_object(const std::string &key) {
  return key == "id2label" || key == "label2id";
}

class ConfigReader {
public:
  ConfigReader(const std::string &path, const Json &config) : path_(path) {
    facts_.canonical = canonical_config(config, config);
    facts_.plain = facts_.canonical.json;
    const auto text = facts_.plain->find("text_config");
    facts_.has_text_config = text != facts_.plain->end() && text->is_object();
    lift_text_config(facts_.canonical);
  }

  ConfigFacts run() {
    read(*facts_.canonical.json, "", "", "");
    return std::move(facts_);
  }

private:
  /// `plain`: where the object stands when text_config is not lifted.
  void read(const Json &object, const std::string &pointer, const std::string &plain,
            const std::string &group) {
    for (const auto &[key, value] : object.items()) {
      const std::string here = pointer + "/" + pointer_key(key);
      if (told_elsewhere(path_, here))
        continue;
      if (here == "/text_config" && value.is_object()) {
        read(value, here, here, config_group(group, key));
        continue;
      }
      const std::string there = pointer.empty() && is_lifted(key)
                                    ? "/text_config/" + pointer_key(key)
                                    : plain + "/" + pointer_key(key);
      one(object, key, value, here, there, group);
      if (value.is_object() && !is_leaf_object(key))
        read(value, here, there, config_group(group, key));
    }
  }

  /// Whether a key of the canonical top stands in text_config.
  bool is_lifted(const std::string &key) const {
    return facts_.has_text_config && !facts_.plain->contains(key) &&
           (*facts_.plain)["text_config"].contains(key);
  }

  void one(const Json &holder, const std::string &key, const Json &value, const std::string &here,
           const std::string &there, const std::string &group) {
    const std::string kind = config_kind(key, &value, &value, group);
    const ChangeKind *row = find_change_kind(kind);
    ConfigMeaning meaning;
    if (row != nullptr && row->impact != Impact::cosmetic)
      meaning.subject = std::string(row->subject);
    meaning.by_build = is_by_build(path_, here, kind);
    if (const ModelDefaults::Part *part = key == "model_type" ? part_of(there) : nullptr;
        part != nullptr && !part->stated_decides) {
      meaning.force = Force::no_effect;
      meaning.quiet = value == Json(part->model_type) ? Quiet::by_default : Quiet::part_type;
    } else if (group == "rope_parameters" && key == "type" &&
               holder.value("rope_type", Json()) == value) {
      meaning.force = Force::stands_without;
      meaning.quiet = Quiet::rope_type;
    } else if (stands_without(holder, key, value, there, group)) {
      meaning.force = Force::stands_without;
      meaning.quiet = Quiet::by_default;
    } else if (repeats_rope(holder, key)) {
      meaning.force = Force::stands_without;
      meaning.quiet = Quiet::rope_repeats;
    }
    facts_.keys.emplace(here, std::move(meaning));
  }

  /// What a config takes for a place that it leaves out, as far as it is known for its model type;
  /// null where it is not.
  const Json *default_of(const std::string &pointer) {
    // The innermost part of the model that holds the place, and the place inside it.
    std::size_t inside = 0;
    while (true) {
      const std::size_t end = pointer.find('/', inside + 1);
      if (end == std::string::npos || !is_part(pointer.substr(0, end)))
        break;
      inside = end;
    }
    const Json &values = *defaults_of(pointer.substr(0, inside)).values;
    const Json::json_pointer place(pointer.substr(inside));
    if (values.contains(place))
      return &values[place];
    // Older libraries write the keys of the text model at the top.
    if (inside > 0 || !defaults_of("").parts.contains("text_config"))
      return nullptr;
    const Json &text = *defaults_of("/text_config").values;
    return text.contains(place) ? &text[place] : nullptr;
  }

  bool is_part(const std::string &pointer) {
    return part_of(pointer + "/") != nullptr || pointer.ends_with("_config");
  }

  /// Whether a part of the model that is stated in whole says only what its class takes anyway.
  /// What the class works out from the rest follows from it.
  bool part_is_default(const std::string &pointer, const Json &stated) {
    const ModelDefaults::Part *part = part_of(pointer + "/");
    if (part == nullptr)
      return false;
    const ModelDefaults defaults = model_defaults(part->model_type);
    for (const auto &[key, value] : stated.items())
      if (const auto known = defaults.values->find(key);
          key == "model_type" ? value != Json(part->model_type)
                              : known != defaults.values->end() && *known != value)
        return false;
    return defaults.known;
  }

  /// Whether a key is another name of one that is stated alike.
  bool repeats(const Json &holder, const std::string &key, const Json &value,
               const std::string &pointer) {
    const auto &names = defaults_of(parent_of(pointer)).names;
    const auto name = names.find(key);
    if (name == names.end())
      return false;
    const auto there = holder.find(name->second);
    return there != holder.end() && *there == value;
  }

  /// The part of the model that directly holds a place; null at the top and where the part is not
  /// known.
  const ModelDefaults::Part *part_of(const std::string &pointer) {
    const std::string part = parent_of(pointer);
    const std::size_t last = part.rfind('/');
    if (last == std::string::npos)
      return nullptr;
    const auto &parts = defaults_of(part.substr(0, last)).parts;
    const auto at = parts.find(part.substr(last + 1));
    return at != parts.end() ? &at->second : nullptr;
  }

  const ModelDefaults &defaults_of(const std::string &pointer) {
    const auto [at, is_new] = defaults_.try_emplace(pointer);
    if (is_new)
      at->second = defaults_at(*facts_.plain, pointer);
    return at->second;
  }

  /// True when leaving the key out means the same as `value`.
  bool stands_without(const Json &holder, const std::string &key, const Json &value,
                      const std::string &pointer, const std::string &group) {
    if (key == "rope_parameters" && value.is_object() && says_no_positions(value))
      return true;
    if (const Json *known = default_of(pointer))
      return *known == value;
    if (key == "model_type")
      if (const ModelDefaults::Part *part = part_of(pointer))
        return value == Json(part->model_type);
    if (!group.empty() && !group.ends_with("_config"))
      return value.is_null() ||
             (group == "rope_parameters" && key == "rope_type" && value == Json("default"));
    if (value.is_null())
      return !null_matters(key) || defaults_of(parent_of(pointer)).known;
    if ((value.is_array() || value.is_object()) && value.empty())
      return true;
    if (value.is_object() && part_is_default(pointer, value))
      return true;
    if (repeats(holder, key, value, pointer))
      return true;
    if (const std::string_view known = generation_default(key);
        is_generation_key(key) && !known.empty())
      return Json::parse(known) == value;
    const ConfigKey *row = find_config_key(key);
    // Library-wide defaults of PretrainedConfig, the same for all model types.
    if (is_leaf_object(key))
      return value == Json{{"0", "LABEL_0"}, {"1", "LABEL_1"}} ||
             value == Json{{"LABEL_0", 0}, {"LABEL_1", 1}};
    if (key == "tie_word_embeddings")
      return value == Json(true);
    return row != nullptr && row->kind == "config.runtime" &&
           ((key == "use_cache" && value == Json(true)) ||
            (key == "return_dict" && value == Json(true)) ||
            (key.starts_with("output_") && value == Json(false)) ||
            (key == "torchscript" && value == Json(false)));
  }

  const std::string &path_;
  ConfigFacts facts_;
  std::map<std::string, ModelDefaults> defaults_; ///< by place
};

constexpr auto all_roles = std::to_array<RoleKinds>({
    {FileRole::config, "config.removed", "config.malformed", "", "config.added"},
    {FileRole::native_params, "config.format-removed", "config.format-malformed", "",
     "config.format-added"},
    {FileRole::model_index, "config.layout", "config.layout", "config.layout", "config.added"},
    {FileRole::adapter_config, "config.adapter", "config.adapter", "config.adapter-option",
     "config.added"},
    {FileRole::processor_config, "config.processor", "config.processor", "config.processor",
     "config.added"},
    {FileRole::quantisation_config, "config.quantisation-option", "config.quantisation-malformed",
     "config.quantisation-option", "config.added"},
});

bool adapter_breaks(std::string_view key) {
  constexpr auto keys = std::to_array<std::string_view>(
      {"base_model_name_or_path", "peft_type", "r", "target_modules", "modules_to_save", "revision",
       "task_type", "target_parameters"});
  return std::ranges::find(keys, key) != keys.end();
}

bool says_where_from(std::string_view key) {
  constexpr auto keys =
      std::to_array<std::string_view>({"transformers_version", "_diffusers_version", "peft_version",
                                       "_name_or_path", "processor_class", "producer"});
  return std::ranges::find(keys, key) != keys.end();
}

void add_role_object(const RoleKinds &kinds, const std::string &path, const std::string &pointer,
                     const Json &object, FileFacts &facts) {
  const std::string under = pointer.empty() ? path : path + "#" + pointer;
  for (const auto &[key, value] : object.items()) {
    const std::string kind = role_key_kind(kinds, key, &value, &value);
    const ChangeKind *row = find_change_kind(kind);
    if (told_with_template_or_code(key))
      continue;
    const std::string here = pointer + "/" + pointer_key(key);
    const bool inside = value.is_object() && goes_inside(key);
    if (row != nullptr && row->impact != Impact::cosmetic) {
      Fact fact;
      fact.value = inside ? "{}" : json_text(value);
      fact.force = value.is_null() ? Force::stands_without : Force::holds;
      fact.under = under;
      facts.subjects[std::string(row->subject)].emplace(path + "#" + here, std::move(fact));
    }
    if (!inside)
      continue;
    facts.objects.push_back(path + "#" + here);
    add_role_object(kinds, path, here, value, facts);
  }
}

} // namespace

ConfigFacts config_facts(const std::string &path, const Json &config) {
  return ConfigReader(path, config).run();
}

void add_places(const std::string &path, const ConfigFacts &config, FileFacts &facts) {
  const auto add = [&](const std::string &pointer, const ConfigMeaning &meaning) {
    const Json &value = (*config.canonical.json)[Json::json_pointer(pointer)];
    const std::string key = Json::json_pointer(pointer).back();
    const bool object = value.is_object() && !is_leaf_object(key);
    if (object)
      facts.objects.push_back(path + "#" + pointer);
    if (meaning.subject.empty())
      return;
    Fact fact;
    fact.value = object ? "{}" : json_text(value);
    if (key == "tokenizer_class" && value.is_string())
      fact.value = json_text(Json(tokenizer_stem(value.get_ref<const std::string &>())));
    fact.force = meaning.force;
    fact.by_build = meaning.by_build;
    const std::string holder = parent_of(pointer);
    // The text model's own type and class, beside those of the whole, come with its config.
    if (holder.empty() ||
        (holder == "/text_config" && key != "model_type" && key != "architectures"))
      fact.under = path;
    else
      fact.under = path + "#" + holder;
    if (const auto moved = config.canonical.moved.find(pointer);
        moved != config.canonical.moved.end())
      fact.where = path + "#" + moved->second;
    facts.subjects[meaning.subject].emplace(path + "#" + pointer, std::move(fact));
  };
  for (const auto &[pointer, meaning] : config.keys)
    add(pointer, meaning);
  if (config.has_text_config)
    facts.objects.push_back(path + "#/text_config");
}

std::string config_kind(const std::string &key, const Json *before, const Json *after,
                        const std::string &group) {
  if (is_quantisation(group))
    return key == "quant_method" ? "config.quantisation" : "config.quantisation-option";
  if (key == "architectures" && before == nullptr)
    return "config.architectures-stated";
  if (const ConfigKey *row = find_config_key(key))
    return std::string(row->kind);
  if (group == "rope_parameters")
    return (before != nullptr && before->is_array()) || (after != nullptr && after->is_array())
               ? "config.rope-factors"
               : "config.rope";
  if (is_generation_key(key))
    return (key.find("length") != std::string::npos && key != "length_penalty") ||
                   key.find("new_tokens") != std::string::npos
               ? "sampling.length"
               : "sampling.default";
  if (key.ends_with("_token_id") || key.ends_with("_token_index"))
    return "config.token-ids";
  if (key.ends_with("dropout") || key.ends_with("_pdrop"))
    return "config.training";
  return "config.unknown";
}

std::string config_group(const std::string &group, const std::string &key) {
  const bool part_of_model =
      group.empty() || (group.ends_with("_config") && !is_quantisation(group));
  return part_of_model || key.ends_with("_config") ? key : group;
}

bool told_elsewhere(const std::string &path, const std::string &pointer) {
  // The text model's end token holds where the whole model names none, and is lifted to the top
  // there.
  return pointer.ends_with("/auto_map") || (path == "config.json" && pointer == "/eos_token_id");
}

bool is_by_build(const std::string &path, const std::string &pointer, std::string_view kind) {
  const bool of_text_model = pointer.rfind('/') == 0 || pointer.starts_with("/text_config/");
  return path == "config.json" && of_text_model &&
         (kind == "config.window" || kind == "config.shape" || kind == "config.attention" ||
          kind == "config.attention-heads" || kind == "config.experts");
}

namespace {

/// A config with the text model's keys at the top, as older libraries wrote it.
Json flat(const ConfigFacts &config) {
  Json json = *config.canonical.json;
  if (config.has_text_config)
    json.erase("text_config");
  return json;
}

} // namespace

bool configs_build_alike(const ConfigFacts &before, const ConfigFacts &after) {
  return builds_the_same(*before.plain, *after.plain);
}

bool key_builds_alike(const ConfigFacts &before, const ConfigFacts &after,
                      const std::string &pointer) {
  if (before.has_text_config != after.has_text_config || !before.has_text_config) {
    const Json left = flat(before);
    return builds_the_same(left, with_key_of(left, flat(after), pointer));
  }
  const Json &left = *before.plain;
  const Json &right = *after.plain;
  const std::string inside =
      pointer.starts_with("/text_config/") ? pointer : "/text_config" + pointer;
  const Json::json_pointer there(inside);
  return builds_the_same(
      left,
      with_key_of(left, right, left.contains(there) || right.contains(there) ? inside : pointer));
}

const RoleKinds *role_kinds(FileRole role) {
  const auto row = std::ranges::find(all_roles, role, &RoleKinds::role);
  return row != all_roles.end() ? &*row : nullptr;
}

std::string role_key_kind(const RoleKinds &kinds, const std::string &key, const Json *before,
                          const Json *after) {
  if (says_where_from(key))
    return "config.provenance";
  const bool null_to_absent =
      (before == nullptr && after->is_null()) || (after == nullptr && before->is_null());
  if (null_to_absent)
    return "config.default-stated";
  if (kinds.role == FileRole::adapter_config && adapter_breaks(key))
    return "config.adapter";
  if (kinds.role == FileRole::quantisation_config &&
      (key == "quant_method" || key == "quant_algo" || key == "bits"))
    return "config.quantisation";
  return std::string(kinds.keys);
}

bool goes_inside(const std::string &key) {
  return key != "producer";
}

bool told_with_template_or_code(const std::string &key) {
  return key == "chat_template" || key == "auto_map";
}

bool repeats_quantize_config(const Json &older, const Json &stated) {
  if (!stated.is_object())
    return false;
  const Json known = canonical_numbers(older);
  std::size_t shared = 0;
  for (const auto &[key, value] : known.items())
    if (const auto at = stated.find(key); at != stated.end()) {
      if (*at != value)
        return false;
      ++shared;
    }
  return shared > 0;
}

void add_role_places(const RoleKinds &kinds, const std::string &path, const Json &json,
                     FileFacts &facts) {
  add_role_object(kinds, path, "", json, facts);
}

} // namespace headwater::diff

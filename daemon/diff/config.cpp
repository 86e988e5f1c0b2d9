#include "daemon/diff/config_canonical.hpp"
#include "daemon/diff/config_effect.hpp"
#include "daemon/diff/config_keys.hpp"
#include "daemon/diff/model_defaults.hpp"
#include "daemon/diff/subjects.hpp"
#include "daemon/diff/tokenizer_class.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

constexpr std::size_t most_unknown_keys = 40;

/// Places whose change is told elsewhere: where generation stops (stop set) and what code runs
/// (code).
bool told_elsewhere(const std::string &path, const std::string &pointer, const Json &before,
                    const Json &after) {
  if (pointer.ends_with("/auto_map"))
    return true;
  if (path != "config.json")
    return false;
  // The text model's end token holds where the whole model names none.
  const auto silent = [](const Json &config) {
    const auto at = config.find("eos_token_id");
    return at == config.end() || at->is_null();
  };
  return pointer == "/eos_token_id" ||
         (pointer == "/text_config/eos_token_id" && silent(before) && silent(after));
}

/// Keys where an explicit null and an absent key are not the same thing to the code that reads
/// them.
bool null_matters(std::string_view key) {
  constexpr auto keys = std::to_array<std::string_view>(
      {"sliding_window", "num_key_value_heads", "pad_token_id", "bos_token_id"});
  return std::ranges::find(keys, key) != keys.end();
}

class ConfigDiff {
public:
  ConfigDiff(std::string path, const Json &before, const Json &after, Changes &changes)
      : path_(std::move(path)), left_(canonical_config(before, after)),
        right_(canonical_config(after, before)), changes_(changes) {}

  void run() {
    const bool text_before = left_.json->contains("text_config");
    if (text_before != right_.json->contains("text_config"))
      lift_text_config(text_before ? left_ : right_);
    compare(*left_.json, *right_.json, "", "");
    if (moved_keys_ > 0)
      changes_.push_back(
          make_change("config.renamed", path_ + "#/text_config", "null", "null",
                      fmt::format("{} moved {} text_config, the values are the same.",
                                  counted(moved_keys_, "key"), text_before ? "out of" : "into")));
    if (unknown_ > most_unknown_keys)
      changes_.push_back(make_change(
          "config.unknown", path_, "null", "null",
          fmt::format("{} more keys that we do not know differ.", unknown_ - most_unknown_keys)));
  }

private:
  /// Where a canonical pointer stands in one of the two files.
  static std::string original(const CanonicalConfig &config, const std::string &pointer) {
    const auto at = config.moved.find(pointer);
    return at != config.moved.end() ? at->second : pointer;
  }

  std::string place(const std::string &pointer, bool in_after) const {
    const std::string here = original(in_after ? right_ : left_, pointer);
    return path_ + "#" + (here != pointer ? here : original(in_after ? left_ : right_, pointer));
  }

  void add(std::string_view kind, const std::string &pointer, const Json *before, const Json *after,
           std::string sentence) {
    changes_.push_back(make_change(
        kind, place(pointer, after != nullptr), before != nullptr ? json_text(*before) : "null",
        after != nullptr ? json_text(*after) : "null", std::move(sentence)));
  }

  void compare(const Json &before, const Json &after, const std::string &pointer,
               const std::string &group) {
    std::set<std::string> keys;
    for (const auto &[key, value] : before.items())
      keys.insert(key);
    for (const auto &[key, value] : after.items())
      keys.insert(key);
    for (const std::string &key : keys) {
      const std::string place_of_key = pointer + "/" + pointer_key(key);
      if (told_elsewhere(path_, place_of_key, *left_.json, *right_.json))
        continue;
      const auto left = before.find(key);
      const auto right = after.find(key);
      const Json *a = left != before.end() ? &*left : nullptr;
      const Json *b = right != after.end() ? &*right : nullptr;
      one(key, a, b, place_of_key, group, before, after);
    }
  }

  static bool is_quantisation(std::string_view group) {
    return group == "quantization_config" || group == "compression_config";
  }

  /// The outermost object that gives a key its meaning: a part of the model, its positions, its
  /// quantisation.
  static std::string inner_group(const std::string &group, const std::string &key) {
    const bool part_of_model =
        group.empty() || (group.ends_with("_config") && !is_quantisation(group));
    return part_of_model || key.ends_with("_config") ? key : group;
  }

  void one(const std::string &key, const Json *a, const Json *b, const std::string &pointer,
           const std::string &group, const Json &before, const Json &after) {
    if (a != nullptr && b != nullptr && *a == *b) {
      if (a->is_object())
        compare(*a, *b, pointer, inner_group(group, key));
      else
        told_by_another_name(key, *a, *b, pointer);
      return;
    }
    if (a != nullptr && b != nullptr && a->is_object() && b->is_object() && key != "id2label" &&
        key != "label2id")
      return compare(*a, *b, pointer, inner_group(group, key));
    if ((a == nullptr || b == nullptr) &&
        stands_without(key, a != nullptr ? *a : *b, a == nullptr, pointer, group)) {
      add("config.default-stated", pointer, a, b,
          fmt::format("{} {}; this is what holds without it.", plain_text(key, 60),
                      b != nullptr ? "is now stated as " + shown(*b)
                                   : "is no longer stated as " + shown(*a)));
      return;
    }
    if (const ModelDefaults::Part *part = key == "model_type" ? part_of(false, pointer) : nullptr;
        part != nullptr && !part->stated_decides)
      return add("config.not-applied", pointer, a, b,
                 describe("the model type", {pointer, key, a, b}) +
                     " The whole model's type alone decides what this part is.");
    if (const Json &holder = a != nullptr ? before : after;
        (a == nullptr || b == nullptr) && group == "rope_parameters" && key == "type" &&
        holder.value("rope_type", Json()) == *(a != nullptr ? a : b))
      return add("config.default-stated", pointer, a, b,
                 "type repeats what rope_type says, for older readers.");
    if ((a == nullptr && repeats_rope(after, key)) || (b == nullptr && repeats_rope(before, key)))
      return add("config.default-stated", pointer, a, b,
                 fmt::format("{} repeats what the rotary positions say elsewhere.", key));
    const std::string kind = kind_of(key, a, b, group);
    if (told_without_effect(kind, key, a, b, pointer))
      return;
    if (kind == "config.unknown" && ++unknown_ > most_unknown_keys)
      return;
    if (kind == "tokenizer.class" && same_class(a, b)) {
      add("tokenizer.serialised-form", pointer, a, b,
          fmt::format("{} names the same tokenizer class in another form: {}.", key,
                      b != nullptr ? shown(*b) : "nothing"));
      return;
    }
    const ConfigKey *row = find_config_key(key);
    std::string sentence = describe(row != nullptr ? row->noun : "", {pointer, key, a, b});
    sentence += consequence(key, kind, a, b, before, after);
    add(kind, pointer, a, b, std::move(sentence));
  }

  /// Several keys can say together what others said before.
  bool all_build_the_same() {
    if (!builds_the_same_)
      builds_the_same_ = builds_the_same(*left_.json, *right_.json);
    return *builds_the_same_;
  }

  /// A key of the text model, which is what the estimator builds.
  static bool of_text_model(const std::string &pointer) {
    return pointer.rfind('/') == 0 || pointer.starts_with("/text_config/");
  }

  /// A shape that is stated as the code derives it anyway, or one or a window that the code does
  /// not apply: told as such.
  bool told_without_effect(const std::string &kind, const std::string &key, const Json *a,
                           const Json *b, const std::string &pointer) {
    const bool window = kind == "config.window";
    const bool shape = kind == "config.shape" || kind == "config.attention" ||
                       kind == "config.attention-heads" || kind == "config.experts";
    if (path_ != "config.json" || !of_text_model(pointer) || !(window || shape))
      return false;
    if (!all_build_the_same() &&
        !builds_the_same(*left_.json, with_key_of(*left_.json, *right_.json, pointer)))
      return false;
    const bool stated = a == nullptr || b == nullptr || a->is_null() || b->is_null();
    const ConfigKey *row = find_config_key(key);
    if (window || !stated)
      add("config.not-applied", pointer, a, b,
          describe(row != nullptr ? row->noun : "", {pointer, key, a, b}) +
              fmt::format(" The code of {} builds the same with either.",
                          shown(left_.json->value("model_type", Json()))));
    else
      add("config.default-stated", pointer, a, b,
          fmt::format("{} {}; this is what the other sizes give without it.", plain_text(key, 60),
                      b != nullptr && !b->is_null() ? "is now stated as " + shown(*b)
                                                    : "is no longer stated as " + shown(*a)));
    return true;
  }

  static bool same_class(const Json *a, const Json *b) {
    return a != nullptr && b != nullptr && a->is_string() && b->is_string() &&
           same_tokenizer_class(a->get_ref<const std::string &>(),
                                b->get_ref<const std::string &>());
  }

  /// The same value under another key, or in another spelling.
  void told_by_another_name(const std::string &key, const Json &a, const Json &b,
                            const std::string &pointer) {
    const std::string from = original(left_, pointer);
    const std::string to = original(right_, pointer);
    const auto old_spelling = left_.spelled.find(pointer);
    const auto new_spelling = right_.spelled.find(pointer);
    const std::string was =
        old_spelling != left_.spelled.end() ? old_spelling->second : json_text(a);
    const std::string is =
        new_spelling != right_.spelled.end() ? new_spelling->second : json_text(b);
    if (a.is_null())
      return;
    const auto is_text_of = [](const std::string &place, const std::string &flat) {
      return place == "/text_config" + flat;
    };
    if (is_text_of(from, to) || is_text_of(to, from))
      ++moved_keys_;
    else if (from != to)
      changes_.push_back(make_change(
          "config.renamed", path_ + "#" + to, was, is,
          fmt::format("{} is now written as {}; the value, {}, is the same.",
                      plain_text(from.substr(1), 100), plain_text(to.substr(1), 100), shown(b))));
    else if (was != is)
      changes_.push_back(
          make_change("config.renamed", path_ + "#" + to, was, is,
                      fmt::format("{}: {} is now written {}, a known alias of the same meaning.",
                                  plain_text(key, 60), plain_text(was, 60), plain_text(is, 60))));
  }

  /// What a config takes for a place that it leaves out, as far as it is known for its model type;
  /// null where it is not.
  const Json *default_of(bool in_before, const std::string &pointer) {
    // The innermost part of the model that holds the place, and the place inside it.
    std::size_t inside = 0;
    while (true) {
      const std::size_t end = pointer.find('/', inside + 1);
      if (end == std::string::npos || !part_at(in_before, pointer.substr(0, end)))
        break;
      inside = end;
    }
    const Json &values = *known_defaults(in_before, pointer.substr(0, inside)).values;
    const Json::json_pointer place(pointer.substr(inside));
    if (values.contains(place))
      return &values[place];
    // Older libraries write the keys of the text model at the top.
    const ModelDefaults &whole = known_defaults(in_before, "");
    if (inside > 0 || !whole.parts.contains("text_config"))
      return nullptr;
    const Json &text = *known_defaults(in_before, "/text_config").values;
    return text.contains(place) ? &text[place] : nullptr;
  }

  bool part_at(bool in_before, const std::string &pointer) {
    return part_of(in_before, pointer + "/") != nullptr || pointer.ends_with("_config");
  }

  /// Whether a part of the model that is stated in whole says only what its class takes anyway.
  /// What the class works out from the rest follows from it.
  bool part_is_default(bool left_out_before, const std::string &pointer, const Json &stated) {
    const ModelDefaults::Part *part = part_of(left_out_before, pointer + "/");
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

  /// Whether a key is another name of one that both sides state alike.
  bool repeats(bool left_out_before, const std::string &key, const std::string &pointer) {
    const std::string holder = pointer.substr(0, pointer.rfind('/'));
    const auto &names = known_defaults(left_out_before, holder).names;
    const auto name = names.find(key);
    if (name == names.end())
      return false;
    const Json::json_pointer there(holder + "/" + pointer_key(name->second));
    const Json::json_pointer here(pointer);
    const Json &with = left_out_before ? *right_.json : *left_.json;
    const Json &without = left_out_before ? *left_.json : *right_.json;
    return with.contains(there) && without.contains(there) && with[there] == with[here] &&
           without[there] == with[here];
  }

  /// The part of the model that directly holds a place; null at the top and where the part is not
  /// known.
  const ModelDefaults::Part *part_of(bool in_before, const std::string &pointer) {
    const std::string part = pointer.substr(0, pointer.rfind('/'));
    const std::size_t last = part.rfind('/');
    if (last == std::string::npos)
      return nullptr;
    const auto &parts = known_defaults(in_before, part.substr(0, last)).parts;
    const auto at = parts.find(part.substr(last + 1));
    return at != parts.end() ? &at->second : nullptr;
  }

  const ModelDefaults &known_defaults(bool in_before, const std::string &pointer) {
    const auto [at, is_new] = defaults_.try_emplace({in_before, pointer});
    if (is_new)
      at->second = defaults_at(in_before ? *left_.json : *right_.json, pointer);
    return at->second;
  }

  /// Positions of the usual kind with nothing said about them.
  static bool says_no_positions(const Json &rope) {
    for (const auto &[key, value] : rope.items())
      if (!value.is_null() && !(key == "rope_type" && value == Json("default")))
        return false;
    return true;
  }

  /// True when leaving the key out, in the config before or after, means the same as `value`.
  bool stands_without(const std::string &key, const Json &value, bool left_out_before,
                      const std::string &pointer, const std::string &group) {
    if (key == "rope_parameters" && value.is_object() && says_no_positions(value))
      return true;
    if (const Json *known = default_of(left_out_before, pointer))
      return *known == value;
    if (key == "model_type")
      if (const ModelDefaults::Part *part = part_of(left_out_before, pointer))
        return value == Json(part->model_type);
    if (!group.empty() && !group.ends_with("_config"))
      return value.is_null() ||
             (group == "rope_parameters" && key == "rope_type" && value == Json("default"));
    if (value.is_null())
      return !null_matters(key) ||
             known_defaults(left_out_before, pointer.substr(0, pointer.rfind('/'))).known;
    if ((value.is_array() || value.is_object()) && value.empty())
      return true;
    if (value.is_object() && part_is_default(left_out_before, pointer, value))
      return true;
    if (repeats(left_out_before, key, pointer))
      return true;
    if (const std::string_view known = generation_default(key);
        is_generation_key(key) && !known.empty())
      return Json::parse(known) == value;
    const ConfigKey *row = find_config_key(key);
    // Library-wide defaults of PretrainedConfig, the same for all model types.
    if (key == "id2label" || key == "label2id")
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

  static std::string kind_of(const std::string &key, const Json *a, const Json *b,
                             const std::string &group) {
    if (is_quantisation(group))
      return key == "quant_method" ? "config.quantisation" : "config.quantisation-option";
    if (key == "architectures" && a == nullptr)
      return "config.architectures-stated";
    if (const ConfigKey *row = find_config_key(key))
      return std::string(row->kind);
    if (group == "rope_parameters")
      return (a != nullptr && a->is_array()) || (b != nullptr && b->is_array())
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

  std::string consequence(const std::string &key, const std::string &kind, const Json *a,
                          const Json *b, const Json &before, const Json &after) const {
    if (kind == "config.attention" && key == "num_key_value_heads" && a != nullptr &&
        b != nullptr) {
      const std::optional<std::int64_t> from = cache_bytes(before);
      const std::optional<std::int64_t> to = cache_bytes(after);
      if (from && to)
        return fmt::format(" The KV cache takes {} instead of {} bytes a token at 16 bits.",
                           with_thousands(*to), with_thousands(*from));
    }
    if (kind == "config.context" && a != nullptr && b != nullptr && a->is_number() &&
        b->is_number() && b->get<double>() > 0 && a->get<double>() > 0)
      return b->get<double>() >= a->get<double>()
                 ? fmt::format(" The cache of one longest sequence grows {:.4g} times.",
                               b->get<double>() / a->get<double>())
                 : fmt::format(" The cache of one longest sequence is divided by {:.4g}.",
                               a->get<double>() / b->get<double>());
    if (kind == "config.rope-factors")
      return " Files converted from this model must be made again.";
    if (key == "dtype" && b != nullptr && b->is_string())
      return fmt::format(" Loaded without an explicit format, the weights are now {}.",
                         plain_text(b->get<std::string>(), 40));
    if (kind == "config.model-type")
      return " Other code loads the model.";
    if (kind == "config.vocabulary")
      return " Software that checks the tokenizer against it, and adapters that hold embeddings, "
             "may fail.";
    return {};
  }

  /// Bytes that one token adds to the KV cache at 16 bits, for plain grouped-query attention in all
  /// layers.
  static std::optional<std::int64_t> cache_bytes(const Json &config) {
    const auto number = [&](const char *key) -> std::int64_t {
      const auto at = config.find(key);
      return at != config.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
    };
    if (config.contains("kv_lora_rank") || config.contains("layer_types") ||
        config.contains("hybrid_override_pattern"))
      return std::nullopt;
    const std::int64_t layers = number("num_hidden_layers");
    const std::int64_t heads = number("num_attention_heads");
    const std::int64_t kv_heads = number("num_key_value_heads");
    std::int64_t head = number("head_dim");
    if (head <= 0 && heads > 0)
      head = number("hidden_size") / heads;
    constexpr std::int64_t bound = 1 << 20;
    if (layers <= 0 || kv_heads <= 0 || head <= 0 || layers > bound || kv_heads > bound ||
        head > bound)
      return std::nullopt;
    return 2 * layers * kv_heads * head * 2;
  }

  std::string path_;
  CanonicalConfig left_;
  CanonicalConfig right_;
  Changes &changes_;
  std::map<std::pair<bool, std::string>, ModelDefaults> defaults_; ///< by side (before?) and place
  std::optional<bool> builds_the_same_; ///< the two whole configs; not yet asked while empty
  std::size_t unknown_ = 0;
  std::size_t moved_keys_ = 0;
};

/// How a role's files are told: the kinds for trouble with the file, and for its keys where all
/// share one.
struct RoleKinds {
  FileRole role;
  std::string_view removed;
  std::string_view malformed;
  std::string_view keys; ///< "" = by the key's own meaning
  std::string_view added;
};

constexpr auto role_kinds = std::to_array<RoleKinds>({
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

std::string key_kind(const RoleKinds &kinds, const std::string &key, const Json *a, const Json *b) {
  if (says_where_from(key))
    return "config.provenance";
  if (kinds.role == FileRole::adapter_config && adapter_breaks(key))
    return "config.adapter";
  if (kinds.role == FileRole::quantisation_config &&
      (key == "quant_method" || key == "quant_algo" || key == "bits"))
    return "config.quantisation";
  const bool null_to_absent = (a == nullptr && b->is_null()) || (b == nullptr && a->is_null());
  return null_to_absent ? "config.default-stated" : std::string(kinds.keys);
}

void compare_keys(const RoleKinds &kinds, const std::string &path, const std::string &pointer,
                  const Json &before, const Json &after, Changes &changes) {
  std::set<std::string> keys;
  for (const auto &[key, value] : before.items())
    keys.insert(key);
  for (const auto &[key, value] : after.items())
    keys.insert(key);
  std::size_t told = 0;
  for (const std::string &key : keys) {
    // The template and the code that a processor names are told with the template and the code.
    if (key == "chat_template" || key == "auto_map")
      continue;
    const auto left = before.find(key);
    const auto right = after.find(key);
    const Json *a = left != before.end() ? &*left : nullptr;
    const Json *b = right != after.end() ? &*right : nullptr;
    if (a != nullptr && b != nullptr && *a == *b)
      continue;
    const std::string at = pointer + "/" + pointer_key(key);
    if (a != nullptr && b != nullptr && a->is_object() && b->is_object() && key != "producer") {
      compare_keys(kinds, path, at, *a, *b, changes);
      continue;
    }
    if (++told > most_unknown_keys)
      continue;
    changes.push_back(make_change(
        key_kind(kinds, key, a, b), path + "#" + at, a != nullptr ? json_text(*a) : "null",
        b != nullptr ? json_text(*b) : "null", describe("", {at, key, a, b})));
  }
  if (told > most_unknown_keys)
    changes.push_back(make_change(kinds.keys, path + "#" + pointer, "null", "null",
                                  fmt::format("{} more keys differ.", told - most_unknown_keys)));
}

/// Whether the older quantize_config.json beside a config says the same as its quantization_config,
/// as far as both speak.
bool repeats_quantize_config(const Snapshot &snapshot, const std::string &config_path,
                             const Json &stated) {
  const Document older =
      read_document(snapshot, std::string(read::folder_of(config_path)) + "quantize_config.json");
  if (older.state != Document::State::ok || !stated.is_object())
    return false;
  const Json known = canonical_numbers(*older.json);
  std::size_t shared = 0;
  for (const auto &[key, value] : known.items())
    if (const auto at = stated.find(key); at != stated.end()) {
      if (*at != value)
        return false;
      ++shared;
    }
  return shared > 0;
}

/// A quantization_config that came to (or left) a config beside a quantize_config.json which says
/// it anyway.
void quieten_repeated_quantisation(const Sides &sides, const std::string &path, Changes &changes) {
  for (Change &change : changes) {
    if (change.kind != "config.quantisation" || change.path != path + "#/quantization_config")
      continue;
    const bool came = change.before_json == "null";
    const std::string stated = came ? change.after_json : change.before_json;
    const Result<Json> value = parse_json(stated);
    if ((came || change.after_json == "null") && value &&
        repeats_quantize_config(came ? sides.before : sides.after, path, *value))
      change = make_change(
          "config.default-stated", change.path, change.before_json, change.after_json,
          fmt::format("quantization_config is {} stated; quantize_config.json says the same.",
                      came ? "now" : "no longer"));
  }
}

void compare_file(const RoleKinds &kinds, const Sides &sides, const FilePair &file,
                  Changes &changes) {
  using State = Document::State;
  const Document before = read_document(sides.before, file.path);
  const Document after = read_document(sides.after, file.path);
  const auto note = [&](std::string_view kind, std::string sentence) {
    changes.push_back(make_change(kind, file.path, id_text(file.before), id_text(file.after),
                                  std::move(sentence)));
  };
  if (after.state == State::absent)
    return note(kinds.removed, fmt::format("{} was removed.", file.path));
  if (after.state == State::malformed && before.state != State::malformed)
    return note(kinds.malformed, fmt::format("{} does not load: {}.", file.path, after.problem));
  if (before.state == State::absent)
    return note(kinds.added, fmt::format("{} was added.", file.path));
  if (after.state != State::ok)
    return note("config.unreadable",
                fmt::format("{} differs and was not compared: {}.", file.path, after.problem));
  if (before.state != State::ok)
    return note("config.unreadable",
                fmt::format("{} can be read now and could not before, so it was not compared: {}.",
                            file.path, before.problem));
  if (kinds.keys.empty()) {
    Changes told;
    ConfigDiff(file.path, *before.json, *after.json, told).run();
    quieten_repeated_quantisation(sides, file.path, told);
    std::ranges::move(told, std::back_inserter(changes));
  } else {
    compare_keys(kinds, file.path, "", canonical_numbers(*before.json),
                 canonical_numbers(*after.json), changes);
  }
}

} // namespace

void diff_config(const Sides &sides, Changes &changes) {
  for (const FilePair &file : sides.files) {
    if (!file.differs)
      continue;
    const auto kinds = std::ranges::find(role_kinds, file.role, &RoleKinds::role);
    if (kinds != role_kinds.end())
      compare_file(*kinds, sides, file, changes);
  }
}

} // namespace headwater::diff

#include "daemon/diff/config_canonical.hpp"

#include "daemon/diff/model_defaults.hpp"
#include "daemon/diff/sides.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using Rename = std::pair<std::string_view, const char *>;

/// Keys of the file's top that belong to the rotary positions, and what they are called there.
constexpr auto rope_keys = std::to_array<Rename>({
    {"rope_theta", "rope_theta"},
    {"rotary_emb_base", "rope_theta"},
    {"partial_rotary_factor", "partial_rotary_factor"},
    {"rotary_pct", "partial_rotary_factor"},
    {"original_max_position_embeddings", "original_max_position_embeddings"},
});

/// The positions of a model type that has other ones in windowed layers; null for one that has the
/// same in all.
Json by_layer_type_of(const ModelDefaults &defaults) {
  const auto rope = defaults.values->find("rope_parameters");
  return rope != defaults.values->end() && rope->contains("full_attention") &&
                 rope->contains("sliding_attention")
             ? *rope
             : Json();
}

class Canonicaliser {
public:
  CanonicalConfig run(const Json &config, const Json &other) {
    Json json = canonical_numbers(config);
    rewrite(json, "", config, other);
    out_.json = std::make_shared<const Json>(std::move(json));
    return std::move(out_);
  }

private:
  void rewrite(Json &config, const std::string &at, const Json &whole, const Json &other) {
    rename(config, at, "torch_dtype", "dtype");
    const ModelDefaults mine = defaults_at(whole, at);
    const ModelDefaults theirs = defaults_at(other, at);
    if (mine.names == theirs.names)
      for (const auto &[alias, name] : mine.names)
        rename(config, at, alias, name);
    if (const auto dtype = config.find("dtype"); dtype != config.end() && dtype->is_string())
      if (const std::string text = dtype->get<std::string>(); text.starts_with("torch.")) {
        out_.spelled[at + "/dtype"] = dtype->dump();
        *dtype = text.substr(6);
      }
    gather_rope(config, at,
                by_layer_type_of(mine) == by_layer_type_of(theirs) ? by_layer_type_of(mine)
                                                                   : Json());
    for (auto &[key, value] : config.items())
      if (value.is_object() && (key.ends_with("_config") || key == "decoder" || key == "encoder") &&
          key != "quantization_config")
        rewrite(value, at + "/" + pointer_key(key), whole, other);
  }

  void rename(Json &config, const std::string &at, const std::string &from, const std::string &to) {
    const auto old = config.find(from);
    if (old == config.end() || config.contains(to))
      return;
    Json value = std::move(*old);
    config.erase(from);
    config[to] = std::move(value);
    out_.moved[at + "/" + pointer_key(to)] = at + "/" + pointer_key(from);
  }

  void alias(Json &rope, const std::string &at, const char *key) {
    const auto type = rope.find(key);
    if (type == rope.end() || !type->is_string())
      return;
    const std::string text = type->get<std::string>();
    const std::string canonical = text == "su" ? "longrope" : text == "mrope" ? "default" : text;
    if (canonical == text)
      return;
    out_.spelled[at + "/" + key] = type->dump();
    *type = canonical;
  }

  void clean(Json &rope, const std::string &at, const std::string &from) {
    // Some files carry both names, the older one for older readers.
    if (const auto type = rope.find("type"); type != rope.end() && !rope.contains("rope_type")) {
      rope["rope_type"] = *type;
      out_.moved[at + "/rope_type"] = from + "/type";
      rope.erase("type");
    }
    alias(rope, at, "rope_type");
    alias(rope, at, "type");
  }

  /// `by_type`: the positions that the model type takes by kind of layer; null where it has the
  /// same in all.
  void gather_rope(Json &config, const std::string &at, const Json &by_type) {
    const std::string place = at + "/rope_parameters";
    Json rope = Json::object();
    const auto given = config.find("rope_parameters");
    const bool had_parameters = given != config.end() && !given->is_null();
    if (had_parameters && !given->is_object())
      return;
    if (had_parameters) {
      rope = *given;
      clean(rope, place, place);
    } else if (const auto scaling = config.find("rope_scaling");
               scaling != config.end() && scaling->is_object()) {
      rope = *scaling;
      for (const auto &[key, value] : scaling->items())
        out_.moved[place + "/" + pointer_key(key)] = at + "/rope_scaling/" + pointer_key(key);
      clean(rope, place, at + "/rope_scaling");
    }
    const bool by_layer_type =
        rope.contains("full_attention") || rope.contains("sliding_attention");
    for (auto &[key, value] : rope.items())
      if (value.is_object())
        clean(value, place + "/" + key, place + "/" + key);
    if (!by_layer_type) {
      for (const auto &[key, name] : rope_keys)
        take(config, at, key, rope, place, name);
    }
    const auto local = config.find("rope_local_base_freq");
    if (!by_layer_type && (local != config.end() || (!by_type.is_null() && !rope.empty()))) {
      Json both;
      if (!rope.contains("rope_type"))
        rope["rope_type"] = "default";
      for (const auto &[key, value] : rope.items()) {
        const std::string flat = place + "/" + pointer_key(key);
        const auto moved = out_.moved.find(flat);
        out_.moved[place + "/full_attention/" + pointer_key(key)] =
            moved != out_.moved.end() ? moved->second : flat;
      }
      both["full_attention"] = by_type.is_null() ? Json::object() : by_type["full_attention"];
      both["full_attention"].update(rope);
      both["sliding_attention"] =
          by_type.is_null() ? Json{{"rope_type", "default"}} : by_type["sliding_attention"];
      if (local != config.end()) {
        both["sliding_attention"]["rope_theta"] = *local;
        out_.moved[place + "/sliding_attention/rope_theta"] = at + "/rope_local_base_freq";
        config.erase("rope_local_base_freq");
      }
      rope = std::move(both);
    } else if (!by_layer_type && !rope.empty() && !rope.contains("rope_type")) {
      rope["rope_type"] = "default";
    }
    if (const auto scaling = config.find("rope_scaling");
        scaling != config.end() &&
        (scaling->is_null() || (scaling->is_object() && !had_parameters)))
      config.erase(scaling);
    config.erase("rope_parameters");
    if (!rope.empty())
      config["rope_parameters"] = std::move(rope);
  }

  void take(Json &config, const std::string &at, std::string_view key, Json &rope,
            const std::string &place, const char *name) {
    const auto value = config.find(key);
    if (value == config.end())
      return;
    // One that is given a second time stays where it is.
    if (!value->is_null()) {
      if (rope.contains(name))
        return;
      rope[name] = *value;
      out_.moved[place + "/" + name] = at + "/" + std::string(key);
    }
    config.erase(key);
  }

  CanonicalConfig out_;
};

constexpr std::string_view text_place = "/text_config";

/// Notes for a value that was lifted, and all inside it, where it stands in the file.
void note_lifted(const Json &value, const std::string &pointer, CanonicalConfig &config) {
  config.moved.emplace(pointer, std::string(text_place) + pointer);
  if (value.is_object())
    for (const auto &[key, inner] : value.items())
      note_lifted(inner, pointer + "/" + pointer_key(key), config);
}

/// Entries of a map of pointers that lie in the text model, again without its place.
void lift_pointers(std::map<std::string, std::string> &pointers) {
  std::map<std::string, std::string> lifted;
  for (const auto &[pointer, text] : pointers)
    if (pointer.starts_with(std::string(text_place) + "/"))
      lifted.emplace(pointer.substr(text_place.size()), text);
  pointers.insert(lifted.begin(), lifted.end());
}

} // namespace

void lift_text_config(CanonicalConfig &config) {
  Json json = *config.json;
  const auto text = json.find("text_config");
  if (text == json.end() || !text->is_object())
    return;
  lift_pointers(config.moved);
  lift_pointers(config.spelled);
  Json rest = Json::object();
  const Json inner = *text;
  for (const auto &[key, value] : inner.items()) {
    if (!json.contains(key)) {
      note_lifted(value, "/" + pointer_key(key), config);
      json[key] = value;
    } else if (json[key] != value) {
      rest[key] = value;
    }
  }
  json.erase("text_config");
  if (!rest.empty())
    json["text_config"] = std::move(rest);
  config.json = std::make_shared<const Json>(std::move(json));
}

bool repeats_rope(const Json &config, const std::string &key) {
  const auto row = std::ranges::find(rope_keys, key, &Rename::first);
  const auto rope = config.find("rope_parameters");
  return row != rope_keys.end() && config.contains(key) && rope != config.end() &&
         rope->is_object() && rope->value(row->second, Json()) == config[key];
}

CanonicalConfig canonical_config(const Json &config, const Json &other) {
  return Canonicaliser().run(config, other);
}

} // namespace headwater::diff

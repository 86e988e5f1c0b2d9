#include "daemon/diff/stop_set.hpp"

#include "daemon/diff/model_defaults.hpp"
#include "daemon/diff/subjects.hpp"
#include "daemon/diff/tokenizer_settings.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

StopSet::Source ids_of(const Json &object) {
  StopSet::Source source;
  const auto at = object.find("eos_token_id");
  if (at == object.end() || at->is_null())
    return source;
  const Json value = canonical_numbers(*at);
  std::set<std::int64_t> ids;
  if (value.is_number_integer())
    ids.insert(value.get<std::int64_t>());
  else if (value.is_array())
    for (const Json &item : value)
      if (item.is_number_integer())
        ids.insert(item.get<std::int64_t>());
  source.as_list = value.is_array();
  if (!ids.empty() || source.as_list)
    source.ids = std::move(ids);
  return source;
}

/// A config that says in so many words that it has no end token.
bool stated_empty(const Json &config) {
  const auto at = config.find("eos_token_id");
  return at != config.end() && at->is_null();
}

/// What the model type of a config without an end token takes for it: the whole model's, else its
/// text model's.
std::optional<std::set<std::int64_t>> default_ids(const Json &config) {
  for (const char *place : {"", "/text_config"}) {
    StopSet::Source source = ids_of(*defaults_at(config, place).values);
    if (source.ids)
      return std::move(source.ids);
  }
  return std::nullopt;
}

std::optional<std::int64_t> id_of_token(const Json &tokenizer_config, const std::string &text) {
  const auto decoder = tokenizer_config.find("added_tokens_decoder");
  if (decoder == tokenizer_config.end() || !decoder->is_object())
    return std::nullopt;
  for (const auto &[id, token] : decoder->items())
    if (token_text(Json{{"token", token}}, "token") == text && !id.empty() && id.size() < 12 &&
        std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; }))
      return std::stoll(id);
  return std::nullopt;
}

void add(Changes &changes, std::string_view kind, std::string path, const Json &before,
         const Json &after, std::string sentence) {
  changes.push_back(
      make_change(kind, std::move(path), json_text(before), json_text(after), std::move(sentence)));
}

Json ids_json(const std::optional<std::set<std::int64_t>> &ids) {
  return ids ? Json(*ids) : Json();
}

Json text_json(const std::optional<std::string> &text) {
  return text ? Json(*text) : Json();
}

bool has_file(const Snapshot &snapshot, std::string_view path) {
  return find_file(snapshot, path) != nullptr;
}

/// True when nothing was known before because the files themselves are new (or go): told as such
/// elsewhere.
bool files_came(const Snapshot &without) {
  return !has_file(without, "generation_config.json") && !has_file(without, "config.json");
}

void compare_ids(const Sides &sides, const StopSet &before, const StopSet &after,
                 Changes &changes) {
  const auto &from = before.effective();
  const auto &to = after.effective();
  if (from != to) {
    if ((!from && files_came(sides.before)) || (!to && files_came(sides.after)))
      return;
    std::string sentence = fmt::format("Generation stopped at {} and now stops at {}.",
                                       shown_ids(from), shown_ids(to));
    if (const std::string disagreement = after.disagreement(); !disagreement.empty())
      sentence += " The files do not agree: " + disagreement + ".";
    return add(changes, "stop-set.changed", effective_stop_path(to ? after : before),
               ids_json(from), ids_json(to), std::move(sentence));
  }
  const auto source = [&](const StopSet::Source &a, const StopSet::Source &b, const char *file) {
    const std::string path = std::string(file) + "#" + (b.ids ? b.pointer : a.pointer);
    if (const std::optional<std::set<std::int64_t>> &known = a.ids ? after.assumed : before.assumed;
        a.ids != b.ids && known && from == known) {
      add(changes, "stop-set.form", path, ids_json(a.ids), ids_json(b.ids),
          fmt::format("eos_token_id in {} is {} stated; the model type takes {} without it.", file,
                      b.ids ? "now" : "no longer", shown_ids(known)));
    } else if (a.ids != b.ids) {
      if (!has_file(sides.before, file) || !has_file(sides.after, file))
        return;
      add(changes, "stop-set.source", path, ids_json(a.ids), ids_json(b.ids),
          fmt::format("eos_token_id in {}: {} became {}. Software that reads "
                      "generation_config.json first still stops at {}.",
                      file, shown_ids(a.ids), shown_ids(b.ids), shown_ids(to)));
    } else if (a.ids && a.as_list != b.as_list) {
      add(changes, "stop-set.form", path, a.as_list ? ids_json(a.ids) : Json(*a.ids->begin()),
          b.as_list ? ids_json(b.ids) : Json(*b.ids->begin()),
          fmt::format("eos_token_id in {} is now written as {}; the set {} is the same.", file,
                      b.as_list ? "a list" : "a number", shown_ids(b.ids)));
    }
  };
  source(before.generation_config, after.generation_config, "generation_config.json");
  source(before.config, after.config, "config.json");
}

std::string with_id(const std::optional<std::string> &text, const std::optional<std::int64_t> &id) {
  if (!text)
    return "nothing";
  return id ? fmt::format("{} ({})", shown_text(*text), *id) : shown_text(*text);
}

bool said_by_config(const Side &side) {
  return token_text(*read_document(side, "tokenizer_config.json").json, "eos_token").has_value();
}

void compare_texts(const Sides &sides, const StopSet &before, const StopSet &after,
                   Changes &changes) {
  const bool tokenizer_on_both = has_file(sides.before, "tokenizer_config.json") &&
                                 has_file(sides.after, "tokenizer_config.json");
  const bool map_on_both = has_file(sides.before, "special_tokens_map.json") &&
                           has_file(sides.after, "special_tokens_map.json");
  const bool known_on_both = (before.tokenizer_text && after.tokenizer_text) || tokenizer_on_both;
  const auto agrees = [](const StopSet &set) {
    return set.tokenizer_id && set.effective() && set.effective()->contains(*set.tokenizer_id);
  };
  if ((!before.tokenizer_text || !after.tokenizer_text) &&
      before.tokenizer_text != after.tokenizer_text && known_on_both &&
      before.effective() == after.effective() && agrees(after.tokenizer_text ? after : before)) {
    const StopSet &saying = after.tokenizer_text ? after : before;
    add(changes, "stop-set.form",
        said_by_config(after.tokenizer_text ? sides.after : sides.before)
            ? "tokenizer_config.json#/eos_token"
            : "special_tokens_map.json#/eos_token",
        text_json(before.tokenizer_text), text_json(after.tokenizer_text),
        fmt::format("The tokenizer {} names its end-of-sequence token, {}, which is where "
                    "generation stops anyway.",
                    after.tokenizer_text ? "now" : "no longer",
                    with_id(saying.tokenizer_text, saying.tokenizer_id)));
  } else if (before.tokenizer_text != after.tokenizer_text && known_on_both) {
    std::string sentence = fmt::format(
        "The tokenizer's end-of-sequence token was {} and is now {}: generation stops elsewhere.",
        with_id(before.tokenizer_text, before.tokenizer_id),
        with_id(after.tokenizer_text, after.tokenizer_id));
    if (const std::string disagreement = after.disagreement(); !disagreement.empty())
      sentence += " The files do not agree: " + disagreement + ".";
    const bool by_map = !said_by_config(sides.before) && !said_by_config(sides.after);
    add(changes, "stop-set.changed",
        by_map ? "special_tokens_map.json#/eos_token" : "tokenizer_config.json#/eos_token",
        text_json(before.tokenizer_text), text_json(after.tokenizer_text), std::move(sentence));
  } else if (before.map_text != after.map_text && map_on_both) {
    add(changes, "stop-set.source", "special_tokens_map.json#/eos_token",
        text_json(before.map_text), text_json(after.map_text),
        fmt::format("eos_token in special_tokens_map.json: {} became {}; tokenizer_config.json "
                    "still says {}.",
                    with_id(before.map_text, {}), with_id(after.map_text, {}),
                    with_id(after.tokenizer_text, after.tokenizer_id)));
  }
  if (before.strings != after.strings)
    add(changes, "stop-set.changed", "generation_config.json#/stop_strings", Json(before.strings),
        Json(after.strings),
        fmt::format("The texts at which generation stops: {} became {}.",
                    shown(Json(before.strings)), shown(Json(after.strings))));
}

/// The model types of the whole and of its text model, as stated.
std::array<Json, 2> model_types(const Side &side) {
  const Document &config = read_document(side, "config.json");
  const auto text = config.json->find("text_config");
  return {config.json->value("model_type", Json()), text != config.json->end() && text->is_object()
                                                        ? text->value("model_type", Json())
                                                        : Json()};
}

bool readable(const Side &side, const char *path) {
  const Document::State state = read_document(side, path).state;
  return state == Document::State::ok || state == Document::State::absent;
}

} // namespace

std::string shown_ids(const std::optional<std::set<std::int64_t>> &ids) {
  if (!ids)
    return "nothing";
  std::string text = "{";
  for (const std::int64_t id : *ids)
    text += (text.size() > 1 ? ", " : "") + std::to_string(id);
  return text + "}";
}

std::string effective_stop_path(const StopSet &set) {
  return set.generation_config.ids ? "generation_config.json#" + set.generation_config.pointer
                                   : "config.json#" + set.config.pointer;
}

std::optional<std::set<std::int64_t>> assumed_stops(const Side &side) {
  return default_ids(*read_document(side, "config.json").json);
}

StopSet stop_set(const Side &side) {
  StopSet set;
  const Document &generation = read_document(side, "generation_config.json");
  const Document &config = read_document(side, "config.json");
  const Document &tokenizer = read_document(side, "tokenizer_config.json");
  const Document &map = read_document(side, "special_tokens_map.json");
  set.generation_config = ids_of(*generation.json);
  set.config = ids_of(*config.json);
  if (const auto text = config.json->find("text_config");
      !set.config.ids && text != config.json->end() && text->is_object())
    if (StopSet::Source inner = ids_of(*text); inner.ids) {
      set.config = std::move(inner);
      set.config.pointer = "/text_config/eos_token_id";
    }
  if (!set.config.ids && !set.generation_config.ids && !stated_empty(*config.json))
    set.assumed = default_ids(*config.json);
  if (const auto strings = generation.json->find("stop_strings");
      strings != generation.json->end()) {
    if (strings->is_string())
      set.strings.insert(strings->get<std::string>());
    else if (strings->is_array())
      for (const Json &item : *strings)
        if (item.is_string())
          set.strings.insert(item.get<std::string>());
  }
  set.map_text = token_text(*map.json, "eos_token");
  set.tokenizer_text = token_text(*tokenizer.json, "eos_token");
  if (!set.tokenizer_text)
    set.tokenizer_text = set.map_text;
  if (set.tokenizer_text)
    set.tokenizer_id = id_of_token(*tokenizer.json, *set.tokenizer_text);
  return set;
}

std::string StopSet::disagreement() const {
  std::string text;
  const auto say = [&](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
  const auto &stops = effective();
  const bool config_differs = generation_config.ids && config.ids &&
                              !std::ranges::includes(*generation_config.ids, *config.ids);
  const bool tokenizer_differs = stops && tokenizer_id && !stops->contains(*tokenizer_id);
  if (!config_differs && !tokenizer_differs)
    return text;
  if (generation_config.ids)
    say("generation_config.json " + shown_ids(generation_config.ids));
  if (config.ids)
    say("config.json " + shown_ids(config.ids));
  if (tokenizer_text)
    say("the tokenizer " + with_id(tokenizer_text, tokenizer_id));
  return text;
}

void diff_stop_set(const Sides &sides, Changes &changes) {
  for (const char *path : {"generation_config.json", "config.json", "tokenizer_config.json",
                           "special_tokens_map.json"})
    if (!readable(sides.before, path) || !readable(sides.after, path))
      return;
  StopSet before = stop_set(sides.before);
  StopSet after = stop_set(sides.after);
  // Another model type is told as such; what it takes for an end token comes with it.
  if (model_types(sides.before) != model_types(sides.after)) {
    before.assumed.reset();
    after.assumed.reset();
  }
  compare_ids(sides, before, after, changes);
  compare_texts(sides, before, after, changes);
  const std::string was = before.disagreement();
  const std::string is = after.disagreement();
  if (was.empty() && !is.empty() && before.effective() && before.effective() == after.effective())
    add(changes, "stop-set.disagreement", effective_stop_path(after), ids_json(before.effective()),
        ids_json(after.effective()),
        "The files no longer agree on where generation stops: " + is + ".");
}

} // namespace headwater::diff

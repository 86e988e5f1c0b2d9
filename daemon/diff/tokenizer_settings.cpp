#include "daemon/diff/tokenizer_settings.hpp"

#include "daemon/diff/tokenizer_class.hpp"
#include "daemon/diff/tokenizer_compare.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

struct SettingKey {
  std::string_view key;
  std::string_view kind;
  std::string_view without; ///< JSON text of what holds when the key is absent; "" when unknown
};

constexpr auto settings = std::to_array<SettingKey>({
    {"tokenizer_class", "tokenizer.class", ""},
    {"add_bos_token", "tokenizer.add-bos", ""},
    {"add_eos_token", "tokenizer.add-eos", "false"},
    {"add_prefix_space", "tokenizer.text-option", ""},
    {"do_lower_case", "tokenizer.text-option", ""},
    {"do_basic_tokenize", "tokenizer.text-option", "true"},
    {"strip_accents", "tokenizer.text-option", "null"},
    {"tokenize_chinese_chars", "tokenizer.text-option", "true"},
    {"legacy", "tokenizer.text-option", "true"},
    {"clean_up_tokenization_spaces", "tokenizer.decoder", ""},
    {"spaces_between_special_tokens", "tokenizer.decoder", ""},
    {"errors", "tokenizer.decoder", "\"replace\""},
    {"split_special_tokens", "tokenizer.text-option", "false"},
    {"remove_space", "tokenizer.text-option", ""},
    {"keep_accents", "tokenizer.text-option", ""},
    {"normalize", "tokenizer.text-option", ""},
    {"sp_model_kwargs", "tokenizer.text-option", "{}"},
    {"use_fast", "tokenizer.text-option", ""},
    {"fix_mistral_regex", "tokenizer.text-option", ""},
    {"model_max_length", "tokenizer.max-length", ""},
    {"padding_side", "tokenizer.padding", "\"right\""},
    {"pad_to_multiple_of", "tokenizer.padding", "null"},
    {"pad_token_type_id", "tokenizer.padding", "0"},
    {"truncation_side", "tokenizer.truncation", "\"right\""},
    {"truncation_strategy", "tokenizer.truncation", ""},
    {"max_length", "tokenizer.truncation", ""},
    {"stride", "tokenizer.truncation", "0"},
    {"response_template", "tokenizer.response-format", "null"},
    {"response_schema", "tokenizer.response-format", "null"},
    {"additional_special_tokens", "tokenizer.special-token", "[]"},
    {"extra_special_tokens", "tokenizer.special-token", "{}"},
    {"model_input_names", "tokenizer.setting", ""},
    {"transformers_version", "config.provenance", ""},
    {"name_or_path", "config.provenance", ""},
    {"tokenizer_file", "config.provenance", ""},
    {"special_tokens_map_file", "config.provenance", ""},
    {"processor_class", "config.provenance", ""},
    {"backend", "config.provenance", ""},
    {"is_local", "config.provenance", ""},
    {"from_slow", "config.provenance", ""},
    {"unsloth_version", "config.provenance", ""},
});

read::AddedToken added_token(std::int64_t id, const Json &value) {
  read::AddedToken token;
  token.id = id;
  token.content = token_text(&value).value_or("");
  const auto flag = [&](const char *name, bool &into) {
    if (!value.is_object())
      return;
    if (const auto at = value.find(name); at != value.end() && at->is_boolean())
      into = at->get<bool>();
  };
  flag("single_word", token.single_word);
  flag("lstrip", token.lstrip);
  flag("rstrip", token.rstrip);
  flag("normalized", token.normalized);
  flag("special", token.special);
  return token;
}

std::optional<std::int64_t> number_of(const std::string &text) {
  if (text.empty() || text.size() > 12 ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stoll(text);
}

std::vector<read::AddedToken> decoder_tokens(const Json &decoder) {
  std::vector<read::AddedToken> tokens;
  if (decoder.is_object())
    for (const auto &[key, value] : decoder.items())
      if (const std::optional<std::int64_t> id = number_of(key))
        tokens.push_back(added_token(*id, value));
  std::ranges::sort(tokens, {}, &read::AddedToken::id);
  return tokens;
}

constexpr const char *old_specials = "additional_special_tokens";
constexpr const char *new_specials = "extra_special_tokens";

class Settings {
public:
  Settings(const Sides &sides, const FilePair &file, const Judge &judge, Changes &changes)
      : sides_(sides), path_(file.path), folder_(read::folder_of(file.path)), judge_(judge),
        changes_(changes) {}

  void compare(const Json &before, const Json &after) {
    std::set<std::string> keys;
    for (const auto &[key, value] : before.items())
      keys.insert(key);
    for (const auto &[key, value] : after.items())
      keys.insert(key);
    const bool told = told_specials(before, after);
    for (const std::string &key : keys) {
      if (told && (key == old_specials || key == new_specials))
        continue;
      const auto left = before.find(key);
      const auto right = after.find(key);
      one(key, left != before.end() ? &*left : nullptr, right != after.end() ? &*right : nullptr);
    }
  }

private:
  /// The list of further special tokens goes by another name in newer libraries, and its tokens by
  /// another form. True when it was told that they are the same.
  bool told_specials(const Json &before, const Json &after) {
    const Json tokens = further_specials(before);
    if (tokens.empty() || tokens != further_specials(after))
      return false;
    const auto name_of = [](const Json &config) {
      return config.contains(new_specials) && !config[new_specials].empty() ? new_specials
                                                                            : old_specials;
    };
    const char *from = name_of(before);
    const char *to = name_of(after);
    const Json &was = before[from];
    const Json &is = after[to];
    if (from == to && was == is)
      return false;
    const std::string same =
        tokens.size() == 1 ? std::string("the token is the same")
                           : fmt::format("the {} are the same", counted(tokens.size(), "token"));
    add("tokenizer.serialised-form", to, &was, &is,
        from == to ? fmt::format("{} is written in another form; {}.", to, same)
                   : fmt::format("{} is now called {}; {}.", from, to, same));
    return true;
  }

  void add(std::string_view kind, const std::string &key, const Json *a, const Json *b,
           std::string sentence) {
    changes_.push_back(make_change(kind, path_ + "#/" + pointer_key(key),
                                   a != nullptr ? json_text(*a) : "null",
                                   b != nullptr ? json_text(*b) : "null", std::move(sentence)));
  }

  bool moves(const std::string &key, std::string_view inside = {}) const {
    return judge_.moves("tokenizer", path_ + "#/" + pointer_key(key) + std::string(inside));
  }

  void one(const std::string &key, const Json *a, const Json *b) {
    if (key == "chat_template" || key == "auto_map" || (a != nullptr && b != nullptr && *a == *b))
      return;
    if (key == "added_tokens_decoder")
      return decoder(a, b);
    if (is_token_role(key))
      return role(key, a, b);
    const std::string kind = setting_kind(key);
    const bool cosmetic = find_change_kind(kind)->impact == Impact::cosmetic;
    const bool moved = key == new_specials ? moves(old_specials) : moves(key);
    if (!cosmetic && !moved && key == "tokenizer_class" && a != nullptr && b != nullptr)
      return add(
          "tokenizer.serialised-form", key, a, b,
          fmt::format("tokenizer_class {} became {}: the same tokenizer, loaded by other code.",
                      shown(*a), shown(*b)));
    if (!cosmetic && !moved)
      return stated(key, a, b);
    std::string sentence = describe("", {path_, key, a, b});
    if (kind == "tokenizer.class")
      sentence +=
          weights_same() ? " Token ids may differ, weights identical." : " Token ids may differ.";
    else if (kind == "tokenizer.add-bos" || kind == "tokenizer.add-eos")
      sentence += " Ids of existing text can change at its ends.";
    else if (kind == "tokenizer.decoder")
      sentence += " Ids of existing text cannot change; text made from ids may.";
    else if (kind == "tokenizer.text-option")
      sentence += " Ids of existing text may change.";
    else if (kind == "tokenizer.special-ids")
      sentence += " Some loaders take the id from here.";
    add(kind, key, a, b, std::move(sentence));
  }

  bool weights_same() const {
    return std::ranges::none_of(sides_.files, [](const FilePair &file) {
      return file.differs && (file.role == FileRole::safetensors || file.role == FileRole::gguf ||
                              file.role == FileRole::pickle);
    });
  }

  void stated(const std::string &key, const Json *a, const Json *b) {
    add("tokenizer.default-stated", key, a, b,
        fmt::format("{} is {} stated as {}, which holds without it.", plain_text(key, 60),
                    b != nullptr ? "now" : "no longer", shown(b != nullptr ? *b : *a)));
  }

  void role(const std::string &key, const Json *a, const Json *b) {
    const std::optional<std::string> from = token_text(a);
    const std::optional<std::string> to = token_text(b);
    if (from == to) {
      if (a != nullptr && b != nullptr && moves(key, from ? "/flags" : ""))
        return add("tokenizer.added-token-flags", key, a, b,
                   fmt::format("{} is the same token, its flags differ: {} became {}.",
                               plain_text(key, 60), shown(*a), shown(*b)));
      if (from || (a != nullptr && b != nullptr))
        return add("tokenizer.serialised-form", key, a, b,
                   fmt::format("{} is written in another form, the token is the same.",
                               plain_text(key, 60)));
      return stated(key, a, b);
    }
    const bool a_stop = key == "eos_token" && folder_.empty();
    // The older special_tokens_map.json holds where tokenizer_config.json says nothing.
    const auto by_map = [&](const Side &side) {
      return token_text(*read_document(side, std::string(folder_) + "special_tokens_map.json").json,
                        key.c_str());
    };
    if (a_stop ? (a == nullptr && by_map(sides_.before) == to) ||
                     (b == nullptr && by_map(sides_.after) == from)
               : !moves(key))
      return stated(key, a, b);
    if (a_stop && find_file(sides_.before, path_) != nullptr)
      return; // told with the stop set
    add("tokenizer.special-token", key, a, b,
        fmt::format("{}: {} became {}.", plain_text(key, 60), from ? shown_text(*from) : "nothing",
                    to ? shown_text(*to) : "nothing"));
  }

  void decoder(const Json *a, const Json *b) {
    const std::string tokenizer = std::string(folder_) + "tokenizer.json";
    if (a != nullptr && b != nullptr) {
      if (!compare_added_tokens(path_ + "#/added_tokens_decoder", decoder_tokens(*a),
                                decoder_tokens(*b), changes_))
        add("tokenizer.setting", "added_tokens_decoder", a, b,
            "added_tokens_decoder differs in keys that we do not know.");
    } else if (find_file(a != nullptr ? sides_.before : sides_.after, tokenizer) != nullptr) {
      add("tokenizer.default-stated", "added_tokens_decoder", a, b,
          fmt::format("added_tokens_decoder was {}; tokenizer.json lists the added tokens.",
                      b != nullptr ? "added" : "removed"));
    } else {
      compare_added_tokens(path_ + "#/added_tokens_decoder",
                           a != nullptr ? decoder_tokens(*a) : std::vector<read::AddedToken>(),
                           b != nullptr ? decoder_tokens(*b) : std::vector<read::AddedToken>(),
                           changes_);
    }
  }

  const Sides &sides_;
  const std::string &path_;
  std::string_view folder_;
  const Judge &judge_;
  Changes &changes_;
};

/// A key of the legacy map of roles: where tokenizer_config.json states a role, the map has no say.
void compare_role_of_map(const Sides &sides, const std::string &path, const std::string &key,
                         const Json *was, const Json *is, const Judge &judge, Changes &changes) {
  const std::string folder(read::folder_of(path));
  const std::string config = folder + "tokenizer_config.json";
  const Json &left = *read_document(sides.before, config).json;
  const Json &right = *read_document(sides.after, config).json;
  const bool overruled = left.contains(key) && right.contains(key);
  const bool same =
      was != nullptr && is != nullptr && token_text(was) && token_text(was) == token_text(is);
  if (key == "eos_token" && !same && folder.empty())
    return; // told with the stop set
  const std::string effective = config + "#/" + pointer_key(key);
  const std::string place = path + "#/" + pointer_key(key);
  std::string kind = "tokenizer.default-stated";
  if (same)
    kind = !overruled && judge.moves("tokenizer", effective + "/flags")
               ? "tokenizer.added-token-flags"
               : "tokenizer.serialised-form";
  else if (judge.moves("tokenizer", place))
    kind = "tokenizer.setting";
  else if (!left.contains(key) && !right.contains(key) && judge.moves("tokenizer", effective))
    kind = "tokenizer.special-token";
  else if (was != nullptr && is != nullptr && same_token(*was, *is))
    kind = "tokenizer.serialised-form";
  std::string sentence = describe("", {path, key, was, is});
  if (overruled)
    sentence += " tokenizer_config.json states this role, and holds.";
  changes.push_back(make_change(kind, place, was != nullptr ? json_text(*was) : "null",
                                is != nullptr ? json_text(*is) : "null", std::move(sentence)));
}

void compare_map(const Sides &sides, const FilePair &file, const Json &before, const Json &after,
                 const Judge &judge, Changes &changes) {
  std::set<std::string> keys;
  for (const auto &[key, value] : before.items())
    keys.insert(key);
  for (const auto &[key, value] : after.items())
    keys.insert(key);
  for (const std::string &key : keys) {
    const auto a = before.find(key);
    const auto b = after.find(key);
    const Json *was = a != before.end() ? &*a : nullptr;
    const Json *is = b != after.end() ? &*b : nullptr;
    if (was == nullptr || is == nullptr || *was != *is)
      compare_role_of_map(sides, file.path, key, was, is, judge, changes);
  }
}

/// A map of roles that came or went as a whole: where it and tokenizer_config.json name other
/// tokens, software differs in which it takes; where it alone names one, that one came or went.
/// True when something was told.
bool compare_whole_map(const Sides &sides, const std::string &path, const Json &map, bool came,
                       const Judge &judge, Changes &changes) {
  const std::string folder(read::folder_of(path));
  const std::string config_path = folder + "tokenizer_config.json";
  const Json &config = *read_document(came ? sides.after : sides.before, config_path).json;
  const Json &without = *read_document(came ? sides.before : sides.after, config_path).json;
  const auto add = [&](std::string_view kind, const std::string &key, const Json &value,
                       std::string sentence) {
    changes.push_back(make_change(kind, path + "#/" + pointer_key(key),
                                  came ? "null" : json_text(value),
                                  came ? json_text(value) : "null", std::move(sentence)));
  };
  bool told = false;
  for (const auto &[key, value] : map.items()) {
    const bool stop = key == "eos_token" && folder.empty();
    const auto stated = config.find(key);
    const std::optional<std::string> by_map = token_text(&value);
    const std::optional<std::string> by_config =
        stated != config.end() ? token_text(&*stated) : std::nullopt;
    if (by_map && by_config && by_map != by_config && (came || !stop)) {
      told = true;
      add(stop ? "stop-set.disagreement" : "tokenizer.special-token", key, value,
          fmt::format("{} was {} and {} that {} is {}; tokenizer_config.json says {}: which holds "
                      "depends on the software that loads them.",
                      plain_text(path), came ? "added" : "removed", came ? "says" : "said",
                      plain_text(key, 60), shown_text(*by_map), shown_text(*by_config)));
    } else if (!stop && stated == config.end() && !without.contains(key) &&
               judge.moves("tokenizer", config_path + "#/" + pointer_key(key))) {
      told = true;
      add("tokenizer.special-token", key, value,
          fmt::format("{} was {} and alone {} that {} is {}.", plain_text(path),
                      came ? "added" : "removed", came ? "says" : "said", plain_text(key, 60),
                      by_map ? shown_text(*by_map) : shown(value)));
    }
  }
  return told;
}

bool is_tokenizer(FileRole role) {
  constexpr auto roles = std::to_array<FileRole>(
      {FileRole::tokenizer_json, FileRole::sentencepiece, FileRole::tekken, FileRole::tiktoken,
       FileRole::vocabulary_json, FileRole::vocabulary_lines});
  return std::ranges::find(roles, role) != roles.end();
}

} // namespace

std::optional<std::string> token_text(const Json *value) {
  if (value == nullptr)
    return std::nullopt;
  if (value->is_string())
    return value->get<std::string>();
  if (value->is_object())
    if (const auto content = value->find("content");
        content != value->end() && content->is_string())
      return content->get<std::string>();
  return std::nullopt;
}

std::optional<std::string> token_text(const Json &object, const char *key) {
  const auto at = object.find(key);
  return at != object.end() ? token_text(&*at) : std::nullopt;
}

bool is_token_role(std::string_view key) {
  return key.ends_with("_token") && !key.starts_with("add_");
}

Json token_flags(const Json &value) {
  if (!value.is_object() || !token_text(&value))
    return {};
  const read::AddedToken token = added_token(0, value);
  return {{"single_word", token.single_word},
          {"lstrip", token.lstrip},
          {"rstrip", token.rstrip},
          {"normalized", token.normalized},
          {"special", token.special}};
}

namespace {

/// A token of a list in one form: its text, and the flags that change how it is matched.
Json form_of(const Json &item) {
  const std::optional<std::string> text = token_text(&item);
  if (!text)
    return item;
  const read::AddedToken token = added_token(0, item);
  if (!token.single_word && !token.lstrip && !token.rstrip)
    return *text;
  return Json{{"content", *text},
              {"single_word", token.single_word},
              {"lstrip", token.lstrip},
              {"rstrip", token.rstrip}};
}

} // namespace

std::string token_value(const Json &value) {
  if (!value.is_array())
    return token_text(&value) ? *token_text(&value) : json_text(value);
  Json list = Json::array();
  for (const Json &item : value)
    list.push_back(form_of(item));
  return json_text(list);
}

bool same_token(const Json &one, const Json &other) {
  return token_value(one) == token_value(other);
}

Json further_specials(const Json &config) {
  Json tokens = Json::array();
  for (const char *key : {old_specials, new_specials})
    if (const auto list = config.find(key); list != config.end() && !list->is_null()) {
      if (!list->is_structured())
        tokens.push_back(*list);
      else if (list->is_object() && !list->empty())
        tokens.push_back(*list);
      else
        for (const Json &item : *list)
          tokens.push_back(form_of(item));
    }
  return tokens;
}

std::string setting_kind(std::string_view key) {
  const auto row = std::ranges::find(settings, key, &SettingKey::key);
  return std::string(row != settings.end()           ? row->kind
                     : key.ends_with("_token_id")    ? "tokenizer.special-ids"
                     : key == "added_tokens_decoder" ? "tokenizer.added-tokens"
                                                     : "tokenizer.setting");
}

bool setting_stands_without(std::string_view key, const Json &value, const Json &config) {
  const auto row = std::ranges::find(settings, key, &SettingKey::key);
  if (row == settings.end())
    return false;
  if (!row->without.empty()) {
    const Json without = Json::parse(row->without);
    if (value == without || (value.is_structured() && value.empty() && without.is_structured()))
      return true;
  }
  if (value.is_null())
    return true;
  const auto stated = config.find("tokenizer_class");
  const std::string name =
      stated != config.end() && stated->is_string() ? stated->get<std::string>() : std::string();
  if (key == "add_bos_token") {
    const std::optional<bool> adds = adds_bos_by_default(name);
    return adds && value == Json(*adds);
  }
  return key == "add_prefix_space" && is_byte_level(name) && value == Json(false);
}

bool no_bound(const Json &value) {
  return value.is_number() && value.get<double>() > 1e29;
}

std::vector<read::AddedToken> listed_tokens(const Json &object) {
  std::vector<read::AddedToken> tokens;
  for (const auto &[text, id] : object.items())
    if (id.is_number_integer()) {
      read::AddedToken token;
      token.content = text;
      token.id = id.get<std::int64_t>();
      tokens.push_back(std::move(token));
    }
  std::ranges::sort(tokens, {}, &read::AddedToken::id);
  return tokens;
}

Json added_tokens_json(const std::vector<read::AddedToken> &tokens) {
  Json list = Json::array();
  for (const read::AddedToken &token : tokens)
    list.push_back({token.id, token.content, token.single_word, token.lstrip, token.rstrip,
                    token.normalized, token.special});
  return list;
}

void diff_tokenizer_settings(const Sides &sides, const FilePair &file, Changes &changes) {
  using State = Document::State;
  const Judge judge(sides.before.facts, sides.after.facts);
  const Document &before = read_document(sides.before, file.path);
  const Document &after = read_document(sides.after, file.path);
  const auto note = [&](std::string_view kind, std::string sentence) {
    changes.push_back(make_change(kind, file.path, id_text(file.before), id_text(file.after),
                                  std::move(sentence)));
  };
  if (after.state == State::malformed && before.state != State::malformed)
    return note("tokenizer.malformed",
                fmt::format("{} does not load: {}.", file.path, after.problem));
  if (before.state == State::unread || after.state == State::unread ||
      before.state == State::malformed || after.state == State::malformed) {
    const Document &bad = after.state == State::ok || after.state == State::absent ? before : after;
    return note("tokenizer.unreadable",
                fmt::format("{} differs and was not compared: {}.", file.path, bad.problem));
  }
  const bool came = before.state == State::absent;
  const bool went = after.state == State::absent;
  if (file.role == FileRole::tokenizer_config) {
    if (came && !loadable(sides.before, read::folder_of(file.path)))
      return note("tokenizer.added", fmt::format("{} was added.", file.path));
    Settings(sides, file, judge, changes)
        .compare(canonical_numbers(*before.json), canonical_numbers(*after.json));
    return;
  }
  if (came || went) {
    const std::string folder(read::folder_of(file.path));
    const auto said_elsewhere = [&](const Snapshot &snapshot) {
      return find_file(snapshot, folder + "tokenizer_config.json") != nullptr ||
             find_file(snapshot, folder + "tokenizer.json") != nullptr;
    };
    const auto has_tokenizer = [&](const Snapshot &snapshot) {
      return std::ranges::any_of(snapshot.files, [&](const FileEntry &entry) {
        const FileRole role = read::role_of(entry.path);
        return read::folder_of(entry.path) == folder &&
               (role == FileRole::tokenizer_config || is_tokenizer(role));
      });
    };
    const Side &lacking = came ? sides.before : sides.after;
    if (file.role == FileRole::special_tokens_map && has_tokenizer(lacking) &&
        said_elsewhere(lacking) &&
        compare_whole_map(sides, file.path, came ? *after.json : *before.json, came, judge,
                          changes))
      return;
    const bool harmless = came ? !has_tokenizer(sides.before) || said_elsewhere(sides.before)
                               : !has_tokenizer(sides.after) || said_elsewhere(sides.after);
    return note(harmless ? "tokenizer.default-stated" : "tokenizer.special-token",
                fmt::format("{} was {}{}", file.path, came ? "added" : "removed",
                            !harmless ? ": special tokens may differ."
                            : has_tokenizer(came ? sides.before : sides.after)
                                ? "; newer files say the same."
                                : "; there is no tokenizer beside it."));
  }
  if (file.role == FileRole::special_tokens_map)
    return compare_map(sides, file, *before.json, *after.json, judge, changes);
  if (!compare_added_tokens(file.path, listed_tokens(*before.json), listed_tokens(*after.json),
                            changes))
    note("tokenizer.serialised-form",
         fmt::format("{} is written differently and says the same.", file.path));
}

} // namespace headwater::diff

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

/// A token is written as its text or as an object with flags.
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

bool is_role(std::string_view key) {
  return key.ends_with("_token") && !key.starts_with("add_");
}

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

bool no_bound(const Json &value) {
  return value.is_number() && value.get<double>() > 1e29;
}

class Settings {
public:
  Settings(const Sides &sides, const FilePair &file, Changes &changes)
      : sides_(sides), path_(file.path), folder_(read::folder_of(file.path)), changes_(changes) {}

  void compare(const Json &before, const Json &after) {
    std::set<std::string> keys;
    for (const auto &[key, value] : before.items())
      keys.insert(key);
    for (const auto &[key, value] : after.items())
      keys.insert(key);
    const bool renamed = told_specials_renamed(before, after);
    for (const std::string &key : keys) {
      if (renamed && (key == old_specials || key == new_specials))
        continue;
      const auto left = before.find(key);
      const auto right = after.find(key);
      one(key, left != before.end() ? &*left : nullptr, right != after.end() ? &*right : nullptr);
    }
  }

private:
  static constexpr const char *old_specials = "additional_special_tokens";
  static constexpr const char *new_specials = "extra_special_tokens";

  /// The list of further special tokens goes by another name in newer libraries. True when it was
  /// told that it moved there (or back) with the same tokens.
  bool told_specials_renamed(const Json &before, const Json &after) {
    if (before.contains(old_specials) == after.contains(old_specials))
      return false;
    const auto tokens = [](const Json &config) {
      std::vector<std::optional<std::string>> texts;
      for (const char *key : {old_specials, new_specials})
        if (const auto list = config.find(key);
            list != config.end() && !list->empty() && !list->is_null()) {
          if (!list->is_array())
            return std::vector<std::optional<std::string>>{std::nullopt};
          for (const Json &token : *list)
            texts.push_back(token_text(&token));
        }
      return texts;
    };
    const auto was = tokens(before);
    if (was.empty() || was != tokens(after) ||
        !std::ranges::all_of(was, [](const auto &text) { return text.has_value(); }))
      return false;
    const bool forth = before.contains(old_specials);
    const Json &list = forth ? after[new_specials] : before[new_specials];
    const char *from = forth ? old_specials : new_specials;
    const char *to = forth ? new_specials : old_specials;
    add("tokenizer.serialised-form", to, &list, &list,
        fmt::format("{} is now called {}; the {} are the same.", from, to,
                    counted(was.size(), "token")));
    return true;
  }

  void add(std::string_view kind, const std::string &key, const Json *a, const Json *b,
           std::string sentence) {
    changes_.push_back(make_change(kind, path_ + "#/" + pointer_key(key),
                                   a != nullptr ? json_text(*a) : "null",
                                   b != nullptr ? json_text(*b) : "null", std::move(sentence)));
  }

  void one(const std::string &key, const Json *a, const Json *b) {
    if (key == "chat_template" || key == "auto_map" || (a != nullptr && b != nullptr && *a == *b))
      return;
    if (key == "added_tokens_decoder")
      return decoder(a, b);
    if (key == "model_max_length" && (a == nullptr || no_bound(*a)) &&
        (b == nullptr || no_bound(*b)))
      return stated(key, a, b);
    if (is_role(key))
      return role(key, a, b);
    if (key.ends_with("_token_id"))
      return add("tokenizer.special-ids", key, a, b,
                 describe("", {path_, key, a, b}) + " Some loaders take the id from here.");
    const auto row = std::ranges::find(settings, key, &SettingKey::key);
    if (row == settings.end())
      return add("tokenizer.setting", key, a, b, describe("", {path_, key, a, b}));
    if (!row->without.empty()) {
      const Json without = Json::parse(row->without);
      const auto says_nothing = [&](const Json *value) {
        return value == nullptr || *value == without ||
               (value->is_structured() && value->empty() && without.is_structured());
      };
      if (says_nothing(a) && says_nothing(b))
        return stated(key, a, b);
    }
    if (a == nullptr ? b->is_null() : b == nullptr && a->is_null())
      return stated(key, a, b);
    if ((a == nullptr || b == nullptr) && holds_for_the_class(key, a != nullptr ? *a : *b))
      return stated(key, a, b);
    if (key == "tokenizer_class" && same_class(a, b))
      return add(
          "tokenizer.serialised-form", key, a, b,
          fmt::format("tokenizer_class {} became {}: the same tokenizer, loaded by other code.",
                      shown(*a), shown(*b)));
    std::string sentence = describe("", {path_, key, a, b});
    if (row->kind == "tokenizer.class")
      sentence +=
          weights_same() ? " Token ids may differ, weights identical." : " Token ids may differ.";
    else if (row->kind == "tokenizer.add-bos" || row->kind == "tokenizer.add-eos")
      sentence += " Ids of existing text can change at its ends.";
    else if (row->kind == "tokenizer.decoder")
      sentence += " Ids of existing text cannot change; text made from ids may.";
    else if (row->kind == "tokenizer.text-option")
      sentence += " Ids of existing text may change.";
    add(row->kind, key, a, b, std::move(sentence));
  }

  bool weights_same() const {
    return std::ranges::none_of(sides_.files, [](const FilePair &file) {
      return file.differs && (file.role == FileRole::safetensors || file.role == FileRole::gguf ||
                              file.role == FileRole::pickle);
    });
  }

  /// What the tokenizer's class does where its config is silent.
  bool holds_for_the_class(const std::string &key, const Json &value) const {
    std::string name;
    for (const Snapshot *side : {&sides_.before, &sides_.after}) {
      const Document document = read_document(*side, path_);
      if (const auto at = document.json->find("tokenizer_class");
          name.empty() && at != document.json->end() && at->is_string())
        name = at->get<std::string>();
    }
    if (key == "add_bos_token") {
      const std::optional<bool> adds = adds_bos_by_default(name);
      return adds && value == Json(*adds);
    }
    return key == "add_prefix_space" && is_byte_level(name) && value == Json(false);
  }

  static bool same_class(const Json *a, const Json *b) {
    return a != nullptr && b != nullptr && a->is_string() && b->is_string() &&
           same_tokenizer_class(a->get_ref<const std::string &>(),
                                b->get_ref<const std::string &>());
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
      if (a != nullptr && b != nullptr && a->is_object() && b->is_object())
        return add("tokenizer.added-token-flags", key, a, b,
                   fmt::format("{} is the same token, its flags differ: {} became {}.",
                               plain_text(key, 60), shown(*a), shown(*b)));
      if (from || (a != nullptr && b != nullptr))
        return add("tokenizer.serialised-form", key, a, b,
                   fmt::format("{} is written in another form, the token is the same.",
                               plain_text(key, 60)));
      return stated(key, a, b);
    }
    // The older special_tokens_map.json holds where tokenizer_config.json says nothing.
    const auto by_map = [&](const Snapshot &snapshot) {
      const Document map =
          read_document(snapshot, std::string(folder_) + "special_tokens_map.json");
      const auto at = map.json->find(key);
      return at != map.json->end() ? token_text(&*at) : std::optional<std::string>();
    };
    if ((a == nullptr && by_map(sides_.before) == to) ||
        (b == nullptr && by_map(sides_.after) == from))
      return stated(key, a, b);
    if (key == "eos_token" && folder_.empty() && find_file(sides_.before, path_) != nullptr)
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
    } else if (find_file(b == nullptr ? sides_.after : sides_.before, tokenizer) != nullptr) {
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
  Changes &changes_;
};

/// The legacy map of roles: where tokenizer_config.json states a role, the map has no say.
void compare_map(const Sides &sides, const FilePair &file, const Json &before, const Json &after,
                 Changes &changes) {
  const std::string config = std::string(read::folder_of(file.path)) + "tokenizer_config.json";
  const Document left = read_document(sides.before, config);
  const Document right = read_document(sides.after, config);
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
    if (was != nullptr && is != nullptr && *was == *is)
      continue;
    const bool overruled = left.json->contains(key) && right.json->contains(key);
    const bool same_token =
        was != nullptr && is != nullptr && token_text(was) && token_text(was) == token_text(is);
    if (key == "eos_token" && !same_token && read::folder_of(file.path).empty())
      continue; // told with the stop set
    std::string kind = "tokenizer.special-token";
    if (same_token)
      kind = was->is_object() && is->is_object() ? "tokenizer.added-token-flags"
                                                 : "tokenizer.serialised-form";
    else if (overruled)
      kind = "tokenizer.setting";
    else if (was == nullptr || is == nullptr)
      kind = "tokenizer.default-stated";
    std::string sentence = describe("", {file.path, key, was, is});
    if (overruled)
      sentence += " tokenizer_config.json states this role, and holds.";
    changes.push_back(make_change(kind, file.path + "#/" + pointer_key(key),
                                  was != nullptr ? json_text(*was) : "null",
                                  is != nullptr ? json_text(*is) : "null", std::move(sentence)));
  }
}

/// A map of roles that came beside a tokenizer_config.json: where the two name other tokens,
/// software differs in which it takes. True when one was told.
bool compare_new_map(const std::string &path, const Json &map, const Json &config,
                     Changes &changes) {
  const bool at_root = read::folder_of(path).empty();
  bool told = false;
  for (const auto &[key, value] : map.items()) {
    const auto stated = config.find(key);
    const std::optional<std::string> by_map = token_text(&value);
    const std::optional<std::string> by_config =
        stated != config.end() ? token_text(&*stated) : std::nullopt;
    if (!by_map || !by_config || by_map == by_config)
      continue;
    told = true;
    changes.push_back(make_change(key == "eos_token" && at_root ? "stop-set.disagreement"
                                                                : "tokenizer.special-token",
                                  path + "#/" + pointer_key(key), "null", json_text(value),
                                  fmt::format("{} was added and says that {} is {}; "
                                              "tokenizer_config.json says {}: which holds depends "
                                              "on the software that loads them.",
                                              plain_text(path), plain_text(key, 60),
                                              shown_text(*by_map), shown_text(*by_config))));
  }
  return told;
}

bool is_tokenizer(FileRole role) {
  constexpr auto roles = std::to_array<FileRole>(
      {FileRole::tokenizer_json, FileRole::sentencepiece, FileRole::tekken, FileRole::tiktoken,
       FileRole::vocabulary_json, FileRole::vocabulary_lines});
  return std::ranges::find(roles, role) != roles.end();
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

} // namespace

void diff_tokenizer_settings(const Sides &sides, const FilePair &file, Changes &changes) {
  using State = Document::State;
  const Document before = read_document(sides.before, file.path);
  const Document after = read_document(sides.after, file.path);
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
    Settings(sides, file, changes)
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
    if (came && file.role == FileRole::special_tokens_map &&
        find_file(sides.before, folder + "tokenizer_config.json") != nullptr &&
        compare_new_map(file.path, *after.json,
                        *read_document(sides.after, folder + "tokenizer_config.json").json,
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
    return compare_map(sides, file, *before.json, *after.json, changes);
  if (!compare_added_tokens(file.path, listed_tokens(*before.json), listed_tokens(*after.json),
                            changes))
    note("tokenizer.serialised-form",
         fmt::format("{} is written differently and says the same.", file.path));
}

} // namespace headwater::diff

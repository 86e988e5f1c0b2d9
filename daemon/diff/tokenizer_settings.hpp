#pragma once

#include "daemon/read/tokenizer.hpp"
#include "schemas/json.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::diff {

/// The kind of change that a key of tokenizer_config.json makes.
std::string setting_kind(std::string_view key);
/// True when the same holds without the key: a default of all tokenizers, or of the class that
/// `config` names.
bool setting_stands_without(std::string_view key, const Json &value, const Json &config);
/// A length that is none.
bool no_bound(const Json &value);

/// True for a key that says which token plays a role ("pad_token").
bool is_token_role(std::string_view key);
/// A token is written as its text or as an object with flags; nothing for what is neither.
std::optional<std::string> token_text(const Json *value);
std::optional<std::string> token_text(const Json &object, const char *key);
/// The flags of a token that is written as an object, null for another.
Json token_flags(const Json &value);
/// A token, or a list of them, in one form.
std::string token_value(const Json &value);
/// True when both name the same token.
bool same_token(const Json &one, const Json &other);
/// The further special tokens of a tokenizer_config.json, by its older name for them and its newer.
Json further_specials(const Json &config);

/// The tokens of an added_tokens.json, sorted by id.
std::vector<read::AddedToken> listed_tokens(const Json &object);
/// A list of added tokens as JSON.
Json added_tokens_json(const std::vector<read::AddedToken> &tokens);

} // namespace headwater::diff

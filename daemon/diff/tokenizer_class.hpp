#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwater::diff {

/// What a tokenizer class does about a BOS token where its config is silent; nothing where that is
/// not known of the class.
std::optional<bool> adds_bos_by_default(std::string_view tokenizer_class);

/// Whether a class works on bytes and puts no space in front of a text unless it is told to.
bool is_byte_level(std::string_view tokenizer_class);

/// Whether two names are one tokenizer, loaded by other code: the fast form of a class, or what
/// newer libraries call any tokenizer.json.
bool same_tokenizer_class(std::string_view one, std::string_view other);

/// A class's name without what does not tell tokenizers apart.
std::string tokenizer_stem(std::string_view name);

} // namespace headwater::diff

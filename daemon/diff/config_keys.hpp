#pragma once

#include <string_view>

namespace headwater::diff {

/// What a key of a config means: the kind of a change of it, and its name in a sentence.
struct ConfigKey {
  std::string_view key;
  std::string_view kind;
  std::string_view noun; ///< "the longest sequence"; "" where the key itself says it best
};

/// The meaning of a key anywhere in a config.json, or null for one that we do not know.
const ConfigKey *find_config_key(std::string_view key);

/// True for a key of how text is generated; such keys stand in generation_config.json and, in old
/// files, in config.json.
bool is_generation_key(std::string_view key);

/// What transformers holds for a generation key that is left out, as JSON text; "" when it is not
/// known.
std::string_view generation_default(std::string_view key);

} // namespace headwater::diff

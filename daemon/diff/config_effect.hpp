#pragma once

#include "schemas/json.hpp"

#include <string>

namespace headwater::diff {

/// Whether a text model's code builds the same from two configs that differ in one key: the same
/// tensors, the same caches, the same windows in force. False where the code of the model type is
/// not known.
bool builds_the_same(const Json &before, const Json &after);

/// `config` with the key at `pointer` as it is in `other`, absent where it is absent there.
Json with_key_of(const Json &config, const Json &other, const std::string &pointer);

} // namespace headwater::diff

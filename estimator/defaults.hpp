#pragma once

#include <string_view>

namespace headwater::estimator {

/// What a model type takes for keys that a config leaves out, as "key=value" separated and framed
/// by spaces; lists are comma-separated. Empty for a type without a row. Figures:
/// transformers 5.24.0 config classes.
std::string_view type_defaults(std::string_view model_type);

/// The value of `key` in such a text; empty when there is none.
std::string_view default_value(std::string_view defaults, std::string_view key);

} // namespace headwater::estimator

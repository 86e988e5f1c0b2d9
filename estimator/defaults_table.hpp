#pragma once

#include <string_view>

namespace headwater::estimator {

struct DefaultsRow {
  std::string_view model_type;
  std::string_view values;
};

/// Two halves of one table, sorted by model type.
extern const DefaultsRow defaults_first[100];
extern const DefaultsRow defaults_second[100];

} // namespace headwater::estimator

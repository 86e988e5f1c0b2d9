#pragma once

#include "schemas/json.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace headwater::diff {

/// What a model type's config class takes for keys that a config.json leaves out. Figures: the
/// config classes of transformers 5.24.0, written down by make_model_defaults.py.
struct ModelDefaults {
  /// A config inside the config.
  struct Part {
    std::string model_type;
    bool stated_decides = false; ///< a model_type that the part states takes the place of this one
  };
  bool known = false; ///< the model type has a row
  std::shared_ptr<const Json>
      values; ///< in canonical form; never null; without a row what holds for all types
  std::map<std::string, Part> parts;
  std::map<std::string, std::string> names; ///< another name of a key -> its name
};

/// The row of a model type; what holds for all types for one that has none.
ModelDefaults model_defaults(std::string_view model_type);

/// The defaults at a place of a config: of the config itself for "", of a part for "/text_config"
/// and the like, as far as parts are known.
ModelDefaults defaults_at(const Json &config, std::string_view pointer);

} // namespace headwater::diff

#pragma once

#include "schemas/json.hpp"

#include <map>
#include <memory>
#include <string>

namespace headwater::diff {

/// A config.json with one spelling for each meaning: dtype (not torch_dtype), rope_parameters (not rope_scaling and
/// rope_theta), known aliases of values, whole numbers as integers. Pointers are JSON pointers.
struct CanonicalConfig {
  std::shared_ptr<const Json> json;
  std::map<std::string, std::string> moved;   ///< canonical pointer -> pointer in the file
  std::map<std::string, std::string> spelled; ///< canonical pointer -> the value's own spelling, as JSON text
};

/// Rewrites a config (and the configs inside it) in its canonical form.
CanonicalConfig canonical_config(const Json &config);

} // namespace headwater::diff

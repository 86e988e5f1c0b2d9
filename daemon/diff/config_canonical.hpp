#pragma once

#include "schemas/json.hpp"

#include <map>
#include <memory>
#include <string>

namespace headwater::diff {

/// A config.json with one spelling for each meaning: dtype (not torch_dtype), rope_parameters (not
/// rope_scaling and rope_theta), known aliases of values, whole numbers as integers. Pointers are
/// JSON pointers.
struct CanonicalConfig {
  std::shared_ptr<const Json> json;
  std::map<std::string, std::string> moved; ///< canonical pointer -> pointer in the file
  std::map<std::string, std::string>
      spelled; ///< canonical pointer -> the value's own spelling, as JSON text
};

/// True for a key beside `rope_parameters` of a canonical config that says what they say.
bool repeats_rope(const Json &config, const std::string &key);

/// Rewrites a config (and the configs inside it) in its canonical form, for comparison with
/// `other`: what a model type calls by other names is renamed where both are of types that agree on
/// it.
CanonicalConfig canonical_config(const Json &config, const Json &other);

/// Lifts the keys of `text_config` to the top, where older libraries wrote them: for comparison
/// with a config that keeps them there. A key that stands at the top too, with another value, stays
/// where it is.
void lift_text_config(CanonicalConfig &config);

} // namespace headwater::diff

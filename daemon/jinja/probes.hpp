#pragma once

#include "daemon/jinja/jinja.hpp"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace headwater::jinja {

/// A conversation that shows one ability of a chat template.
struct Probe {
  std::string id;
  std::string ability;   ///< in a few words, for a person
  bool ordinary = true;  ///< false for what no real request sends: a failure there hurts nobody
  std::string variables; ///< JSON text of the variables
};

/// The probe conversations of schemas/probes.json, in its order.
const std::vector<Probe> &probe_conversations();

} // namespace headwater::jinja

#pragma once

#include "estimator/architecture.hpp"
#include "estimator/config.hpp"

namespace headwater::estimator {

/// Finds what reads the config's model type and reads it; leaves reading unknown, with a note,
/// where nothing does.
void read_family(Config &config, Architecture &architecture, ReadErrors &errors);

} // namespace headwater::estimator

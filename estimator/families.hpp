#pragma once

#include "estimator/architecture.hpp"
#include "estimator/config.hpp"

#include <string_view>

namespace headwater::estimator {

/// Finds what reads the config's model type and reads it; leaves reading unknown, with a note,
/// where nothing does.
void read_family(Config &config, Architecture &architecture, ReadErrors &errors);

/// Each reads the configs of its own table of model types; false for a type that is not in it.
bool read_bert(const Config &config, Architecture &architecture, ReadErrors &errors);
bool read_bart(const Config &config, Architecture &architecture, ReadErrors &errors);
bool read_singular(const Config &config, Architecture &architecture, ReadErrors &errors);
bool read_t5(const Config &config, Architecture &architecture, ReadErrors &errors);

/// The first entry of `architectures`, empty when there is none.
std::string_view first_architecture(const Config &config);

} // namespace headwater::estimator

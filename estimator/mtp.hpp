#pragma once

#include "estimator/decoder.hpp"

namespace headwater::estimator {

/// Adds the multi-token-prediction layers that the family's published files hold beside the model's
/// own.
void add_mtp_layers(Decoder &decoder);

} // namespace headwater::estimator

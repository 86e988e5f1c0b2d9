#pragma once

#include "estimator/cards.hpp"
#include "estimator/structure.hpp"

#include <cstdint>

namespace headwater::estimator {

/// Dollars for one fine-tuning run on one card, as the reference pages price it: ten passes over
/// 50,000 sequences in batches of 32, at 35 % of the card's bf16 rate or 80 % of its bandwidth,
/// whichever is slower, 5 ms a step and a minute to start. Experts count as full-width gated ones
/// whatever their latent width; a tied head is not counted.
double one_run_usd(const Graph &graph, const Card &card, std::int64_t seq);

/// Multiply-accumulates for one token among `seq`.
double macs_per_token(const Graph &graph, std::int64_t seq);

} // namespace headwater::estimator

#pragma once

#include "estimator/memory.hpp"
#include "estimator/structure.hpp"
#include "schemas/plan.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// A GPU: memory as the card table rounds it, dense bf16 rate, bandwidth, list price an hour on
/// demand.
struct Card {
  std::string_view name;        ///< "L4 24 GB"
  std::string_view phrase_name; ///< name in a sentence
  std::string_view price_name;  ///< name beside a price
  double bytes = 0;
  double flops = 0;
  double bytes_per_second = 0;
  double usd_per_hour = 0;
  bool in_table = false;
};

/// All cards known, by memory.
std::span<const Card> cards();
/// Finds a card by any of its names, whole or without the memory, in any case ("l4", "A100 40 GB",
/// "H100"); null when unknown.
const Card *find_card(std::string_view name);
/// The card that runs are priced on unless told otherwise.
const Card &pricing_card();

/// Room kept free on a card: an estimate fits when it is at most bytes / headroom.
inline constexpr double headroom = 1.15;

/// One use on one card: the largest batch, and whether batch 1 holds only as estimated. Serving is
/// never borderline.
CardFit fit(const Card &card, const Need &need, bool serving);
/// Full fine-tune split by layer over two cards: nodes in order fill the first while they fit, the
/// rest must fit the second. Kind::no when they do not.
CardFit split(const Card &card, const Graph &graph, std::int64_t seq, const Regime &regime,
              MemoryModel model);
/// "at least 6 x H200 or 9 x 80 GB" for bytes at batch 1.
std::string sharded(double bytes);
/// "fits one T4 16 GB", "borderline on one ...", "2 x H200 141 GB, split by layer", "at least 6 x
/// H200 sharded".
std::string fits_phrase(const std::vector<PlanCard> &rows, CardFit PlanCard::*use, double bytes);

} // namespace headwater::estimator

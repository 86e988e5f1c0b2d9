#include "estimator/cards.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

namespace headwater::estimator {
namespace {

constexpr double gigabyte = 1e9;
constexpr double sharded_large_card = 141 * gigabyte;
constexpr double sharded_small_card = 80 * gigabyte;

constexpr std::array<Card, 9> card_rows = {{
    {"T4 16 GB", "T4 16 GB", "T4 (16GB)", 16 * gigabyte, 65e12, 320e9, 0.59, true},
    {"L4 24 GB", "L4 24 GB", "L4 (24GB)", 24 * gigabyte, 121e12, 300e9, 0.80, true},
    {"A10G 24 GB", "A10G 24 GB", "A10G (24GB)", 24 * gigabyte, 70e12, 600e9, 1.10, false},
    {"A100 40 GB", "A100 40 GB", "A100 (40GB)", 40 * gigabyte, 312e12, 1555e9, 2.10, true},
    {"L40S 48 GB", "L40S 48 GB", "L40S (48GB)", 48 * gigabyte, 181e12, 864e9, 1.95, false},
    {"A100 / H100 80 GB", "A100 80 GB", "A100 (80GB)", 80 * gigabyte, 312e12, 2039e9, 2.50, true},
    {"A100 80 GB", "A100 80 GB", "A100 (80GB)", 80 * gigabyte, 312e12, 2039e9, 2.50, false},
    {"H100 80 GB", "H100 80 GB", "H100 (80GB)", 80 * gigabyte, 989e12, 3350e9, 3.95, false},
    {"H200 141 GB", "H200 141 GB", "H200 (141GB)", 141 * gigabyte, 989e12, 4800e9, 4.54, true},
}};

/// Letters and digits alone, small.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      result.push_back(static_cast<char>(std::tolower(byte)));
  }
  return result;
}

const Card *find_row(std::string_view name) {
  for (const Card &card : card_rows) {
    if (card.name == name)
      return &card;
  }
  return nullptr;
}

} // namespace

std::span<const Card> cards() {
  return card_rows;
}

const Card *find_card(std::string_view name) {
  const std::string wanted = plain(name);
  if (wanted.empty())
    return nullptr;
  for (const Card &card : card_rows) {
    const std::string_view family = card.name.substr(0, card.name.find(' '));
    const bool combined = card.name.find('/') != std::string_view::npos;
    if (plain(card.name) == wanted ||
        (!combined && (plain(card.price_name) == wanted || plain(family) == wanted))) {
      return &card;
    }
  }
  return nullptr;
}

const Card &pricing_card() {
  return *find_row("A10G 24 GB");
}

CardFit fit(const Card &card, const Need &need, bool serving) {
  CardFit result;
  const double usable = card.bytes / headroom;
  if (need.at(1) > usable)
    return result;
  result.kind = CardFit::Kind::one;
  if (need.per_sample > 0) {
    result.batch = static_cast<std::int64_t>(
        std::clamp(std::floor((usable - need.fixed) / need.per_sample), 1.0, 1e15));
  }
  result.borderline = !serving && need.at(1) * peak_factor * headroom > card.bytes;
  return result;
}

CardFit split(const Card &card, const Graph &graph, std::int64_t seq, const Regime &regime,
              MemoryModel model) {
  const Training training = regime.pure_bf16 ? Training::pure_bf16 : Training::full;
  const double per_parameter = state_bytes_per_parameter(regime, model);
  const double usable = card.bytes / headroom;
  double first = 0;
  double second = 0;
  std::int64_t first_layers = 0;
  std::int64_t second_layers = 0;
  for (const Node &node : graph.nodes) {
    double bytes = per_parameter * static_cast<double>(node.parameters) +
                   activation_bytes(node, seq, training, model);
    if (model == MemoryModel::physical)
      bytes += node.physical[training].fixed;
    if (node.type == NodeType::input || node.type == NodeType::output) {
      second += bytes;
    } else if (second_layers == 0 && first + bytes <= usable) {
      first += bytes;
      ++first_layers;
    } else {
      second += bytes;
      ++second_layers;
    }
  }
  if (first_layers == 0 || second > usable)
    return {};
  return {.kind = CardFit::Kind::two, .first_layers = first_layers, .second_layers = second_layers};
}

std::string sharded(double bytes) {
  return fmt::format("at least {:.0f} x H200 or {:.0f} x 80 GB",
                     std::ceil(bytes * headroom / sharded_large_card),
                     std::ceil(bytes * headroom / sharded_small_card));
}

std::string fits_phrase(const std::vector<PlanCard> &rows, CardFit PlanCard::*use, double bytes) {
  const auto phrase_name = [](const PlanCard &row) {
    const Card *card = find_row(row.card);
    return card != nullptr ? card->phrase_name : std::string_view(row.card);
  };
  for (const PlanCard &row : rows) {
    const CardFit &fit = row.*use;
    if (fit.kind != CardFit::Kind::one)
      continue;
    return fmt::format("{} one {}", fit.borderline ? "borderline on" : "fits", phrase_name(row));
  }
  for (const PlanCard &row : rows) {
    if ((row.*use).kind != CardFit::Kind::two)
      continue;
    return fmt::format("2 x {}, split by layer", phrase_name(row));
  }
  return fmt::format("at least {:.0f} x H200 sharded",
                     std::ceil(bytes * headroom / sharded_large_card));
}

} // namespace headwater::estimator

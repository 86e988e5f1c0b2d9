#include "estimator/plan.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

/// "1.03 -> 0.52 GB", or both with their unit where the units differ.
std::string moved(const std::string &before, const std::string &after) {
  const std::size_t from = before.rfind(' ');
  const std::size_t to = after.rfind(' ');
  if (from != std::string::npos && to != std::string::npos &&
      before.substr(from) == after.substr(to)) {
    return fmt::format("{} -> {}", before.substr(0, from), after);
  }
  return fmt::format("{} -> {}", before, after);
}

std::string quoted(const std::string &text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct ByteFigure {
  std::string_view figure;
  std::string_view name;
  std::int64_t PlanMemory::*value;
};

constexpr std::array<ByteFigure, 7> byte_figures = {{
    {"memory.full_fine_tune_bytes", "full fine-tune", &PlanMemory::full_fine_tune_bytes},
    {"memory.lora_bytes", "LoRA", &PlanMemory::lora_bytes},
    {"memory.serve_weights_bytes", "weights to serve", &PlanMemory::serve_weights_bytes},
    {"memory.kv_cache_bytes", "KV cache", &PlanMemory::kv_cache_bytes},
    {"memory.recurrent_state_bytes", "recurrent state", &PlanMemory::recurrent_state_bytes},
    {"memory.conservative_bytes", "conservative peak", &PlanMemory::conservative_bytes},
    {"memory.lora_conservative_bytes", "conservative LoRA peak",
     &PlanMemory::lora_conservative_bytes},
}};

void compare_count(std::vector<PlanChange> &changes, std::string_view figure, std::string_view name,
                   std::int64_t before, std::int64_t after) {
  if (before == after)
    return;
  std::string from = print_parameters(before);
  std::string to = print_parameters(after);
  if (from == to) {
    from = fmt::to_string(before);
    to = fmt::to_string(after);
  }
  changes.push_back({std::string(figure), fmt::to_string(before), fmt::to_string(after),
                     fmt::format("{} {} -> {}", name, from, to)});
}

void compare_memory(std::vector<PlanChange> &changes, const PlanMemory &before,
                    const PlanMemory &after) {
  for (const ByteFigure &row : byte_figures) {
    const std::int64_t from = before.*row.value;
    const std::int64_t to = after.*row.value;
    const std::string from_text = print_bytes(static_cast<double>(from));
    const std::string to_text = print_bytes(static_cast<double>(to));
    if (from_text == to_text)
      continue;
    std::string name(row.name);
    if (row.value == &PlanMemory::kv_cache_bytes) {
      name += fmt::format(" at {} tokens", after.serve_seq);
      if (before.serve_seq != after.serve_seq)
        name += fmt::format(" (was {})", before.serve_seq);
    }
    changes.push_back({std::string(row.figure), fmt::to_string(from), fmt::to_string(to),
                       fmt::format("{} {}", name, moved(from_text, to_text))});
  }
}

std::string fit_sentence(std::string_view use, const std::string &card, const CardFit &before,
                         const CardFit &after) {
  using Kind = CardFit::Kind;
  if (before.kind != Kind::no && after.kind == Kind::no) {
    return fmt::format("{} no longer fits {}", use, card);
  }
  if (before.kind == Kind::no && after.kind != Kind::no) {
    return fmt::format("{} now fits {}{}", use, card,
                       after.kind == Kind::two ? ", split over two" : "");
  }
  if (before.kind == Kind::one && after.kind == Kind::two) {
    return fmt::format("{} needs two {} where one was enough", use, card);
  }
  if (before.kind == Kind::two && after.kind == Kind::one) {
    return fmt::format("{} fits one {} where two were needed", use, card);
  }
  return fmt::format("{} on {}: {} -> {}", use, card, to_string(before), to_string(after));
}

void compare_cards(std::vector<PlanChange> &changes, const Plan &before, const Plan &after) {
  struct Use {
    std::string_view key;
    std::string_view name;
    CardFit PlanCard::*fit;
  };
  constexpr std::array<Use, 3> uses = {{{"full", "full fine-tune", &PlanCard::full},
                                        {"lora", "LoRA", &PlanCard::lora},
                                        {"serve", "serving", &PlanCard::serve}}};
  for (const PlanCard &row : after.cards) {
    const auto old = std::find_if(before.cards.begin(), before.cards.end(),
                                  [&](const PlanCard &card) { return card.card == row.card; });
    if (old == before.cards.end())
      continue;
    for (const Use &use : uses) {
      const CardFit &from = (*old).*use.fit;
      const CardFit &to = row.*use.fit;
      if (from == to)
        continue;
      changes.push_back({fmt::format("cards.{}.{}", row.card, use.key), quoted(to_string(from)),
                         quoted(to_string(to)), fit_sentence(use.name, row.card, from, to)});
    }
  }
}

void compare_findings(std::vector<PlanChange> &changes, const Plan &before, const Plan &after) {
  const auto has = [](const Plan &plan, const PlanFinding &finding) {
    return std::any_of(plan.findings.begin(), plan.findings.end(),
                       [&](const PlanFinding &other) { return other.id == finding.id; });
  };
  for (const PlanFinding &finding : after.findings) {
    if (has(before, finding))
      continue;
    changes.push_back({"findings." + finding.id, "null", quoted(finding.severity),
                       fmt::format("new finding {}: {}", finding.id, finding.message)});
  }
  for (const PlanFinding &finding : before.findings) {
    if (has(after, finding))
      continue;
    changes.push_back({"findings." + finding.id, quoted(finding.severity), "null",
                       fmt::format("finding {} is gone", finding.id)});
  }
}

} // namespace

std::vector<PlanChange> plan_changes(const Plan &before, const Plan &after) {
  std::vector<PlanChange> changes;
  if (before.reading != after.reading) {
    changes.push_back({"reading", quoted(before.reading), quoted(after.reading),
                       fmt::format("reading {} -> {}", before.reading, after.reading)});
  }
  if (before.parameters && after.parameters) {
    compare_count(changes, "parameters.total", "parameters", before.parameters->total,
                  after.parameters->total);
    compare_count(changes, "parameters.active", "active parameters", before.parameters->active,
                  after.parameters->active);
    compare_count(changes, "parameters.mtp", "multi-token-prediction parameters",
                  before.parameters->mtp, after.parameters->mtp);
  }
  if (before.memory && after.memory) {
    compare_memory(changes, *before.memory, *after.memory);
    compare_cards(changes, before, after);
  }
  if (before.cost && after.cost && before.cost->card == after.cost->card) {
    const std::string from = fmt::format("{:.2f}", before.cost->one_run_usd);
    const std::string to = fmt::format("{:.2f}", after.cost->one_run_usd);
    if (from != to) {
      changes.push_back({"cost.one_run_usd", from, to,
                         fmt::format("one run on {} ${} -> ${}", after.cost->card, from, to)});
    }
  }
  if (before.context != after.context && before.context > 0 && after.context > 0) {
    changes.push_back({"context", fmt::to_string(before.context), fmt::to_string(after.context),
                       fmt::format("context {} -> {} tokens", with_thousands(before.context),
                                   with_thousands(after.context))});
  }
  if (before.layers != after.layers && before.layers > 0 && after.layers > 0) {
    changes.push_back({"layers", fmt::to_string(before.layers), fmt::to_string(after.layers),
                       fmt::format("layers {} -> {}", before.layers, after.layers)});
  }
  if (before.memory && after.memory)
    compare_findings(changes, before, after);
  return changes;
}

} // namespace headwater::estimator

#include "estimator/plan.hpp"

#include "estimator/cards.hpp"
#include "estimator/cost.hpp"
#include "estimator/findings.hpp"
#include "estimator/structure.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

constexpr std::int64_t largest_sequence = std::int64_t{1} << 31;
constexpr std::int64_t largest_batch = std::int64_t{1} << 20;
/// Beyond it sums of counts would not fit 64 bits.
constexpr std::int64_t largest_model = 1'000'000'000'000'000'000;

/// Whole bytes; beyond a third of what 64 bits hold that third, so that three parts have a sum.
std::int64_t whole(double value) {
  constexpr double most = 3e18;
  return static_cast<std::int64_t>(std::round(std::clamp(value, 0.0, most)));
}

std::string card_names() {
  std::string names;
  for (const Card &card : cards()) {
    if (!names.empty())
      names += ", ";
    names += card.name;
  }
  return names;
}

Result<const Card *> chosen_card(const PlanOptions &options) {
  const auto bounded = [](std::int64_t value, std::int64_t most) {
    return value >= 1 && value <= most;
  };
  if (!bounded(options.batch, largest_batch)) {
    return fail(Errc::bad_input,
                fmt::format("batch {} is not between 1 and {}", options.batch, largest_batch));
  }
  for (const std::int64_t seq : {options.train_seq, options.serve_seq}) {
    if (!bounded(seq, largest_sequence)) {
      return fail(Errc::bad_input,
                  fmt::format("sequence length {} is not between 1 and {}", seq, largest_sequence));
    }
  }
  if (options.card.empty())
    return nullptr;
  const Card *card = find_card(options.card);
  if (card == nullptr) {
    return fail(Errc::bad_input, fmt::format("card \"{}\" is not known; known: {}",
                                             options.card.substr(0, 40), card_names()));
  }
  return card;
}

/// The needs of a model under one memory model.
struct Needs {
  Need full;
  LoraNeed lora;
};

Needs needs_of(const Graph &graph, const PlanOptions &options, MemoryModel model) {
  return {full_fine_tune(graph, options.train_seq, options.regime, model),
          lora(graph, options.train_seq, options.regime, model)};
}

PlanMemory memory_of(const PlanOptions &options, const Needs &reference, const Needs &physical,
                     const ServeNeed &serving) {
  const Needs &shown = options.memory_model == MemoryModel::physical ? physical : reference;
  const double batch = static_cast<double>(options.batch);
  PlanMemory memory;
  memory.model = to_string(options.memory_model);
  memory.batch = options.batch;
  memory.train_seq = options.train_seq;
  memory.serve_seq = options.serve_seq;
  memory.full_states_bytes = whole(shown.full.fixed);
  memory.full_activation_bytes = whole(shown.full.per_sample * batch);
  memory.full_fine_tune_bytes = memory.full_states_bytes + memory.full_activation_bytes;
  memory.lora_base_bytes = whole(shown.lora.base);
  memory.lora_adapter_bytes = whole(shown.lora.adapters);
  memory.lora_activation_bytes = whole(shown.lora.per_sample * batch);
  memory.lora_bytes =
      memory.lora_base_bytes + memory.lora_adapter_bytes + memory.lora_activation_bytes;
  memory.serve_weights_bytes = whole(serving.weights);
  memory.kv_cache_bytes = whole(serving.kv_cache * batch);
  memory.recurrent_state_bytes = whole(serving.recurrent_state * batch);
  memory.serve_bytes =
      memory.serve_weights_bytes + memory.kv_cache_bytes + memory.recurrent_state_bytes;
  memory.reference_bytes = whole(reference.full.at(options.batch));
  memory.physical_bytes = whole(physical.full.at(options.batch));
  memory.conservative_bytes = whole(
      std::max(peak_factor * reference.full.at(options.batch), physical.full.at(options.batch)));
  memory.lora_conservative_bytes =
      whole(std::max(peak_factor * reference.lora.need().at(options.batch),
                     physical.lora.need().at(options.batch)));
  for (const ServeCache &cache : serving.caches) {
    memory.caches.push_back({.kind = cache.kind,
                             .layers = cache.layers,
                             .bytes_per_token = whole(cache.bytes_per_token),
                             .bytes = whole(cache.bytes * batch)});
  }
  return memory;
}

void fill_cards(Plan &plan, const Graph &graph, const PlanOptions &options, const Card *only,
                const Needs &needs, const ServeNeed &serving) {
  const Need lora_need = needs.lora.need();
  const Need serve_need = serving.need();
  for (const Card &card : cards()) {
    if (only != nullptr ? &card != only : !card.in_table)
      continue;
    PlanCard row;
    row.card = card.name;
    row.full = fit(card, needs.full, false);
    if (row.full.kind == CardFit::Kind::no) {
      row.full = split(card, graph, options.train_seq, options.regime, options.memory_model);
    }
    row.lora = fit(card, lora_need, false);
    row.serve = fit(card, serve_need, true);
    plan.cards.push_back(std::move(row));
  }
  const auto nowhere = [&](CardFit PlanCard::*use) {
    return std::all_of(plan.cards.begin(), plan.cards.end(),
                       [&](const PlanCard &row) { return (row.*use).kind == CardFit::Kind::no; });
  };
  if (nowhere(&PlanCard::full))
    plan.sharded.full = sharded(needs.full.at(1));
  if (nowhere(&PlanCard::lora))
    plan.sharded.lora = sharded(lora_need.at(1));
  if (nowhere(&PlanCard::serve))
    plan.sharded.serve = sharded(serve_need.at(1));
  plan.summary = {
      .full_fine_tune = print_bytes(needs.full.at(1)),
      .full_fine_tune_fits = fits_phrase(plan.cards, &PlanCard::full, needs.full.at(1)),
      .lora = print_bytes(lora_need.at(1)),
      .lora_fits = fits_phrase(plan.cards, &PlanCard::lora, lora_need.at(1)),
      .serve = print_bytes(serve_need.at(1)),
      .serve_fits = fits_phrase(plan.cards, &PlanCard::serve, serve_need.at(1)),
  };
}

/// Takes the names out of the graph.
void fill_structure(Plan &plan, Graph &graph) {
  plan.layers = layer_count(graph);
  plan.structure.reserve(graph.nodes.size());
  for (Node &node : graph.nodes) {
    PlanNode &row = plan.structure.emplace_back();
    row.name = std::move(node.name);
    row.shape.reserve(3);
    row.type = label(node.type);
    row.shape.push_back(1);
    if (graph.context > 0)
      row.shape.push_back(graph.context);
    if (node.type != NodeType::input)
      row.shape.push_back(node.width);
  }
}

void fill_findings(Plan &plan, const Graph &graph, const PlanOptions &options) {
  for (PlanFinding &finding : check_structure(graph)) {
    if (std::find(options.muted.begin(), options.muted.end(), finding.id) == options.muted.end()) {
      plan.findings.push_back(std::move(finding));
    } else if (plan.muted.empty() || plan.muted.back() != finding.id) {
      plan.muted.push_back(finding.id);
    }
  }
}

std::string quantisation_note(const Json &config) {
  if (!config.is_object())
    return {};
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object())
    return {};
  std::string method;
  for (const char *key : {"quant_method", "quant_algo"}) {
    const auto word = found->find(key);
    if (word != found->end() && word->is_string())
      method = word->get<std::string>().substr(0, 40);
    if (!method.empty())
      break;
  }
  const bool plain = std::all_of(method.begin(), method.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return fmt::format(
      "The published files are quantised{}: counts and memory are of the model at 16 bits.",
      method.empty() || !plain ? "" : " (" + method + ")");
}

bool routed_experts(const Graph &graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node &node) { return node.experts > 0; });
}

bool unnamed_choice(const Graph &graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node &node) {
    return node.experts > 0 && node.experts_per_token == 0;
  });
}

void fill_ground(Plan &plan, const Graph &graph, const Json &config, const PlanOptions &options) {
  plan.regime = describe(options.regime, options.memory_model);
  plan.rests_on.push_back("Counts: every weight tensor that this config builds, by name and shape; "
                          "tied weights once, buffers apart.");
  if (options.memory_model == MemoryModel::reference) {
    plan.rests_on.push_back(fmt::format(
        "Activations: estimated by the reference forms, calibrated on published pages; peaks "
        "measured on hardware reach {} times the "
        "estimate{}.",
        peak_factor, routed_experts(graph) ? "; the outputs of routed experts are left out" : ""));
  } else {
    plan.rests_on.push_back("Activations: all that autograd keeps, by forms measured with "
                            "transformers, routed experts included; state-space layers by "
                            "what their fused kernels save, not measured.");
  }
  plan.rests_on.push_back(fmt::format(
      "Conservative peak: the larger of {} x reference and the physical model.", peak_factor));
  plan.rests_on.push_back(fmt::format(
      "Serving: caches and states in 16 bits{}. Fits with 15 % of a card kept free.",
      plan.parameters && plan.parameters->mtp > 0 ? "; the multi-token-prediction layer keeps none"
                                                  : ""));
  plan.rests_on.push_back("Cost: list price, 10 epochs of 50,000 sequences in batches of 32.");
  if (unnamed_choice(graph)) {
    plan.rests_on.push_back(
        "The config does not say how many experts a token uses: the cost takes 6.");
  }
  std::string quantised = quantisation_note(config);
  if (!quantised.empty())
    plan.rests_on.push_back(std::move(quantised));
}

void fill_from_headers(Plan &plan, const PlanOptions &options) {
  if (!options.stored_scalars)
    return;
  plan.parameters = PlanParameters{
      .stored = options.stored_scalars, .published = options.published_scalars, .delta = {}};
  plan.reading = to_string(Reading::headers);
  plan.rests_on.push_back("Counts: what the checkpoint's headers hold; nothing that depends on the "
                          "architecture is estimated.");
}

std::optional<std::int64_t> context_of(const Architecture &architecture) {
  if (architecture.max_positions > 0)
    return architecture.max_positions;
  return std::nullopt;
}

} // namespace

Result<Plan> plan_of(const Architecture &architecture, const Json &config,
                     const PlanOptions &options) {
  const Result<const Card *> only = chosen_card(options);
  if (!only)
    return std::unexpected(only.error());
  Plan plan;
  plan.model_type = architecture.model_type;
  plan.family = architecture.family;
  plan.reading = to_string(architecture.reading);
  plan.reading_note = architecture.reading_note;
  plan.custom_code = architecture.custom_code;
  plan.context = context_of(architecture).value_or(0);
  if (architecture.reading == Reading::unknown) {
    fill_from_headers(plan, options);
    return plan;
  }

  const Counts &counts = architecture.counts;
  if (counts.total > largest_model) {
    return fail(Errc::malformed,
                fmt::format("{} parameters are more than a plan can be made for", counts.total));
  }
  PlanParameters parameters = {.total = counts.total,
                               .mtp = counts.mtp,
                               .buffers = counts.buffers,
                               .embedding = counts.embedding,
                               .active = counts.active,
                               .stored = options.stored_scalars,
                               .published = options.published_scalars};
  if (parameters.published)
    parameters.delta = print_delta(counts.total, *parameters.published);
  plan.parameters = std::move(parameters);
  if (options.tensors) {
    Result<std::vector<Tensor>> expanded = expand(architecture.tensors);
    if (!expanded)
      return std::unexpected(expanded.error());
    plan.tensors.reserve(expanded->size());
    for (Tensor &tensor : *expanded) {
      plan.tensors.push_back(
          {std::move(tensor.name), std::move(tensor.shape), std::move(tensor.tied_to)});
    }
  }
  if (architecture.layers.empty() && architecture.encoder_layers.empty())
    return plan;

  Graph graph = draw(architecture);
  const Needs reference = needs_of(graph, options, MemoryModel::reference);
  const Needs physical = needs_of(graph, options, MemoryModel::physical);
  const ServeNeed serving = serve(architecture, options.serve_seq);
  plan.memory = memory_of(options, reference, physical, serving);
  fill_cards(plan, graph, options, *only,
             options.memory_model == MemoryModel::physical ? physical : reference, serving);
  const Card &priced = *only != nullptr ? **only : pricing_card();
  plan.cost = {.card = std::string(priced.price_name),
               .one_run_usd =
                   std::round(100 * one_run_usd(graph, priced, options.train_seq)) / 100};
  fill_findings(plan, graph, options);
  fill_ground(plan, graph, config, options);
  fill_structure(plan, graph);
  return plan;
}

Result<Plan> plan(const Json &config, const PlanOptions &options) {
  const Result<Architecture> architecture = derive(config);
  if (!architecture)
    return std::unexpected(architecture.error());
  return plan_of(*architecture, config, options);
}

} // namespace headwater::estimator

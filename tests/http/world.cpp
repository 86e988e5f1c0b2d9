#include "tests/http/world.hpp"

#include "schemas/plan.hpp"

#include <nlohmann/json.hpp>

namespace headwater::http {

std::string sample_plan() {
  Plan plan;
  plan.source = "acme/tiny";
  plan.model_type = "llama";
  plan.family = "llama";
  plan.reading = "exact";
  plan.reading_note = "read from config.json";
  plan.context = 131'072;
  PlanParameters parameters;
  parameters.total = 1'235'814'400;
  parameters.embedding = 262'668'288;
  parameters.active = 1'235'814'400;
  plan.parameters = parameters;
  PlanMemory memory;
  memory.full_fine_tune_bytes = 26'722'000'000;
  memory.lora_bytes = 5'682'800'000;
  memory.serve_bytes = 2'605'000'000;
  memory.serve_weights_bytes = 2'471'628'800;
  memory.kv_cache_bytes = 134'217'728;
  plan.memory = memory;
  plan.summary = {"26.7 GB", "borderline on one A100 40 GB",
                  "5.68 GB", "fits one T4 16 GB",
                  "2.61 GB", "fits one T4 16 GB"};
  CardFit none;
  CardFit three;
  three.kind = CardFit::Kind::one;
  three.batch = 3;
  three.borderline = true;
  plan.cards = {{"T4 16 GB", none, three, three}, {"A100 40 GB", three, three, three}};
  plan.cost = PlanCost{"A10G", 79.79};
  plan.layers = 3;
  plan.structure = {{"Input", "Input", {1, 131'072}},
                    {"Embedding", "Embedding", {1, 131'072, 2048}},
                    {"RoPE", "RoPE", {1, 131'072, 2048}}};
  plan.findings = {{"deep-attention-default-init", "info", "16 attention layers",
                    "scale the initialisation with depth"}};
  plan.regime = "fp32 master weights, gradients and AdamW moments, 16 bytes a parameter, 1.2 times";
  plan.rests_on = {"config.json"};
  return to_json(plan).dump();
}

} // namespace headwater::http

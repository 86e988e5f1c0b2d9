// Both memory models beside peaks that others have published, row by row: what was run, measured
// GB, estimates and their ratio to the measurement. Published setups differ from a plan's in what
// the note says; the table shows how far each model can be trusted, it asserts nothing.

#include "estimator/plan.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using headwater::Json;
using namespace headwater::estimator;

constexpr double gibibyte = 1.073741824;

struct Dimensions {
  std::int64_t hidden, intermediate, layers, heads, kv_heads, vocabulary;
};

Json config(const std::string &model_type, const Dimensions &d, bool tied) {
  return {{"model_type", model_type},
          {"hidden_size", d.hidden},
          {"intermediate_size", d.intermediate},
          {"num_hidden_layers", d.layers},
          {"num_attention_heads", d.heads},
          {"num_key_value_heads", d.kv_heads},
          {"vocab_size", d.vocabulary},
          {"max_position_embeddings", 4096},
          {"tie_word_embeddings", tied}};
}

const Json phi = config("phi", {2048, 8192, 24, 32, 32, 51200}, false);
const Json stablelm = config("gpt_neox", {4096, 16384, 16, 32, 32, 50688}, false);
const Json llama_7b = config("llama", {4096, 11008, 32, 32, 32, 32000}, false);
const Json llama_13b = config("llama", {5120, 13824, 40, 40, 40, 32000}, false);
const Json llama_8b = config("llama", {4096, 14336, 32, 32, 8, 128256}, false);
const Json llama_3b = config("llama", {3072, 8192, 28, 24, 8, 128256}, true);

enum class Use { full, lora, serve_weights };

struct Row {
  std::string what;
  const Json &config;
  Use use;
  std::int64_t batch;
  std::int64_t tokens;
  Regime regime;
  double measured_gb;
  std::string note = {};
};

std::vector<Row> rows() {
  const Regime plain = {};
  const Regime qlora = {.qlora = true};
  const Regime bf16 = {.pure_bf16 = true};
  const Regime bf16_checkpointed = {.pure_bf16 = true, .checkpointing = true};
  const Regime bf16_checkpointed_8bit = {
      .pure_bf16 = true, .adam_8bit = true, .checkpointing = true};
  const std::string q_and_v = "adapters r 8 on q and v only";
  const std::string q_and_v_gelu = q_and_v + ", GELU in one step";
  return {
      {"phi-1.5 LoRA", phi, Use::lora, 1, 1044, plain, 4.82, q_and_v_gelu},
      {"phi-1.5 LoRA", phi, Use::lora, 2, 1044, plain, 6.76, q_and_v_gelu},
      {"phi-1.5 LoRA", phi, Use::lora, 4, 1044, plain, 10.68, q_and_v_gelu},
      {"StableLM-alpha-3B LoRA", stablelm, Use::lora, 1, 1034, plain, 9.69, q_and_v},
      {"StableLM-alpha-3B LoRA", stablelm, Use::lora, 2, 1034, plain, 12.10, q_and_v},
      {"StableLM-alpha-3B LoRA", stablelm, Use::lora, 4, 1034, plain, 16.92, q_and_v},
      {"Llama-2-7B LoRA", llama_7b, Use::lora, 1, 1304, plain, 21.30, q_and_v},
      {"Llama-2-7B LoRA", llama_7b, Use::lora, 2, 1304, plain, 29.07, q_and_v},
      {"Llama-2-13B LoRA", llama_13b, Use::lora, 1, 1304, plain, 38.12, q_and_v},
      {"Llama-2-7B QLoRA", llama_7b, Use::lora, 1, 1304, qlora, 13.84, q_and_v},
      {"Llama-2-13B QLoRA", llama_13b, Use::lora, 1, 1304, qlora, 22.55, q_and_v},
      {"phi-1.5 inference", phi, Use::serve_weights, 1, 1, plain, 2.86, "peak of a short prompt"},
      {"Llama-2-7B inference", llama_7b, Use::serve_weights, 1, 1, plain, 13.52,
       "peak of a short prompt"},
      {"Llama-2-13B inference", llama_13b, Use::serve_weights, 1, 1, plain, 26.21,
       "peak of a short prompt"},
      {"Llama-3.1-8B LoRA", llama_8b, Use::lora, 2, 2048, plain, 30.3 * gibibyte,
       "compiled, loss in chunks"},
      {"Llama-3.2-3B full", llama_3b, Use::full, 2, 4096, bf16, 60.0 * gibibyte, "packed"},
      {"Llama-3.2-3B full", llama_3b, Use::full, 2, 4096, bf16, 42.9 * gibibyte,
       "packed, compiled, loss in chunks"},
      {"Llama-3.2-3B full, checkpointed", llama_3b, Use::full, 2, 4096, bf16_checkpointed,
       24.9 * gibibyte, "packed, compiled, loss in chunks"},
      {"Llama-3.2-3B full, checkpointed, 8-bit Adam", llama_3b, Use::full, 2, 4096,
       bf16_checkpointed_8bit, 17.6 * gibibyte, "and optimiser in backward, activations offloaded"},
  };
}

double estimate(const Row &row, MemoryModel model) {
  PlanOptions options;
  options.batch = row.batch;
  options.train_seq = row.tokens;
  options.regime = row.regime;
  options.memory_model = model;
  const headwater::Result<headwater::Plan> made = plan(row.config, options);
  if (!made || !made->memory) {
    fmt::print(stderr, "{}: {}\n", row.what, made ? made->reading_note : made.error().message);
    return 0;
  }
  const headwater::PlanMemory &memory = *made->memory;
  switch (row.use) {
  case Use::full:
    return static_cast<double>(memory.full_fine_tune_bytes) / 1e9;
  case Use::lora:
    return static_cast<double>(memory.lora_bytes) / 1e9;
  case Use::serve_weights:
    return static_cast<double>(memory.serve_weights_bytes) / 1e9;
  }
  return 0;
}

} // namespace

int main() {
  fmt::print("{:<44} {:>10} {:>9} {:>16} {:>16}  {}\n", "run", "batch", "measured", "reference",
             "physical", "set up otherwise");
  for (const Row &row : rows()) {
    const double reference = estimate(row, MemoryModel::reference);
    const double physical = estimate(row, MemoryModel::physical);
    fmt::print("{:<44} {:>10} {:>9.2f} {:>8.2f} ({:>4.0f}%) {:>8.2f} ({:>4.0f}%)  {}\n", row.what,
               fmt::format("{} x {}", row.batch, row.tokens), row.measured_gb, reference,
               100 * reference / row.measured_gb, physical, 100 * physical / row.measured_gb,
               row.note);
  }
  return 0;
}

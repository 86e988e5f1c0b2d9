#include "estimator/cards.hpp"
#include "estimator/findings.hpp"
#include "estimator/plan.hpp"
#include "estimator/structure.hpp"
#include "tests/estimator/plan_inputs.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

using test::data_path;
using test::read_json;

Json small_llama() {
  return {{"model_type", "llama"},        {"hidden_size", 64},
          {"intermediate_size", 192},     {"num_hidden_layers", 3},
          {"num_attention_heads", 4},     {"num_key_value_heads", 2},
          {"vocab_size", 1000},           {"max_position_embeddings", 512},
          {"tie_word_embeddings", false}, {"rms_norm_eps", 1e-5}};
}

const std::vector<std::string> config_names = {
    "Ilama-3.2-1B", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "Nemotron-Labs-Diffusion-8B"};

Json reference_config(const std::string &name) {
  return read_json(data_path("reference/configs/" + name + ".json"));
}

Plan must_plan(const Json &config, const PlanOptions &options = {}) {
  Result<Plan> made = plan(config, options);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? *made : Plan();
}

TEST(PlanTotals, AreTheSumOfTheirParts) {
  for (const std::string &name : config_names) {
    for (const MemoryModel model : {MemoryModel::reference, MemoryModel::physical}) {
      PlanOptions options;
      options.memory_model = model;
      options.batch = 3;
      const Json config = reference_config(name);
      const Plan made = must_plan(config, options);
      ASSERT_TRUE(made.memory.has_value());
      const PlanMemory &memory = *made.memory;
      EXPECT_EQ(memory.full_fine_tune_bytes,
                memory.full_states_bytes + memory.full_activation_bytes);
      EXPECT_EQ(memory.lora_bytes,
                memory.lora_base_bytes + memory.lora_adapter_bytes + memory.lora_activation_bytes);
      EXPECT_EQ(memory.serve_bytes,
                memory.serve_weights_bytes + memory.kv_cache_bytes + memory.recurrent_state_bytes);
      std::int64_t caches = 0;
      for (const PlanCache &cache : memory.caches)
        caches += cache.bytes;
      EXPECT_EQ(caches, memory.kv_cache_bytes + memory.recurrent_state_bytes);
      EXPECT_EQ(memory.full_fine_tune_bytes,
                model == MemoryModel::reference ? memory.reference_bytes : memory.physical_bytes);
      EXPECT_GE(memory.conservative_bytes, memory.physical_bytes);
      const Result<Architecture> architecture = derive(config);
      ASSERT_TRUE(architecture.has_value());
      std::int64_t drawn = 0;
      for (const Node &node : draw(*architecture).nodes)
        drawn += node.parameters;
      EXPECT_EQ(drawn, made.parameters->total) << name;
    }
  }
}

TEST(PlanTotals, GrowWithBatchAndSequence) {
  for (const std::string &name : config_names) {
    const Json config = reference_config(name);
    for (const MemoryModel model : {MemoryModel::reference, MemoryModel::physical}) {
      PlanMemory before;
      for (const std::int64_t scale : {1, 2, 3, 8}) {
        PlanOptions options;
        options.memory_model = model;
        options.batch = scale;
        const Plan by_batch = must_plan(config, options);
        EXPECT_GT(by_batch.memory->full_fine_tune_bytes, before.full_fine_tune_bytes);
        EXPECT_GT(by_batch.memory->lora_bytes, before.lora_bytes);
        EXPECT_GT(by_batch.memory->serve_bytes, before.serve_bytes);
        before = *by_batch.memory;
      }
      before = {};
      for (const std::int64_t tokens : {128, 2048, 4096, 65536}) {
        PlanOptions options;
        options.memory_model = model;
        options.train_seq = tokens;
        options.serve_seq = tokens;
        const Plan by_length = must_plan(config, options);
        EXPECT_GT(by_length.memory->full_fine_tune_bytes, before.full_fine_tune_bytes);
        EXPECT_GT(by_length.memory->kv_cache_bytes, before.kv_cache_bytes);
        EXPECT_GE(by_length.memory->recurrent_state_bytes, before.recurrent_state_bytes);
        before = *by_length.memory;
      }
    }
  }
}

TEST(PlanOfUnknownModel, SaysUnknownAndNoFigure) {
  const Plan made = must_plan({{"model_type", "no_such_family"}, {"hidden_size", 64}});
  EXPECT_EQ(made.reading, "unknown");
  EXPECT_FALSE(made.reading_note.empty());
  const OrderedJson json = to_json(made);
  for (const char *key : {"parameters", "memory", "cards", "sharded", "cost", "layers", "nodes",
                          "structure", "regime"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
}

TEST(PlanOfUnknownModel, RestsOnHeadersWhereTheyWereRead) {
  PlanOptions options;
  options.stored_scalars = 12'345;
  const Plan made = must_plan({{"model_type", "no_such_family"}}, options);
  EXPECT_EQ(made.reading, "headers");
  const OrderedJson json = to_json(made);
  EXPECT_EQ(json["parameters"].dump(), R"({"stored":12345})");
}

TEST(PlanOptions, OutOfRangeAreRefusedByName) {
  PlanOptions batch;
  batch.batch = 0;
  EXPECT_EQ(plan(small_llama(), batch).error().code, Errc::bad_input);
  PlanOptions length;
  length.serve_seq = -4;
  EXPECT_EQ(plan(small_llama(), length).error().code, Errc::bad_input);
  PlanOptions card;
  card.card = "abacus";
  const Result<Plan> unknown_card = plan(small_llama(), card);
  ASSERT_FALSE(unknown_card.has_value());
  EXPECT_NE(unknown_card.error().message.find("abacus"), std::string::npos);
  EXPECT_NE(unknown_card.error().message.find("L4 24 GB"), std::string::npos);
}

TEST(PlanOptions, OneCardLimitsTheTableAndPricesTheRun) {
  PlanOptions options;
  options.card = "l4";
  const Plan made = must_plan(small_llama(), options);
  ASSERT_EQ(made.cards.size(), 1U);
  EXPECT_EQ(made.cards[0].card, "L4 24 GB");
  EXPECT_EQ(made.cost->card, "L4 (24GB)");
}

TEST(PlanOptions, MutedRulesAreNamedAndSilent) {
  PlanOptions options;
  options.muted = {"deep-attention-default-init"};
  const Plan made = must_plan(reference_config("Ilama-3.2-1B"), options);
  EXPECT_TRUE(made.findings.empty());
  EXPECT_EQ(made.muted, options.muted);
}

TEST(PlanOptions, TensorsAreExpandedOnRequest) {
  PlanOptions options;
  options.tensors = true;
  const Plan made = must_plan(small_llama(), options);
  std::int64_t total = 0;
  for (const PlanTensor &tensor : made.tensors) {
    std::int64_t size = 1;
    for (const std::int64_t side : tensor.shape)
      size *= side;
    if (tensor.tied_to.empty())
      total += size;
  }
  EXPECT_EQ(total, made.parameters->total);
}

TEST(PlanJson, ReadsBackWhatItWrote) {
  for (const std::string &name : config_names) {
    PlanOptions options;
    options.published_scalars = 1'000'000'000;
    Plan made = must_plan(reference_config(name), options);
    made.source = "config.json";
    made.repo = "org/name";
    made.revision = std::string(40, 'a');
    const Result<Plan> read = plan_from_json(Json::parse(to_json(made).dump()));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, made);
  }
}

TEST(PlanJson, NamesTheKeyThatIsWrong) {
  Json json = Json::parse(to_json(must_plan(small_llama())).dump());
  json["cards"][2]["lora"] = "perhaps";
  const Result<Plan> read = plan_from_json(json);
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().message.find("cards[2].lora"), std::string::npos) << read.error().message;
  EXPECT_FALSE(plan_from_json(Json(3)).has_value());
}

TEST(CardVerdict, TextReadsBack) {
  const std::vector<CardFit> fits = {
      {},
      {.kind = CardFit::Kind::one, .batch = 3},
      {.kind = CardFit::Kind::one, .batch = 3, .borderline = true},
      {.kind = CardFit::Kind::one, .batch = 0},
      {.kind = CardFit::Kind::two, .first_layers = 42, .second_layers = 57}};
  for (const CardFit &fit : fits) {
    const Result<CardFit> read = card_fit_from(to_string(fit));
    ASSERT_TRUE(read.has_value()) << to_string(fit);
    EXPECT_EQ(*read, fit);
  }
  for (const char *text :
       {"", "batch", "batch 0", "batch 3 borderline", "2 cards at batch 1 (4 + x layers)"}) {
    EXPECT_FALSE(card_fit_from(text).has_value()) << text;
  }
}

TEST(PrintedFigures, FollowTheRulesOfThePages) {
  EXPECT_EQ(print_bytes(2389.747e9), "2.39 TB");
  EXPECT_EQ(print_bytes(613.87e9), "614 GB");
  EXPECT_EQ(print_bytes(26.72e9), "26.7 GB");
  EXPECT_EQ(print_bytes(5.6828e9), "5.68 GB");
  EXPECT_EQ(print_bytes(0.134e9), "0.13 GB");
  EXPECT_EQ(print_bytes(24.97e6), "25 MB");
  EXPECT_EQ(print_parameters(123'611'012'096), "124B");
  EXPECT_EQ(print_parameters(8'489'553'920), "8.49B");
  EXPECT_EQ(print_parameters(1'500'000), "1.50M");
  EXPECT_EQ(print_delta(7'886'753'792, 8'489'553'920), "-7.10%");
  EXPECT_EQ(print_delta(1'235'812'352, 1'235'814'400), "-0.00%");
  EXPECT_EQ(print_delta(123'611'147'264, 67'228'556'288), "+83.9%");
  EXPECT_EQ(print_delta(443'337'265'152, 44'539'891'200), "+895%");
  EXPECT_EQ(print_delta(5, 5), "+0.00%");
}

TEST(PlanChanges, OfEqualPlansAreNone) {
  const Plan made = must_plan(small_llama());
  EXPECT_TRUE(plan_changes(made, made).empty());
}

TEST(PlanChanges, SayWhatMovedWithItsUnit) {
  Json before = reference_config("Ilama-3.2-1B");
  Json after = before;
  after["num_key_value_heads"] = 32;
  const std::vector<PlanChange> changes = plan_changes(must_plan(before), must_plan(after));
  const auto found = std::find_if(changes.begin(), changes.end(), [](const PlanChange &change) {
    return change.figure == "memory.kv_cache_bytes";
  });
  ASSERT_NE(found, changes.end());
  EXPECT_EQ(found->sentence, "KV cache at 4096 tokens 0.13 -> 0.54 GB");
  EXPECT_EQ(found->before_json, "134217728");
  EXPECT_EQ(found->after_json, "536870912");
}

TEST(PlanChanges, SayWhichCardNoLongerHolds) {
  Plan before = must_plan(reference_config("Ilama-3.2-1B"));
  Plan after = before;
  after.cards[1].serve = {};
  const std::vector<PlanChange> changes = plan_changes(before, after);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].figure, "cards.L4 24 GB.serve");
  EXPECT_EQ(changes[0].sentence, "serving no longer fits L4 24 GB");
  EXPECT_EQ(plan_changes(after, before)[0].sentence, "serving now fits L4 24 GB");
}

TEST(ServingMemory, FollowsTheKindOfLayer) {
  struct Case {
    std::string name;
    Mixer mixer;
    std::string kind;
    std::int64_t bytes;
  };
  constexpr MixerKind attention = MixerKind::attention;
  const std::vector<Case> cases = {
      {"grouped-query: 2 B x 2 x 8 heads x 128 x 4096",
       {.kind = attention, .heads = 32, .kv_heads = 8, .head_dim = 128},
       "grouped-query",
       2 * 2 * 8 * 128 * 4096},
      {"multi-query: one head",
       {.kind = attention, .heads = 32, .kv_heads = 1, .head_dim = 64},
       "multi-query",
       2 * 2 * 64 * 4096},
      {"multi-head: values of another width",
       {.kind = attention, .heads = 4, .kv_heads = 4, .head_dim = 64, .value_head_dim = 32},
       "multi-head",
       2 * 4 * (64 + 32) * 4096},
      {"window: 1024 tokens and no more",
       {.kind = attention, .heads = 8, .kv_heads = 4, .head_dim = 64, .window = 1024},
       "grouped-query, window of 1024 tokens",
       2 * 2 * 4 * 64 * 1024},
      {"window wider than the sequence",
       {.kind = attention, .heads = 8, .kv_heads = 4, .head_dim = 64, .window = 9000},
       "grouped-query, window of 9000 tokens",
       2 * 2 * 4 * 64 * 4096},
      {"chunks",
       {.kind = attention, .heads = 8, .kv_heads = 4, .head_dim = 64, .chunk = 2048},
       "grouped-query, chunks of 2048 tokens",
       2 * 2 * 4 * 64 * 2048},
      {"another layer's cache",
       {.kind = attention, .heads = 8, .kv_heads = 4, .head_dim = 64, .shares_kv = true},
       "grouped-query, shared with another layer",
       0},
      {"latent: rank and rotary part",
       {.kind = MixerKind::latent_attention,
        .heads = 128,
        .kv_heads = 128,
        .head_dim = 192,
        .value_head_dim = 128,
        .kv_lora_rank = 512,
        .rope_head_dim = 64},
       "latent (MLA)",
       2 * (512 + 64) * 4096},
      {"Mamba-2: state and three taps",
       {.kind = MixerKind::mamba2,
        .heads = 64,
        .inner = 4096,
        .groups = 8,
        .state_size = 128,
        .conv_kernel = 4,
        .conv_channels = 6144,
        .state_elements = 4096 * 128},
       "Mamba-2 state",
       2 * (4096 * 128 + 6144 * 3)},
      {"short convolution: taps alone",
       {.kind = MixerKind::short_convolution, .conv_kernel = 3, .conv_channels = 1024},
       "short convolution state",
       2 * 1024 * 2},
  };
  for (const Case &row : cases) {
    Architecture architecture;
    architecture.layers = {Layer{row.mixer, {}}, Layer{row.mixer, {}}};
    const ServeNeed need = serve(architecture, 4096);
    ASSERT_EQ(need.caches.size(), 1U) << row.name;
    EXPECT_EQ(need.caches[0].kind, row.kind) << row.name;
    EXPECT_EQ(need.caches[0].layers, 2) << row.name;
    EXPECT_EQ(need.caches[0].bytes, 2 * row.bytes) << row.name;
    EXPECT_EQ(need.kv_cache + need.recurrent_state, 2.0 * static_cast<double>(row.bytes))
        << row.name;
  }
}

} // namespace
} // namespace headwater::estimator

#include "estimator/architecture.hpp"
#include "schemas/json.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

const Json llama = {{"model_type", "llama"},    {"hidden_size", 4096},
                    {"num_hidden_layers", 32},  {"num_attention_heads", 32},
                    {"num_key_value_heads", 8}, {"intermediate_size", 14336},
                    {"vocab_size", 128256},     {"tie_word_embeddings", false}};

struct Bad {
  std::string name;
  std::string patch; ///< merged into the config above
  std::string key;   ///< named in the error
  std::string value; ///< shown in the error
};

const Bad bad[] = {
    {"Zero", R"({"hidden_size": 0})", "hidden_size", "0"},
    {"Negative", R"({"num_hidden_layers": -4})", "num_hidden_layers", "-4"},
    {"NegativeHeads", R"({"num_attention_heads": -1})", "num_attention_heads", "-1"},
    {"ZeroHeads", R"({"num_attention_heads": 0})", "num_attention_heads", "0"},
    {"ZeroKvHeads", R"({"num_key_value_heads": 0})", "num_key_value_heads", "0"},
    {"ZeroVocabulary", R"({"vocab_size": 0})", "vocab_size", "0"},
    {"Fraction", R"({"intermediate_size": 14336.5})", "intermediate_size", "14336.5"},
    {"Word", R"({"vocab_size": "128256"})", "vocab_size", "\"128256\""},
    {"Bool", R"({"hidden_size": true})", "hidden_size", "true"},
    {"List", R"({"hidden_size": [4096]})", "hidden_size", "[4096]"},
    {"Object", R"({"num_hidden_layers": {"a": 1}})", "num_hidden_layers", "{\"a\":1}"},
    {"Huge", R"({"hidden_size": 1000000000000})", "hidden_size", "1000000000000"},
    {"Over64Bits", R"({"hidden_size": 99999999999999999999})", "hidden_size", "1e+20"},
    {"ManyLayers", R"({"num_hidden_layers": 100000})", "num_hidden_layers", "100000"},
    {"Flag", R"({"attention_bias": "yes"})", "attention_bias", "\"yes\""},
    {"HeadWithoutWidth", R"({"num_attention_heads": 8192, "num_key_value_heads": null})",
     "num_attention_heads", "8192"},
    {"ShortLayerTypes",
     R"({"model_type": "gemma2", "layer_types": ["sliding_attention"], "head_dim": 256})",
     "layer_types", "[\"sliding_attention\"]"},
    {"LayerTypesOfNumbers", R"({"model_type": "gemma2", "layer_types": [1], "head_dim": 256})",
     "layer_types", "[1]"},
    {"ShortPattern", R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*"})",
     "hybrid_override_pattern", "M*"},
    {"UnknownLetter",
     R"({"model_type": "nemotron_h", "num_hidden_layers": 2, "hybrid_override_pattern": "MX"})",
     "hybrid_override_pattern", "MX"},
    {"ManyExperts", R"({"model_type": "mixtral", "num_local_experts": 90000000})", "experts",
     "90000000"},
    {"ManyPredictionLayers",
     R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 5000, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
         "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 0})",
     "num_nextn_predict_layers", "5000"},
    {"ShortBlockConfigs", R"({"model_type": "nemotron-nas", "block_configs": []})", "block_configs",
     "[]"},
    {"NegativeZeroFraction", R"({"num_key_value_heads": 0.5})", "num_key_value_heads", "0.5"},
    {"HugeFloat", R"({"vocab_size": 1e300})", "vocab_size", "1e+300"},
    {"ListOfWidths", R"({"intermediate_size": [14336, 14336]})", "intermediate_size",
     "[14336,14336]"},
    {"LayersAsWord", R"({"num_hidden_layers": "32"})", "num_hidden_layers", "\"32\""},
    {"NegativeExperts",
     R"({"model_type": "qwen3_moe", "head_dim": 128, "num_experts": -8, "moe_intermediate_size": 768})",
     "num_experts", "-8"},
    {"NegativeWindow", R"({"model_type": "mistral", "sliding_window": -1})", "sliding_window",
     "-1"},
    {"WindowAsWord", R"({"model_type": "mistral", "sliding_window": "4096"})", "sliding_window",
     "\"4096\""},
    {"NegativeShared", R"({"model_type": "deepseek_v3", "n_shared_experts": -1})",
     "num_shared_experts", "-1"},
    {"NegativeState", R"({"model_type": "mamba2", "state_size": -16})", "state_size", "-16"},
    {"NegativeKernel", R"({"model_type": "mamba", "conv_kernel": -4})", "conv_kernel", "-4"},
    {"EmptyTopK", R"({"model_type": "hunyuan", "num_experts": 4, "moe_topk": []})",
     "num_experts_per_tok", "[]"},
    {"ShortWidths",
     R"({"model_type": "hunyuan", "num_experts": 4, "moe_intermediate_size": [3072]})",
     "moe_intermediate_size", "[3072]"},
    {"NestedZero",
     R"({"model_type": "gemma3", "architectures": ["Gemma3ForCausalLM"], "text_config": {"hidden_size": 0}})",
     "text_config.hidden_size", "0"},
    {"NestedNegative",
     R"({"model_type": "gemma3", "architectures": ["Gemma3ForCausalLM"], "text_config": {"num_hidden_layers": -2}})",
     "text_config.num_hidden_layers", "-2"},
    {"PerLayerZero",
     R"({"model_type": "dots3_note_text", "per_layer_config": {"0": {"head_dim": -7}}})",
     "head_dim", "-7"},
    {"PatternOfNumber", R"({"model_type": "nemotron_h", "hybrid_override_pattern": 7})",
     "hybrid_override_pattern", "7"},
    {"FrequencyAsWord", R"({"model_type": "deepseek_v3", "moe_layer_freq": "all"})",
     "moe_layer_freq", "\"all\""},
    {"ModelTypeOfNumber", R"({"model_type": 7})", "model_type", "7"},
};

TEST(DeriveInput, ImpossibleValuesAreErrorsThatNameKeyAndValue) {
  for (const Bad &entry : bad) {
    Json config = llama;
    const Result<Json> patch = parse_json(entry.patch);
    ASSERT_TRUE(patch) << entry.name;
    config.update(*patch);
    const Result<Architecture> read = derive(config);
    ASSERT_FALSE(read) << entry.name;
    EXPECT_EQ(read.error().code, Errc::malformed) << entry.name;
    EXPECT_NE(read.error().message.find(entry.key), std::string::npos)
        << entry.name << ": " << read.error().message;
    EXPECT_NE(read.error().message.find(entry.value), std::string::npos)
        << entry.name << ": " << read.error().message;
  }
}

TEST(DeriveInput, CountsOverSixtyFourBitsAreAnError) {
  Json config = llama;
  config.update({{"hidden_size", 100'000'000},
                 {"intermediate_size", 100'000'000},
                 {"num_hidden_layers", 10'000}});
  const Result<Architecture> read = derive(config);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("64 bits"), std::string::npos) << read.error().message;
}

TEST(DeriveInput, WholeConfigMustBeAnObject) {
  for (const Json &config : {Json::array(), Json(3), Json("llama"), Json(nullptr)}) {
    EXPECT_FALSE(derive(config));
  }
}

// Every key of every kind of layer, with values that are never right, one at a time.
TEST(DeriveInput, NoSingleBadValueCrashesOrHangs) {
  const char *types[] = {
      "llama",       "nemotron_h",    "deepseek_v3",  "deepseek_v4", "jamba",
      "mamba2",      "qwen3_next",    "gemma3n_text", "gemma4_text", "t5",
      "bart",        "bert",          "lfm2",         "zamba2",      "llama4_text",
      "minimax",     "gpt2",          "falcon",       "mpt",         "xlstm",
      "kimi_linear", "longcat_flash", "nemotron-nas", "dbrx"};
  const char *keys[] = {"hidden_size",
                        "num_hidden_layers",
                        "num_attention_heads",
                        "num_key_value_heads",
                        "head_dim",
                        "intermediate_size",
                        "vocab_size",
                        "layer_types",
                        "num_experts",
                        "n_routed_experts",
                        "moe_intermediate_size",
                        "kv_lora_rank",
                        "mamba_n_heads",
                        "mamba_d_state",
                        "n_groups",
                        "conv_kernel",
                        "linear_num_value_heads",
                        "altup_num_inputs",
                        "num_kv_shared_layers",
                        "block_multiple_of",
                        "attn_layer_period",
                        "per_layer_config",
                        "text_config",
                        "d_model",
                        "num_heads",
                        "attn_config",
                        "block_configs",
                        "architectures"};
  const Json values[] = {Json(0),          Json(-1),
                         Json(1),          Json(3),
                         Json(99'999'999), Json(1.5),
                         Json("x"),        Json(nullptr),
                         Json::array(),    Json::object(),
                         Json({1, 2, 3}),  Json({"a"}),
                         Json(true),       Json{{"00", {{"head_dim", 7}}}}};
  for (const char *type : types) {
    for (const char *key : keys) {
      for (const Json &value : values) {
        Json config = {{"model_type", type}, {"architectures", {"XForCausalLM"}}};
        config[key] = value;
        const Result<Architecture> read = derive(config);
        if (read) {
          EXPECT_GE(read->counts.total, 0) << type << ' ' << key;
        } else {
          EXPECT_FALSE(read.error().message.empty());
        }
      }
    }
  }
}

TEST(Expand, NamesFollowTheAxes) {
  const std::vector<TensorRun> runs = {
      {.name = "layers.{}.experts.{}.w", .axes = {{1, 3}, {0, 1}}, .shape = {2, 4}}};
  const Result<std::vector<Tensor>> tensors = expand(runs);
  ASSERT_TRUE(tensors);
  ASSERT_EQ(tensors->size(), 4U);
  EXPECT_EQ((*tensors)[0].name, "layers.1.experts.0.w");
  EXPECT_EQ((*tensors)[3].name, "layers.3.experts.1.w");
}

TEST(Expand, ListsOverTheLimitAreRefused) {
  const std::vector<TensorRun> runs = {{.name = "a.{}", .axes = {{0, 1, 2}}, .shape = {1}}};
  const Result<std::vector<Tensor>> tensors = expand(runs, 2);
  ASSERT_FALSE(tensors);
  EXPECT_EQ(tensors.error().code, Errc::too_large);
}

TEST(Expand, NamesOfOneModelAreUnique) {
  Json config = llama;
  config["model_type"] = "mixtral";
  const Result<Architecture> read = derive(config);
  ASSERT_TRUE(read);
  const Result<std::vector<Tensor>> tensors = expand(read->tensors);
  ASSERT_TRUE(tensors);
  std::set<std::string> names;
  for (const Tensor &tensor : *tensors) {
    EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
  }
}

} // namespace
} // namespace headwater::estimator

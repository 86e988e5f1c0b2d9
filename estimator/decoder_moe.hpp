#pragma once

#include "estimator/decoder.hpp"

/// Mixtures of experts that rows of the decoders' table name.
namespace headwater::estimator {

inline constexpr MoeTraits deepseek_moe = {.correction = "gate.e_score_correction_bias",
                                           .shared = "shared_experts",
                                           .layers = MoeLayers::by_types};
inline constexpr MoeTraits deepseek_v2_moe = {.shared = "shared_experts",
                                              .layers = MoeLayers::by_types};
inline constexpr MoeTraits mixtral_moe = {
    .module = "block_sparse_moe", .width_key = "intermediate_size", .names = "w1 w3 w2"};
inline constexpr MoeTraits qwen2_moe = {.shared = "shared_expert",
                                        .shared_width = "shared_expert_intermediate_size",
                                        .shared_gate = "shared_expert_gate",
                                        .layers = MoeLayers::sparse_step};
inline constexpr MoeTraits qwen3_moe = {.layers = MoeLayers::sparse_step};
inline constexpr MoeTraits narrow_moe = {.width_key = "intermediate_size"};
inline constexpr MoeTraits cohere2_moe = {
    .width_key = "intermediate_size", .shared = "shared_experts", .layers = MoeLayers::by_types};
inline constexpr MoeTraits granite_moe = {.module = "block_sparse_moe",
                                          .width_key = "intermediate_size",
                                          .router = "router.layer",
                                          .names = "input_linear.weight output_linear.weight",
                                          .style = ExpertStyle::fused_out_in};
inline constexpr MoeTraits granite_swa_moe = {.module = "block_sparse_moe",
                                              .width_key = "intermediate_size",
                                              .router = "router",
                                              .names = "experts.gate_up_proj experts.down_proj",
                                              .style = ExpertStyle::fused_out_in};
inline constexpr MoeTraits minimax_m2_moe = {.module = "block_sparse_moe",
                                             .width_key = "intermediate_size",
                                             .names = "w1 w3 w2",
                                             .correction = "e_score_correction_bias"};
inline constexpr MoeTraits afmoe_moe = {.router = "router.gate",
                                        .correction = "expert_bias",
                                        .correction_is_weight = true,
                                        .shared = "shared_experts",
                                        .layers = MoeLayers::by_types};
inline constexpr MoeTraits ernie_moe = {.shared = "shared_experts", .layers = MoeLayers::by_types};
inline constexpr MoeTraits flint_moe = {.shared = "shared_expert",
                                        .shared_width = "shared_expert_intermediate_size",
                                        .layers = MoeLayers::sparse_step};
inline constexpr MoeTraits exaone_moe = {.correction = "e_score_correction_bias",
                                         .shared = "shared_experts",
                                         .layers = MoeLayers::by_types};
inline constexpr MoeTraits hy3_moe = {.router = "router.gate",
                                      .correction = "expert_bias",
                                      .shared = "shared_mlp",
                                      .layers = MoeLayers::by_types};
inline constexpr MoeTraits hunyuan_moe = {.width_key = "intermediate_size",
                                          .router = "gate.wg",
                                          .shared = "shared_mlp",
                                          .shared_width = "intermediate_size"};
inline constexpr MoeTraits kolibri_moe = {.shared = "shared_experts",
                                          .shared_width = "shared_expert_intermediate_size",
                                          .layers = MoeLayers::by_types};
inline constexpr MoeTraits hunyuan_own_moe = {.width_key = "intermediate_size",
                                              .router = "gate.wg",
                                              .shared = "shared_mlp",
                                              .shared_key = "use_mixed_mlp_moe"};
inline constexpr MoeTraits klear_moe = {.correction = "expert_bias",
                                        .correction_is_weight = true,
                                        .shared = "shared_experts",
                                        .layers = MoeLayers::sparse_step};
inline constexpr MoeTraits step_moe = {.module = "moe", .layers = MoeLayers::by_types};
inline constexpr MoeTraits laguna_moe = {.correction = "experts.e_score_correction_bias",
                                         .correction_is_weight = true,
                                         .shared = "shared_expert",
                                         .shared_width = "shared_expert_intermediate_size",
                                         .layers = MoeLayers::by_types};
inline constexpr MoeTraits mimo_moe = {.correction = "gate.e_score_correction_bias",
                                       .layers = MoeLayers::by_types};
inline constexpr MoeTraits m3_moe = {.width_key = "intermediate_size",
                                     .names = "experts.gate_up_proj experts.down_proj",
                                     .style = ExpertStyle::fused_out_in,
                                     .correction = "gate.e_score_correction_bias",
                                     .shared = "shared_experts",
                                     .shared_width = "shared_intermediate_size",
                                     .shared_names = "gate_up_proj down_proj",
                                     .layers = MoeLayers::by_types};
inline constexpr MoeTraits aria_moe = {.experts_key = "moe_num_experts",
                                       .width_key = "intermediate_size",
                                       .router = "router",
                                       .names = "experts.fc1.weight experts.fc2.weight",
                                       .style = ExpertStyle::fused_in_out,
                                       .shared = "shared_experts"};
inline constexpr MoeTraits sarvam_moe = {
    .correction = "gate.expert_bias", .shared = "shared_experts", .layers = MoeLayers::by_types};

inline constexpr MoeTraits bailing_linear_moe = {.correction = "gate.expert_bias",
                                                 .correction_key = "moe_router_enable_expert_bias",
                                                 .shared = "shared_experts",
                                                 .layers = MoeLayers::by_types};
inline constexpr MoeTraits qwen3_5_moe = {.shared = "shared_expert",
                                          .shared_width = "shared_expert_intermediate_size",
                                          .shared_gate = "shared_expert_gate"};
inline constexpr MoeTraits jamba_moe = {
    .module = "feed_forward", .width_key = "intermediate_size", .router = "router"};
inline constexpr MoeTraits llama4_moe = {.module = "feed_forward",
                                         .width_key = "intermediate_size",
                                         .router = "router",
                                         .names = "experts.gate_up_proj experts.down_proj",
                                         .style = ExpertStyle::fused_in_out,
                                         .shared = "shared_expert",
                                         .shared_width = "intermediate_size"};
inline constexpr MoeTraits lfm2_experts = {.module = "feed_forward",
                                           .names = "w1 w3 w2",
                                           .correction = "expert_bias",
                                           .layers = MoeLayers::after_first};
inline constexpr MoeTraits kimi_moe = {.module = "block_sparse_moe",
                                       .names = "w1 w3 w2",
                                       .correction = "gate.e_score_correction_bias",
                                       .shared = "shared_experts",
                                       .layers = MoeLayers::by_types};

inline constexpr MoeTraits lara_moe = {.names = "experts.gate_up_proj experts.down_proj",
                                       .style = ExpertStyle::fused_out_in,
                                       .shared = "shared_expert",
                                       .shared_width = "shared_expert_intermediate_size"};
inline constexpr MoeTraits hy4_moe = {.names = "experts.gate_up_proj experts.down_proj",
                                      .style = ExpertStyle::fused_out_in,
                                      .correction = "gate.e_score_correction_bias",
                                      .shared = "shared_experts",
                                      .shared_names = "linear_gate up_proj down_proj",
                                      .layers = MoeLayers::by_types};

inline constexpr MoeTraits dots3_moe = {.correction = "gate.e_score_correction_bias",
                                        .shared = "shared_experts",
                                        .shared_width = "shared_experts_intermediate_size",
                                        .shared_width_each = true,
                                        .layers = MoeLayers::by_types};
inline constexpr MoeTraits inkling_moe = {.layers = MoeLayers::by_types};
inline constexpr MoeTraits minicpm_moe = {.width_key = "intermediate_size", .names = "w1 w3 w2"};

} // namespace headwater::estimator

#pragma once

#include "estimator/decoder.hpp"
#include "estimator/state_space.hpp"

/// The blocks, layer plans and extras that the rows of the decoders' table name.
namespace headwater::estimator {

void shared_indexer_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void indexer(Decoder &decoder, const LayerSpec &spec);
void xielu_activation(Decoder &decoder, const LayerSpec &spec);
void layer_qk_norms(Decoder &decoder, const LayerSpec &spec);
void stablelm_qk_norms(Decoder &decoder, const LayerSpec &spec);

void axk2_norms(Decoder &decoder, const LayerSpec &spec);
void bailing_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void bailing_mixer(Decoder &decoder, const LayerSpec &spec);
void bamba_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void bamba_mixer(Decoder &decoder, const LayerSpec &spec);
void falcon_h1_mamba(Decoder &decoder, const LayerSpec &spec);
void gated_delta_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void gpt_neo_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void gpt_oss_experts(Decoder &decoder, const LayerSpec &spec);
void granite_shared_mlp(Decoder &decoder, const LayerSpec &spec);
void jamba_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void kimi_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void kimi_mixer(Decoder &decoder, const LayerSpec &spec);
void lfm2_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void lfm2_mixer(Decoder &decoder, const LayerSpec &spec);
void llama4_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void longcat_layer(Decoder &decoder, const LayerSpec &spec);
void mamba_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void mamba2_mixer(Decoder &decoder, const LayerSpec &spec);
void mimo_v2_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void mimo_v2_sink(Decoder &decoder, const LayerSpec &spec);
void minimax_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void minimax_lightning(Decoder &decoder, const LayerSpec &spec);
void nemotron_h_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void nemotron_h_mamba(Decoder &decoder, const LayerSpec &spec);
void nemotron_h_feed_forward(Decoder &decoder, const LayerSpec &spec);
void olmo_hybrid_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void olmo_hybrid_mixer(Decoder &decoder, const LayerSpec &spec);
void olmo_hybrid_norms(Decoder &decoder, const LayerSpec &spec);

// decoder_gemma.cpp
void gemma3_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void gemma3n_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void gemma3n_layer(Decoder &decoder, const LayerSpec &spec);
void gemma3n_model(Decoder &decoder);
void gemma4_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void gemma4_mixer(Decoder &decoder, const LayerSpec &spec);
void gemma4_layer(Decoder &decoder, const LayerSpec &spec);
void gemma4_model(Decoder &decoder);
void recurrent_gemma_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void recurrent_gemma_mixer(Decoder &decoder, const LayerSpec &spec);

// decoder_sparse.cpp
void deepseek_v4_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void deepseek_v4_attention(Decoder &decoder, const LayerSpec &spec);
void deepseek_v4_experts(Decoder &decoder, const LayerSpec &spec);
void deepseek_v4_layer(Decoder &decoder, const LayerSpec &spec);
void deepseek_v4_model(Decoder &decoder);
void dots3_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void dots3_mixer(Decoder &decoder, const LayerSpec &spec);
void minimax_m3_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void minimax_m3_indexer(Decoder &decoder, const LayerSpec &spec);
void step_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void step_experts(Decoder &decoder, const LayerSpec &spec);
void hy_v4_attention(Decoder &decoder, const LayerSpec &spec);
void hy_v4_layer(Decoder &decoder, const LayerSpec &spec);
void hy_v4_model(Decoder &decoder);

// decoder_inkling2.cpp
void inkling2_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void inkling2_attention(Decoder &decoder, const LayerSpec &spec);
void inkling2_experts(Decoder &decoder, const LayerSpec &spec);
void inkling2_layer(Decoder &decoder, const LayerSpec &spec);
void inkling2_model(Decoder &decoder);

// decoder_legacy.cpp
void ernie_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void bailing_linear_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void bailing_linear_mixer(Decoder &decoder, const LayerSpec &spec);
void hunyuan_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void falcon_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void falcon_norms(Decoder &decoder, const LayerSpec &spec);
void gpt2_cross_attention(Decoder &decoder, const LayerSpec &spec);
void cpmant_model(Decoder &decoder);
void rwkv_layer(Decoder &decoder, const LayerSpec &spec);
void xlnet_layer(Decoder &decoder, const LayerSpec &spec);
void zamba_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void zamba_layer(Decoder &decoder, const LayerSpec &spec);
void zamba2_layer(Decoder &decoder, const LayerSpec &spec);

// decoder_novel.cpp
void cohere2_moe_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void doge_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void doge_layer(Decoder &decoder, const LayerSpec &spec);
void jetmoe_attention(Decoder &decoder, const LayerSpec &spec);
void jetmoe_experts(Decoder &decoder, const LayerSpec &spec);
void lara_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void lara_delta(Decoder &decoder, const LayerSpec &spec);
void xlstm_layer(Decoder &decoder, const LayerSpec &spec);
void laguna_gate(Decoder &decoder, const LayerSpec &spec);
void dory_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void zaya_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void zaya_attention(Decoder &decoder, const LayerSpec &spec);
void zaya_experts(Decoder &decoder, const LayerSpec &spec);
void zaya_layer(Decoder &decoder, const LayerSpec &spec);
void zaya_model(Decoder &decoder);
void hrm_model(Decoder &decoder);
void inkling_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void inkling_attention(Decoder &decoder, const LayerSpec &spec);
void inkling_experts(Decoder &decoder, const LayerSpec &spec);
void inkling_layer(Decoder &decoder, const LayerSpec &spec);
void nas_plan(Decoder &decoder, std::int64_t index, LayerSpec &spec);
void nas_linear(Decoder &decoder, const LayerSpec &spec);
void nas_norms(Decoder &decoder, const LayerSpec &spec);

} // namespace headwater::estimator

#pragma once

#include "estimator/decoder.hpp"
#include "estimator/state_space.hpp"

/// The blocks, layer plans and extras that the rows of the decoders' table name.
namespace headwater::estimator {

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

} // namespace headwater::estimator

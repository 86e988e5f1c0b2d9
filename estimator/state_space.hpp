#pragma once

#include "estimator/decoder.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace headwater::estimator {

/// Sizes of a Mamba-2 mixer, however a family spells them.
struct Mamba2Sizes {
  std::int64_t inner = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 1;
  std::int64_t state = 0;
  std::int64_t kernel = 0;
  bool conv_bias = true;
  bool projection_bias = false;
  std::optional<bool> output_bias = {}; ///< of out_proj, where it differs from in_proj's
  bool gated_norm = true;
};

/// Mamba-2 (SSD): in_proj, causal convolution over x, B and C, A, D, dt, gated norm, out_proj.
void mamba2_block(Decoder &decoder, std::string_view module, const Mamba2Sizes &sizes);

/// Mamba-1: selective scan with x_proj and dt_proj; `bc_norms` adds Jamba's three norms.
void mamba1_block(Decoder &decoder, std::string_view module, bool bc_norms);

/// Gated delta net of Qwen3-Next (fused projections) and Qwen3.5 (apart).
void gated_delta_block(Decoder &decoder, bool fused);

/// LFM2's gated short convolution.
void short_convolution_block(Decoder &decoder, std::int64_t kernel, bool bias);

} // namespace headwater::estimator

#include "estimator/families.hpp"

#include "estimator/decoder.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

/// A model type that is built as another one. `certain` is false where only transformers' semantics
/// say so.
struct Alias {
  std::string_view model_type;
  std::string_view as;
  bool certain;
};

constexpr std::array aliases = {
    Alias{"RefinedWeb", "falcon", true},
    Alias{"RefinedWebModel", "falcon", true},
    Alias{"bailing_moe", "sarvam_moe", false},
    Alias{"bailing_moe_v2", "sarvam_moe", false},
    Alias{"ilama", "llama", false},
    Alias{"kimi_k2", "deepseek_v3", true},
    Alias{"minimax_m3", "minimax_m3_vl_text", false},
    Alias{"mimo_v2", "mimo_v2_flash", false},
    Alias{"nemotron_labs_diffusion", "ministral3", false},
    Alias{"phi4", "phi3", true},
};

/// A model type whose text part is an object of its own.
struct Wrapper {
  std::string_view model_type;
  std::string_view text_type;
  std::string_view row; ///< of the decoders' table
};

constexpr std::array wrappers = {
    Wrapper{"emu3", "emu3_text_model", "emu3"},
    Wrapper{"gemma3", "gemma3_text", "gemma3_text"},
    Wrapper{"gemma3n", "gemma3n_text", "gemma3n_text"},
    Wrapper{"gemma4", "gemma4_text", "gemma4_text"},
    Wrapper{"llama4", "llama4_text", "llama4_text"},
    Wrapper{"qwen3_5", "qwen3_5_text", "qwen3_5_text"},
    Wrapper{"qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_moe_text"},
};

// A checkpoint of the text part alone, as a causal language model; transformers reads text_config
// only.
bool read_wrapped(const Config &config, Architecture &architecture, ReadErrors &errors) {
  const auto *wrapper = std::ranges::find(wrappers, config.model_type(), &Wrapper::model_type);
  if (wrapper == wrappers.end()) {
    return false;
  }
  if (!first_architecture(config).ends_with("ForCausalLM")) {
    return false;
  }
  const DecoderTraits *traits = find_decoder(wrapper->row);
  const Config text = config.child("text_config", wrapper->text_type);
  architecture.family = wrapper->row;
  if (!config.has("text_config")) {
    architecture.reading = Reading::transformers_semantics;
    architecture.reading_note = fmt::format("{} reads its text model from text_config, which is "
                                            "absent: the defaults of {} stand in for it",
                                            wrapper->model_type, wrapper->text_type);
  }
  read_decoder(*traits, text, architecture, errors);
  return true;
}

} // namespace

void read_family(Config &config, Architecture &architecture, ReadErrors &errors) {
  const std::string &model_type = architecture.model_type;
  if (model_type.empty()) {
    architecture.reading_note = "the config names no model_type";
    return;
  }
  const auto *alias = std::ranges::find(aliases, model_type, &Alias::model_type);
  const bool certain = alias == aliases.end() || alias->certain;
  if (alias != aliases.end()) {
    config.set_model_type(alias->as);
  }
  architecture.family = config.model_type();
  architecture.reading = certain ? Reading::exact : Reading::transformers_semantics;
  if (!certain) {
    architecture.reading_note =
        fmt::format("{} is read as {}, whose keys it uses", model_type, alias->as);
  }
  if (const DecoderTraits *traits =
          config.model_type() == "emu3" ? nullptr : find_decoder(config.model_type())) {
    if (config.model_type().starts_with("qwen3_5") &&
        first_architecture(config).ends_with("ForConditionalGeneration")) {
      DecoderTraits inner = *traits; // the files of the whole model keep their names
      inner.root = "model.language_model.";
      read_decoder(inner, config, architecture, errors);
      return;
    }
    if (traits->own_code && certain) {
      architecture.reading = Reading::transformers_semantics;
      architecture.reading_note = fmt::format(
          "{} is built by its repositories' own code; its layout is read as they publish it",
          model_type);
    }
    read_decoder(*traits, config, architecture, errors);
    return;
  }
  for (const auto read : {read_wrapped, read_singular, read_bart, read_t5, read_bert}) {
    if (read(config, architecture, errors)) {
      return;
    }
  }
  architecture.family.clear();
  architecture.reading = Reading::unknown;
  if (config.find("vision_config") != nullptr || config.find("audio_config") != nullptr) {
    architecture.reading_note = fmt::format(
        "model type {} is read for its text part only, and this one has other parts", model_type);
    return;
  }
  architecture.reading_note = fmt::format("model type {} is not one that we read", model_type);
}

std::string_view first_architecture(const Config &config) {
  const Json *list = config.find("architectures");
  return list != nullptr && list->is_array() && !list->empty() && list->front().is_string()
             ? std::string_view(list->front().get_ref<const std::string &>())
             : std::string_view{};
}

} // namespace headwater::estimator

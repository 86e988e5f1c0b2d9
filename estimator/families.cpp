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
    Alias{"ilama", "llama", false},
    Alias{"kimi_k2", "deepseek_v3", true},
    Alias{"nemotron_labs_diffusion", "ministral3", false},
    Alias{"phi4", "phi3", true},
};

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
  if (const DecoderTraits *traits = find_decoder(config.model_type())) {
    read_decoder(*traits, config, architecture, errors);
    return;
  }
  for (const auto read : {read_bart, read_t5, read_bert}) {
    if (read(config, architecture, errors)) {
      return;
    }
  }
  architecture.family.clear();
  architecture.reading = Reading::unknown;
  architecture.reading_note = fmt::format("model type {} is not one that we read", model_type);
}

std::string_view first_architecture(const Config &config) {
  const Json *list = config.find("architectures");
  return list != nullptr && list->is_array() && !list->empty() && list->front().is_string()
             ? std::string_view(list->front().get_ref<const std::string &>())
             : std::string_view{};
}

} // namespace headwater::estimator

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
  const DecoderTraits *traits = find_decoder(config.model_type());
  if (traits == nullptr) {
    architecture.reading_note = fmt::format("model type {} is not one that we read", model_type);
    return;
  }
  architecture.family = config.model_type();
  architecture.reading = certain ? Reading::exact : Reading::transformers_semantics;
  if (!certain) {
    architecture.reading_note =
        fmt::format("{} is read as {}, whose keys it uses", model_type, alias->as);
  }
  read_decoder(*traits, config, architecture, errors);
}

} // namespace headwater::estimator

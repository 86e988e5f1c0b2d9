#include "daemon/diff/config_effect.hpp"

#include "daemon/diff/model_defaults.hpp"
#include "estimator/architecture.hpp"

#include <vector>

#include <nlohmann/json.hpp>

namespace headwater::diff {

using estimator::Architecture;
using estimator::Layer;

namespace {

/// Layers as far as they are built: latent attention keeps one compressed entry a token, whatever
/// the number of key and value heads that its config states.
std::vector<Layer> as_built(std::vector<Layer> layers) {
  for (Layer &layer : layers)
    if (layer.mixer.kind == estimator::MixerKind::latent_attention)
      layer.mixer.kv_heads = 0;
  return layers;
}

/// The config of the text model alone, with the model type that it has as a part; the whole config
/// where it has no such part.
Json text_model(const Json &config) {
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string())
    return config;
  const ModelDefaults whole = model_defaults(type->get<std::string>());
  const auto part = whole.parts.find("text_config");
  if (part == whole.parts.end())
    return config;
  const auto inner = config.find("text_config");
  const bool apart = inner != config.end() && inner->is_object();
  Json text = apart ? *inner : config;
  if (!apart || !part->second.stated_decides || !text.contains("model_type"))
    text["model_type"] = part->second.model_type;
  return text;
}

} // namespace

bool builds_the_same(const Json &before, const Json &after) {
  const Result<Architecture> a = estimator::derive(text_model(before));
  const Result<Architecture> b = estimator::derive(text_model(after));
  if (!a || !b)
    return false;
  const auto known = [](const Architecture &model) {
    return model.reading != estimator::Reading::unknown && model.head;
  };
  return known(*a) && known(*b) && as_built(a->layers) == as_built(b->layers) &&
         as_built(a->mtp_layers) == as_built(b->mtp_layers) &&
         a->encoder_layers == b->encoder_layers && a->tensors == b->tensors &&
         a->counts == b->counts && a->norm == b->norm && a->position == b->position &&
         a->max_positions == b->max_positions;
}

Json with_key_of(const Json &config, const Json &other, const std::string &pointer) {
  Json changed = config;
  const Json::json_pointer place(pointer);
  if (other.contains(place))
    changed[place] = other[place];
  else if (Json &parent = changed[place.parent_pointer()]; parent.is_object())
    parent.erase(place.back());
  return changed;
}

} // namespace headwater::diff

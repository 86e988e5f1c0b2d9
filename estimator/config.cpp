#include "estimator/config.hpp"

#include "estimator/defaults.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

struct Spellings {
  std::string_view key;
  std::array<std::string_view, 8> others;
};

// Other spellings of a key, in the order in which they are tried. Sorted by key.
constexpr std::array spellings = {
    Spellings{"d_kv", {"head_dim"}},
    Spellings{"d_model", {"hidden_size"}},
    Spellings{"decoder_attention_heads", {"num_attention_heads", "num_heads"}},
    Spellings{"decoder_ffn_dim", {"intermediate_size", "d_ff"}},
    Spellings{"decoder_layers", {"num_decoder_layers", "num_hidden_layers"}},
    Spellings{"encoder_attention_heads", {"num_attention_heads"}},
    Spellings{"encoder_layers", {"num_hidden_layers"}},
    Spellings{"first_k_dense_replace", {"moe_layer_start_index", "num_dense_layers"}},
    Spellings{"head_dim", {"d_kv", "dim_head", "d_head"}},
    Spellings{"hidden_size", {"n_embd", "d_model", "dim", "emb_dim"}},
    Spellings{"intermediate_size",
              {"n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "dff", "dim_ff", "d_inner"}},
    Spellings{"layer_types", {"layers_block_type"}},
    Spellings{"max_position_embeddings",
              {"n_positions", "max_seq_len", "n_ctx", "seq_length", "max_sequence_length"}},
    Spellings{"moe_intermediate_size", {"moe_ffn_hidden_size", "expert_ffn_hidden_size"}},
    Spellings{"n_heads", {"num_attention_heads", "num_heads"}},
    Spellings{"n_layers", {"num_hidden_layers", "n_layer", "num_layers"}},
    Spellings{"n_routed_experts", {"num_local_experts", "num_experts", "moe_num_experts"}},
    Spellings{"num_attention_heads", {"n_head", "num_heads", "n_heads", "attention_heads"}},
    Spellings{"num_blocks", {"num_hidden_layers"}},
    Spellings{"num_experts", {"num_local_experts", "n_routed_experts", "moe_num_experts"}},
    Spellings{"num_experts_per_tok",
              {"moe_topk", "moe_top_k", "num_experts_per_token", "moe_k", "top_k_experts"}},
    Spellings{"num_heads", {"num_attention_heads", "n_heads"}},
    Spellings{"num_hidden_layers", {"n_layer", "num_layers", "n_layers", "decoder_layers"}},
    Spellings{"num_key_value_heads",
              {"num_kv_heads", "n_head_kv", "num_query_groups", "multi_query_group_num",
               "n_kv_heads", "num_attention_groups"}},
    Spellings{"num_layers", {"num_hidden_layers", "n_layers"}},
    Spellings{"num_layers_per_stack", {"num_hidden_layers"}},
    Spellings{"num_local_experts", {"num_experts", "n_routed_experts", "moe_num_experts"}},
    Spellings{"num_shared_experts",
              {"n_shared_experts", "moe_num_shared_experts", "num_shared_expert"}},
    Spellings{"shared_experts_intermediate_size", {"moe_shared_expert_intermediate_size"}},
    Spellings{"vocab_size", {"padded_vocab_size"}},
};

static_assert(std::ranges::is_sorted(spellings, {}, &Spellings::key));

std::span<const std::string_view> other_spellings(std::string_view key) {
  const auto *found = std::ranges::lower_bound(spellings, key, {}, &Spellings::key);
  return found != spellings.end() && found->key == key ? std::span(found->others)
                                                       : std::span<const std::string_view>{};
}

std::string shown(const Json &value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60) {
    text.resize(60);
    text += "...";
  }
  return text;
}

std::optional<std::int64_t> to_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                   : std::nullopt;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return parts;
}

std::string_view default_of(std::string_view defaults, std::string_view key) {
  std::string_view value = default_value(defaults, key);
  for (const std::string_view other : other_spellings(key)) {
    if (!value.empty() || other.empty()) {
      break;
    }
    value = default_value(defaults, other);
  }
  return value;
}

const Json &empty_object() {
  static const Json empty = Json::object();
  return empty;
}

} // namespace

void ReadErrors::add(std::string message) {
  if (!first) {
    first = Error{Errc::malformed, std::move(message)};
  }
}

Config::Config(const Json &object, std::string_view model_type, std::string path,
               ReadErrors &errors)
    : object_(&object), path_(std::move(path)), errors_(&errors) {
  set_model_type(model_type);
}

void Config::set_model_type(std::string_view model_type) {
  model_type_ = model_type;
  defaults_ = type_defaults(model_type_);
}

const Json *Config::find(std::string_view key) const {
  auto found = object_->find(key);
  if (found != object_->end() && !found->is_null()) {
    return &*found;
  }
  for (const std::string_view other : other_spellings(key)) {
    if (other.empty()) {
      break;
    }
    found = object_->find(other);
    if (found != object_->end() && !found->is_null()) {
      return &*found;
    }
  }
  return nullptr;
}

bool Config::has(std::string_view key) const {
  return find(key) != nullptr;
}

void Config::reject(std::string_view key, std::string_view why) const {
  const Json *value = find(key);
  errors_->add(
      fmt::format("{}{}: {} {}", path_, key, value == nullptr ? "absent" : shown(*value), why));
}

std::int64_t Config::whole(const Json &value, std::string_view key, std::int64_t limit) const {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::isfinite(number) && std::floor(number) == number && number >= 0 &&
        number <= static_cast<double>(limit)) {
      return static_cast<std::int64_t>(number);
    }
  }
  if (!value.is_number_integer()) {
    errors_->add(fmt::format("{}{}: {} is not a whole number", path_, key, shown(value)));
    return 1;
  }
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(limit)) {
      errors_->add(fmt::format("{}{}: {} is over the limit of {}", path_, key, number, limit));
      return 1;
    }
    return static_cast<std::int64_t>(number);
  }
  const auto number = value.get<std::int64_t>();
  if (number < 0 || number > limit) {
    errors_->add(
        fmt::format("{}{}: {} is {}", path_, key, number, number < 0 ? "negative" : "too large"));
    return 1;
  }
  return number;
}

std::optional<std::int64_t> Config::maybe(std::string_view key, std::int64_t limit) const {
  if (const Json *value = find(key)) {
    return whole(*value, key, limit);
  }
  const auto own = object_->find(key);
  if (own != object_->end()) {
    return std::nullopt; // null in the config means none, not the default
  }
  return to_whole(default_of(defaults_, key));
}

std::optional<std::int64_t> Config::first_of(std::string_view key) const {
  const Json *value = find(key);
  if (value == nullptr || !value->is_array()) {
    return maybe(key);
  }
  if (value->empty()) {
    reject(key, "is an empty list");
    return std::nullopt;
  }
  return whole(value->front(), key, max_dimension);
}

std::int64_t Config::size(std::string_view key) const {
  const std::optional<std::int64_t> value = maybe(key);
  if (!value) {
    reject(key, "and needed");
  }
  return value.value_or(1);
}

std::int64_t Config::size_or(std::string_view key, std::int64_t otherwise) const {
  return maybe(key).value_or(otherwise);
}

std::int64_t Config::positive(std::string_view key) const {
  const std::int64_t value = size(key);
  if (value < 1) {
    reject(key, "is not positive");
    return 1;
  }
  return value;
}

bool Config::flag(std::string_view key, bool otherwise) const {
  if (const Json *value = find(key)) {
    if (value->is_boolean()) {
      return value->get<bool>();
    }
    if (value->is_number_integer() && (*value == 0 || *value == 1)) {
      return *value == 1;
    }
    reject(key, "is neither true nor false");
    return otherwise;
  }
  if (object_->contains(key)) {
    return false; // null is no yes
  }
  const std::string_view value = default_of(defaults_, key);
  return value.empty() ? otherwise : value == "true";
}

std::string Config::text(std::string_view key, std::string_view otherwise) const {
  if (const Json *value = find(key)) {
    if (value->is_string()) {
      return value->get<std::string>();
    }
    reject(key, "is not a word");
    return std::string(otherwise);
  }
  const std::string_view value = default_of(defaults_, key);
  return std::string(value.empty() ? otherwise : value);
}

double Config::real(std::string_view key, double otherwise) const {
  if (const Json *value = find(key)) {
    if (value->is_number()) {
      const double number = value->get<double>();
      if (std::isfinite(number) && std::abs(number) < 1e9) {
        return number;
      }
    }
    reject(key, "is not a usable number");
    return otherwise;
  }
  const std::string_view value = default_of(defaults_, key);
  double number = otherwise;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::vector<std::int64_t> Config::numbers(std::string_view key) const {
  std::vector<std::int64_t> list;
  if (const Json *value = find(key)) {
    if (!value->is_array() || value->size() > static_cast<std::size_t>(max_layers)) {
      reject(key, "is not a list of numbers");
      return list;
    }
    list.reserve(value->size());
    for (const Json &entry : *value) {
      list.push_back(entry.is_boolean() ? std::int64_t{entry.get<bool>()}
                                        : whole(entry, key, max_dimension));
    }
    return list;
  }
  if (!object_->contains(key)) {
    for (const std::string_view entry : split(default_of(defaults_, key))) {
      list.push_back(to_whole(entry).value_or(0));
    }
  }
  return list;
}

std::vector<std::string> Config::words(std::string_view key) const {
  std::vector<std::string> list;
  if (const Json *value = find(key)) {
    if (!value->is_array() || value->size() > static_cast<std::size_t>(max_layers)) {
      reject(key, "is not a list of words");
      return list;
    }
    list.reserve(value->size());
    for (const Json &entry : *value) {
      if (!entry.is_string()) {
        reject(key, "holds something that is not a word");
        return {};
      }
      list.push_back(entry.get<std::string>());
    }
    return list;
  }
  if (!object_->contains(key)) {
    for (const std::string_view entry : split(default_of(defaults_, key))) {
      list.emplace_back(entry);
    }
  }
  return list;
}

Config Config::child(std::string_view key, std::string_view model_type) const {
  const Json *value = find(key);
  if (value != nullptr && !value->is_object()) {
    reject(key, "is not an object");
    value = nullptr;
  }
  const Json &object = value == nullptr ? empty_object() : *value;
  const auto own_type = object.find("model_type");
  const bool named = own_type != object.end() && own_type->is_string();
  return {object, named ? std::string_view(own_type->get_ref<const std::string &>()) : model_type,
          path_ + std::string(key) + ".", *errors_};
}

} // namespace headwater::estimator

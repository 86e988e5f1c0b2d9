#include "schemas/plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

constexpr std::string_view no_fit_text = "does not fit at batch 1";
constexpr std::string_view any_batch_text = "any batch";
constexpr std::string_view borderline_text = ", borderline";

/// Takes a whole number from the front of `text`.
std::optional<std::int64_t> take_number(std::string_view &text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc())
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

OrderedJson to_json(const PlanParameters &parameters) {
  OrderedJson json = OrderedJson::object();
  if (parameters.total > 0) {
    json["total"] = parameters.total;
    json["mtp"] = parameters.mtp;
    json["buffers"] = parameters.buffers;
    json["embedding"] = parameters.embedding;
    json["active"] = parameters.active;
  }
  if (parameters.stored)
    json["stored"] = *parameters.stored;
  if (parameters.published)
    json["published"] = *parameters.published;
  if (!parameters.delta.empty())
    json["delta"] = parameters.delta;
  return json;
}

OrderedJson to_json(const PlanMemory &memory) {
  OrderedJson json = {{"model", memory.model},
                      {"batch", memory.batch},
                      {"train_seq", memory.train_seq},
                      {"serve_seq", memory.serve_seq},
                      {"full_fine_tune_bytes", memory.full_fine_tune_bytes},
                      {"full_states_bytes", memory.full_states_bytes},
                      {"full_activation_bytes", memory.full_activation_bytes},
                      {"lora_bytes", memory.lora_bytes},
                      {"lora_base_bytes", memory.lora_base_bytes},
                      {"lora_adapter_bytes", memory.lora_adapter_bytes},
                      {"lora_activation_bytes", memory.lora_activation_bytes},
                      {"serve_bytes", memory.serve_bytes},
                      {"serve_weights_bytes", memory.serve_weights_bytes},
                      {"kv_cache_bytes", memory.kv_cache_bytes},
                      {"recurrent_state_bytes", memory.recurrent_state_bytes},
                      {"reference_bytes", memory.reference_bytes},
                      {"physical_bytes", memory.physical_bytes},
                      {"conservative_bytes", memory.conservative_bytes},
                      {"lora_conservative_bytes", memory.lora_conservative_bytes}};
  OrderedJson caches = OrderedJson::array();
  for (const PlanCache &cache : memory.caches) {
    caches.push_back({{"kind", cache.kind},
                      {"layers", cache.layers},
                      {"bytes_per_token", cache.bytes_per_token},
                      {"bytes", cache.bytes}});
  }
  json["caches"] = std::move(caches);
  return json;
}

/// Reads typed members of one object; the first that is missing or of another type is kept as the
/// error.
class Reader {
public:
  Reader(const Json &json, std::string path, std::string &error)
      : json_(json), path_(std::move(path)), error_(error) {
    if (!json.is_object())
      complain("", "an object");
  }

  const Json *find(const char *key) const {
    if (!json_.is_object())
      return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  void text(const char *key, std::string &into, bool required = true) {
    const Json *value = find(key);
    if (value != nullptr && value->is_string()) {
      into = value->get<std::string>();
    } else if (value != nullptr || required) {
      complain(key, "a string");
    }
  }

  void number(const char *key, std::int64_t &into, bool required = true) {
    const Json *value = find(key);
    if (value != nullptr && value->is_number_integer()) {
      into = value->get<std::int64_t>();
    } else if (value != nullptr || required) {
      complain(key, "a whole number");
    }
  }

  void number(const char *key, std::optional<std::int64_t> &into) {
    if (find(key) == nullptr)
      return;
    std::int64_t value = 0;
    number(key, value);
    into = value;
  }

  void real(const char *key, double &into) {
    const Json *value = find(key);
    if (value != nullptr && value->is_number()) {
      into = value->get<double>();
    } else {
      complain(key, "a number");
    }
  }

  void flag(const char *key, bool &into) {
    const Json *value = find(key);
    if (value == nullptr)
      return;
    if (value->is_boolean()) {
      into = value->get<bool>();
    } else {
      complain(key, "true or false");
    }
  }

  void fit(const char *key, CardFit &into) {
    std::string words;
    text(key, words);
    if (!error_.empty())
      return;
    Result<CardFit> read = card_fit_from(words);
    if (read) {
      into = *read;
    } else {
      complain(key, "a card's verdict");
    }
  }

  void numbers(const char *key, std::vector<std::int64_t> &into) {
    const Json *value = find(key);
    if (value == nullptr || !value->is_array())
      return complain(key, "a list of whole numbers");
    for (const Json &item : *value) {
      if (!item.is_number_integer())
        return complain(key, "a list of whole numbers");
      into.push_back(item.get<std::int64_t>());
    }
  }

  void texts(const char *key, std::vector<std::string> &into) {
    const Json *value = find(key);
    if (value == nullptr)
      return;
    if (!value->is_array())
      return complain(key, "a list of strings");
    for (const Json &item : *value) {
      if (!item.is_string())
        return complain(key, "a list of strings");
      into.push_back(item.get<std::string>());
    }
  }

  /// Calls read(Reader &, Item &) for each object of a list.
  template <class Item, class Read>
  void list(const char *key, std::vector<Item> &into, const Read &read) {
    const Json *value = find(key);
    if (value == nullptr)
      return;
    if (!value->is_array())
      return complain(key, "a list");
    for (std::size_t i = 0; i < value->size() && error_.empty(); ++i) {
      Reader item((*value)[i], fmt::format("{}{}[{}].", path_, key, i), error_);
      if (error_.empty())
        read(item, into.emplace_back());
    }
  }

  /// Calls read(Reader &) with the object under a key, if it is there.
  template <class Read> bool object(const char *key, const Read &read) {
    const Json *value = find(key);
    if (value == nullptr)
      return false;
    Reader member(*value, path_ + key + ".", error_);
    if (error_.empty())
      read(member);
    return true;
  }

private:
  void complain(std::string_view key, std::string_view wanted) {
    if (error_.empty())
      error_ = fmt::format("plan: {}{} is not {}", path_, key, wanted);
  }

  const Json &json_;
  std::string path_;
  std::string &error_;
};

void read_memory(Reader &reader, PlanMemory &memory) {
  reader.text("model", memory.model);
  reader.number("batch", memory.batch);
  reader.number("train_seq", memory.train_seq);
  reader.number("serve_seq", memory.serve_seq);
  reader.number("full_fine_tune_bytes", memory.full_fine_tune_bytes);
  reader.number("full_states_bytes", memory.full_states_bytes);
  reader.number("full_activation_bytes", memory.full_activation_bytes);
  reader.number("lora_bytes", memory.lora_bytes);
  reader.number("lora_base_bytes", memory.lora_base_bytes);
  reader.number("lora_adapter_bytes", memory.lora_adapter_bytes);
  reader.number("lora_activation_bytes", memory.lora_activation_bytes);
  reader.number("serve_bytes", memory.serve_bytes);
  reader.number("serve_weights_bytes", memory.serve_weights_bytes);
  reader.number("kv_cache_bytes", memory.kv_cache_bytes);
  reader.number("recurrent_state_bytes", memory.recurrent_state_bytes);
  reader.number("reference_bytes", memory.reference_bytes);
  reader.number("physical_bytes", memory.physical_bytes);
  reader.number("conservative_bytes", memory.conservative_bytes);
  reader.number("lora_conservative_bytes", memory.lora_conservative_bytes);
  reader.list("caches", memory.caches, [](Reader &item, PlanCache &cache) {
    item.text("kind", cache.kind);
    item.number("layers", cache.layers);
    item.number("bytes_per_token", cache.bytes_per_token);
    item.number("bytes", cache.bytes);
  });
}

} // namespace

std::string to_string(const CardFit &fit) {
  std::string text;
  switch (fit.kind) {
  case CardFit::Kind::no:
    return std::string(no_fit_text);
  case CardFit::Kind::two:
    return fmt::format("2 cards at batch 1 ({} + {} layers)", fit.first_layers, fit.second_layers);
  case CardFit::Kind::one:
    text = fit.batch == 0 ? std::string(any_batch_text) : fmt::format("batch {}", fit.batch);
    if (fit.borderline)
      text += borderline_text;
    return text;
  }
  return text;
}

Result<CardFit> card_fit_from(std::string_view text) {
  CardFit fit;
  std::string_view rest = text;
  if (rest == no_fit_text)
    return fit;
  const auto malformed = [&] {
    return fail(Errc::malformed, fmt::format("\"{}\" is not a card's verdict", text.substr(0, 80)));
  };
  if (take(rest, "2 cards at batch 1 (")) {
    fit.kind = CardFit::Kind::two;
    const std::optional<std::int64_t> first = take_number(rest);
    if (!first || !take(rest, " + "))
      return malformed();
    const std::optional<std::int64_t> second = take_number(rest);
    if (!second || rest != " layers)")
      return malformed();
    fit.first_layers = *first;
    fit.second_layers = *second;
    return fit;
  }
  fit.kind = CardFit::Kind::one;
  if (!take(rest, any_batch_text)) {
    if (!take(rest, "batch "))
      return malformed();
    const std::optional<std::int64_t> batch = take_number(rest);
    if (!batch || *batch < 1)
      return malformed();
    fit.batch = *batch;
  }
  fit.borderline = take(rest, borderline_text);
  if (!rest.empty())
    return malformed();
  return fit;
}

bool forward_passes(const Plan &plan) {
  return std::none_of(plan.findings.begin(), plan.findings.end(),
                      [](const PlanFinding &finding) { return finding.severity == "block"; });
}

OrderedJson to_json(const Plan &plan) {
  OrderedJson json = OrderedJson::object();
  json["source"] = plan.source;
  if (!plan.repo.empty())
    json["repo"] = plan.repo;
  if (!plan.revision.empty())
    json["revision"] = plan.revision;
  json["model_type"] = plan.model_type;
  json["family"] = plan.family;
  json["reading"] = plan.reading;
  if (!plan.reading_note.empty())
    json["reading_note"] = plan.reading_note;
  json["custom_code"] = plan.custom_code;
  if (plan.context > 0)
    json["context"] = plan.context;
  if (plan.parameters)
    json["parameters"] = to_json(*plan.parameters);
  if (plan.memory) {
    json["memory"] = to_json(*plan.memory);
    const PlanSummary &summary = plan.summary;
    json["summary"] = {{"full_fine_tune", summary.full_fine_tune},
                       {"full_fine_tune_fits", summary.full_fine_tune_fits},
                       {"lora", summary.lora},
                       {"lora_fits", summary.lora_fits},
                       {"serve", summary.serve},
                       {"serve_fits", summary.serve_fits}};
    OrderedJson cards = OrderedJson::array();
    for (const PlanCard &card : plan.cards) {
      cards.push_back({{"card", card.card},
                       {"full", to_string(card.full)},
                       {"lora", to_string(card.lora)},
                       {"serve", to_string(card.serve)}});
    }
    json["cards"] = std::move(cards);
    OrderedJson sharded = OrderedJson::object();
    if (!plan.sharded.full.empty())
      sharded["full"] = plan.sharded.full;
    if (!plan.sharded.lora.empty())
      sharded["lora"] = plan.sharded.lora;
    if (!plan.sharded.serve.empty())
      sharded["serve"] = plan.sharded.serve;
    json["sharded"] = std::move(sharded);
  }
  if (plan.cost)
    json["cost"] = {{"card", plan.cost->card}, {"one_run_usd", plan.cost->one_run_usd}};
  if (!plan.structure.empty()) {
    json["layers"] = plan.layers;
    json["nodes"] = plan.structure.size();
    json["forward_pass"] = forward_passes(plan);
    OrderedJson structure = OrderedJson::array();
    for (const PlanNode &node : plan.structure) {
      structure.push_back({{"name", node.name}, {"type", node.type}, {"shape", node.shape}});
    }
    json["structure"] = std::move(structure);
  }
  OrderedJson findings = OrderedJson::array();
  for (const PlanFinding &finding : plan.findings) {
    findings.push_back({{"id", finding.id},
                        {"severity", finding.severity},
                        {"message", finding.message},
                        {"fix", finding.fix}});
  }
  json["findings"] = std::move(findings);
  if (!plan.muted.empty())
    json["muted"] = plan.muted;
  if (!plan.regime.empty())
    json["regime"] = plan.regime;
  if (!plan.rests_on.empty())
    json["rests_on"] = plan.rests_on;
  if (!plan.tensors.empty()) {
    OrderedJson tensors = OrderedJson::array();
    for (const PlanTensor &tensor : plan.tensors) {
      OrderedJson item = {{"name", tensor.name}, {"shape", tensor.shape}};
      if (!tensor.tied_to.empty())
        item["tied_to"] = tensor.tied_to;
      tensors.push_back(std::move(item));
    }
    json["tensors"] = std::move(tensors);
  }
  return json;
}

Result<Plan> plan_from_json(const Json &json) {
  Plan plan;
  std::string error;
  Reader reader(json, "", error);
  reader.text("source", plan.source);
  reader.text("repo", plan.repo, false);
  reader.text("revision", plan.revision, false);
  reader.text("model_type", plan.model_type);
  reader.text("family", plan.family);
  reader.text("reading", plan.reading);
  reader.text("reading_note", plan.reading_note, false);
  reader.flag("custom_code", plan.custom_code);
  reader.number("context", plan.context, false);
  PlanParameters parameters;
  if (reader.object("parameters", [&](Reader &member) {
        member.number("total", parameters.total, false);
        member.number("mtp", parameters.mtp, false);
        member.number("buffers", parameters.buffers, false);
        member.number("embedding", parameters.embedding, false);
        member.number("active", parameters.active, false);
        member.number("stored", parameters.stored);
        member.number("published", parameters.published);
        member.text("delta", parameters.delta, false);
      })) {
    plan.parameters = parameters;
  }
  PlanMemory memory;
  if (reader.object("memory", [&](Reader &member) { read_memory(member, memory); })) {
    plan.memory = std::move(memory);
  }
  reader.object("summary", [&](Reader &member) {
    member.text("full_fine_tune", plan.summary.full_fine_tune);
    member.text("full_fine_tune_fits", plan.summary.full_fine_tune_fits);
    member.text("lora", plan.summary.lora);
    member.text("lora_fits", plan.summary.lora_fits);
    member.text("serve", plan.summary.serve);
    member.text("serve_fits", plan.summary.serve_fits);
  });
  reader.list("cards", plan.cards, [](Reader &item, PlanCard &card) {
    item.text("card", card.card);
    item.fit("full", card.full);
    item.fit("lora", card.lora);
    item.fit("serve", card.serve);
  });
  reader.object("sharded", [&](Reader &member) {
    member.text("full", plan.sharded.full, false);
    member.text("lora", plan.sharded.lora, false);
    member.text("serve", plan.sharded.serve, false);
  });
  PlanCost cost;
  if (reader.object("cost", [&](Reader &member) {
        member.text("card", cost.card);
        member.real("one_run_usd", cost.one_run_usd);
      })) {
    plan.cost = std::move(cost);
  }
  reader.number("layers", plan.layers, false);
  reader.list("structure", plan.structure, [](Reader &item, PlanNode &node) {
    item.text("name", node.name);
    item.text("type", node.type);
    item.numbers("shape", node.shape);
  });
  reader.list("findings", plan.findings, [](Reader &item, PlanFinding &finding) {
    item.text("id", finding.id);
    item.text("severity", finding.severity);
    item.text("message", finding.message);
    item.text("fix", finding.fix);
  });
  reader.texts("muted", plan.muted);
  reader.text("regime", plan.regime, false);
  reader.texts("rests_on", plan.rests_on);
  reader.list("tensors", plan.tensors, [](Reader &item, PlanTensor &tensor) {
    item.text("name", tensor.name);
    item.numbers("shape", tensor.shape);
    item.text("tied_to", tensor.tied_to, false);
  });
  if (!error.empty())
    return fail(Errc::malformed, std::move(error));
  return plan;
}

std::string print_bytes(double bytes) {
  const double gigabytes = bytes / 1e9;
  if (gigabytes >= 1000)
    return fmt::format("{:.2f} TB", gigabytes / 1000);
  if (gigabytes >= 100)
    return fmt::format("{:.0f} GB", gigabytes);
  if (gigabytes >= 10)
    return fmt::format("{:.1f} GB", gigabytes);
  if (gigabytes >= 0.1)
    return fmt::format("{:.2f} GB", gigabytes);
  return fmt::format("{:.0f} MB", bytes / 1e6);
}

std::string print_parameters(std::int64_t count) {
  const double billions = static_cast<double>(count) / 1e9;
  if (billions >= 100)
    return fmt::format("{:.0f}B", billions);
  if (billions >= 0.01)
    return fmt::format("{:.2f}B", billions);
  return fmt::format("{:.2f}M", static_cast<double>(count) / 1e6);
}

std::string print_delta(std::int64_t ours, std::int64_t published) {
  if (published == 0)
    return {};
  const double percent = 100 * (static_cast<double>(ours) - static_cast<double>(published)) /
                         static_cast<double>(published);
  const char sign = percent < 0 ? '-' : '+';
  const double size = std::abs(percent);
  if (size < 10)
    return fmt::format("{}{:.2f}%", sign, size);
  if (size < 100)
    return fmt::format("{}{:.1f}%", sign, size);
  return fmt::format("{}{:.0f}%", sign, size);
}

} // namespace headwater

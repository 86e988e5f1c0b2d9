// The table model_defaults.tsv (make_model_defaults.py tells its form), taken into the library by
// the assembler. A row is parsed when it is asked for.

#include "daemon/diff/model_defaults.hpp"

#include "daemon/diff/sides.hpp"

#include <array>

#include <nlohmann/json.hpp>

asm(".section .rodata\n"
    ".global headwater_model_defaults_begin\n"
    ".global headwater_model_defaults_end\n"
    "headwater_model_defaults_begin:\n"
    ".incbin \"" HEADWATER_MODEL_DEFAULTS "\"\n"
    "headwater_model_defaults_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" const char headwater_model_defaults_begin[];
extern "C" const char headwater_model_defaults_end[];

namespace headwater::diff {
namespace {

constexpr std::size_t columns = 3;

std::string_view table() {
  return {headwater_model_defaults_begin,
          static_cast<std::size_t>(headwater_model_defaults_end - headwater_model_defaults_begin)};
}

/// The columns behind the model type.
std::array<std::string_view, columns> row_of(std::string_view model_type) {
  std::array<std::string_view, columns> row;
  if (model_type.empty() || model_type.find_first_of("\t\n") != std::string_view::npos)
    return row;
  const std::string_view text = table();
  const std::string key = std::string(model_type) + "\t";
  std::size_t at = text.starts_with(key) ? 0 : text.find("\n" + key);
  if (at == std::string_view::npos)
    return row;
  at += at == 0 ? 0 : 1;
  std::string_view rest = text.substr(at, text.find('\n', at) - at).substr(key.size());
  for (std::string_view &column : row) {
    const std::size_t end = rest.find('\t');
    column = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return row;
}

std::string model_type_of(const Json &config) {
  const auto type = config.is_object() ? config.find("model_type") : config.end();
  return type != config.end() && type->is_string() ? type->get<std::string>() : std::string();
}

} // namespace

ModelDefaults model_defaults(std::string_view model_type) {
  const auto [values, parts, names] = row_of(model_type);
  ModelDefaults defaults;
  defaults.known = !values.empty();
  Json known = Json::parse(row_of("*").front());
  if (defaults.known)
    known.update(canonical_numbers(Json::parse(values)));
  defaults.values = std::make_shared<const Json>(std::move(known));
  if (!defaults.known)
    return defaults;
  const Json inside = Json::parse(parts);
  for (const auto &[key, type] : inside.items()) {
    const std::string text = type.get<std::string>();
    const bool stated_decides = text.starts_with('*');
    defaults.parts[key] = {stated_decides ? text.substr(1) : text, stated_decides};
  }
  const Json other_names = Json::parse(names);
  for (const auto &[alias, name] : other_names.items())
    defaults.names[alias] = name.get<std::string>();
  return defaults;
}

ModelDefaults defaults_at(const Json &config, std::string_view pointer) {
  ModelDefaults defaults = model_defaults(model_type_of(config));
  const Json *here = &config;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string key(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(key.size());
    const auto inner = here != nullptr && here->is_object() ? here->find(key) : config.end();
    here = here != nullptr && here->is_object() && inner != here->end() ? &*inner : nullptr;
    const auto part = defaults.parts.find(key);
    const std::string stated = here != nullptr ? model_type_of(*here) : std::string();
    if (part == defaults.parts.end())
      defaults = model_defaults(stated);
    else
      defaults = model_defaults(
          part->second.stated_decides && !stated.empty() ? stated : part->second.model_type);
  }
  return defaults;
}

} // namespace headwater::diff

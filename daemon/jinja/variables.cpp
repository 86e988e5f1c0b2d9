#include "daemon/jinja/ast.hpp"
#include "daemon/jinja/bigint.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace headwater::jinja {

namespace {

/// Text whose hash is known, so that no later reader writes to it.
const Str *text(Arena &arena, std::string_view from) {
  const Str *made = make_str(arena, from);
  made->hash = static_cast<std::uint32_t>(hash_text(made->view()));
  return made;
}

/// NaN and the infinities as the strict form {"__float__": "NaN"} writes them.
Value strict_float(const OrderedJson &json) {
  if (!json.is_object() || json.size() != 1 || json.begin().key() != "__float__" ||
      !json.begin()->is_string()) {
    return {};
  }
  const auto &name = json.begin()->get_ref<const std::string &>();
  if (name == "NaN") {
    return std::nan("");
  }
  if (name == "Infinity" || name == "-Infinity") {
    return name[0] == '-' ? -INFINITY : INFINITY;
  }
  return {};
}

Value convert(Arena &arena, Work &work, const OrderedJson &json) {
  switch (json.type()) {
  case nlohmann::detail::value_t::boolean:
    return json.get<bool>();
  case nlohmann::detail::value_t::number_integer:
    return json.get<std::int64_t>();
  case nlohmann::detail::value_t::number_unsigned: {
    auto number = json.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(INT64_MAX)) {
      return static_cast<std::int64_t>(number);
    }
    return narrow(
        arena, Wide{{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32U)},
                    false});
  }
  case nlohmann::detail::value_t::number_float:
    return json.get<double>();
  case nlohmann::detail::value_t::string:
    return text(arena, json.get_ref<const std::string &>());
  case nlohmann::detail::value_t::array: {
    auto *items = arena.array<Value>(json.size());
    std::size_t i = 0;
    for (const OrderedJson &item : json) {
      items[i++] = convert(arena, work, item);
    }
    return Value::list(arena.make<Sequence>(items, i));
  }
  case nlohmann::detail::value_t::object: {
    if (Value special = strict_float(json); !special.is_missing()) {
      return special;
    }
    Dict *dict = make_dict(arena, json.size());
    for (auto it = json.begin(); it != json.end(); ++it) {
      work.left = 1000;
      put(arena, *dict, Value(text(arena, it.key())), convert(arena, work, *it), work);
    }
    return Value(dict);
  }
  default:
    return Value::none();
  }
}

} // namespace

Variables make_variables(const OrderedJson &object) {
  auto set = std::make_shared<VariableSet>();
  if (object.is_object()) {
    Work work;
    Value values = convert(set->arena, work, object);
    set->values = values.is_dict() ? values.dict : nullptr;
  }
  return Variables(std::move(set));
}

} // namespace headwater::jinja

#include "estimator/defaults.hpp"

#include "estimator/defaults_table.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace headwater::estimator {

std::string_view type_defaults(std::string_view model_type) {
  const std::span<const DefaultsRow> first(defaults_first);
  const std::span<const DefaultsRow> second(defaults_second);
  const std::span<const DefaultsRow> half = model_type < second.front().model_type ? first : second;
  const auto found = std::ranges::lower_bound(half, model_type, {}, &DefaultsRow::model_type);
  return found != half.end() && found->model_type == model_type ? found->values
                                                                : std::string_view{};
}

std::string_view default_value(std::string_view defaults, std::string_view key) {
  for (std::size_t at = defaults.find(key); at != std::string_view::npos;
       at = defaults.find(key, at + 1)) {
    const std::size_t equals = at + key.size();
    if (at > 0 && defaults[at - 1] == ' ' && equals < defaults.size() && defaults[equals] == '=') {
      const std::size_t begin = equals + 1;
      return defaults.substr(begin, defaults.find(' ', begin) - begin);
    }
  }
  return {};
}

} // namespace headwater::estimator

#include "daemon/diff/config_shapes.hpp"

#include "daemon/diff/sides.hpp"
#include "estimator/architecture.hpp"

#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

/// More tensors than any published model holds.
constexpr std::size_t most_tensors = 400'000;

} // namespace

ConfigShapes shapes_by_config(const Side &side) {
  ConfigShapes shapes;
  const Document &config = read_document(side, "config.json");
  if (config.state != Document::State::ok)
    return shapes;
  const Result<estimator::Architecture> architecture = estimator::derive(*config.json);
  if (!architecture)
    return shapes;
  Result<std::vector<estimator::Tensor>> tensors =
      estimator::expand(architecture->tensors, most_tensors);
  if (!tensors)
    return shapes;
  for (estimator::Tensor &tensor : *tensors)
    shapes.emplace(std::move(tensor.name), std::move(tensor.shape));
  return shapes;
}

bool follows_config(const ConfigShapes &before, const ConfigShapes &after, std::string_view name,
                    const std::vector<std::int64_t> &was, const std::vector<std::int64_t> &is) {
  const auto from = before.find(name);
  const auto to = after.find(name);
  if (from == before.end() || to == after.end() || was.size() != is.size() ||
      from->second.size() != was.size() || to->second.size() != is.size())
    return false;
  for (std::size_t axis = 0; axis < was.size(); ++axis)
    if (was[axis] != is[axis] && (from->second[axis] != was[axis] || to->second[axis] != is[axis]))
      return false;
  return true;
}

} // namespace headwater::diff

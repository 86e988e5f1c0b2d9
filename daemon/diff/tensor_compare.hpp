#pragma once

#include "daemon/diff/subjects.hpp"
#include "daemon/diff/weight_groups.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace headwater::diff {

/// A list of tensors by name, as headers (or the tensor table of a GGUF file) have it.
struct TensorView {
  std::string_view name;
  std::string_view dtype;
  const std::vector<std::int64_t> *shape = nullptr;
};

/// Names, shapes and dtypes that differ between two lists sorted by name: renamed, removed, added,
/// reshaped, other dtype. Returns false when the lists are equal. `shapes_announced`: whether all
/// the given pairs have shapes that the configs on both sides give; asked only where shapes differ.
using ShapesAnnounced = std::function<bool(const std::vector<std::pair<TensorView, TensorView>> &)>;
bool compare_tensors(const std::string &path, const std::vector<TensorView> &before,
                     const std::vector<TensorView> &after, Changes &changes,
                     const ShapesAnnounced &shapes_announced = {});

/// "[4096, 1024]".
std::string shown_shape(const std::vector<std::int64_t> &shape);

} // namespace headwater::diff

#pragma once

#include "schemas/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwater::read {

/// An index file: which tensor lies in which file. Names are relative to the index's own folder.
struct WeightIndex {
  std::vector<std::pair<std::string, std::string>> weight_map; ///< tensor, file; sorted by tensor
  std::optional<std::int64_t>
      total_size; ///< bytes of all tensors as the file says, absent when it is no size
  std::vector<std::string> files; ///< each named file once, sorted
};

/// Reads model.safetensors.index.json or pytorch_model.bin.index.json. File names that leave the
/// index's folder are refused. Errors: malformed, too_large.
Result<WeightIndex> read_weight_index(std::string_view text);

} // namespace headwater::read

#pragma once

#include "schemas/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwater::read {

/// One tensor as a weight file's header lists it.
struct StoredTensor {
  std::string name;
  std::string dtype;               ///< as the format spells it: "BF16", "Q4_K"
  std::vector<std::int64_t> shape; ///< in PyTorch's order
  std::int64_t begin = 0;          ///< byte offset behind the header
  std::int64_t end = 0;
  std::int64_t elements() const; ///< product of the shape; checked when the header was read
  friend bool operator==(const StoredTensor &, const StoredTensor &) = default;
};

/// What a safetensors file says of itself without its values.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors; ///< in the order of the header
  std::vector<std::pair<std::string, std::string>> metadata;
  std::int64_t data_bytes = 0;
};

/// Longest header that the format allows, in bytes of JSON.
inline constexpr std::int64_t safetensors_max_header = 100'000'000;

/// Bits of one element of a safetensors dtype; 0 for one that the format does not know.
int safetensors_dtype_bits(std::string_view dtype);

/// Reads 8-byte length + JSON as the format's own reader does, refusing what it refuses: duplicate
/// names, holes, overlaps, offsets that disagree with dtype and shape, text before the JSON. With
/// `file_size` the end of the data must meet it. Errors: malformed, too_large.
Result<SafetensorsHeader>
read_safetensors_header(std::string_view bytes,
                        std::optional<std::int64_t> file_size = std::nullopt);

} // namespace headwater::read

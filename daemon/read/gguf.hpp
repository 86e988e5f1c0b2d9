#pragma once

#include "daemon/read/safetensors.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::read {

/// One key of a GGUF file's metadata.
struct GgufValue {
  std::string key;
  std::uint32_t type = 0;         ///< the format's number for the type; 9 is an array
  std::uint32_t element_type = 0; ///< of an array
  std::uint64_t count = 0;        ///< elements of an array
  std::string json;               ///< compact JSON; of an array only when it is short
  std::string_view raw;           ///< the value's own bytes, in the caller's buffer
};

/// What a GGUF file says of itself without its values.
struct GgufHeader {
  std::uint32_t version = 0;
  bool big_endian = false;
  std::vector<GgufValue> metadata;   ///< in file order
  std::vector<StoredTensor> tensors; ///< shapes in PyTorch's order; offsets behind the data's start
  std::int64_t header_bytes = 0;     ///< metadata and tensor table, padded: where the data starts
  std::int64_t data_bytes = 0; ///< that the tensor table needs, 0 when a type's size is not known
};

/// Longest header that is read, in bytes.
inline constexpr std::int64_t gguf_max_header = 64 << 20;

/// Reads a GGUF header (versions 2 and 3, both byte orders). The result's views point into `bytes`.
/// Errors: malformed, too_large.
Result<GgufHeader> read_gguf_header(std::string_view bytes);

/// How many bytes of a file its header takes, told from a prefix of the file; nothing when the
/// prefix is too short to tell. Errors: malformed, too_large, as soon as they are certain.
Result<std::optional<std::int64_t>> gguf_header_size(std::string_view prefix);

/// The value of a metadata key, or null.
const GgufValue *find_metadata(const GgufHeader &header, std::string_view key);

/// The items of an array of strings, in the caller's buffer; empty for any other value.
std::vector<std::string_view> gguf_strings(const GgufHeader &header, const GgufValue &value);

/// The text of a string value, or nothing.
std::optional<std::string> gguf_string(const GgufHeader &header, std::string_view key);

} // namespace headwater::read

#include "daemon/read/gguf.hpp"

#include "schemas/json.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::read {
namespace {

constexpr std::uint32_t type_string = 8;
constexpr std::uint32_t type_array = 9;
constexpr int max_nesting = 4;
constexpr std::uint64_t short_array = 16;

/// Bytes of a scalar type; 0 for strings, arrays and what the format does not know.
std::size_t scalar_size(std::uint32_t type) {
  constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < sizes.size() ? sizes[type] : 0;
}

struct GgmlType {
  std::uint32_t id;
  std::string_view name;
  std::int64_t block_elements;
  std::int64_t block_bytes;
};

constexpr auto ggml_types = std::to_array<GgmlType>({
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 40},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
});

/// Walks the bytes; every step checks what is left before it reads, and what a count needs before
/// it loops.
class Cursor {
public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  bool ended() const { return short_; }
  bool broken() const { return !problem_.empty(); }
  bool good() const { return !short_ && problem_.empty(); }
  const std::string &problem() const { return problem_; }
  std::size_t at() const { return at_; }
  void swap_bytes() { swapped_ = true; }
  void refuse(std::string problem) {
    if (problem_.empty())
      problem_ = std::move(problem);
  }

  std::string_view take(std::uint64_t n) {
    if (!good())
      return {};
    if (n > static_cast<std::uint64_t>(gguf_max_header)) {
      refuse(fmt::format("a length of {} bytes", n));
      return {};
    }
    if (n > bytes_.size() - at_) {
      short_ = true;
      return {};
    }
    const std::string_view piece = bytes_.substr(at_, n);
    at_ += n;
    return piece;
  }

  template <class T> T number() {
    std::array<char, sizeof(T)> piece{};
    const std::string_view raw = take(sizeof(T));
    if (raw.size() != sizeof(T))
      return T{};
    std::ranges::copy(raw, piece.begin());
    if (swapped_)
      std::ranges::reverse(piece);
    return std::bit_cast<T>(piece);
  }

  std::string_view string() { return take(number<std::uint64_t>()); }

  /// A count of things that take at least `each` bytes.
  std::uint64_t count(std::uint64_t n, std::uint64_t each, std::string_view what) {
    if (good() && n > static_cast<std::uint64_t>(gguf_max_header) / each)
      refuse(fmt::format("{} {}", n, what));
    return good() ? n : 0;
  }

  std::string_view since(std::size_t start) const { return bytes_.substr(start, at_ - start); }

private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool swapped_ = false;
  bool short_ = false;
  std::string problem_;
};

std::string text_json(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string scalar_json(Cursor &cursor, std::uint32_t type) {
  switch (type) {
  case 0:
    return std::to_string(cursor.number<std::uint8_t>());
  case 1:
    return std::to_string(cursor.number<std::int8_t>());
  case 2:
    return std::to_string(cursor.number<std::uint16_t>());
  case 3:
    return std::to_string(cursor.number<std::int16_t>());
  case 4:
    return std::to_string(cursor.number<std::uint32_t>());
  case 5:
    return std::to_string(cursor.number<std::int32_t>());
  case 6: {
    const float value = cursor.number<float>();
    return value == value && value - value == 0.0F ? fmt::format("{}", value)
                                                   : fmt::format("\"{}\"", value);
  }
  case 7:
    return cursor.number<std::uint8_t>() != 0 ? "true" : "false";
  case type_string:
    return text_json(cursor.string());
  case 10:
    return std::to_string(cursor.number<std::uint64_t>());
  case 11:
    return std::to_string(cursor.number<std::int64_t>());
  case 12: {
    const double value = cursor.number<double>();
    return value == value && value - value == 0.0 ? fmt::format("{}", value)
                                                  : fmt::format("\"{}\"", value);
  }
  default:
    cursor.refuse(fmt::format("unknown value type {}", type));
    return {};
  }
}

void skip_array(Cursor &cursor, GgufValue &value, int depth);

void skip_items(Cursor &cursor, std::uint32_t type, std::uint64_t count, int depth) {
  if (const std::size_t size = scalar_size(type); size > 0) {
    cursor.take(cursor.count(count, size, "array elements") * size);
  } else if (type == type_string) {
    cursor.count(count, 8, "strings in an array");
    for (std::uint64_t i = 0; i < count && cursor.good(); ++i)
      cursor.string();
  } else if (type == type_array) {
    cursor.count(count, 12, "arrays in an array");
    for (std::uint64_t i = 0; i < count && cursor.good(); ++i) {
      GgufValue inner;
      skip_array(cursor, inner, depth + 1);
    }
  } else {
    cursor.refuse(fmt::format("unknown value type {}", type));
  }
}

void skip_array(Cursor &cursor, GgufValue &value, int depth) {
  if (depth > max_nesting)
    return cursor.refuse("arrays nested too deeply");
  value.element_type = cursor.number<std::uint32_t>();
  value.count = cursor.number<std::uint64_t>();
  if (!cursor.good())
    return;
  if (value.count > short_array || value.element_type == type_array)
    return skip_items(cursor, value.element_type, value.count, depth);
  value.json = "[";
  for (std::uint64_t i = 0; i < value.count && cursor.good(); ++i)
    value.json += (i > 0 ? "," : "") + scalar_json(cursor, value.element_type);
  value.json += "]";
}

void read_metadata(Cursor &cursor, std::uint64_t count, GgufHeader &header) {
  for (std::uint64_t i = 0; i < count && cursor.good(); ++i) {
    GgufValue value;
    value.key = cursor.string();
    value.type = cursor.number<std::uint32_t>();
    const std::size_t start = cursor.at();
    if (value.type == type_array)
      skip_array(cursor, value, 0);
    else
      value.json = scalar_json(cursor, value.type);
    if (cursor.good())
      value.raw = cursor.since(start);
    header.metadata.push_back(std::move(value));
  }
}

void read_tensors(Cursor &cursor, std::uint64_t count, GgufHeader &header) {
  bool sizes_known = true;
  for (std::uint64_t i = 0; i < count && cursor.good(); ++i) {
    StoredTensor tensor;
    tensor.name = cursor.string();
    const auto dimensions = cursor.number<std::uint32_t>();
    if (cursor.good() && dimensions > 4)
      return cursor.refuse(fmt::format("a tensor of {} dimensions", dimensions));
    std::int64_t elements = 1;
    for (std::uint32_t d = 0; d < dimensions && cursor.good(); ++d) {
      const auto size = cursor.number<std::uint64_t>();
      if (size > (1ULL << 62U) ||
          __builtin_mul_overflow(elements, static_cast<std::int64_t>(size), &elements))
        return cursor.refuse("a tensor's shape overflows");
      tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
    }
    const auto type = cursor.number<std::uint32_t>();
    const auto offset = cursor.number<std::uint64_t>();
    if (!cursor.good())
      return;
    if (offset > (1ULL << 62U))
      return cursor.refuse("a tensor's offset overflows");
    tensor.begin = static_cast<std::int64_t>(offset);
    tensor.end = tensor.begin;
    const auto known = std::ranges::find(ggml_types, type, &GgmlType::id);
    if (known == ggml_types.end()) {
      tensor.dtype = fmt::format("type {}", type);
      sizes_known = false;
    } else {
      tensor.dtype = known->name;
      std::int64_t size = 0;
      if (elements % known->block_elements != 0 ||
          __builtin_mul_overflow(elements / known->block_elements, known->block_bytes, &size) ||
          __builtin_add_overflow(tensor.begin, size, &tensor.end))
        return cursor.refuse("a tensor's shape does not fit its type");
    }
    header.data_bytes = std::max(header.data_bytes, tensor.end);
    header.tensors.push_back(std::move(tensor));
  }
  if (!sizes_known)
    header.data_bytes = 0;
}

std::int64_t alignment_of(const GgufHeader &header, Cursor &cursor) {
  const GgufValue *value = find_metadata(header, "general.alignment");
  if (value == nullptr)
    return 32;
  const std::int64_t alignment = value->json.size() < 10 ? std::atoll(value->json.c_str()) : 0;
  if (value->type != 4 || alignment <= 0 || (alignment & (alignment - 1)) != 0 ||
      alignment > (1 << 20)) {
    cursor.refuse("general.alignment is not a power of two");
    return 32;
  }
  return alignment;
}

GgufHeader walk(Cursor &cursor) {
  GgufHeader header;
  const std::string_view magic = cursor.take(4);
  if (cursor.good() && magic != "GGUF")
    cursor.refuse("it does not start with GGUF");
  auto version = cursor.number<std::uint32_t>();
  if (cursor.good() && (version & 0xFFFFU) == 0 && version != 0) {
    header.big_endian = true;
    version = __builtin_bswap32(version);
    cursor.swap_bytes();
  }
  if (cursor.good() && version != 2 && version != 3)
    cursor.refuse(fmt::format("version {} is not read, only 2 and 3", version));
  header.version = version;
  const std::uint64_t tensors = cursor.number<std::uint64_t>();
  const std::uint64_t keys = cursor.number<std::uint64_t>();
  cursor.count(tensors, 24, "tensors");
  cursor.count(keys, 13, "metadata keys");
  if (cursor.good())
    read_metadata(cursor, keys, header);
  if (cursor.good())
    read_tensors(cursor, tensors, header);
  if (cursor.good()) {
    const std::int64_t alignment = alignment_of(header, cursor);
    const auto end = static_cast<std::int64_t>(cursor.at());
    header.header_bytes = (end + alignment - 1) / alignment * alignment;
  }
  return header;
}

} // namespace

Result<GgufHeader> read_gguf_header(std::string_view bytes) {
  Cursor cursor(bytes);
  GgufHeader header = walk(cursor);
  if (cursor.broken())
    return fail(Errc::malformed, cursor.problem());
  if (cursor.ended())
    return fail(Errc::malformed, "it ends inside its header");
  return header;
}

Result<std::optional<std::int64_t>> gguf_header_size(std::string_view prefix) {
  Cursor cursor(prefix);
  const GgufHeader header = walk(cursor);
  if (cursor.broken())
    return fail(Errc::malformed, cursor.problem());
  if (!cursor.ended())
    return std::optional<std::int64_t>(header.header_bytes);
  if (prefix.size() >= static_cast<std::size_t>(gguf_max_header))
    return fail(Errc::too_large, fmt::format("its header is over {} bytes", gguf_max_header));
  return std::optional<std::int64_t>();
}

const GgufValue *find_metadata(const GgufHeader &header, std::string_view key) {
  const auto at = std::ranges::find(header.metadata, key, &GgufValue::key);
  return at != header.metadata.end() ? &*at : nullptr;
}

std::vector<std::string_view> gguf_strings(const GgufHeader &header, const GgufValue &value) {
  std::vector<std::string_view> items;
  if (value.type != type_array || value.element_type != type_string)
    return items;
  Cursor cursor(value.raw);
  if (header.big_endian)
    cursor.swap_bytes();
  cursor.take(12);
  items.reserve(value.count);
  for (std::uint64_t i = 0; i < value.count && cursor.good(); ++i)
    items.push_back(cursor.string());
  return items;
}

std::optional<std::string> gguf_string(const GgufHeader &header, std::string_view key) {
  const GgufValue *value = find_metadata(header, key);
  if (value == nullptr || value->type != type_string)
    return std::nullopt;
  Cursor cursor(value->raw);
  if (header.big_endian)
    cursor.swap_bytes();
  return std::string(cursor.string());
}

} // namespace headwater::read

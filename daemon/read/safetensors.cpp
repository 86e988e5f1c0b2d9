#include "daemon/read/safetensors.hpp"

#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <simdjson.h>

namespace headwater::read {
namespace {

namespace dom = simdjson::dom;

constexpr auto dtypes = std::to_array<std::pair<std::string_view, int>>({
    {"BOOL", 8},    {"U8", 8},          {"I8", 8},          {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},
    {"F16", 16},    {"BF16", 16},       {"I32", 32},        {"U32", 32},    {"F32", 32},
    {"I64", 64},    {"U64", 64},        {"F64", 64},        {"C64", 64},    {"F6_E2M3", 6},
    {"F6_E3M2", 6}, {"F4", 4},
});

std::uint64_t little_endian_u64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;)
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string shown(std::string_view name) {
  return "`" + plain_text(name, 80) + "`";
}

/// Fills everything but the name. Errors: a sentence about this tensor.
Result<StoredTensor> read_entry(std::string_view name, dom::element value) {
  const auto wrong = [&](std::string_view what) {
    return fail(Errc::malformed, fmt::format("tensor {}: {}", shown(name), what));
  };
  dom::object entry;
  if (value.get(entry) != simdjson::SUCCESS)
    return wrong("not an object");
  StoredTensor tensor;
  tensor.name = name;
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
  int bits = 0;
  for (const auto field : entry) {
    if (field.key == "dtype" && !has_dtype) {
      std::string_view dtype;
      if (field.value.get(dtype) != simdjson::SUCCESS)
        return wrong("dtype is not a string");
      bits = safetensors_dtype_bits(dtype);
      if (bits == 0)
        return wrong(fmt::format("unknown dtype {}", shown(dtype)));
      tensor.dtype = dtype;
      has_dtype = true;
    } else if (field.key == "shape" && !has_shape) {
      dom::array shape;
      if (field.value.get(shape) != simdjson::SUCCESS)
        return wrong("shape is not a list");
      for (const dom::element dimension : shape) {
        std::uint64_t size = 0;
        if (dimension.get(size) != simdjson::SUCCESS ||
            size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
          return wrong("shape has an entry that is not a size");
        tensor.shape.push_back(static_cast<std::int64_t>(size));
      }
      has_shape = true;
    } else if (field.key == "data_offsets" && !has_offsets) {
      dom::array offsets;
      if (field.value.get(offsets) != simdjson::SUCCESS)
        return wrong("data_offsets is not a pair");
      std::array<std::uint64_t, 2> pair{};
      std::size_t n = 0;
      for (const dom::element offset : offsets) {
        if (n == 2 || offset.get(pair[n]) != simdjson::SUCCESS)
          return wrong("data_offsets is not a pair of offsets");
        ++n;
      }
      constexpr auto bound =
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 2;
      if (n != 2 || pair[0] > pair[1] || pair[1] > bound)
        return wrong("data_offsets is not a pair of rising offsets");
      tensor.begin = static_cast<std::int64_t>(pair[0]);
      tensor.end = static_cast<std::int64_t>(pair[1]);
      has_offsets = true;
    } else {
      return wrong(fmt::format("unexpected key {}", shown(field.key)));
    }
  }
  if (!has_dtype || !has_shape || !has_offsets)
    return wrong("dtype, shape or data_offsets is missing");
  std::int64_t size = bits;
  for (const std::int64_t dimension : tensor.shape)
    if (__builtin_mul_overflow(size, dimension, &size))
      return wrong("its shape overflows");
  if (size % 8 != 0)
    return wrong("its last byte is not full");
  if (size / 8 != tensor.end - tensor.begin)
    return wrong(fmt::format("its offsets span {} bytes, dtype and shape need {}",
                             tensor.end - tensor.begin, size / 8));
  return tensor;
}

/// Reads the form in which all libraries write a header: no escapes, ASCII names, plain numbers,
/// the three keys of each tensor once. It needs no room beside its result. Gives false on anything
/// else, right or wrong, which is then read by the book.
class PlainHeader {
public:
  PlainHeader(std::string_view text, SafetensorsHeader &header) : text_(text), header_(header) {}

  bool read() {
    if (!take('{'))
      return false;
    if (take('}'))
      return at_end();
    do {
      std::string_view name;
      if (!word(name) || !take(':'))
        return false;
      if (name == "__metadata__" ? !metadata() : !tensor(name))
        return false;
    } while (take(','));
    return take('}') && at_end();
  }

private:
  bool take(char c) {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
    if (at_ >= text_.size() || text_[at_] != c)
      return false;
    ++at_;
    return true;
  }

  bool at_end() const { return text_.find_first_not_of(' ', at_) == std::string_view::npos; }

  bool word(std::string_view &value) {
    if (!take('"'))
      return false;
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        value = text_.substr(begin, at_++ - begin);
        return true;
      }
      if (c < 0x20 || c >= 0x80 || c == '\\')
        return false;
    }
    return false;
  }

  bool number(std::int64_t &value) {
    constexpr std::size_t most_digits = 18;
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
    const std::size_t begin = at_;
    value = 0;
    for (;
         at_ - begin < most_digits && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
         ++at_)
      value = value * 10 + (text_[at_] - '0');
    const std::size_t digits = at_ - begin;
    return digits > 0 && digits <= most_digits && (digits == 1 || text_[begin] != '0');
  }

  bool metadata() {
    if (!header_.metadata.empty() || !take('{'))
      return false;
    do {
      std::string_view key;
      std::string_view value;
      if (!word(key) || !take(':') || !word(value))
        return false;
      header_.metadata.emplace_back(key, value);
    } while (take(','));
    return take('}');
  }

  bool shape(StoredTensor &tensor) {
    if (!take('['))
      return false;
    if (take(']'))
      return true;
    do {
      std::int64_t size = 0;
      if (!number(size))
        return false;
      tensor.shape.push_back(size);
    } while (take(','));
    return take(']');
  }

  bool tensor(std::string_view name) {
    StoredTensor tensor;
    tensor.name = name;
    bool has_shape = false;
    bool has_offsets = false;
    if (!take('{'))
      return false;
    do {
      std::string_view key;
      if (!word(key) || !take(':'))
        return false;
      if (std::string_view dtype; key == "dtype" && tensor.dtype.empty() && word(dtype)) {
        tensor.dtype = dtype;
      } else if (key == "shape" && !has_shape) {
        has_shape = shape(tensor);
        if (!has_shape)
          return false;
      } else if (key == "data_offsets" && !has_offsets) {
        has_offsets =
            take('[') && number(tensor.begin) && take(',') && number(tensor.end) && take(']');
        if (!has_offsets)
          return false;
      } else {
        return false;
      }
    } while (take(','));
    std::int64_t size = safetensors_dtype_bits(tensor.dtype);
    if (!take('}') || size == 0 || !has_shape || !has_offsets)
      return false;
    for (const std::int64_t dimension : tensor.shape)
      if (__builtin_mul_overflow(size, dimension, &size))
        return false;
    if (size % 8 != 0 || size / 8 != tensor.end - tensor.begin)
      return false;
    header_.data_bytes = std::max(header_.data_bytes, tensor.end);
    header_.tensors.push_back(std::move(tensor));
    return true;
  }

  std::string_view text_;
  SafetensorsHeader &header_;
  std::size_t at_ = 0;
};

Result<void> check_layout(const std::vector<StoredTensor> &tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto by_place = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(tensors[a].begin, tensors[a].end) <
           std::pair(tensors[b].begin, tensors[b].end);
  };
  if (!std::ranges::is_sorted(order, by_place))
    std::ranges::sort(order, by_place);
  std::int64_t at = 0;
  for (const std::uint32_t i : order) {
    if (tensors[i].begin != at)
      return fail(Errc::malformed,
                  fmt::format("tensor {} begins at {}, the one before it ends at {}",
                              shown(tensors[i].name), tensors[i].begin, at));
    at = tensors[i].end;
  }
  return {};
}

Result<void> check_names(const std::vector<StoredTensor> &tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const StoredTensor &tensor : tensors)
    names.push_back(tensor.name);
  if (!std::ranges::is_sorted(names))
    std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    return fail(Errc::malformed, fmt::format("tensor {} is listed twice", shown(*twice)));
  return {};
}

/// Reads any JSON that says a header.
Result<SafetensorsHeader> read_any(std::string_view text) {
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(text.data(), text.size(), true).get(root);
      error != simdjson::SUCCESS)
    return fail(Errc::malformed,
                fmt::format("the header is not JSON: {}", simdjson::error_message(error)));
  dom::object entries;
  if (root.get(entries) != simdjson::SUCCESS)
    return fail(Errc::malformed, "the header is not an object");
  SafetensorsHeader header;
  header.tensors.reserve(entries.size());
  bool has_metadata = false;
  for (const auto entry : entries) {
    if (entry.key == "__metadata__") {
      dom::object metadata;
      if (has_metadata || entry.value.get(metadata) != simdjson::SUCCESS)
        return fail(Errc::malformed, "__metadata__ is not one object");
      has_metadata = true;
      for (const auto field : metadata) {
        std::string_view value;
        if (field.value.get(value) != simdjson::SUCCESS)
          return fail(Errc::malformed,
                      fmt::format("__metadata__ {} is not a string", shown(field.key)));
        header.metadata.emplace_back(field.key, value);
      }
      continue;
    }
    Result<StoredTensor> tensor = read_entry(entry.key, entry.value);
    if (!tensor)
      return std::unexpected(std::move(tensor.error()));
    header.data_bytes = std::max(header.data_bytes, tensor->end);
    header.tensors.push_back(std::move(*tensor));
  }
  return header;
}

} // namespace

std::int64_t StoredTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t dimension : shape)
    product *= dimension;
  return product;
}

int safetensors_dtype_bits(std::string_view dtype) {
  const auto at = std::ranges::find(dtypes, dtype, [](const auto &row) { return row.first; });
  return at != dtypes.end() ? at->second : 0;
}

Result<SafetensorsHeader> read_safetensors_header(std::string_view bytes,
                                                  std::optional<std::int64_t> file_size) {
  if (bytes.size() < 8)
    return fail(Errc::malformed, "shorter than the 8 bytes that name the header's length");
  const std::uint64_t length = little_endian_u64(bytes);
  if (length > static_cast<std::uint64_t>(safetensors_max_header))
    return fail(Errc::too_large,
                fmt::format("a header of {} bytes, the format allows 100,000,000", length));
  if (length > bytes.size() - 8)
    return fail(Errc::malformed, fmt::format("the header is said to have {} bytes, there are {}",
                                             length, bytes.size() - 8));
  const std::string_view text = bytes.substr(8, length);
  if (!text.starts_with('{'))
    return fail(Errc::malformed, "the header does not start with {");

  SafetensorsHeader header;
  if (!PlainHeader(text, header).read()) {
    Result<SafetensorsHeader> read = read_any(text);
    if (!read)
      return read;
    header = std::move(*read);
  }
  if (const Result<void> checked = check_names(header.tensors); !checked)
    return std::unexpected(checked.error());
  if (const Result<void> checked = check_layout(header.tensors); !checked)
    return std::unexpected(checked.error());
  const std::int64_t end = header.data_bytes + 8 + static_cast<std::int64_t>(length);
  if (file_size && *file_size != end)
    return fail(Errc::malformed,
                fmt::format("its header describes {} bytes, the file has {}", end, *file_size));
  return header;
}

} // namespace headwater::read

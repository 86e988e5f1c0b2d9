#include "daemon/read/weight_index.hpp"

#include "schemas/json.hpp"
#include "schemas/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

namespace headwater::read {
namespace {

namespace dom = simdjson::dom;

bool leaves_folder(std::string_view name) {
  if (name.empty() || name.starts_with('/') || name.find('\\') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos)
    return true;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, slash - at);
    if (part.empty() || part == "." || part == "..")
      return true;
    at = slash + 1;
  }
  return false;
}

} // namespace

Result<WeightIndex> read_weight_index(std::string_view text) {
  if (text.starts_with(byte_order_mark))
    return fail(Errc::malformed, "not JSON: it begins with a byte-order mark");
  dom::parser parser;
  dom::element root;
  auto error = parser.parse(text.data(), text.size(), true).get(root);
  std::string plain;
  if (error == simdjson::NUMBER_ERROR) {
    // A number that Python reads and that fits no machine word: one bad total_size is no bad index.
    if (const Result<Json> json = parse_json(text, {.max_bytes = 64U << 20U})) {
      plain = json->dump(-1, ' ', false, Json::error_handler_t::replace);
      error = parser.parse(plain.data(), plain.size(), true).get(root);
    }
  }
  if (error != simdjson::SUCCESS)
    return fail(Errc::malformed, fmt::format("not JSON: {}", simdjson::error_message(error)));
  dom::object map;
  if (root["weight_map"].get(map) != simdjson::SUCCESS)
    return fail(Errc::malformed, "weight_map is missing or no object");
  WeightIndex index;
  index.weight_map.reserve(map.size());
  std::string_view last_file;
  for (const auto field : map) {
    std::string_view file;
    if (field.value.get(file) != simdjson::SUCCESS)
      return fail(Errc::malformed,
                  fmt::format("weight_map `{}` names no file", plain_text(field.key, 80)));
    if (leaves_folder(file))
      return fail(Errc::malformed, fmt::format("weight_map names the file `{}` outside its folder",
                                               plain_text(file, 80)));
    index.weight_map.emplace_back(field.key, file);
    if (file != last_file)
      index.files.emplace_back(file);
    last_file = file;
  }
  if (!std::ranges::is_sorted(index.weight_map))
    std::ranges::sort(index.weight_map);
  std::ranges::sort(index.files);
  index.files.erase(std::unique(index.files.begin(), index.files.end()), index.files.end());
  std::int64_t size = 0;
  double real = 0;
  const auto total = root["metadata"]["total_size"];
  if (total.get(size) == simdjson::SUCCESS && size >= 0)
    index.total_size = size;
  else if (total.get(real) == simdjson::SUCCESS && real >= 0 && real < 9e18)
    index.total_size = static_cast<std::int64_t>(real);
  return index;
}

} // namespace headwater::read

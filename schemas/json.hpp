#pragma once

#include "schemas/result.hpp"

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace headwater {

/// Documents whose key order means nothing (config.json and its like).
using Json = nlohmann::json;
/// Documents that we write, and values whose key order is visible (template variables).
using OrderedJson = nlohmann::ordered_json;

/// Bounds on one upstream JSON document, checked while it is read.
struct JsonLimits {
  std::size_t max_bytes = 16U << 20U;
  std::size_t max_depth = 64;
  std::size_t max_values = 2'000'000;
};

/// The bytes that some editors put in front of UTF-8. No reader of a model's JSON takes them.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Reads JSON as Python's json module reads it. NaN, Infinity, -Infinity and numbers beyond a
/// double are accepted and become {"__float__": "NaN"} and so on (the form transformers writes for
/// strict readers); the last of duplicate keys holds; half of a surrogate pair is kept as its
/// escape's text. A byte-order mark and a NUL byte are refused. Integers beyond 64 bits become
/// doubles. Errors: malformed (with line and column), too_large.
Result<Json> parse_json(std::string_view text, const JsonLimits &limits = {});
/// The same, keys in the order of the text.
Result<OrderedJson> parse_ordered_json(std::string_view text, const JsonLimits &limits = {});

} // namespace headwater

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

/// Reads JSON as Python's json module writes and reads it: NaN, Infinity and -Infinity are accepted
/// and become {"__float__": "NaN"} and so on (the form transformers writes for strict readers); the
/// last of duplicate keys holds; a UTF-8 byte order mark is skipped. Integers beyond 64 bits become
/// doubles. Errors: malformed (with line and column), too_large.
Result<Json> parse_json(std::string_view text, const JsonLimits &limits = {});
/// The same, keys in the order of the text.
Result<OrderedJson> parse_ordered_json(std::string_view text, const JsonLimits &limits = {});

} // namespace headwater

#pragma once

#include "schemas/result.hpp"

#include <string_view>

namespace headwater::service {

/// What toml++ throws instead of ending the process where one of its assertions fails: it reaches
/// one on bad text, such as a table header that does not begin with a key ("[=]").
struct TomlAssertion {};

[[noreturn]] void end_in_toml_assertion();

} // namespace headwater::service

// The assertions are kept in every build: without them the library goes on past what it assumed.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? void() : headwater::service::end_in_toml_assertion())
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace headwater::service {

/// The table that TOML text gives. Any other text is refused as `SOURCE:LINE: not TOML: ...`.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view source);

} // namespace headwater::service

#pragma once

#include "schemas/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headwater::net {

/// An absolute http or https URL, split as a request needs it.
struct Url {
  std::string scheme;     ///< "http" or "https"
  std::string host;       ///< lower case, an IPv6 address without its brackets
  std::uint16_t port = 0; ///< never 0
  std::string target;     ///< path and query, percent-encoded, at least "/"
  /// "https://host" or "https://host:8443": what must be equal for a token to go along.
  std::string origin() const;
  /// "host" or "host:8443": the Host field.
  std::string authority() const;
  std::string str() const { return origin() + target; }
  friend bool operator==(const Url &, const Url &) = default;
};

/// Reads an absolute URL; characters that should have been percent-encoded are, as browsers do; a
/// fragment is dropped. User names in it are refused. Errors: bad_input that quotes the URL.
Result<Url> parse_url(std::string_view text);

/// What a Location or a Link names when it was found at `base`. Errors: as parse_url.
Result<Url> resolve_url(const Url &base, std::string_view reference);

/// The target of the first link with this relation in a Link field (RFC 8288), or nothing.
std::optional<std::string> find_link(std::string_view field, std::string_view relation);

} // namespace headwater::net

#include "daemon/net/url.hpp"

#include "daemon/net/message.hpp"

#include <algorithm>

#include <boost/url/host_type.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>
#include <fmt/format.h>

namespace headwater::net {
namespace {

constexpr std::size_t max_url_bytes = 16U << 10U;

std::uint16_t default_port(std::string_view scheme) {
  return scheme == "https" ? 443 : 80;
}

/// Where path and query begin: behind the authority of an absolute or scheme-relative URL, else at
/// once.
std::size_t behind_authority(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos && !text.starts_with("//"))
    return 0;
  const std::size_t authority = scheme == std::string_view::npos ? 2 : scheme + 3;
  return std::min(text.find_first_of("/?#", authority), text.size());
}

/// Percent-encodes what no URL may hold; the rest, escapes included, stays as it is. Brackets
/// belong into an address alone, and servers write them into queries all the same ("expand[]=sha").
std::string with_odd_characters_encoded(std::string_view text) {
  static constexpr std::string_view odd = "\"<>\\^`{|}";
  const std::size_t path = behind_authority(text);
  std::string out;
  out.reserve(text.size());
  for (const char &c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool bracket =
        (c == '[' || c == ']') && &c - text.data() >= static_cast<std::ptrdiff_t>(path);
    if (byte <= 0x20 || byte >= 0x7F || bracket || odd.find(c) != std::string_view::npos)
      out += encode_segment(std::string_view(&c, 1));
    else
      out += c;
  }
  return out;
}

std::unexpected<Error> not_a_url(std::string_view text, std::string_view why) {
  return fail(Errc::bad_input, fmt::format("\"{}\" is not a URL that can be asked: {}",
                                           with_odd_characters_encoded(text.substr(0, 200)), why));
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
         c == ':';
}

Result<Url> split(const boost::urls::url_view &view, std::string_view text) {
  Url url;
  url.scheme = std::string_view(view.scheme().data(), view.scheme().size());
  std::ranges::transform(url.scheme, url.scheme.begin(), lower);
  if (url.scheme != "http" && url.scheme != "https")
    return not_a_url(text, "it does not begin with http:// or https://");
  if (view.has_userinfo())
    return not_a_url(text, "it holds a user name");
  url.host = view.host_address();
  std::ranges::transform(url.host, url.host.begin(), lower);
  if (url.host.empty() || url.host.size() > 253 ||
      !std::ranges::all_of(url.host, is_host_character) ||
      (url.host.find(':') != std::string::npos && view.host_type() != boost::urls::host_type::ipv6))
    return not_a_url(text, "its host is not a name");
  url.port = default_port(url.scheme);
  if (view.has_port() && !view.port().empty()) {
    url.port = view.port_number();
    if (url.port == 0)
      return not_a_url(text, "its port is not a number from 1 to 65535");
  }
  const auto path = view.encoded_path();
  url.target.assign(path.data(), path.size());
  if (url.target.empty())
    url.target = "/";
  // The parser takes "h:x" for a host and a path that begins with the colon.
  if (url.target.front() != '/')
    return not_a_url(text, "its port is not a number from 1 to 65535");
  if (view.has_query()) {
    const auto query = view.encoded_query();
    url.target += '?';
    url.target.append(query.data(), query.size());
  }
  return url;
}

} // namespace

std::string Url::origin() const {
  return scheme + "://" + authority();
}

std::string Url::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == default_port(scheme) ? name : fmt::format("{}:{}", name, port);
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > max_url_bytes)
    return not_a_url(text, "it is too long");
  const std::string encoded = with_odd_characters_encoded(text);
  const auto view = boost::urls::parse_uri(encoded);
  if (!view)
    return not_a_url(text, view.error().message());
  return split(*view, text);
}

Result<Url> resolve_url(const Url &base, std::string_view reference) {
  if (reference.size() > max_url_bytes)
    return not_a_url(reference, "it is too long");
  const std::string encoded = with_odd_characters_encoded(reference);
  const std::string from = base.str();
  const auto base_view = boost::urls::parse_uri(from);
  const auto view = boost::urls::parse_uri_reference(encoded);
  if (!base_view)
    return not_a_url(from, base_view.error().message());
  if (!view)
    return not_a_url(reference, view.error().message());
  boost::urls::url resolved;
  const auto done = boost::urls::resolve(*base_view, *view, resolved);
  if (!done)
    return not_a_url(reference, done.error().message());
  return split(resolved, reference);
}

std::optional<std::string> find_link(std::string_view field, std::string_view relation) {
  const auto skip_blanks = [&field] {
    while (!field.empty() &&
           (field.front() == ' ' || field.front() == '\t' || field.front() == ','))
      field.remove_prefix(1);
  };
  for (skip_blanks(); field.starts_with('<'); skip_blanks()) {
    const std::size_t close = field.find('>');
    if (close == std::string_view::npos)
      return std::nullopt;
    const std::string_view target = field.substr(1, close - 1);
    field.remove_prefix(close + 1);
    // The parameters run to the next comma outside of quotes.
    bool quoted = false;
    std::size_t end = 0;
    for (; end < field.size() && (quoted || field[end] != ','); ++end) {
      if (quoted && field[end] == '\\') {
        if (++end == field.size())
          break;
      } else if (field[end] == '"') {
        quoted = !quoted;
      }
    }
    std::string_view parameters = field.substr(0, end);
    field.remove_prefix(end);
    while (!parameters.empty()) {
      const std::size_t next = parameters.find(';');
      std::string_view parameter = parameters.substr(0, next);
      parameters =
          next == std::string_view::npos ? std::string_view{} : parameters.substr(next + 1);
      while (!parameter.empty() && (parameter.front() == ' ' || parameter.front() == '\t'))
        parameter.remove_prefix(1);
      while (!parameter.empty() && (parameter.back() == ' ' || parameter.back() == '\t'))
        parameter.remove_suffix(1);
      const std::size_t equals = parameter.find('=');
      if (equals == std::string_view::npos || !same_name(parameter.substr(0, equals), "rel"))
        continue;
      std::string_view value = parameter.substr(equals + 1);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
      if (same_name(value, relation))
        return std::string(target);
    }
  }
  return std::nullopt;
}

} // namespace headwater::net

#include "daemon/net/message.hpp"

#include <algorithm>

namespace headwater::net {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

bool unreserved(char c) {
  const char l = lower(c);
  return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

/// Nothing on a broken escape or a NUL.
std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_blank) {
      c = ' ';
    }
    if (c == '\0')
      return std::nullopt;
    out += c;
  }
  return out;
}

} // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

const std::string *find_header(const Headers &headers, std::string_view name) {
  for (const auto &[key, value] : headers)
    if (same_name(key, name))
      return &value;
  return nullptr;
}

void set_header(Headers &headers, std::string name, std::string value) {
  std::erase_if(headers, [&](const auto &field) { return same_name(field.first, name); });
  headers.emplace_back(std::move(name), std::move(value));
}

std::optional<Target> split_target(std::string_view target) {
  if (target.empty() || target.front() != '/')
    return std::nullopt;
  // A raw control character or blank cannot stand in a target; a fragment is never sent.
  if (std::ranges::any_of(
          target, [](char c) { return c == '#' || (c >= '\0' && c <= ' ') || c == '\x7f'; }))
    return std::nullopt;
  Target result;
  const std::size_t mark = target.find('?');
  std::string_view path = target.substr(1, mark == std::string_view::npos ? mark : mark - 1);
  result.trailing_slash = path.empty() || path.back() == '/';
  if (!path.empty() && path.back() == '/')
    path.remove_suffix(1);
  if (target.starts_with("//"))
    return std::nullopt;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view raw = path.substr(0, slash);
    std::optional<std::string> segment = decode(raw, false);
    if (!segment || segment->empty() || *segment == "." || *segment == "..")
      return std::nullopt;
    result.segments.push_back(std::move(*segment));
    if (slash == std::string_view::npos)
      break;
    path.remove_prefix(slash + 1);
    if (path.empty())
      return std::nullopt; // "//" at the end
  }
  std::string_view query =
      mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
  while (!query.empty()) {
    const std::size_t amp = query.find('&');
    const std::string_view field = query.substr(0, amp);
    query = amp == std::string_view::npos ? std::string_view{} : query.substr(amp + 1);
    if (field.empty())
      continue;
    const std::size_t equals = field.find('=');
    std::optional<std::string> key = decode(field.substr(0, equals), true);
    std::optional<std::string> value = decode(
        equals == std::string_view::npos ? std::string_view{} : field.substr(equals + 1), true);
    if (!key || !value)
      return std::nullopt;
    result.query.emplace_back(std::move(*key), std::move(*value));
  }
  return result;
}

const std::string *find_query(const Target &target, std::string_view key) {
  for (const auto &[name, value] : target.query)
    if (name == key)
      return &value;
  return nullptr;
}

std::string encode_segment(std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 0xFU];
    }
  }
  return out;
}

} // namespace headwater::net

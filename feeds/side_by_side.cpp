#include "feeds/side_by_side.hpp"

#include "schemas/json.hpp"
#include "schemas/text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace headwater::feeds {
namespace {

/// Equal text that stays visible on each side of a difference.
constexpr std::size_t context_bytes = 240;

bool continues_code_point(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  auto length = static_cast<std::size_t>(in_a - a.begin());
  while (length > 0 && (continues_code_point(a, length) || continues_code_point(b, length)))
    --length;
  return length;
}

std::size_t common_suffix(std::string_view a, std::string_view b, std::size_t prefix) {
  const std::size_t most = std::min(a.size(), b.size()) - prefix;
  std::size_t length = 0;
  while (length < most && a[a.size() - 1 - length] == b[b.size() - 1 - length])
    ++length;
  while (length > 0 && continues_code_point(a, a.size() - length))
    --length;
  return length;
}

std::string head_of(std::string_view text) {
  if (text.size() <= context_bytes)
    return escape_html(text);
  std::size_t from = text.size() - context_bytes;
  while (continues_code_point(text, from))
    ++from;
  return "\u2026" + escape_html(text.substr(from));
}

std::string tail_of(std::string_view text) {
  if (text.size() <= context_bytes)
    return escape_html(text);
  std::size_t to = context_bytes;
  while (continues_code_point(text, to))
    --to;
  return escape_html(text.substr(0, to)) + "\u2026";
}

std::string marked(std::string_view text, std::size_t prefix, std::size_t suffix) {
  const std::string_view middle = text.substr(prefix, text.size() - prefix - suffix);
  return head_of(text.substr(0, prefix)) +
         (middle.empty() ? std::string() : "<mark>" + escape_html(middle) + "</mark>") +
         tail_of(text.substr(text.size() - suffix));
}

} // namespace

MarkedSides mark_difference(std::string_view before, std::string_view after) {
  const std::size_t prefix = common_prefix(before, after);
  const std::size_t suffix = common_suffix(before, after, prefix);
  return {marked(before, prefix, suffix), marked(after, prefix, suffix)};
}

std::string readable_value(std::string_view json_text, std::size_t limit) {
  const OrderedJson value = OrderedJson::parse(json_text, nullptr, false);
  std::string text;
  if (value.is_discarded())
    text = json_text;
  else if (value.is_string())
    text = value.get<std::string>();
  else if (value.is_structured() && json_text.size() > 60)
    text = value.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
  else
    text = json_text;
  if (text.size() <= limit)
    return text;
  std::size_t to = limit;
  while (to > 0 && continues_code_point(text, to))
    --to;
  return text.substr(0, to) + "\u2026";
}

} // namespace headwater::feeds

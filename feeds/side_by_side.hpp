#pragma once

#include <string>
#include <string_view>

namespace headwater::feeds {

/// Two texts as HTML with what differs between them inside <mark>; both escaped, long equal parts
/// cut short.
struct MarkedSides {
  std::string before;
  std::string after;
};
MarkedSides mark_difference(std::string_view before, std::string_view after);

/// A change's JSON value as a person reads it: a string bare, anything else indented JSON; cut at
/// `limit` bytes.
std::string readable_value(std::string_view json_text, std::size_t limit);

} // namespace headwater::feeds

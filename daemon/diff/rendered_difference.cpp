#include "daemon/diff/rendered_difference.hpp"

#include "schemas/text.hpp"

#include <algorithm>
#include <utility>

namespace headwater::diff {
namespace {

constexpr std::size_t excerpt_length = 160;

bool continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Lengths of what two texts begin and end with in common, on code point boundaries, not
/// overlapping.
std::pair<std::size_t, std::size_t> common_ends(std::string_view a, std::string_view b) {
  std::size_t most = std::min(a.size(), b.size());
  std::size_t front = 0;
  while (front < most && a[front] == b[front]) {
    ++front;
  }
  while (front > 0 && ((front < a.size() && continuation(a[front])) ||
                       (front < b.size() && continuation(b[front])))) {
    --front;
  }
  std::size_t back = 0;
  while (back < most - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) {
    ++back;
  }
  while (back > 0 && continuation(a[a.size() - back])) {
    --back;
  }
  return {front, back};
}

/// Most characters that a marker such as `<|im_start|>` is looked for in.
constexpr std::size_t longest_marker = 40;

/// How many characters before `at` a marker begins that is still open there; 0 when none is.
std::size_t open_before(std::string_view text, std::size_t at) {
  for (std::size_t back = 1; back <= std::min(at, longest_marker); ++back) {
    const char c = text[at - back];
    if (c == '<')
      return back;
    if (c == '>' || c == ' ' || c == '\n')
      return 0;
  }
  return 0;
}

/// How many characters from `at` on the marker ends that is open there; 0 when none is.
std::size_t closed_after(std::string_view text, std::size_t at) {
  if (open_before(text, at) == 0)
    return 0;
  for (std::size_t ahead = 0; ahead < std::min(text.size() - at, longest_marker); ++ahead) {
    const char c = text[at + ahead];
    if (c == '>')
      return ahead + 1;
    if (c == '<' || c == ' ' || c == '\n')
      return 0;
  }
  return 0;
}

/// A piece that was put in can be told from where its marker begins: `<|x|>a` rather than `x|>a<|`,
/// which reads the same.
std::size_t shift_to_marker(std::string_view text, std::size_t begin, std::size_t end) {
  for (std::size_t shift = 0; shift <= std::min(begin, longest_marker); ++shift) {
    if (shift > 0 && text[begin - shift] != text[end - shift])
      return 0;
    if (text[begin - shift] == '<' || text[begin - shift] == '[')
      return shift;
  }
  return 0;
}

} // namespace

std::string show_rendered(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return "`" + plain_text(out, excerpt_length) + "`";
}

Excerpt excerpt(std::string_view before, std::string_view after) {
  auto [front, back] = common_ends(before, after);
  const auto end_of = [&back](std::string_view text) { return text.size() - back; };
  if (const bool put_in = end_of(before) == front; put_in || end_of(after) == front) {
    const std::string_view longer = put_in ? after : before;
    const std::size_t shift =
        end_of(longer) > front ? shift_to_marker(longer, front, end_of(longer)) : 0;
    front -= shift;
    back += shift;
  } else {
    const std::size_t ahead =
        std::max(closed_after(before, end_of(before)), closed_after(after, end_of(after)));
    front -= open_before(before, front);
    back -= std::min(ahead, back);
  }
  return {std::string(before.substr(front, before.size() - front - back)),
          std::string(after.substr(front, after.size() - front - back))};
}

Excerpt in_context(std::string_view before, std::string_view after) {
  constexpr std::size_t around = 200;
  constexpr std::size_t longest = 1500;
  auto [front, back] = common_ends(before, after);
  auto cut = [&](std::string_view text) {
    std::size_t from = front > around ? front - around : 0;
    std::size_t to = std::min(text.size() - back + std::min(back, around), from + longest);
    while (from < front && continuation(text[from])) {
      ++from;
    }
    while (to < text.size() && continuation(text[to])) {
      ++to;
    }
    return (from > 0 ? "\u2026" : "") + std::string(text.substr(from, to - from)) +
           (to < text.size() ? "\u2026" : "");
  };
  return {cut(before), cut(after)};
}

} // namespace headwater::diff

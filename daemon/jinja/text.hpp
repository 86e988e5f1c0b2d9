#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Unicode text as Python's str sees it, over UTF-8.
namespace headwater::jinja {

/// The code point at `at`, which moves behind it. Surrogates encoded in three bytes are read as
/// such.
char32_t next_code_point(std::string_view text, std::size_t &at);
/// The code point that ends at `end`, which moves before it.
char32_t previous_code_point(std::string_view text, std::size_t &end);
void append_code_point(std::string &out, char32_t point);
std::size_t count_code_points(std::string_view text);
/// Byte offset of the n-th code point.
std::size_t byte_offset(std::string_view text, std::size_t point);
/// True for well-formed UTF-8 (no surrogates).
bool valid_utf8(std::string_view text);

bool is_space(char32_t point);     ///< str.isspace
bool is_printable(char32_t point); ///< str.isprintable
bool is_alpha(char32_t point);
bool is_decimal(char32_t point);
bool is_digit(char32_t point);
bool is_numeric(char32_t point);
bool is_alnum(char32_t point);
bool is_lower(char32_t point);
bool is_upper(char32_t point);
bool is_title(char32_t point);
bool is_cased(char32_t point);
bool is_word(char32_t point); ///< \w of re
bool is_identifier(std::string_view text);
/// A line boundary of str.splitlines.
bool is_line_break(char32_t point);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);
std::string fold_case(std::string_view text);
std::string capitalize(std::string_view text);
std::string swap_case(std::string_view text);

std::string_view trim_left(std::string_view text);
std::string_view trim_right(std::string_view text);
inline std::string_view trim(std::string_view text) {
  return trim_left(trim_right(text));
}

/// The code point of a Unicode name (\N{...}), or 0.
char32_t code_point_named(std::string_view name);

} // namespace headwater::jinja

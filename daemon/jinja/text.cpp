#include "daemon/jinja/text.hpp"

#include <algorithm>

#include <unicode/uchar.h>
#include <unicode/ustring.h>

namespace headwater::jinja {

namespace {

unsigned byte(char c) {
  return static_cast<unsigned char>(c);
}

UChar32 icu(char32_t point) {
  return static_cast<UChar32>(point);
}

std::u16string to_utf16(std::string_view text) {
  std::u16string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = next_code_point(text, at);
    if (point > 0xFFFF) {
      out.push_back(static_cast<char16_t>(0xD7C0U + (point >> 10U)));
      out.push_back(static_cast<char16_t>(0xDC00U + (point & 0x3FFU)));
    } else {
      out.push_back(static_cast<char16_t>(point));
    }
  }
  return out;
}

std::string to_utf8(std::u16string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char32_t point = text[i];
    if (point >= 0xD800 && point < 0xDC00 && i + 1 < text.size() && text[i + 1] >= 0xDC00 &&
        text[i + 1] < 0xE000) {
      point = 0x10000U + ((point - 0xD800U) << 10U) + (text[i + 1] - 0xDC00U);
      ++i;
    }
    append_code_point(out, point);
  }
  return out;
}

using FullMapping = int32_t (*)(UChar *, int32_t, const UChar *, int32_t, const char *,
                                UErrorCode *);

std::string map_case(std::string_view text, FullMapping mapping) {
  std::u16string source = to_utf16(text);
  std::u16string target(source.size() * 3 + 8, u'\0');
  UErrorCode status = U_ZERO_ERROR;
  // The root locale: Python's case mapping knows no language.
  int32_t length = mapping(target.data(), static_cast<int32_t>(target.size()), source.data(),
                           static_cast<int32_t>(source.size()), "", &status);
  if (U_FAILURE(status) != 0) {
    return std::string(text);
  }
  target.resize(static_cast<std::size_t>(length));
  return to_utf8(target);
}

bool all_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return byte(c) < 0x80; });
}

char ascii_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}
char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string title_one(char32_t point) {
  if (point < 0x80) {
    return std::string(1, ascii_upper(static_cast<char>(point)));
  }
  // One character has a full title mapping of its own (German sharp s, ligatures): ask for a
  // string's.
  std::string one;
  append_code_point(one, point);
  std::u16string source = to_utf16(one);
  std::u16string target(16, u'\0');
  UErrorCode status = U_ZERO_ERROR;
  int32_t length = u_strToTitle(target.data(), 16, source.data(),
                                static_cast<int32_t>(source.size()), nullptr, "", &status);
  if (U_FAILURE(status) != 0) {
    return one;
  }
  target.resize(static_cast<std::size_t>(length));
  return to_utf8(target);
}

} // namespace

char32_t next_code_point(std::string_view text, std::size_t &at) {
  unsigned first = byte(text[at++]);
  if (first < 0x80) {
    return first;
  }
  int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  char32_t point = first & (0x3FU >> static_cast<unsigned>(more));
  while (more-- > 0 && at < text.size() && (byte(text[at]) & 0xC0U) == 0x80U) {
    point = (point << 6U) | (byte(text[at++]) & 0x3FU);
  }
  return point;
}

char32_t previous_code_point(std::string_view text, std::size_t &end) {
  std::size_t start = end - 1;
  while (start > 0 && (byte(text[start]) & 0xC0U) == 0x80U) {
    --start;
  }
  end = start;
  std::size_t at = start;
  return next_code_point(text, at);
}

void append_code_point(std::string &out, char32_t point) {
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0U | (point >> 6U)));
    out.push_back(static_cast<char>(0x80U | (point & 0x3FU)));
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | (point >> 12U)));
    out.push_back(static_cast<char>(0x80U | ((point >> 6U) & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (point & 0x3FU)));
  } else {
    out.push_back(static_cast<char>(0xF0U | (point >> 18U)));
    out.push_back(static_cast<char>(0x80U | ((point >> 12U) & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | ((point >> 6U) & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (point & 0x3FU)));
  }
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (char c : text) {
    count += static_cast<std::size_t>((byte(c) & 0xC0U) != 0x80U);
  }
  return count;
}

std::size_t byte_offset(std::string_view text, std::size_t point) {
  std::size_t at = 0;
  while (point > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && (byte(text[at]) & 0xC0U) == 0x80U) {
      ++at;
    }
    --point;
  }
  return at;
}

bool valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    unsigned first = byte(text[i]);
    if (first < 0x80) {
      ++i;
      continue;
    }
    std::size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || i + more >= text.size()) {
      return false;
    }
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(text[i + k]) & 0xC0U) != 0x80U) {
        return false;
      }
    }
    std::size_t at = i;
    char32_t point = next_code_point(text, at);
    if ((more == 2 && point < 0x800) || (more == 3 && point < 0x10000) || point > 0x10FFFF ||
        (point >= 0xD800 && point < 0xE000)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

bool is_space(char32_t point) {
  if (point < 0x80) {
    return point == ' ' || (point >= 9 && point <= 13) || (point >= 0x1C && point <= 0x1F);
  }
  // Bidirectional class WS, B or S, or category Zs: Python's definition.
  return point == 0x85 || u_charType(icu(point)) == U_SPACE_SEPARATOR || point == 0x2028 ||
         point == 0x2029;
}

bool is_printable(char32_t point) {
  if (point < 0x80) {
    return point >= 0x20 && point != 0x7F;
  }
  switch (u_charType(icu(point))) {
  case U_CONTROL_CHAR:
  case U_FORMAT_CHAR:
  case U_SURROGATE:
  case U_PRIVATE_USE_CHAR:
  case U_UNASSIGNED:
  case U_LINE_SEPARATOR:
  case U_PARAGRAPH_SEPARATOR:
  case U_SPACE_SEPARATOR:
    return false;
  default:
    return true;
  }
}

bool is_alpha(char32_t point) {
  int8_t type = u_charType(icu(point));
  return type >= U_UPPERCASE_LETTER && type <= U_OTHER_LETTER;
}

bool is_decimal(char32_t point) {
  return u_charType(icu(point)) == U_DECIMAL_DIGIT_NUMBER;
}

bool is_digit(char32_t point) {
  auto type = static_cast<UNumericType>(u_getIntPropertyValue(icu(point), UCHAR_NUMERIC_TYPE));
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool is_numeric(char32_t point) {
  return u_getIntPropertyValue(icu(point), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

bool is_alnum(char32_t point) {
  return is_alpha(point) || is_decimal(point) || is_digit(point) || is_numeric(point);
}

bool is_lower(char32_t point) {
  if (point < 0x80) {
    return point >= 'a' && point <= 'z';
  }
  return u_hasBinaryProperty(icu(point), UCHAR_LOWERCASE) != 0;
}

bool is_upper(char32_t point) {
  if (point < 0x80) {
    return point >= 'A' && point <= 'Z';
  }
  return u_hasBinaryProperty(icu(point), UCHAR_UPPERCASE) != 0;
}

bool is_title(char32_t point) {
  return u_charType(icu(point)) == U_TITLECASE_LETTER;
}
bool is_cased(char32_t point) {
  return is_lower(point) || is_upper(point) || is_title(point);
}
bool is_word(char32_t point) {
  return point == '_' || is_alnum(point);
}

bool is_identifier(std::string_view text) {
  if (text.empty()) {
    return false;
  }
  for (std::size_t at = 0; at < text.size();) {
    bool first = at == 0;
    char32_t point = next_code_point(text, at);
    if (point < 0x80) {
      bool letter = point == '_' || ((point | 0x20U) >= 'a' && (point | 0x20U) <= 'z');
      if (!letter && (first || point < '0' || point > '9')) {
        return false;
      }
      continue;
    }
    bool good = point == '_' || (first ? u_hasBinaryProperty(icu(point), UCHAR_XID_START) != 0
                                       : u_hasBinaryProperty(icu(point), UCHAR_XID_CONTINUE) != 0);
    if (!good) {
      return false;
    }
  }
  return true;
}

bool is_line_break(char32_t point) {
  return (point >= 10 && point <= 13) || (point >= 0x1C && point <= 0x1E) || point == 0x85 ||
         point == 0x2028 || point == 0x2029;
}

std::string to_upper(std::string_view text) {
  if (!all_ascii(text)) {
    return map_case(text, u_strToUpper);
  }
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii_upper);
  return out;
}

std::string to_lower(std::string_view text) {
  if (!all_ascii(text)) {
    return map_case(text, u_strToLower);
  }
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
  return out;
}

std::string fold_case(std::string_view text) {
  if (all_ascii(text)) {
    return to_lower(text);
  }
  std::u16string source = to_utf16(text);
  std::u16string target(source.size() * 3 + 8, u'\0');
  UErrorCode status = U_ZERO_ERROR;
  int32_t length = u_strFoldCase(target.data(), static_cast<int32_t>(target.size()), source.data(),
                                 static_cast<int32_t>(source.size()), U_FOLD_CASE_DEFAULT, &status);
  target.resize(static_cast<std::size_t>(std::max(length, 0)));
  return to_utf8(target);
}

std::string to_title(std::string_view text) {
  std::string out;
  bool inside = false;
  std::string lower = to_lower(text);
  bool same_shape = count_code_points(lower) == count_code_points(text);
  std::size_t lower_at = 0;
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = next_code_point(text, at);
    std::size_t lower_start = lower_at;
    if (same_shape) {
      next_code_point(lower, lower_at);
    }
    if (!inside) {
      out += title_one(point);
    } else if (same_shape) {
      out.append(lower, lower_start, lower_at - lower_start);
    } else {
      append_code_point(out, static_cast<char32_t>(u_tolower(icu(point))));
    }
    inside = is_cased(point);
  }
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  std::size_t at = 0;
  char32_t first = next_code_point(text, at);
  return title_one(first) + to_lower(text.substr(at));
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at;
    char32_t point = next_code_point(text, at);
    std::string_view one = text.substr(start, at - start);
    if (is_upper(point)) {
      out += to_lower(one);
    } else if (is_lower(point)) {
      out += to_upper(one);
    } else {
      out += one;
    }
  }
  return out;
}

std::string_view trim_left(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t next = at;
    if (!is_space(next_code_point(text, next))) {
      break;
    }
    at = next;
  }
  return text.substr(at);
}

std::string_view trim_right(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t previous = end;
    if (!is_space(previous_code_point(text, previous))) {
      break;
    }
    end = previous;
  }
  return text.substr(0, end);
}

char32_t code_point_named(std::string_view name) {
  UErrorCode status = U_ZERO_ERROR;
  UChar32 point = u_charFromName(U_EXTENDED_CHAR_NAME, std::string(name).c_str(), &status);
  if (U_FAILURE(status) != 0) {
    return 0;
  }
  return static_cast<char32_t>(point);
}

} // namespace headwater::jinja

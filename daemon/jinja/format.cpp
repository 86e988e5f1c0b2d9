#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/format_numbers.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace headwater::jinja {

std::string real_digits(double value, char type, int precision, bool alternate) {
  if (std::isnan(value) || std::isinf(value)) {
    bool upper = type == 'E' || type == 'F' || type == 'G';
    return std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
  }
  char pattern[8] = {'%', '.', '*', type, 0};
  if (alternate) {
    pattern[1] = '#';
    pattern[2] = '.';
    pattern[3] = '*';
    pattern[4] = type;
  }
  int size = std::snprintf(nullptr, 0, pattern, precision, std::fabs(value));
  std::string out(static_cast<std::size_t>(size), '\0');
  std::snprintf(out.data(), out.size() + 1, pattern, precision, std::fabs(value));
  return out;
}

std::size_t read_number(std::string_view text, std::size_t &at) {
  std::size_t number = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    number = number * 10 + static_cast<std::size_t>(text[at++] - '0');
    if (number > most_width) {
      throw OutOfMemory{};
    }
  }
  return number;
}

namespace {

std::string group_digits(std::string_view digits, char separator, std::size_t every) {
  std::string out;
  std::size_t first = digits.size() % every;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (i + every - first) % every == 0) {
      out += separator;
    }
    out += digits[i];
  }
  return out;
}

struct Spec {
  std::string fill = " ";
  char align = 0;
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  std::size_t width = 0;
  char grouping = 0;
  int precision = -1;
  char type = 0;
};

[[noreturn]] void bad_spec(std::string message) {
  raise(ErrorClass::ValueError, std::move(message));
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  std::size_t at = 0;
  auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    std::size_t next = 0;
    next_code_point(text, next);
    if (next < text.size() && is_align(text[next])) {
      spec.fill = text.substr(0, next);
      spec.align = text[next];
      at = next + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) {
    spec.sign = text[at++];
  }
  if (at < text.size() && text[at] == 'z') {
    ++at;
  }
  if (at < text.size() && text[at] == '#') {
    spec.alternate = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0') {
    spec.zero = true;
    if (spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    ++at;
  }
  spec.width = read_number(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) {
    spec.grouping = text[at++];
  }
  if (at < text.size() && text[at] == '.') {
    std::size_t start = ++at;
    spec.precision = static_cast<int>(read_number(text, at));
    if (at == start) {
      bad_spec("Format specifier missing precision");
    }
  }
  if (at < text.size()) {
    std::size_t next = at;
    next_code_point(text, next);
    if (next != text.size()) {
      bad_spec("Invalid format specifier");
    }
    spec.type = text[at];
  }
  return spec;
}

std::string pad(std::string_view text, std::size_t length, const Spec &spec, char default_align,
                std::size_t sign_bytes = 0) {
  if (length >= spec.width) {
    return std::string(text);
  }
  std::size_t missing = spec.width - length;
  char align = spec.align == 0 ? default_align : spec.align;
  std::size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out;
  if (align == '=') {
    out.append(text.substr(0, sign_bytes));
    for (std::size_t i = 0; i < missing; ++i) {
      out += spec.fill;
    }
    out.append(text.substr(sign_bytes));
    return out;
  }
  for (std::size_t i = 0; i < left; ++i) {
    out += spec.fill;
  }
  out.append(text);
  for (std::size_t i = left; i < missing; ++i) {
    out += spec.fill;
  }
  return out;
}

std::string sign_of(bool negative, const Spec &spec) {
  if (negative) {
    return "-";
  }
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string format_integer(const Value &value, Spec spec) {
  Wide wide = widen(value);
  unsigned base = spec.type == 'b'            ? 2U
                  : spec.type == 'o'          ? 8U
                  : (spec.type | 0x20) == 'x' ? 16U
                                              : 10U;
  bool negative = wide.negative;
  wide.negative = false;
  std::string digits = to_base(wide, base);
  if (spec.type == 'X') {
    digits = to_upper(digits);
  }
  if (spec.grouping != 0) {
    digits = group_digits(digits, spec.grouping, base == 10 ? 3 : 4);
  }
  std::string prefix = sign_of(negative, spec);
  if (spec.alternate && base != 10) {
    prefix += '0';
    prefix += spec.type;
  }
  return pad(prefix + digits, prefix.size() + digits.size(), spec, '>', prefix.size());
}

std::string format_real(double value, const Spec &spec) {
  char type = spec.type;
  std::string digits;
  bool percent = type == '%';
  if (percent) {
    digits = real_digits(value * 100, 'f', spec.precision < 0 ? 6 : spec.precision, spec.alternate);
  } else if (type == 0) {
    if (spec.precision < 0) {
      digits = float_repr(std::fabs(value));
    } else {
      digits = real_digits(value, 'g', std::max(spec.precision, 1), spec.alternate);
      if (digits.find_first_of(".en") == std::string::npos) {
        digits += ".0";
      }
    }
  } else {
    char shape = type == 'n' ? 'g' : type;
    digits = real_digits(value, shape, spec.precision < 0 ? 6 : spec.precision, spec.alternate);
  }
  if (spec.grouping != 0) {
    std::size_t whole = digits.find_first_not_of("0123456789");
    whole = whole == std::string::npos ? digits.size() : whole;
    digits = group_digits(digits.substr(0, whole), spec.grouping, 3) + digits.substr(whole);
  }
  if (percent) {
    digits += '%';
  }
  std::string prefix = sign_of(std::signbit(value) && !std::isnan(value), spec);
  return pad(prefix + digits, prefix.size() + digits.size(), spec, '>', prefix.size());
}

} // namespace

std::string format_spec(Runtime &runtime, const Value &value, std::string_view text) {
  runtime.spend_bytes(text.size());
  if (text.empty()) {
    std::string out;
    runtime.append_str(out, value);
    return out;
  }
  if (value.is_string()) {
    Spec spec = parse_spec(text);
    runtime.spend(static_cast<std::int64_t>(spec.width / 8));
    if (spec.type != 0 && spec.type != 's') {
      bad_spec(fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
    }
    if (spec.sign != '-') {
      bad_spec("Sign not allowed in string format specifier");
    }
    if (spec.align == '=' && !spec.zero) {
      bad_spec("'=' alignment not allowed in string format specifier");
    }
    if (spec.align == '=') {
      spec.align = '<';
    }
    std::string_view body = value.string->view();
    std::size_t length = value.string->length;
    if (spec.precision >= 0 && static_cast<std::size_t>(spec.precision) < length) {
      length = static_cast<std::size_t>(spec.precision);
      body = body.substr(0, byte_offset(body, length));
    }
    return pad(body, length, spec, '<');
  }
  bool integer = value.is_small_int() || value.is(Kind::big);
  if (!integer && !value.is(Kind::real)) {
    raise(ErrorClass::TypeError,
          fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
  }
  Spec spec = parse_spec(text);
  runtime.spend(8 + std::max(spec.precision, 0) + static_cast<std::int64_t>(spec.width / 8));
  if (!integer && std::fabs(value.real) > 1e20) {
    runtime.spend(64); // hundreds of digits before the point
  }
  bool real_type =
      spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  if (integer && !real_type) {
    if (spec.type == 'c') {
      std::string one;
      append_code_point(one, static_cast<char32_t>(value.small_int()));
      return pad(one, 1, spec, '<');
    }
    if (spec.type != 0 && std::string_view("bdoxXn").find(spec.type) == std::string_view::npos) {
      bad_spec(fmt::format("Unknown format code '{}' for object of type '{}'", spec.type,
                           type_name(value)));
    }
    if (spec.precision >= 0) {
      bad_spec("Precision not allowed in integer format specifier");
    }
    return format_integer(value, spec);
  }
  if (!real_type && spec.type != 0 && spec.type != 'n') {
    bad_spec(fmt::format("Unknown format code '{}' for object of type 'float'", spec.type));
  }
  return format_real(to_real(value), spec);
}

std::string format_braces(Runtime &runtime, const Str &format, const Arguments &arguments) {
  std::string out;
  std::string_view text = format.view();
  std::size_t automatic = 0;
  bool numbered = false;
  // One level of fields inside a field's format specification, as Python allows.
  auto fields = [&](auto &&self, std::string_view part, int level) -> std::string {
    if (level > 1) {
      raise(ErrorClass::ValueError, "Max string recursion exceeded");
    }
    std::string result;
    for (std::size_t at = 0; at < part.size();) {
      char c = part[at];
      if (c != '{' && c != '}') {
        result += c;
        ++at;
        continue;
      }
      if (at + 1 < part.size() && part[at + 1] == c) {
        result += c;
        at += 2;
        continue;
      }
      if (c == '}') {
        raise(ErrorClass::ValueError, "Single '}' encountered in format string");
      }
      int depth = 1;
      std::size_t start = ++at;
      while (at < part.size() && depth > 0) {
        depth += part[at] == '{' ? 1 : part[at] == '}' ? -1 : 0;
        ++at;
      }
      if (depth > 0) {
        raise(ErrorClass::ValueError, start >= part.size()
                                          ? "Single '{' encountered in format string"
                                          : "expected '}' before end of string");
      }
      std::string_view field = part.substr(start, at - start - 1);
      std::size_t name_end = field.find_first_of("!:");
      std::size_t bracket = field.find('[');
      if (bracket != std::string_view::npos && bracket < name_end) {
        name_end = field.find_first_of("!:", std::min(field.find(']', bracket), field.size()));
      }
      name_end = std::min(name_end, field.size());
      std::string_view name = field.substr(0, name_end);
      std::string_view rest = field.substr(name_end);
      char conversion = 0;
      if (rest.starts_with('!')) {
        conversion = rest.size() > 1 ? rest[1] : '\0';
        rest.remove_prefix(std::min<std::size_t>(2, rest.size()));
      }
      std::string spec =
          rest.starts_with(':') ? self(self, rest.substr(1), level + 1) : std::string();
      std::size_t first_end = std::min(name.find_first_of(".["), name.size());
      std::string_view first = name.substr(0, first_end);
      Value value;
      bool digits =
          !first.empty() && first.find_first_not_of("0123456789") == std::string_view::npos;
      if (first.empty() || digits) {
        std::size_t position = 0;
        if (first.empty()) {
          if (numbered) {
            raise(ErrorClass::ValueError,
                  "cannot switch from manual field specification to automatic field numbering");
          }
          position = automatic++;
        } else {
          if (automatic > 0) {
            raise(ErrorClass::ValueError,
                  "cannot switch from manual field specification to automatic field numbering");
          }
          numbered = true;
          std::size_t from = 0;
          position = read_number(first, from);
        }
        if (position >= arguments.positional.size()) {
          raise(ErrorClass::IndexError, "tuple index out of range");
        }
        value = arguments.positional[position];
      } else {
        for (const Keyword &keyword : arguments.keywords) {
          if (keyword.name->view() == first) {
            value = keyword.value;
          }
        }
        if (value.is_missing()) {
          std::string shown;
          append_text_repr(shown, first);
          raise(ErrorClass::KeyError, shown);
        }
      }
      for (std::size_t p = first_end; p < name.size();) {
        runtime.spend(1);
        if (name[p] == '.') {
          std::size_t stop = std::min(name.find_first_of(".[", p + 1), name.size());
          value = runtime.get_attribute(value, *runtime.str(name.substr(p + 1, stop - p - 1)));
          p = stop;
        } else if (name[p] == '[') {
          std::size_t stop = name.find(']', p);
          if (stop == std::string_view::npos) {
            raise(ErrorClass::ValueError, "Missing ']' in format string");
          }
          std::string_view key = name.substr(p + 1, stop - p - 1);
          bool number =
              !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
          std::size_t from = 0;
          value = runtime.get_item(value,
                                   number ? Value(static_cast<std::int64_t>(read_number(key, from)))
                                          : Value(runtime.str(key)));
          p = stop + 1;
        } else {
          raise(ErrorClass::ValueError, "Only '.' or '[' may follow ']' in format field specifier");
        }
      }
      if (conversion == 'r' || conversion == 'a') {
        value = runtime.str(runtime.repr(value));
      } else if (conversion == 's') {
        value = runtime.to_str(value);
      } else if (conversion != 0) {
        raise(ErrorClass::ValueError, fmt::format("Unknown conversion specifier '{}'", conversion));
      }
      std::string piece;
      if (format.markup && spec.empty()) {
        piece = runtime.escape(value)->view();
      } else {
        piece = format_spec(runtime, value, spec);
      }
      runtime.spend_bytes(piece.size());
      result += piece;
      if (result.size() > runtime.bounds.allocation_bytes) {
        throw OutOfMemory{};
      }
    }
    return result;
  };
  runtime.spend_slow(text.size());
  out = fields(fields, text, 0);
  return out;
}

} // namespace headwater::jinja

#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/format_numbers.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

struct Conversion {
  bool left = false, plus = false, space = false, zero = false, alternate = false;
  std::int64_t width = 0;
  std::int64_t precision = -1;
};

std::string pad_number(std::string prefix, std::string digits, const Conversion &conversion) {
  auto width = static_cast<std::size_t>(conversion.width);
  std::size_t size = prefix.size() + digits.size();
  if (size >= width) {
    return prefix + digits;
  }
  std::string fill(width - size, conversion.zero && !conversion.left ? '0' : ' ');
  if (conversion.left) {
    return prefix + digits + fill;
  }
  return conversion.zero ? prefix + fill + digits : fill + prefix + digits;
}

std::string number_prefix(bool negative, const Conversion &conversion) {
  return negative ? "-" : conversion.plus ? "+" : conversion.space ? " " : "";
}

std::string pad_text(std::string_view text, const Conversion &conversion) {
  std::string out(text);
  std::size_t length = count_code_points(text);
  if (conversion.precision >= 0 && static_cast<std::size_t>(conversion.precision) < length) {
    out.resize(byte_offset(out, static_cast<std::size_t>(conversion.precision)));
    length = static_cast<std::size_t>(conversion.precision);
  }
  if (static_cast<std::size_t>(conversion.width) > length) {
    std::string fill(static_cast<std::size_t>(conversion.width) - length, ' ');
    out = conversion.left ? out + fill : fill + out;
  }
  return out;
}

std::string convert_integer(Runtime &runtime, Value value, char type,
                            const Conversion &conversion) {
  bool decimal = type == 'd' || type == 'i' || type == 'u';
  if (value.is_undefined()) {
    if (decimal) {
      runtime.fail_undefined(*value.undefined);
    }
  }
  if (value.is(Kind::real) && decimal) {
    if (std::isnan(value.real)) {
      raise(ErrorClass::ValueError, "cannot convert float NaN to integer");
    }
    if (std::isinf(value.real)) {
      raise(ErrorClass::OverflowError, "cannot convert float infinity to integer");
    }
    value = integer_of(runtime, value.real);
  }
  if (!value.is_small_int() && !value.is(Kind::big)) {
    raise(ErrorClass::TypeError,
          fmt::format("%{} format: {} is required, not {}", type,
                      decimal ? "a real number" : "an integer", type_name(value)));
  }
  Wide wide = widen(value);
  bool negative = wide.negative;
  wide.negative = false;
  unsigned base = decimal ? 10U : type == 'o' ? 8U : 16U;
  std::string digits = to_base(wide, base);
  if (type == 'X') {
    digits = to_upper(digits);
  }
  if (conversion.precision > static_cast<std::int64_t>(digits.size())) {
    digits.insert(0, static_cast<std::size_t>(conversion.precision) - digits.size(), '0');
  }
  std::string prefix = number_prefix(negative, conversion);
  if (conversion.alternate && !decimal) {
    prefix += '0';
    prefix += type;
  }
  return pad_number(prefix, digits, conversion);
}

std::string convert_real(Runtime &runtime, const Value &value, char type,
                         const Conversion &conversion) {
  if (value.is_undefined()) {
    runtime.fail_undefined(*value.undefined);
  }
  if (!value.is_small_int() && !value.is(Kind::big) && !value.is(Kind::real)) {
    raise(ErrorClass::TypeError, fmt::format("must be real number, not {}", type_name(value)));
  }
  double real = to_real(value);
  // Huge numbers have hundreds of digits before the point.
  runtime.spend(8 + std::max<std::int64_t>(conversion.precision, 0) +
                (std::fabs(real) > 1e20 ? 64 : 0));
  std::string digits =
      real_digits(real, type, conversion.precision < 0 ? 6 : static_cast<int>(conversion.precision),
                  conversion.alternate);
  return pad_number(number_prefix(std::signbit(real) && !std::isnan(real), conversion), digits,
                    conversion);
}

} // namespace

Value format_percent(Runtime &runtime, const Str &format, const Value &argument) {
  std::string out;
  std::string_view text = format.view();
  runtime.spend_bytes(text.size());
  std::span<const Value> given(&argument, 1);
  if (argument.is(Kind::tuple)) {
    given = argument.sequence->all();
  }
  std::size_t used = 0;
  bool mapping_used = false;
  auto take = [&]() -> const Value & {
    if (used >= given.size()) {
      raise(ErrorClass::TypeError, "not enough arguments for format string");
    }
    return given[used++];
  };
  auto star = [&](std::int64_t &into) {
    const Value &value = take();
    if (!value.is_small_int()) {
      raise(ErrorClass::TypeError, "* wants int");
    }
    into = value.small_int();
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      std::size_t stop = std::min(text.find('%', at), text.size());
      out.append(text, at, stop - at);
      at = stop;
      continue;
    }
    ++at;
    Conversion conversion;
    const Value *named = nullptr;
    if (at < text.size() && text[at] == '(') {
      int depth = 1;
      std::size_t start = ++at;
      while (at < text.size() && depth > 0) {
        depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
        ++at;
      }
      if (depth > 0) {
        raise(ErrorClass::ValueError, "incomplete format key");
      }
      if (argument.is_undefined()) {
        runtime.fail_undefined(*argument.undefined);
      }
      if (!argument.is_dict()) {
        raise(ErrorClass::TypeError, "format requires a mapping");
      }
      std::string_view key = text.substr(start, at - start - 1);
      named = find(*argument.dict, key);
      if (named == nullptr) {
        std::string shown;
        append_text_repr(shown, key);
        raise(ErrorClass::KeyError, shown);
      }
      mapping_used = true;
    }
    for (bool more = true; more && at < text.size();) {
      switch (text[at]) {
      case '-':
        conversion.left = true;
        break;
      case '+':
        conversion.plus = true;
        break;
      case ' ':
        conversion.space = true;
        break;
      case '#':
        conversion.alternate = true;
        break;
      case '0':
        conversion.zero = true;
        break;
      default:
        more = false;
      }
      at += static_cast<std::size_t>(more);
    }
    if (at < text.size() && text[at] == '*') {
      star(conversion.width);
      if (conversion.width < 0) {
        conversion.left = true;
        conversion.width = -conversion.width;
      }
      ++at;
    } else {
      conversion.width = static_cast<std::int64_t>(read_number(text, at));
    }
    if (at < text.size() && text[at] == '.') {
      ++at;
      if (at < text.size() && text[at] == '*') {
        star(conversion.precision);
        conversion.precision = std::max<std::int64_t>(conversion.precision, 0);
        ++at;
      } else {
        conversion.precision = static_cast<std::int64_t>(read_number(text, at));
      }
    }
    if (conversion.width > static_cast<std::int64_t>(most_width) ||
        conversion.precision > static_cast<std::int64_t>(most_width)) {
      throw OutOfMemory{};
    }
    while (at < text.size() && (text[at] == 'h' || text[at] == 'l' || text[at] == 'L')) {
      ++at;
    }
    if (at >= text.size()) {
      raise(ErrorClass::ValueError, "incomplete format");
    }
    std::size_t type_at = at;
    char32_t type_point = next_code_point(text, at);
    char type = type_point < 0x80 ? static_cast<char>(type_point) : '?';
    if (type == '%') {
      out += '%';
      continue;
    }
    auto subject = [&]() -> Value { return named != nullptr ? *named : take(); };
    std::string piece;
    switch (type) {
    case 's': {
      Value value = subject();
      piece =
          pad_text(format.markup ? runtime.escape(value)->view() : runtime.to_str(value)->view(),
                   conversion);
      break;
    }
    case 'r':
    case 'a':
      piece = pad_text(runtime.repr(subject()), conversion);
      break;
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      piece = convert_integer(runtime, subject(), type, conversion);
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      piece = convert_real(runtime, subject(), type, conversion);
      break;
    case 'c': {
      Value value = subject();
      std::string one;
      if (value.is_string() && value.string->length == 1) {
        one = value.string->view();
      } else if (value.is_small_int()) {
        append_code_point(one, static_cast<char32_t>(value.small_int()));
      } else {
        raise(ErrorClass::TypeError, "%c requires int or char");
      }
      piece = pad_text(one, conversion);
      break;
    }
    default:
      raise(ErrorClass::ValueError,
            fmt::format("unsupported format character '{}' (0x{:x}) at index {}",
                        text.substr(type_at, at - type_at), static_cast<unsigned>(type_point),
                        count_code_points(text.substr(0, type_at))));
    }
    runtime.spend(1);
    runtime.spend_slow(piece.size());
    out += piece;
    if (out.size() > runtime.bounds.allocation_bytes) {
      throw OutOfMemory{};
    }
  }
  bool container = argument.is_dict() || argument.is(Kind::list) || argument.is(Kind::range) ||
                   argument.is_undefined();
  if (!mapping_used && used < given.size() && !container) {
    raise(ErrorClass::TypeError, "not all arguments converted during string formatting");
  }
  return runtime.str(out, format.markup);
}

} // namespace headwater::jinja

// Filters on text and numbers, and those that decide (default, attr).

#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

bool flag(const Value *value) {
  return value != nullptr && truth(*value);
}

/// The subject of a filter that calls soft_str() on it.
const Str &subject(Runtime &runtime, const Value &value) {
  return *runtime.to_str(value);
}

/// A method of str run as a filter on any value.
Value through_method(Runtime &runtime, const Value &value, std::string_view method,
                     std::span<const Value> arguments) {
  return find_str_method(method)(runtime, Value(runtime.to_str(value)), {arguments, {}});
}

Value upper(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_upper", arguments, {"s"}, 1);
  return through_method(runtime, *bound[0], "upper", {});
}
Value lower(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_lower", arguments, {"s"}, 1);
  return through_method(runtime, *bound[0], "lower", {});
}
Value capitalize(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_capitalize", arguments, {"s"}, 1);
  return through_method(runtime, *bound[0], "capitalize", {});
}

Value title(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_title", arguments, {"s"}, 1);
  const Str &text = subject(runtime, *bound[0]);
  // A word begins after runs of these; the runs themselves pass through the same mapping unchanged.
  auto begins = [](char32_t point) {
    return point == '-' || point == '(' || point == '{' || point == '[' || point == '<' ||
           is_space(point);
  };
  std::string out;
  std::string word;
  auto finish = [&] {
    if (!word.empty()) {
      std::size_t at = 0;
      next_code_point(word, at);
      out += to_upper(word.substr(0, at));
      out += to_lower(word.substr(at));
      word.clear();
    }
  };
  std::string_view rest = text.view();
  runtime.spend_slow(rest.size() * 4);
  for (std::size_t at = 0; at < rest.size();) {
    std::size_t start = at;
    char32_t point = next_code_point(rest, at);
    if (begins(point)) {
      finish();
      out.append(rest, start, at - start);
    } else {
      word.append(rest, start, at - start);
    }
  }
  finish();
  return runtime.str(out);
}

Value trim_filter(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_trim", arguments, {"value", "chars"}, 1);
  std::span<const Value> chars;
  if (bound[1] != nullptr) {
    chars = {bound[1], 1};
  }
  return through_method(runtime, *bound[0], "strip", chars);
}

Value replace(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_replace", arguments, {"s", "old", "new", "count"}, 3);
  bool markup = runtime.autoescape;
  auto text = [&](const Value &value) {
    const Str *plain = runtime.to_str(value);
    return plain->markup && !markup ? Value(runtime.str(plain->view())) : Value(plain);
  };
  Value parts[3] = {text(*bound[1]), text(*bound[2]), Value(std::int64_t{-1})};
  if (bound[3] != nullptr && !bound[3]->is_none()) {
    parts[2] = *bound[3];
  }
  Value source = text(*bound[0]);
  bool marked =
      markup && (parts[0].string->markup || (parts[1].string->markup && !source.string->markup));
  if (marked) {
    source = runtime.escape(source);
  }
  return find_str_method("replace")(runtime, source, {{parts, 3}, {}});
}

Value string(Runtime &runtime, const Arguments &arguments) {
  Bound bound("soft_str", arguments, {"s"}, 1);
  return runtime.to_str(*bound[0]);
}

Value center(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_center", arguments, {"value", "width"}, 1);
  Value width = bound[1] == nullptr ? Value(std::int64_t{80}) : *bound[1];
  return through_method(runtime, *bound[0], "center", {&width, 1});
}

Value format(Runtime &runtime, const Arguments &arguments) {
  if (arguments.positional.size() > 1 && !arguments.keywords.empty()) {
    raise(ErrorClass::FilterArgumentError,
          "can't handle positional and keyword arguments at the same time");
  }
  const Str &pattern = subject(runtime, arguments.positional[0]);
  if (!arguments.keywords.empty()) {
    Dict *dict = make_dict(runtime.arena, arguments.keywords.size());
    for (const Keyword &keyword : arguments.keywords) {
      runtime.set(*dict, Value(keyword.name), keyword.value);
    }
    return format_percent(runtime, pattern, Value(dict));
  }
  return format_percent(runtime, pattern, runtime.tuple(arguments.positional.subspan(1)));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    char32_t point = next_code_point(text, at);
    if (!is_line_break(point)) {
      continue;
    }
    at += static_cast<std::size_t>(point == '\r' && at < text.size() && text[at] == '\n');
    lines.push_back(text.substr(start, end - start));
    start = at;
  }
  if (start < text.size()) {
    lines.push_back(text.substr(start));
  }
  return lines;
}

Value indent(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_indent", arguments, {"s", "width", "first", "blank"}, 1);
  std::string by(4, ' ');
  if (bound[1] != nullptr) {
    if (bound[1]->is_string()) {
      by = bound[1]->string->view();
    } else {
      std::int64_t width =
          runtime.index(*bound[1], fmt::format("can't multiply sequence by non-int of type '{}'",
                                               type_name(*bound[1])));
      runtime.arena.check(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)));
      by.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
  }
  // The newline is added with +=, which is where a subject that is no text fails.
  if (!bound[0]->is_string() && !bound[0]->is_undefined() && !bound[0]->is_sequence()) {
    raise(ErrorClass::TypeError,
          fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", type_name(*bound[0])));
  }
  // A list takes the newline as one more item.
  Value text =
      bound[0]->is(Kind::list) ? *bound[0] : runtime.add(*bound[0], Value(runtime.str("\n")));
  if (!text.is_string()) {
    raise(ErrorClass::AttributeError,
          fmt::format("'{}' object has no attribute 'splitlines'", type_name(text)));
  }
  std::vector<std::string_view> lines = lines_of(text.string->view());
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i != 0) {
      out += '\n';
      if (flag(bound[3]) || !lines[i].empty()) {
        out += by;
      }
    }
    out += lines[i];
    runtime.spend(2);
    runtime.spend_bytes(by.size() * 2);
    if (out.size() > runtime.bounds.allocation_bytes) {
      throw OutOfMemory{};
    }
  }
  return runtime.str(flag(bound[2]) ? by + out : out, text.string->markup);
}

Value truncate(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_truncate", arguments, {"s", "length", "killwords", "end", "leeway"}, 1);
  auto number = [&](const Value *value, std::int64_t otherwise) {
    return value == nullptr || value->is_none()
               ? otherwise
               : runtime.index(*value,
                               fmt::format("'>=' not supported between instances of '{}' and 'int'",
                                           type_name(*value)));
  };
  std::int64_t length = number(bound[1], 255);
  std::int64_t leeway = number(bound[4], 5);
  Value end = bound[3] == nullptr ? Value(runtime.str("...")) : *bound[3];
  std::int64_t end_length = runtime.length(end);
  if (length < end_length) {
    raise(ErrorClass::AssertionError,
          fmt::format("expected length >= {}, got {}", end_length, length));
  }
  if (leeway < 0) {
    raise(ErrorClass::AssertionError, fmt::format("expected leeway >= 0, got {}", leeway));
  }
  if (runtime.length(*bound[0]) <= length + leeway) {
    return *bound[0];
  }
  Slice head{Value::none(), Value(length - end_length), Value::none()};
  Value start = runtime.get_slice(*bound[0], head);
  if (!flag(bound[2])) {
    if (!start.is_string()) {
      raise(ErrorClass::AttributeError,
            fmt::format("'{}' object has no attribute 'rsplit'", type_name(start)));
    }
    std::string_view text = start.string->view();
    std::size_t space = text.rfind(' ');
    start = runtime.str(text.substr(0, space), start.string->markup);
  }
  return runtime.add(start, end);
}

Value wordcount(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_wordcount", arguments, {"s"}, 1);
  std::string_view text = subject(runtime, *bound[0]).view();
  runtime.spend_slow(text.size() * 2);
  std::int64_t count = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    bool word = is_word(next_code_point(text, at));
    count += static_cast<std::int64_t>(word && !inside);
    inside = word;
  }
  return count;
}

/// textwrap.wrap of one paragraph, with expand_tabs and replace_whitespace off.
std::vector<std::string> wrap_line(Runtime &runtime, std::string_view line, std::size_t width,
                                   bool break_long, bool hyphens) {
  // Chunks: runs of white space, and words; with hyphens, words also end behind one between
  // letters.
  std::vector<std::string_view> chunks;
  auto ascii_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  for (std::size_t at = 0; at < line.size();) {
    std::size_t start = at;
    bool space = ascii_space(line[at]);
    while (at < line.size() && ascii_space(line[at]) == space) {
      ++at;
    }
    std::string_view chunk = line.substr(start, at - start);
    if (space || !hyphens) {
      chunks.push_back(chunk);
      continue;
    }
    std::size_t from = 0;
    auto letter = [](std::string_view text, std::size_t i) {
      auto byte = static_cast<unsigned char>(text[i]);
      return byte >= 0x80 || (byte | 0x20U) - 'a' < 26U || byte == '_';
    };
    for (std::size_t i = 1; i + 1 < chunk.size(); ++i) {
      bool letters_before =
          letter(chunk, i - 1) && (i < 2 || letter(chunk, i - 2) || chunk[i - 2] == '-');
      bool two_after = i + 2 < chunk.size() && letter(chunk, i + 1) &&
                       (letter(chunk, i + 2) || chunk[i + 2] == '-');
      if (chunk[i] == '-' && letters_before && i - from >= 2 && two_after) {
        chunks.push_back(chunk.substr(from, i + 1 - from));
        from = i + 1;
      }
    }
    chunks.push_back(chunk.substr(from));
  }
  runtime.spend_slow(line.size());
  // Code points of a chunk, but no more than tell that it is too wide.
  auto size_of = [&](std::string_view chunk) {
    std::size_t size = 0;
    for (std::size_t at = 0; at < chunk.size() && size <= width; ++size) {
      next_code_point(chunk, at);
    }
    return size;
  };
  std::vector<std::string> lines;
  std::size_t i = 0;
  auto blank = [&](std::string_view chunk) { return trim(chunk).empty(); };
  runtime.spend(static_cast<std::int64_t>(chunks.size()));
  while (i < chunks.size()) {
    runtime.spend(4);
    std::vector<std::string_view> current;
    std::size_t used = 0;
    if (!lines.empty() && blank(chunks[i])) {
      ++i;
    }
    while (i < chunks.size()) {
      std::size_t size = size_of(chunks[i]);
      if (used + size > width) {
        break;
      }
      current.push_back(chunks[i++]);
      used += size;
    }
    if (i < chunks.size() && size_of(chunks[i]) > width) {
      std::size_t space = width < 1 ? 1 : width - used;
      if (break_long) {
        std::size_t cut = byte_offset(chunks[i], space);
        if (hyphens && size_of(chunks[i]) > space) {
          std::size_t hyphen = chunks[i].substr(0, cut).rfind('-');
          if (hyphen != std::string_view::npos && hyphen > 0 &&
              chunks[i].substr(0, hyphen).find_first_not_of('-') != std::string_view::npos) {
            cut = hyphen + 1;
          }
        }
        current.push_back(chunks[i].substr(0, cut));
        chunks[i].remove_prefix(cut);
      } else if (current.empty()) {
        current.push_back(chunks[i++]);
      }
    }
    if (!current.empty() && blank(current.back())) {
      current.pop_back();
    }
    if (!current.empty()) {
      std::string text;
      for (std::string_view chunk : current) {
        text += chunk;
      }
      lines.push_back(std::move(text));
    }
  }
  return lines;
}

Value wordwrap(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_wordwrap", arguments,
              {"s", "width", "break_long_words", "wrapstring", "break_on_hyphens"}, 1);
  std::int64_t width =
      bound[1] == nullptr
          ? 79
          : runtime.index(*bound[1],
                          fmt::format("'<=' not supported between instances of '{}' and 'int'",
                                      type_name(*bound[1])));
  if (!bound[0]->is_string()) {
    if (bound[0]->is_undefined()) {
      runtime.fail_undefined(*bound[0]->undefined);
    }
    raise(ErrorClass::AttributeError,
          fmt::format("'{}' object has no attribute 'splitlines'", type_name(*bound[0])));
  }
  std::string between = bound[3] == nullptr || bound[3]->is_none()
                            ? "\n"
                            : std::string(subject(runtime, *bound[3]).view());
  std::string out;
  bool first = true;
  std::vector<std::string_view> lines = lines_of(bound[0]->string->view());
  if (width <= 0 && !lines.empty()) {
    raise(ErrorClass::ValueError, fmt::format("invalid width {} (must be > 0)", width));
  }
  for (std::string_view line : lines) {
    if (!first) {
      out += between;
    }
    first = false;
    bool first_part = true;
    for (const std::string &part : wrap_line(runtime, line, static_cast<std::size_t>(width),
                                             bound[2] == nullptr || truth(*bound[2]),
                                             bound[4] == nullptr || truth(*bound[4]))) {
      if (!first_part) {
        out += between;
      }
      first_part = false;
      out += part;
      runtime.spend_bytes(between.size());
      if (out.size() > runtime.bounds.allocation_bytes) {
        throw OutOfMemory{};
      }
    }
  }
  return runtime.str(out);
}

Value to_int(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_int", arguments, {"value", "default", "base"}, 1);
  Value otherwise = bound[1] == nullptr ? Value(std::int64_t{0}) : *bound[1];
  const Value &value = *bound[0];
  if (value.is_string()) {
    std::int64_t base =
        bound[2] == nullptr
            ? 10
            : runtime.index(*bound[2], "'str' object cannot be interpreted as an integer");
    Value number = base == 0 || (base >= 2 && base <= 36)
                       ? parse_integer(runtime, value.string->view(), static_cast<unsigned>(base))
                       : Value();
    if (!number.is_missing()) {
      return number;
    }
    Value real = parse_real(value.string->view());
    return real.is_missing() || !std::isfinite(real.real) ? otherwise
                                                          : integer_of(runtime, real.real);
  }
  if (value.is_undefined()) {
    runtime.fail_undefined(*value.undefined);
  }
  if (value.is(Kind::real)) {
    if (std::isinf(value.real)) {
      raise(ErrorClass::OverflowError, "cannot convert float infinity to integer");
    }
    return std::isnan(value.real) ? otherwise : integer_of(runtime, value.real);
  }
  if (value.is_small_int()) {
    return value.small_int();
  }
  return value.is(Kind::big) ? value : otherwise;
}

Value to_float(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_float", arguments, {"value", "default"}, 1);
  const Value &value = *bound[0];
  if (value.is_undefined()) {
    runtime.fail_undefined(*value.undefined);
  }
  if (value.is(Kind::real) || value.is_small_int() || value.is(Kind::big)) {
    return to_real(value);
  }
  if (value.is_string()) {
    runtime.spend_slow(value.string->bytes);
  }
  Value number = value.is_string() ? parse_real(value.string->view()) : Value();
  return !number.is_missing() ? number : bound[1] == nullptr ? Value(0.0) : *bound[1];
}

Value absolute(Runtime &runtime, const Arguments &arguments) {
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
    raise(ErrorClass::TypeError,
          fmt::format("abs() takes exactly one argument ({} given)", arguments.positional.size()));
  }
  const Value &value = arguments.positional[0];
  if (value.is(Kind::real)) {
    return std::fabs(value.real);
  }
  if (value.is_small_int() || value.is(Kind::big)) {
    bool negative = value.is(Kind::big) ? value.big->negative : value.small_int() < 0;
    return negative ? runtime.negative(value) : runtime.positive(value);
  }
  raise(ErrorClass::TypeError, fmt::format("bad operand type for abs(): '{}'", type_name(value)));
}

/// Python's round(): to even, correct in decimal.
double round_decimal(double value, std::int64_t digits) {
  if (!std::isfinite(value) || value == 0.0 || digits > 323) {
    return value;
  }
  if (digits < -308) {
    return std::copysign(0.0, value);
  }
  if (digits < 0) {
    double power = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / power) * power;
  }
  std::string text = fmt::format("{:.{}f}", value, static_cast<int>(digits));
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

Value round(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_round", arguments, {"value", "precision", "method"}, 1);
  std::string_view method = bound[2] == nullptr     ? "common"
                            : bound[2]->is_string() ? bound[2]->string->view()
                                                    : "";
  if (method != "common" && method != "ceil" && method != "floor") {
    raise(ErrorClass::FilterArgumentError, "method must be common, ceil or floor");
  }
  const Value &value = *bound[0];
  bool integer = value.is_small_int() || value.is(Kind::big);
  if (!integer && !value.is(Kind::real)) {
    if (value.is_undefined() && method != "common") {
      runtime.fail_undefined(*value.undefined);
    }
    raise(ErrorClass::TypeError,
          method == "common"
              ? fmt::format("type {} doesn't define __round__ method", type_name(value))
              : fmt::format("can't multiply sequence by non-int of type '{}'", type_name(value)));
  }
  Value precision = bound[1] == nullptr ? Value(std::int64_t{0}) : *bound[1];
  std::int64_t digits =
      runtime.index(precision, fmt::format("'{}' object cannot be interpreted as an integer",
                                           type_name(precision)));
  if (method == "common") {
    if (!integer) {
      runtime.spend(4 + (digits > 0 ? std::min<std::int64_t>(digits, 400) / 4 : 0));
      return round_decimal(value.real, digits);
    }
    if (digits >= 0) {
      return runtime.positive(value);
    }
    if (digits < -400) {
      return std::int64_t{0};
    }
    // Halves go to the even neighbour.
    Value power = runtime.power(Value(std::int64_t{10}), Value(-digits));
    Value quotient = runtime.floor_divide(value, power);
    Value twice = runtime.multiply(runtime.modulo(value, power), Value(std::int64_t{2}));
    bool odd = truth(runtime.modulo(quotient, Value(std::int64_t{2})));
    if (runtime.ordered(twice, power, ">") || (runtime.is_equal(twice, power) && odd)) {
      quotient = runtime.add(quotient, Value(std::int64_t{1}));
    }
    return runtime.multiply(quotient, power);
  }
  Value power = runtime.power(Value(std::int64_t{10}), Value(digits));
  double scaled = to_real(runtime.multiply(value, power));
  if (!std::isfinite(scaled)) {
    raise(std::isnan(scaled) ? ErrorClass::ValueError : ErrorClass::OverflowError,
          std::isnan(scaled) ? "cannot convert float NaN to integer"
                             : "cannot convert float infinity to integer");
  }
  Value whole = integer_of(runtime, method == "ceil" ? std::ceil(scaled) : std::floor(scaled));
  return runtime.divide(whole, power);
}

Value filesizeformat(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_filesizeformat", arguments, {"value", "binary"}, 1);
  Value number = bound[0]->is_string() ? parse_real(bound[0]->string->view()) : *bound[0];
  if (number.is_missing()) {
    raise(ErrorClass::ValueError,
          fmt::format("could not convert string to float: {}", runtime.repr(*bound[0])));
  }
  if (number.is_undefined()) {
    runtime.fail_undefined(*number.undefined);
  }
  if (!number.is_small_int() && !number.is(Kind::big) && !number.is(Kind::real)) {
    raise(ErrorClass::TypeError,
          fmt::format("float() argument must be a string or a real number, not '{}'",
                      type_name(number)));
  }
  double bytes = to_real(number);
  bool binary = flag(bound[1]);
  double base = binary ? 1024 : 1000;
  if (bytes == 1) {
    return runtime.str("1 Byte");
  }
  if (bytes < base) {
    return runtime.str(fmt::format("{} Bytes", runtime.repr(integer_of(runtime, bytes))));
  }
  static constexpr std::array<std::string_view, 8> units{"k", "M", "G", "T", "P", "E", "Z", "Y"};
  double unit = base;
  std::size_t i = 0;
  for (; i < units.size(); ++i) {
    unit *= base;
    if (bytes < unit || i + 1 == units.size()) {
      break;
    }
  }
  std::string prefix = binary && i == 0 ? "K" : std::string(units[i]);
  return runtime.str(fmt::format("{:.1f} {}{}", base * bytes / unit, prefix, binary ? "iB" : "B"));
}

Value default_filter(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_default", arguments, {"value", "default_value", "boolean"}, 1);
  if (bound[0]->is_undefined() || (flag(bound[2]) && !truth(*bound[0]))) {
    return bound[1] == nullptr ? Value(runtime.str("")) : *bound[1];
  }
  return *bound[0];
}

Value attr(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_attr", arguments, {"obj", "name"}, 2);
  const Value &object = *bound[0];
  if (!bound[1]->is_string()) {
    raise(ErrorClass::TypeError,
          fmt::format("attribute name must be string, not '{}'", type_name(*bound[1])));
  }
  if (object.is_undefined()) {
    runtime.fail_undefined(*object.undefined);
  }
  // Like an attribute look-up that never falls back to an item.
  Value found = runtime.get_attribute(object, *bound[1]->string);
  if (object.is_dict() && !found.is_undefined()) {
    bool method = found.is(Kind::function) && !found.function->self.is_missing() &&
                  runtime.method(object, bound[1]->string->view()).is(Kind::function);
    return method ? found : runtime.undefined_of(object, *bound[1]);
  }
  return found;
}

constexpr std::array<NamedBuiltIn, 22> filters{{{"default", default_filter},
                                                {"d", default_filter},
                                                {"trim", trim_filter},
                                                {"tojson", to_json},
                                                {"string", string},
                                                {"replace", replace},
                                                {"upper", upper},
                                                {"lower", lower},
                                                {"capitalize", capitalize},
                                                {"title", title},
                                                {"indent", indent},
                                                {"int", to_int},
                                                {"float", to_float},
                                                {"abs", absolute},
                                                {"round", round},
                                                {"format", format},
                                                {"attr", attr},
                                                {"center", center},
                                                {"truncate", truncate},
                                                {"wordcount", wordcount},
                                                {"wordwrap", wordwrap},
                                                {"filesizeformat", filesizeformat}}};

} // namespace

std::span<const NamedBuiltIn> text_filters() {
  return filters;
}

} // namespace headwater::jinja

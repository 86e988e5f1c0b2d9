#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

constexpr int max_repr_depth = 180;
constexpr std::size_t max_int_digits = 4300;

struct Depth {
  explicit Depth(Work &of) : work(of) {
    if (++work.depth > max_repr_depth) {
      work.depth = 0;
      raise(ErrorClass::RecursionError,
            "maximum recursion depth exceeded while getting the repr of an object");
    }
  }
  Depth(const Depth &) = delete;
  Depth &operator=(const Depth &) = delete;
  ~Depth() { --work.depth; }
  Work &work;
};

void append_items(Runtime &runtime, std::string &out, std::span<const Value> items) {
  bool first = true;
  for (const Value &item : items) {
    if (!first) {
      out += ", ";
    }
    first = false;
    runtime.append_repr(out, item);
  }
}

void append_dict(Runtime &runtime, std::string &out, const Dict &dict) {
  out += '{';
  bool first = true;
  for (const DictEntry &entry : dict.all()) {
    if (!first) {
      out += ", ";
    }
    first = false;
    runtime.append_repr(out, entry.key);
    out += ": ";
    runtime.append_repr(out, entry.value);
  }
  out += '}';
}

void append_view(Runtime &runtime, std::string &out, const DictView &view) {
  out += view.what == ViewOf::keys     ? "dict_keys(["
         : view.what == ViewOf::values ? "dict_values(["
                                       : "dict_items([";
  bool first = true;
  for (const DictEntry &entry : view.dict->all()) {
    if (!first) {
      out += ", ";
    }
    first = false;
    if (view.what == ViewOf::items) {
      out += '(';
      runtime.append_repr(out, entry.key);
      out += ", ";
      runtime.append_repr(out, entry.value);
      out += ')';
    } else {
      runtime.append_repr(out, view.what == ViewOf::keys ? entry.key : entry.value);
    }
  }
  out += "])";
}

/// An object whose repr shows an address: we show none, so that output never depends on memory.
std::string opaque(std::string_view what) {
  return fmt::format("<{} at 0x0>", what);
}

void append_function(Runtime &runtime, std::string &out, const Function &function) {
  if (!function.self.is_missing()) {
    out += fmt::format("<built-in method {} of {} object at 0x0>", function.name,
                       type_name(function.self));
  } else if (function.name == "cycler") {
    out += "<class 'jinja2.utils.Cycler'>";
  } else if (function.name == "joiner") {
    out += "<class 'jinja2.utils.Joiner'>";
  } else if (function.name == "namespace") {
    out += "<class 'transformers.utils.chat_template_utils.TemplateNamespace'>";
  } else if (function.name == "range") {
    out += opaque("function safe_range");
  } else {
    out += opaque(fmt::format("function {}", function.name));
  }
  runtime.spend(1);
}

} // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  // Shortest digits that read back the same; repr() writes an exponent below 1e-4 and from 1e16 on.
  char buffer[40];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(result.ptr - buffer));
  std::size_t e = text.find('e');
  int exponent = 0;
  std::size_t from = e + 1 + static_cast<std::size_t>(text[e + 1] == '+');
  std::from_chars(text.data() + from, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    return std::string(text);
  }
  bool negative = text[0] == '-';
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') {
      digits += c;
    }
  }
  std::string out = negative ? "-" : "";
  if (exponent < 0) {
    out += "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    return out;
  }
  auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    out += digits + std::string(whole - digits.size(), '0') + ".0";
  } else {
    out += digits.substr(0, whole) + "." + digits.substr(whole);
  }
  return out;
}

void append_text_repr(std::string &out, std::string_view text) {
  bool single = text.find('\'') != std::string_view::npos;
  bool twice = text.find('"') != std::string_view::npos;
  char quote = single && !twice ? '"' : '\'';
  out += quote;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at;
    char32_t point = next_code_point(text, at);
    if (point == static_cast<char32_t>(quote) || point == '\\') {
      out += '\\';
      out += static_cast<char>(point);
    } else if (point == '\n') {
      out += "\\n";
    } else if (point == '\r') {
      out += "\\r";
    } else if (point == '\t') {
      out += "\\t";
    } else if (is_printable(point)) {
      out.append(text, start, at - start);
    } else if (point < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(point));
    } else if (point < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<unsigned>(point));
    }
  }
  out += quote;
}

void Runtime::append_repr(std::string &out, const Value &value) {
  spend(1);
  if (out.size() > bounds.allocation_bytes) {
    throw OutOfMemory{};
  }
  switch (value.kind) {
  case Kind::missing:
    out += "missing";
    return;
  case Kind::undefined:
    out += "Undefined";
    return;
  case Kind::none:
    out += "None";
    return;
  case Kind::boolean:
    out += value.boolean ? "True" : "False";
    return;
  case Kind::integer: {
    char buffer[24];
    auto result = std::to_chars(buffer, buffer + sizeof buffer, value.integer);
    out.append(buffer, result.ptr);
    return;
  }
  case Kind::big: {
    // Quadratic in the limbs, and Python refuses to write very long integers at all.
    if (value.big->count > max_int_digits / 9) {
      raise(ErrorClass::ValueError,
            "Exceeds the limit (4300 digits) for integer string conversion; use "
            "sys.set_int_max_str_digits() to increase the limit");
    }
    spend(std::int64_t{value.big->count} * value.big->count / 16 + 1);
    std::string digits = to_decimal(widen(value));
    if (digits.size() - static_cast<std::size_t>(value.big->negative) > max_int_digits) {
      raise(ErrorClass::ValueError,
            "Exceeds the limit (4300 digits) for integer string conversion; use "
            "sys.set_int_max_str_digits() to increase the limit");
    }
    out += digits;
    return;
  }
  case Kind::real:
    out += float_repr(value.real);
    return;
  case Kind::string:
    spend_slow(value.string->bytes);
    if (value.string->markup) {
      out += "Markup(";
      append_text_repr(out, value.string->view());
      out += ')';
    } else {
      append_text_repr(out, value.string->view());
    }
    return;
  case Kind::list: {
    Depth deeper(work);
    out += '[';
    append_items(*this, out, value.sequence->all());
    out += ']';
    return;
  }
  case Kind::tuple: {
    Depth deeper(work);
    out += '(';
    append_items(*this, out, value.sequence->all());
    out += value.sequence->count == 1 ? ",)" : ")";
    return;
  }
  case Kind::dict: {
    Depth deeper(work);
    append_dict(*this, out, *value.dict);
    return;
  }
  case Kind::range:
    out += value.range->step == 1
               ? fmt::format("range({}, {})", value.range->start, value.range->stop)
               : fmt::format("range({}, {}, {})", value.range->start, value.range->stop,
                             value.range->step);
    return;
  case Kind::dict_view: {
    Depth deeper(work);
    append_view(*this, out, *value.view);
    return;
  }
  case Kind::iterator:
    out += value.iterator->name.empty()
               ? opaque(fmt::format("{} object", value.iterator->type))
               : opaque(fmt::format("{} object {}", value.iterator->type, value.iterator->name));
    return;
  case Kind::name_space: {
    Depth deeper(work);
    bool inside = std::find(shown.begin(), shown.end(), value.name_space) != shown.end();
    shown.push_back(value.name_space);
    out += "<Namespace ";
    if (inside) {
      out += "{...}"; // as Python shows a dict inside itself
    } else {
      append_dict(*this, out, *value.name_space->attributes);
    }
    out += '>';
    shown.pop_back();
    return;
  }
  case Kind::macro:
    out += callbacks->macro_repr(*value.macro);
    return;
  case Kind::loop: {
    Value index = callbacks->loop_attribute(*value.loop, "index");
    Value size = callbacks->loop_attribute(*value.loop, "length");
    out += fmt::format("<LoopContext {}/{}>", index.integer, size.integer);
    return;
  }
  case Kind::cycler:
    out += opaque("jinja2.utils.Cycler object");
    return;
  case Kind::joiner:
    out += opaque("jinja2.utils.Joiner object");
    return;
  case Kind::function:
    append_function(*this, out, *value.function);
    return;
  case Kind::slice:
    out += "slice(";
    append_repr(out, value.slice->start);
    out += ", ";
    append_repr(out, value.slice->stop);
    out += ", ";
    append_repr(out, value.slice->step);
    out += ')';
    return;
  case Kind::block_reference:
    out += callbacks->block_repr(*value.block);
    return;
  }
}

void Runtime::append_str(std::string &out, const Value &value) {
  if (value.is_string()) {
    out.append(value.string->view());
  } else if (!value.is_undefined()) {
    append_repr(out, value);
  }
}

std::string Runtime::repr(const Value &value) {
  std::string out;
  append_repr(out, value);
  return out;
}

const Str *Runtime::to_str(const Value &value) {
  if (value.is_string()) {
    return value.string;
  }
  std::string out;
  append_str(out, value);
  return str(out);
}

const Str *Runtime::escape(const Value &value) {
  if (value.is_string() && value.string->markup) {
    return value.string;
  }
  const Str *text = to_str(value);
  spend_slow(text->bytes);
  std::string out;
  for (char c : text->view()) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '\'':
      out += "&#39;";
      break;
    case '"':
      out += "&#34;";
      break;
    default:
      out += c;
    }
  }
  return str(out, true);
}

Value Runtime::undefined_name(const Str *name) {
  return arena.make<Undefined>(nullptr, Value(), Value(name), ErrorClass::UndefinedError);
}

Value Runtime::undefined_of(const Value &object, const Value &name) {
  return arena.make<Undefined>(nullptr, object, name, ErrorClass::UndefinedError);
}

Value Runtime::undefined_hint(std::string_view hint, std::string_view name) {
  Value named = name.empty() ? Value::none() : Value(str(name));
  return arena.make<Undefined>(str(hint), Value(), named, ErrorClass::UndefinedError);
}

void Runtime::fail_undefined(const Undefined &undefined) {
  if (undefined.hint != nullptr && undefined.hint->bytes != 0) {
    raise(undefined.error, std::string(undefined.hint->view()));
  }
  if (undefined.object.is_missing()) {
    raise(undefined.error, repr(undefined.name) + " is undefined");
  }
  if (!undefined.name.is_string()) {
    raise(undefined.error,
          fmt::format("{} has no element {}", object_name(undefined.object), repr(undefined.name)));
  }
  std::string object;
  append_text_repr(object, object_name(undefined.object));
  raise(undefined.error, fmt::format("{} has no attribute {}", object, repr(undefined.name)));
}

double to_real(const Value &number) {
  if (number.is(Kind::real)) {
    return number.real;
  }
  if (number.is(Kind::big)) {
    double value = to_double(widen(number));
    if (std::isinf(value)) {
      raise(ErrorClass::OverflowError, "int too large to convert to float");
    }
    return value;
  }
  return static_cast<double>(number.small_int());
}

Value integer_of(Runtime &runtime, double value) {
  if (std::fabs(value) < 9e18) {
    return static_cast<std::int64_t>(value);
  }
  return narrow(runtime.arena, from_double(value));
}

Value parse_integer(Runtime &runtime, std::string_view text, unsigned base) {
  runtime.spend_bytes(text.size());
  std::string_view rest = trim(text);
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  bool prefixed = false;
  if (rest.size() > 1 && rest[0] == '0') {
    char mark = static_cast<char>(rest[1] | 0x20);
    unsigned named = mark == 'x' ? 16U : mark == 'o' ? 8U : mark == 'b' ? 2U : 0U;
    if (named != 0 && (base == 0 || base == named)) {
      base = named;
      rest.remove_prefix(2);
      prefixed = true;
    }
  }
  bool automatic = base == 0;
  if (automatic) {
    base = 10;
  }
  std::string digits;
  bool underscore = !prefixed;
  for (std::size_t at = 0; at < rest.size();) {
    char32_t point = next_code_point(rest, at);
    if (point == '_') {
      if (underscore) {
        return {};
      }
      underscore = true;
      continue;
    }
    underscore = false;
    unsigned digit = 99;
    if (point < 0x80) {
      char c = static_cast<char>(point);
      digit = c >= '0' && c <= '9' ? static_cast<unsigned>(c - '0')
              : (c | 0x20) >= 'a' && (c | 0x20) <= 'z'
                  ? static_cast<unsigned>((c | 0x20) - 'a') + 10U
                  : 99U;
    } else if (is_decimal(point)) {
      // Decimal digits of any script come in runs of ten whose zero is a multiple of their
      // position.
      char32_t zero = point;
      while (is_decimal(zero - 1) && point - zero < 9) {
        --zero;
      }
      digit = static_cast<unsigned>(point - zero);
    }
    if (digit >= base) {
      return {};
    }
    digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit];
  }
  if (digits.empty() || underscore) {
    return {};
  }
  if (automatic && digits.size() > 1 && digits[0] == '0' &&
      digits.find_first_not_of('0') != std::string::npos) {
    return {};
  }
  if (digits.size() > max_int_digits) {
    raise(ErrorClass::ValueError, fmt::format("Exceeds the limit (4300 digits) for integer string "
                                              "conversion: value has {} digits; use "
                                              "sys.set_int_max_str_digits() to increase the limit",
                                              digits.size()));
  }
  runtime.spend(static_cast<std::int64_t>(digits.size() * digits.size() / 256));
  Wide wide = from_digits(digits, base);
  wide.negative = negative && !wide.limbs.empty();
  return narrow(runtime.arena, wide);
}

Value parse_real(std::string_view text) {
  std::string_view rest = trim(text);
  std::string plain;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    char c = rest[i];
    if (c == '_') {
      bool between = i > 0 && i + 1 < rest.size() && rest[i - 1] >= '0' && rest[i - 1] <= '9' &&
                     rest[i + 1] >= '0' && rest[i + 1] <= '9';
      if (!between) {
        return {};
      }
      continue;
    }
    plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }
  std::string_view number = plain;
  bool negative = false;
  if (!number.empty() && (number[0] == '-' || number[0] == '+')) {
    negative = number[0] == '-';
    number.remove_prefix(1);
  }
  double value = 0;
  if (number == "inf" || number == "infinity") {
    value = INFINITY;
  } else if (number == "nan") {
    value = NAN;
  } else {
    if (number.empty() || !((number[0] >= '0' && number[0] <= '9') || number[0] == '.')) {
      return {};
    }
    auto result = std::from_chars(number.data(), number.data() + number.size(), value);
    if (result.ptr != number.data() + number.size()) {
      return {};
    }
    if (result.ec == std::errc::result_out_of_range) {
      // Out of range both ways: the exponent's sign tells which.
      value = plain.find("e-") != std::string::npos || number.starts_with("0.") ? 0.0 : INFINITY;
    } else if (result.ec != std::errc{}) {
      return {};
    }
  }
  return negative ? -value : value;
}

} // namespace headwater::jinja

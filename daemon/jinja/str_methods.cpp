// Methods of str that make new text. Markup's own variants keep the result marked.

#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

const Str &text_of(const Value &self) {
  return *self.string;
}

Value made(Runtime &runtime, const Value &self, std::string_view text) {
  return runtime.str(text, self.string->markup);
}

const Str &need_text(const Value &value, std::string_view what) {
  if (!value.is_string()) {
    raise(ErrorClass::TypeError, fmt::format("{}, not {}", what, type_name(value)));
  }
  return *value.string;
}

[[noreturn]] void bad_count(std::string_view name, std::size_t least, std::size_t most,
                            std::size_t got) {
  if (least == 0 && most == 0) {
    raise(ErrorClass::TypeError, fmt::format("str.{}() takes no arguments ({} given)", name, got));
  }
  if (least == most) {
    raise(ErrorClass::TypeError,
          least == 1 ? fmt::format("str.{}() takes exactly one argument ({} given)", name, got)
                     : fmt::format("{} expected {} arguments, got {}", name, least, got));
  }
  bool few = got < least;
  std::size_t bound = few ? least : most;
  raise(ErrorClass::TypeError,
        fmt::format("{} expected at {} {} argument{}, got {}", name, few ? "least" : "most", bound,
                    bound == 1 ? "" : "s", got));
}

std::span<const Value> positional(const Arguments &arguments, std::string_view name,
                                  std::size_t least, std::size_t most) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, fmt::format("str.{}() takes no keyword arguments", name));
  }
  std::size_t got = arguments.positional.size();
  if (got < least || got > most) {
    bad_count(name, least, most, got);
  }
  return arguments.positional;
}

/// A method's name as a template argument.
template <std::size_t N> struct Name {
  constexpr Name(const char (&from)[N]) { std::copy_n(from, N, text); }
  char text[N];
};

template <std::string (*map)(std::string_view), Name name>
Value mapped(Runtime &runtime, const Value &self, const Arguments &arguments) {
  positional(arguments, name.text, 0, 0);
  runtime.spend_slow(text_of(self).bytes);
  return made(runtime, self, map(text_of(self).view()));
}

bool in_set(std::string_view set, char32_t point) {
  for (std::size_t at = 0; at < set.size();) {
    if (next_code_point(set, at) == point) {
      return true;
    }
  }
  return false;
}

Value strip(Runtime &runtime, const Value &self, const Arguments &arguments, std::string_view name,
            bool left, bool right) {
  std::span<const Value> given = positional(arguments, name, 0, 1);
  std::string_view all = text_of(self).view();
  std::string_view rest = all;
  if (given.empty() || given[0].is_none()) {
    rest = left ? trim_left(rest) : rest;
    rest = right ? trim_right(rest) : rest;
  } else {
    if (!given[0].is_string()) {
      raise(ErrorClass::TypeError, fmt::format("{} arg must be None or str", name));
    }
    std::string_view set = given[0].string->view();
    runtime.spend(static_cast<std::int64_t>(set.size() / 4));
    while (left && !rest.empty()) {
      runtime.spend_bytes(set.size());
      std::size_t at = 0;
      if (!in_set(set, next_code_point(rest, at))) {
        break;
      }
      rest.remove_prefix(at);
    }
    while (right && !rest.empty()) {
      runtime.spend_bytes(set.size());
      std::size_t end = rest.size();
      if (!in_set(set, previous_code_point(rest, end))) {
        break;
      }
      rest = rest.substr(0, end);
    }
  }
  runtime.spend_bytes(all.size() - rest.size());
  if (rest.size() == all.size()) {
    return self;
  }
  auto from = static_cast<std::size_t>(rest.data() - all.data());
  return runtime.part(text_of(self), from, from + rest.size());
}

Value str_strip(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return strip(runtime, self, arguments, "strip", true, true);
}
Value str_lstrip(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return strip(runtime, self, arguments, "lstrip", true, false);
}
Value str_rstrip(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return strip(runtime, self, arguments, "rstrip", false, true);
}

Value piece(Runtime &runtime, const Value &self, std::size_t from, std::size_t to) {
  return Value(runtime.part(text_of(self), from, to));
}

struct SplitArguments {
  const Value *separator;
  std::int64_t most;
};

SplitArguments split_arguments(Runtime &runtime, const Arguments &arguments,
                               std::string_view name) {
  Bound bound(name, arguments, {"sep", "maxsplit"}, 0);
  std::int64_t most =
      bound[1] == nullptr
          ? -1
          : runtime.index(*bound[1], fmt::format("'{}' object cannot be interpreted as an integer",
                                                 type_name(*bound[1])));
  const Value *separator = bound[0] != nullptr && bound[0]->is_none() ? nullptr : bound[0];
  if (separator != nullptr) {
    if (!separator->is_string()) {
      raise(ErrorClass::TypeError,
            fmt::format("must be str or None, not {}", type_name(*separator)));
    }
    if (separator->string->bytes == 0) {
      raise(ErrorClass::ValueError, "empty separator");
    }
  }
  return {separator, most < 0 ? INT64_MAX : most};
}

Value str_split(Runtime &runtime, const Value &self, const Arguments &arguments) {
  SplitArguments how = split_arguments(runtime, arguments, "split");
  std::string_view text = text_of(self).view();
  runtime.spend_bytes(text.size());
  std::vector<Value> parts;
  std::size_t at = 0;
  if (how.separator != nullptr) {
    std::string_view separator = how.separator->string->view();
    while (how.most-- > 0) {
      std::size_t found = text.find(separator, at);
      if (found == std::string_view::npos) {
        break;
      }
      parts.push_back(piece(runtime, self, at, found));
      at = found + separator.size();
    }
    parts.push_back(piece(runtime, self, at, text.size()));
    return runtime.list(parts);
  }
  for (;;) {
    std::string_view rest = trim_left(text.substr(at));
    at = text.size() - rest.size();
    if (rest.empty()) {
      break;
    }
    if (how.most-- <= 0) {
      parts.push_back(piece(runtime, self, at, at + trim_right(rest).size()));
      break;
    }
    std::size_t end = at;
    while (end < text.size()) {
      std::size_t next = end;
      if (is_space(next_code_point(text, next))) {
        break;
      }
      end = next;
    }
    parts.push_back(piece(runtime, self, at, end));
    at = end;
  }
  return runtime.list(parts);
}

Value str_rsplit(Runtime &runtime, const Value &self, const Arguments &arguments) {
  SplitArguments how = split_arguments(runtime, arguments, "rsplit");
  std::string_view text = text_of(self).view();
  runtime.spend_bytes(text.size());
  std::vector<Value> parts;
  std::size_t end = text.size();
  if (how.separator != nullptr) {
    std::string_view separator = how.separator->string->view();
    while (how.most-- > 0 && end >= separator.size()) {
      std::size_t found = text.rfind(separator, end - separator.size());
      if (found == std::string_view::npos) {
        break;
      }
      parts.push_back(piece(runtime, self, found + separator.size(), end));
      end = found;
    }
    parts.push_back(piece(runtime, self, 0, end));
  } else {
    for (;;) {
      end = trim_right(text.substr(0, end)).size();
      if (end == 0) {
        break;
      }
      if (how.most-- <= 0) {
        std::size_t from = text.size() - trim_left(text).size();
        parts.push_back(piece(runtime, self, from, end));
        break;
      }
      std::size_t start = end;
      while (start > 0) {
        std::size_t before = start;
        if (is_space(previous_code_point(text, before))) {
          break;
        }
        start = before;
      }
      parts.push_back(piece(runtime, self, start, end));
      end = start;
    }
  }
  std::reverse(parts.begin(), parts.end());
  return runtime.list(parts);
}

Value str_splitlines(Runtime &runtime, const Value &self, const Arguments &arguments) {
  Bound bound("splitlines", arguments, {"keepends"}, 0);
  bool keep = bound[0] != nullptr && truth(*bound[0]);
  std::string_view text = text_of(self).view();
  runtime.spend_slow(text.size());
  std::vector<Value> lines;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    char32_t point = next_code_point(text, at);
    if (!is_line_break(point)) {
      continue;
    }
    at += static_cast<std::size_t>(point == '\r' && at < text.size() && text[at] == '\n');
    lines.push_back(piece(runtime, self, start, keep ? at : end));
    start = at;
  }
  if (start < text.size()) {
    lines.push_back(piece(runtime, self, start, text.size()));
  }
  return runtime.list(lines);
}

Value partition(Runtime &runtime, const Value &self, const Arguments &arguments, bool last) {
  std::span<const Value> given = positional(arguments, last ? "rpartition" : "partition", 1, 1);
  std::string_view separator = need_text(given[0], "must be str").view();
  if (separator.empty()) {
    raise(ErrorClass::ValueError, "empty separator");
  }
  std::string_view text = text_of(self).view();
  runtime.spend_bytes(text.size());
  std::size_t found = last ? text.rfind(separator) : text.find(separator);
  Value empty = made(runtime, self, "");
  if (found == std::string_view::npos) {
    return last ? runtime.tuple({empty, empty, self}) : runtime.tuple({self, empty, empty});
  }
  return runtime.tuple({piece(runtime, self, 0, found), given[0],
                        piece(runtime, self, found + separator.size(), text.size())});
}

Value str_partition(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return partition(runtime, self, arguments, false);
}
Value str_rpartition(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return partition(runtime, self, arguments, true);
}

Value str_join(Runtime &runtime, const Value &self, const Arguments &arguments) {
  std::span<const Value> given = positional(arguments, "join", 1, 1);
  if (!runtime.iterable(given[0])) {
    raise(ErrorClass::TypeError, "can only join an iterable");
  }
  std::string out;
  std::size_t i = 0;
  bool markup = text_of(self).markup;
  for (const Value &item : runtime.items(given[0])) {
    if (!item.is_string() && !markup) {
      raise(ErrorClass::TypeError,
            fmt::format("sequence item {}: expected str instance, {} found", i, type_name(item)));
    }
    if (i++ != 0) {
      out.append(text_of(self).view());
    }
    out.append(markup ? runtime.escape(item)->view() : item.string->view());
    runtime.spend(1);
    if (out.size() > runtime.bounds.allocation_bytes) {
      throw OutOfMemory{};
    }
  }
  return made(runtime, self, out);
}

Value str_replace(Runtime &runtime, const Value &self, const Arguments &arguments) {
  std::span<const Value> given = positional(arguments, "replace", 2, 3);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!given[i].is_string()) {
      raise(ErrorClass::TypeError,
            fmt::format("replace() argument {} must be str, not {}", i + 1, type_name(given[i])));
    }
  }
  std::int64_t most =
      given.size() > 2
          ? runtime.index(given[2], fmt::format("'{}' object cannot be interpreted as an integer",
                                                type_name(given[2])))
          : -1;
  const Str *by = text_of(self).markup ? runtime.escape(given[1]) : given[1].string;
  std::string_view from = given[0].string->view();
  std::string_view text = text_of(self).view();
  if (most < 0) {
    most = INT64_MAX;
  }
  runtime.spend_bytes(text.size());
  if (!from.empty() && (most == 0 || text.find(from) == std::string_view::npos)) {
    return self;
  }
  std::string out;
  std::size_t at = 0;
  while (most > 0) {
    std::size_t found = from.empty() ? at : text.find(from, at);
    if (found == std::string_view::npos) {
      break;
    }
    --most;
    runtime.spend(1 + static_cast<std::int64_t>(by->bytes >> 6U));
    if (out.size() > runtime.bounds.allocation_bytes) {
      throw OutOfMemory{};
    }
    out.append(text, at, found - at);
    out.append(by->view());
    at = found + from.size();
    if (from.empty()) {
      if (at >= text.size()) {
        break;
      }
      std::size_t next = at;
      next_code_point(text, next);
      out.append(text, at, next - at);
      at = next;
    }
  }
  out.append(text.substr(at));
  return made(runtime, self, out);
}

enum class Side : std::uint8_t { left, right, center };

Value justify(Runtime &runtime, const Value &self, const Arguments &arguments,
              std::string_view name, Side side) {
  std::span<const Value> given = positional(arguments, name, 1, 2);
  std::int64_t width =
      runtime.index(given[0], fmt::format("'{}' object cannot be interpreted as an integer",
                                          type_name(given[0])));
  std::string_view fill = " ";
  if (given.size() > 1) {
    if (!given[1].is_string()) {
      raise(ErrorClass::TypeError,
            fmt::format("The fill character must be a unicode character, not {}",
                        type_name(given[1])));
    }
    if (given[1].string->length != 1) {
      raise(ErrorClass::TypeError, "The fill character must be exactly one character long");
    }
    fill = given[1].string->view();
  }
  const Str &text = text_of(self);
  if (width <= text.length) {
    return self;
  }
  auto missing = static_cast<std::size_t>(width) - text.length;
  runtime.arena.check(missing * fill.size());
  runtime.spend_slow(missing * fill.size());
  // str.center puts the odd one on the left when the width is odd.
  std::size_t left = side == Side::left ? 0
                     : side == Side::right
                         ? missing
                         : missing / 2 + (missing & static_cast<std::size_t>(width) & 1U);
  std::string out;
  for (std::size_t i = 0; i < left; ++i) {
    out += fill;
  }
  out += text.view();
  for (std::size_t i = left; i < missing; ++i) {
    out += fill;
  }
  return made(runtime, self, out);
}

Value str_center(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return justify(runtime, self, arguments, "center", Side::center);
}
Value str_ljust(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return justify(runtime, self, arguments, "ljust", Side::left);
}
Value str_rjust(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return justify(runtime, self, arguments, "rjust", Side::right);
}

Value str_zfill(Runtime &runtime, const Value &self, const Arguments &arguments) {
  std::span<const Value> given = positional(arguments, "zfill", 1, 1);
  std::int64_t width =
      runtime.index(given[0], fmt::format("'{}' object cannot be interpreted as an integer",
                                          type_name(given[0])));
  const Str &text = text_of(self);
  if (width <= text.length) {
    return self;
  }
  auto missing = static_cast<std::size_t>(width) - text.length;
  runtime.arena.check(missing);
  runtime.spend_slow(missing);
  std::string out(text.view());
  bool sign = !out.empty() && (out[0] == '+' || out[0] == '-');
  out.insert(sign ? 1 : 0, missing, '0');
  return made(runtime, self, out);
}

Value str_expandtabs(Runtime &runtime, const Value &self, const Arguments &arguments) {
  Bound bound("expandtabs", arguments, {"tabsize"}, 0);
  std::int64_t size =
      bound[0] == nullptr
          ? 8
          : runtime.index(*bound[0], fmt::format("'{}' object cannot be interpreted as an integer",
                                                 type_name(*bound[0])));
  std::string out;
  std::int64_t column = 0;
  std::string_view text = text_of(self).view();
  runtime.spend_slow(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at;
    char32_t point = next_code_point(text, at);
    if (point == '\t') {
      std::int64_t spaces = size > 0 ? size - column % size : 0;
      runtime.arena.check(out.size() + static_cast<std::size_t>(spaces));
      runtime.spend_slow(static_cast<std::size_t>(spaces));
      out.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
      continue;
    }
    column = point == '\n' || point == '\r' ? 0 : column + 1;
    out.append(text, start, at - start);
  }
  return made(runtime, self, out);
}

Value remove_end(Runtime &runtime, const Value &self, const Arguments &arguments, bool prefix) {
  std::string_view name = prefix ? "removeprefix" : "removesuffix";
  std::span<const Value> given = positional(arguments, name, 1, 1);
  std::string_view end = need_text(given[0], fmt::format("{}() argument must be str", name)).view();
  std::string_view text = text_of(self).view();
  runtime.spend_bytes(end.size());
  if (prefix ? text.starts_with(end) : (!end.empty() && text.ends_with(end))) {
    return prefix ? piece(runtime, self, end.size(), text.size())
                  : piece(runtime, self, 0, text.size() - end.size());
  }
  return self;
}

Value str_removeprefix(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return remove_end(runtime, self, arguments, true);
}
Value str_removesuffix(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return remove_end(runtime, self, arguments, false);
}

Value str_format(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return made(runtime, self, format_braces(runtime, text_of(self), arguments));
}

Value str_format_map(Runtime &runtime, const Value &self, const Arguments &arguments) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, "format_map() takes no keyword arguments");
  }
  if (arguments.positional.size() != 1) {
    raise(ErrorClass::TypeError, fmt::format("format_map() takes exactly one argument ({} given)",
                                             arguments.positional.size()));
  }
  std::vector<Keyword> names;
  if (arguments.positional[0].is_dict()) {
    for (const DictEntry &entry : arguments.positional[0].dict->all()) {
      if (entry.key.is_string()) {
        names.push_back({entry.key.string, entry.value});
      }
    }
  }
  return made(runtime, self, format_braces(runtime, text_of(self), {{}, names}));
}

Value str_translate(Runtime &runtime, const Value &self, const Arguments &arguments) {
  std::span<const Value> given = positional(arguments, "translate", 1, 1);
  std::string out;
  std::string_view text = text_of(self).view();
  for (std::size_t at = 0; at < text.size();) {
    runtime.spend(1);
    std::size_t start = at;
    auto point = static_cast<std::int64_t>(next_code_point(text, at));
    const Value *by =
        given[0].is_dict() ? find(*given[0].dict, Value(point), runtime.work) : nullptr;
    if (by == nullptr) {
      out.append(text, start, at - start);
    } else if (by->is_string()) {
      out += by->string->view();
      if (out.size() > runtime.bounds.allocation_bytes) {
        throw OutOfMemory{};
      }
    } else if (by->is_small_int()) {
      append_code_point(out, static_cast<char32_t>(by->small_int()));
    } else if (!by->is_none()) {
      raise(ErrorClass::TypeError, "character mapping must return integer, None or str");
    }
  }
  return made(runtime, self, out);
}

/// str.maketrans: the table that translate takes.
Value str_maketrans(Runtime &runtime, const Value &, const Arguments &arguments) {
  std::span<const Value> given = positional(arguments, "maketrans", 1, 3);
  Dict *table = make_dict(runtime.arena, 0);
  auto code = [](const Value &character) {
    std::size_t at = 0;
    return Value(static_cast<std::int64_t>(next_code_point(character.string->view(), at)));
  };
  if (given.size() == 1) {
    if (!given[0].is_dict()) {
      raise(ErrorClass::TypeError, "if you give only one argument to maketrans it must be a dict");
    }
    for (const DictEntry &entry : given[0].dict->all()) {
      runtime.spend(1);
      if (!entry.key.is_string() && !entry.key.is_small_int()) {
        raise(ErrorClass::TypeError, "keys in translate table must be strings or integers");
      }
      if (entry.key.is_string() && entry.key.string->length != 1) {
        raise(ErrorClass::ValueError, "string keys in translate table must be of length 1");
      }
      runtime.set(*table, entry.key.is_string() ? code(entry.key) : entry.key, entry.value);
    }
    return Value(table);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].is_string()) {
      raise(ErrorClass::TypeError,
            i == 0 ? std::string(
                         "first maketrans argument must be a string if there is a second argument")
                   : fmt::format("maketrans() argument {} must be str, not {}", i + 1,
                                 type_name(given[i])));
    }
  }
  if (given[0].string->length != given[1].string->length) {
    raise(ErrorClass::ValueError, "the first two maketrans arguments must have equal length");
  }
  std::span<const Value> from = runtime.items(given[0]);
  std::span<const Value> to = runtime.items(given[1]);
  for (std::size_t i = 0; i < from.size(); ++i) {
    runtime.set(*table, code(from[i]), code(to[i]));
  }
  if (given.size() == 3) {
    for (const Value &character : runtime.items(given[2])) {
      runtime.set(*table, code(character), Value::none());
    }
  }
  return Value(table);
}

struct Method {
  std::string_view name;
  Native call;
};

constexpr std::array<Method, 27> methods{{{"strip", str_strip},
                                          {"split", str_split},
                                          {"replace", str_replace},
                                          {"lstrip", str_lstrip},
                                          {"rstrip", str_rstrip},
                                          {"join", str_join},
                                          {"upper", mapped<to_upper, "upper">},
                                          {"lower", mapped<to_lower, "lower">},
                                          {"title", mapped<to_title, "title">},
                                          {"capitalize", mapped<capitalize, "capitalize">},
                                          {"casefold", mapped<fold_case, "casefold">},
                                          {"swapcase", mapped<swap_case, "swapcase">},
                                          {"rsplit", str_rsplit},
                                          {"splitlines", str_splitlines},
                                          {"partition", str_partition},
                                          {"rpartition", str_rpartition},
                                          {"center", str_center},
                                          {"ljust", str_ljust},
                                          {"rjust", str_rjust},
                                          {"zfill", str_zfill},
                                          {"maketrans", str_maketrans},
                                          {"expandtabs", str_expandtabs},
                                          {"removeprefix", str_removeprefix},
                                          {"removesuffix", str_removesuffix},
                                          {"format", str_format},
                                          {"format_map", str_format_map},
                                          {"translate", str_translate}}};

} // namespace

Native find_str_method(std::string_view name) {
  for (const Method &method : methods) {
    if (method.name == name) {
      return method.call;
    }
  }
  return nullptr;
}

} // namespace headwater::jinja

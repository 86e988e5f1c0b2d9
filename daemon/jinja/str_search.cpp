// Methods of str that look and answer: find, count, startswith, the is... family.

#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

struct Window {
  std::string_view text; ///< the part between start and end
  std::size_t first;     ///< its first code point
  bool inside;           ///< start lies within the text
};

/// The part of a text that optional start and end arguments leave.
Window window(Runtime &runtime, const Str &text, std::span<const Value> given, std::size_t at) {
  auto size = static_cast<std::int64_t>(text.length);
  auto place = [&](std::size_t i, std::int64_t otherwise) {
    if (given.size() <= i || given[i].is_none()) {
      return otherwise;
    }
    std::int64_t value = runtime.index(
        given[i], "slice indices must be integers or None or have an __index__ method");
    return value < 0 ? std::max<std::int64_t>(value + size, 0) : value;
  };
  std::int64_t start = place(at, 0);
  std::int64_t end = std::min(place(at + 1, size), size);
  if (start > end) {
    return {{}, static_cast<std::size_t>(start), false};
  }
  std::size_t from = text.ascii() ? static_cast<std::size_t>(start)
                                  : byte_offset(text.view(), static_cast<std::size_t>(start));
  std::size_t to = text.ascii() ? static_cast<std::size_t>(end)
                                : byte_offset(text.view(), static_cast<std::size_t>(end));
  return {text.view().substr(from, to - from), static_cast<std::size_t>(start), true};
}

std::span<const Value> search_arguments(const Arguments &arguments, std::string_view name) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, fmt::format("str.{}() takes no keyword arguments", name));
  }
  std::size_t got = arguments.positional.size();
  if (got < 1 || got > 3) {
    raise(ErrorClass::TypeError,
          fmt::format("{}() takes {} argument{} ({} given)", name,
                      got < 1 ? "at least 1" : "at most 3", got < 1 ? "" : "s", got));
  }
  return arguments.positional;
}

std::int64_t search(Runtime &runtime, const Value &self, const Arguments &arguments,
                    std::string_view name, bool last) {
  std::span<const Value> given = search_arguments(arguments, name);
  if (!given[0].is_string()) {
    raise(ErrorClass::TypeError, fmt::format("must be str, not {}", type_name(given[0])));
  }
  const Str &text = *self.string;
  runtime.spend_bytes(text.bytes);
  Window where = window(runtime, text, given, 1);
  if (!where.inside) {
    return -1;
  }
  std::string_view wanted = given[0].string->view();
  if (last) {
    runtime.spend_slow(where.text.size()); // the library's backward search looks at each byte
  }
  std::size_t found = last ? where.text.rfind(wanted) : where.text.find(wanted);
  if (found == std::string_view::npos) {
    return -1;
  }
  return static_cast<std::int64_t>(where.first + count_code_points(where.text.substr(0, found)));
}

Value str_find(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return search(runtime, self, arguments, "find", false);
}
Value str_rfind(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return search(runtime, self, arguments, "rfind", true);
}

Value found_or_raise(std::int64_t at) {
  if (at < 0) {
    raise(ErrorClass::ValueError, "substring not found");
  }
  return at;
}
Value str_index(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return found_or_raise(search(runtime, self, arguments, "index", false));
}
Value str_rindex(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return found_or_raise(search(runtime, self, arguments, "rindex", true));
}

Value str_count(Runtime &runtime, const Value &self, const Arguments &arguments) {
  std::span<const Value> given = search_arguments(arguments, "count");
  if (!given[0].is_string()) {
    raise(ErrorClass::TypeError, fmt::format("must be str, not {}", type_name(given[0])));
  }
  runtime.spend_slow(self.string->bytes);
  Window where = window(runtime, *self.string, given, 1);
  std::string_view wanted = given[0].string->view();
  if (!where.inside) {
    return std::int64_t{0};
  }
  if (wanted.empty()) {
    return static_cast<std::int64_t>(count_code_points(where.text) + 1);
  }
  std::int64_t count = 0;
  for (std::size_t at = where.text.find(wanted); at != std::string_view::npos;
       at = where.text.find(wanted, at + wanted.size())) {
    ++count;
  }
  return count;
}

Value ends(Runtime &runtime, const Value &self, const Arguments &arguments, bool start) {
  std::string_view name = start ? "startswith" : "endswith";
  std::span<const Value> given = search_arguments(arguments, name);
  Window where = window(runtime, *self.string, given, 1);
  auto matches = [&](const Str &affix) {
    runtime.spend_bytes(affix.bytes);
    return where.inside &&
           (start ? where.text.starts_with(affix.view()) : where.text.ends_with(affix.view()));
  };
  if (given[0].is(Kind::tuple)) {
    for (const Value &affix : given[0].sequence->all()) {
      if (!affix.is_string()) {
        raise(ErrorClass::TypeError,
              fmt::format("tuple for {} must only contain str, not {}", name, type_name(affix)));
      }
      if (matches(*affix.string)) {
        return true;
      }
    }
    return false;
  }
  if (!given[0].is_string()) {
    raise(ErrorClass::TypeError, fmt::format("{} first arg must be str or a tuple of str, not {}",
                                             name, type_name(given[0])));
  }
  return matches(*given[0].string);
}

Value str_startswith(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return ends(runtime, self, arguments, true);
}
Value str_endswith(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return ends(runtime, self, arguments, false);
}

void no_arguments(const Arguments &arguments, std::string_view name) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, fmt::format("str.{}() takes no keyword arguments", name));
  }
  if (!arguments.positional.empty()) {
    raise(ErrorClass::TypeError,
          fmt::format("str.{}() takes no arguments ({} given)", name, arguments.positional.size()));
  }
}

template <bool (*good)(char32_t)>
Value all_of(Runtime &runtime, const Value &self, const Arguments &arguments) {
  no_arguments(arguments, "isalpha");
  runtime.spend(self.string->length / 4);
  std::string_view text = self.string->view();
  for (std::size_t at = 0; at < text.size();) {
    if (!good(next_code_point(text, at))) {
      return false;
    }
  }
  return !text.empty();
}

Value str_isprintable(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return self.string->bytes == 0 || truth(all_of<is_printable>(runtime, self, arguments));
}

Value str_isascii(Runtime &, const Value &self, const Arguments &arguments) {
  no_arguments(arguments, "isascii");
  return self.string->ascii();
}

Value str_isidentifier(Runtime &, const Value &self, const Arguments &arguments) {
  no_arguments(arguments, "isidentifier");
  return is_identifier(self.string->view());
}

template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value cased(Runtime &runtime, const Value &self, const Arguments &arguments) {
  no_arguments(arguments, "islower");
  runtime.spend(self.string->length / 4);
  bool some = false;
  std::string_view text = self.string->view();
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = next_code_point(text, at);
    if (other(point) || is_title(point)) {
      return false;
    }
    some = some || wanted(point);
  }
  return some;
}

Value str_istitle(Runtime &runtime, const Value &self, const Arguments &arguments) {
  no_arguments(arguments, "istitle");
  runtime.spend(self.string->length / 4);
  bool inside = false;
  bool some = false;
  std::string_view text = self.string->view();
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = next_code_point(text, at);
    if (is_upper(point) || is_title(point)) {
      if (inside) {
        return false;
      }
      inside = true;
      some = true;
    } else if (is_lower(point)) {
      if (!inside) {
        return false;
      }
    } else {
      inside = false;
    }
  }
  return some;
}

struct Method {
  std::string_view name;
  Native call;
};

constexpr std::array<Method, 19> methods{{{"startswith", str_startswith},
                                          {"endswith", str_endswith},
                                          {"find", str_find},
                                          {"rfind", str_rfind},
                                          {"index", str_index},
                                          {"rindex", str_rindex},
                                          {"count", str_count},
                                          {"isalpha", all_of<is_alpha>},
                                          {"isdecimal", all_of<is_decimal>},
                                          {"isdigit", all_of<is_digit>},
                                          {"isnumeric", all_of<is_numeric>},
                                          {"isalnum", all_of<is_alnum>},
                                          {"isspace", all_of<is_space>},
                                          {"isprintable", str_isprintable},
                                          {"isascii", str_isascii},
                                          {"isidentifier", str_isidentifier},
                                          {"islower", cased<is_lower, is_upper>},
                                          {"isupper", cased<is_upper, is_lower>},
                                          {"istitle", str_istitle}}};

} // namespace

Native find_str_predicate(std::string_view name) {
  for (const Method &method : methods) {
    if (method.name == name) {
      return method.call;
    }
  }
  return nullptr;
}

} // namespace headwater::jinja

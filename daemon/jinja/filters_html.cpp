// Filters for HTML and URLs.

#include "daemon/jinja/merge_sort.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

Value escape_filter(Runtime &runtime, const Arguments &arguments) {
  Bound bound("escape", arguments, {"s"}, 1);
  return runtime.escape(*bound[0]);
}

Value force_escape(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_forceescape", arguments, {"value"}, 1);
  return runtime.escape(Value(runtime.str(runtime.to_str(*bound[0])->view())));
}

Value safe(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_mark_safe", arguments, {"value"}, 1);
  return runtime.str(runtime.to_str(*bound[0])->view(), true);
}

/// Named and numbered HTML entities that markupsafe's unescape meets most.
std::string unescape(std::string_view text) {
  struct Entity {
    std::string_view name;
    std::string_view text;
  };
  static constexpr std::array<Entity, 8> entities{{{"amp", "&"},
                                                   {"lt", "<"},
                                                   {"gt", ">"},
                                                   {"quot", "\""},
                                                   {"apos", "'"},
                                                   {"nbsp", "\u00a0"},
                                                   {"copy", "\u00a9"},
                                                   {"hellip", "\u2026"}}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text[at] == '&' ? text.substr(at, 33).find(';') : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at++];
      continue;
    }
    end += at;
    std::string_view name = text.substr(at + 1, end - at - 1);
    const auto *known = std::find_if(entities.begin(), entities.end(),
                                     [&](const Entity &e) { return e.name == name; });
    if (known != entities.end()) {
      out += known->text;
    } else if (name.size() > 1 && name[0] == '#') {
      bool hex = (name[1] | 0x20) == 'x';
      char32_t point = 0;
      bool good = name.size() > (hex ? 2U : 1U);
      for (char c : name.substr(hex ? 2 : 1)) {
        char low = static_cast<char>(c | 0x20);
        unsigned digit = c >= '0' && c <= '9'              ? static_cast<unsigned>(c - '0')
                         : hex && low >= 'a' && low <= 'f' ? static_cast<unsigned>(low - 'a') + 10U
                                                           : 99U;
        good = good && digit != 99U && point < 0x110000;
        point = point * (hex ? 16U : 10U) + digit;
      }
      if (!good || point > 0x10FFFF || point == 0) {
        out += text[at++];
        continue;
      }
      append_code_point(out, point);
    } else {
      out += text[at++];
      continue;
    }
    at = end + 1;
  }
  return out;
}

Value striptags(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_striptags", arguments, {"value"}, 1);
  std::string text(runtime.to_str(*bound[0])->view());
  runtime.spend_slow(text.size() * 4);
  auto remove = [&](std::string_view open, std::string_view close) {
    std::string kept;
    std::size_t at = 0;
    for (;;) {
      std::size_t start = text.find(open, at);
      std::size_t end = start == std::string::npos ? start : text.find(close, start);
      if (end == std::string::npos) {
        break;
      }
      kept.append(text, at, start - at);
      at = end + close.size();
    }
    kept.append(text, at);
    text = std::move(kept);
  };
  remove("<!--", "-->");
  remove("<", ">");
  std::string out;
  bool space = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at;
    if (is_space(next_code_point(text, at))) {
      space = true;
      continue;
    }
    if (space && !out.empty()) {
      out += ' ';
    }
    space = false;
    out.append(text, start, at - start);
  }
  return runtime.str(unescape(out));
}

std::string quote_url(std::string_view text, bool query) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool plain = (byte >= '0' && byte <= '9') ||
                 ((byte | 0x20U) >= 'a' && (byte | 0x20U) <= 'z' && byte < 0x80) || c == '_' ||
                 c == '.' || c == '-' || c == '~' || (c == '/' && !query);
    if (plain) {
      out += c;
    } else if (c == ' ' && query) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

Value urlencode(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_urlencode", arguments, {"value"}, 1);
  const Value &value = *bound[0];
  if (value.is_string() || !runtime.iterable(value)) {
    const Str *text = runtime.to_str(value);
    runtime.spend_slow(text->bytes * std::size_t{2});
    return runtime.str(quote_url(text->view(), false));
  }
  std::vector<Value> pairs;
  if (value.is_dict()) {
    for (const DictEntry &entry : value.dict->all()) {
      pairs.push_back(runtime.tuple({entry.key, entry.value}));
    }
  } else {
    std::span<const Value> items = runtime.items(value);
    pairs.assign(items.begin(), items.end());
  }
  std::string out;
  for (const Value &pair : pairs) {
    if (!runtime.iterable(pair)) {
      raise(ErrorClass::TypeError,
            fmt::format("cannot unpack non-iterable {} object", type_name(pair)));
    }
    std::span<const Value> parts = runtime.items(pair);
    if (parts.size() != 2) {
      raise(ErrorClass::ValueError,
            parts.size() < 2
                ? fmt::format("not enough values to unpack (expected 2, got {})", parts.size())
                : std::string("too many values to unpack (expected 2)"));
    }
    out += out.empty() ? "" : "&";
    const Str *key = runtime.to_str(parts[0]);
    const Str *text = runtime.to_str(parts[1]);
    runtime.spend_slow((std::size_t{key->bytes} + text->bytes) * 2);
    out += quote_url(key->view(), true) + "=" + quote_url(text->view(), true);
  }
  return runtime.str(out);
}

Value xmlattr(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_xmlattr", arguments, {"d", "autospace"}, 1);
  if (!bound[0]->is_dict()) {
    if (bound[0]->is_undefined()) {
      runtime.fail_undefined(*bound[0]->undefined);
    }
    raise(ErrorClass::AttributeError,
          fmt::format("'{}' object has no attribute 'items'", type_name(*bound[0])));
  }
  std::string out;
  for (const DictEntry &entry : bound[0]->dict->all()) {
    if (entry.value.is_none() || entry.value.is_undefined()) {
      continue;
    }
    if (!entry.key.is_string()) {
      raise(ErrorClass::TypeError,
            fmt::format("expected string or bytes-like object, got '{}'", type_name(entry.key)));
    }
    if (entry.key.string->view().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      raise(ErrorClass::ValueError,
            fmt::format("Invalid character in attribute name: {}", runtime.repr(entry.key)));
    }
    out += out.empty() ? "" : " ";
    out += fmt::format("{}=\"{}\"", runtime.escape(entry.key)->view(),
                       runtime.escape(entry.value)->view());
  }
  if ((bound[1] == nullptr || truth(*bound[1])) && !out.empty()) {
    out.insert(0, 1, ' ');
  }
  return runtime.str(out, runtime.autoescape);
}

bool ascii_letter(char c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}
bool ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

/// `[\w%-]` over UTF-8: any letter, digit, underscore, percent sign or hyphen.
bool host_text(std::string_view text, bool hyphens) {
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = next_code_point(text, at);
    if (!is_word(point) && point != '%' && !(hyphens && point == '-')) {
      return false;
    }
  }
  return !text.empty();
}

/// A word that jinja2's pattern takes for an address on the web.
bool web_address(std::string_view word) {
  std::string lower = to_lower(word);
  std::string_view rest = lower;
  bool scheme = rest.starts_with("https://") || rest.starts_with("http://");
  if (scheme) {
    rest.remove_prefix(rest.find("//") + 2);
  }
  bool www = !scheme && rest.starts_with("www.");
  if (www) {
    rest.remove_prefix(4);
  }
  std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view host = rest.substr(0, end);
  if (!trim(rest).empty() && std::any_of(rest.begin(), rest.end(), [](char c) {
        return c == ' ' || c == '\t' || c == '\n';
      })) {
    return false;
  }
  bool bracketed = host.starts_with('[');
  std::size_t colon = bracketed ? host.find("]:") : host.rfind(':');
  if (colon != std::string_view::npos) {
    colon += bracketed ? 1U : 0U;
    std::string_view port = host.substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), ascii_digit)) {
      return false;
    }
    host = host.substr(0, colon);
  }
  if (bracketed) {
    return scheme && host.ends_with(']') && host.size() > 4 &&
           host.find_first_not_of("0123456789abcdef:[]") == std::string_view::npos;
  }
  std::vector<std::string_view> labels;
  for (std::size_t at = 0;;) {
    std::size_t dot = host.find('.', at);
    labels.push_back(host.substr(at, dot == std::string_view::npos ? dot : dot - at));
    if (dot == std::string_view::npos) {
      break;
    }
    at = dot + 1;
  }
  for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
    if (!host_text(labels[i], true)) {
      return false;
    }
  }
  std::string_view top = labels.back();
  bool letters =
      top.size() >= 2 && top.size() <= 63 && std::all_of(top.begin(), top.end(), ascii_letter);
  if (scheme || www) {
    if (letters || (top.starts_with("xn--") && top.size() > 5 && host_text(top.substr(4), false))) {
      return true;
    }
    return scheme && labels.size() == 4 &&
           std::all_of(labels.begin(), labels.end(), [](std::string_view part) {
             return !part.empty() && part.size() <= 3 &&
                    std::all_of(part.begin(), part.end(), ascii_digit);
           });
  }
  static constexpr std::array<std::string_view, 8> common{"com", "net", "int",  "edu",
                                                          "gov", "org", "info", "mil"};
  return labels.size() >= 2 && std::find(common.begin(), common.end(), top) != common.end() &&
         std::all_of(labels.begin(), labels.end() - 1,
                     [](std::string_view part) { return count_code_points(part) >= 2; });
}

bool mail_address(std::string_view word) {
  std::size_t at = word.rfind('@');
  if (at == std::string_view::npos || at == 0) {
    return false;
  }
  std::string_view host = word.substr(at + 1);
  std::size_t dot = host.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == host.size()) {
    return false;
  }
  for (std::size_t i = 0; i < host.size();) {
    bool first = i == 0;
    std::size_t start = i;
    char32_t point = next_code_point(host, i);
    bool tail = start > dot;
    if (!is_word(point) && (first || tail || (point != '.' && point != '-'))) {
      return false;
    }
  }
  return true;
}

std::size_t count(std::string_view text, std::string_view of) {
  std::size_t found = 0;
  for (std::size_t at = text.find(of); at != std::string_view::npos;
       at = text.find(of, at + of.size())) {
    ++found;
  }
  return found;
}

Value urlize(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_urlize", arguments,
              {"value", "trim_url_limit", "nofollow", "target", "rel", "extra_schemes"}, 1);
  std::vector<std::string> rel{"noopener"};
  if (bound[4] != nullptr && truth(*bound[4])) {
    std::string_view text = runtime.to_str(*bound[4])->view();
    std::string word;
    for (char c : std::string(text) + " ") {
      if (c == ' ') {
        if (!word.empty()) {
          rel.push_back(word);
        }
        word.clear();
      } else {
        word += c;
      }
    }
  }
  if (bound[2] != nullptr && truth(*bound[2])) {
    rel.emplace_back("nofollow");
  }
  std::sort(rel.begin(), rel.end());
  rel.erase(std::unique(rel.begin(), rel.end()), rel.end());
  std::string attributes = " rel=\"";
  for (std::size_t i = 0; i < rel.size(); ++i) {
    attributes +=
        (i == 0 ? "" : " ") + std::string(runtime.escape(Value(runtime.str(rel[i])))->view());
  }
  attributes += '"';
  if (bound[3] != nullptr && truth(*bound[3])) {
    attributes += fmt::format(" target=\"{}\"", runtime.escape(*bound[3])->view());
  }
  std::int64_t limit = -1;
  if (bound[1] != nullptr && !bound[1]->is_none()) {
    limit = runtime.index(
        *bound[1],
        fmt::format("'>' not supported between instances of 'int' and '{}'", type_name(*bound[1])));
  }
  auto shown = [&](std::string_view url) {
    bool cut = limit >= 0 && count_code_points(url) > static_cast<std::size_t>(limit);
    return cut ? std::string(url.substr(0, byte_offset(url, static_cast<std::size_t>(limit)))) +
                     "..."
               : std::string(url);
  };
  std::vector<std::string_view> schemes;
  if (bound[5] != nullptr && truth(*bound[5])) {
    for (const Value &scheme : runtime.items(*bound[5])) {
      std::string_view text = runtime.to_str(scheme)->view();
      std::size_t colon = text.find(':');
      bool good =
          colon != std::string_view::npos && colon >= 2 &&
          (text.substr(colon) == ":" || text.substr(colon) == ":/" || text.substr(colon) == "://");
      if (!good) {
        raise(ErrorClass::FilterArgumentError,
              fmt::format("{} is not a valid URI scheme prefix.", runtime.repr(scheme)));
      }
      schemes.push_back(text);
    }
  }
  std::string_view text = runtime.escape(*bound[0])->view();
  runtime.spend_slow(text.size() * 4);
  std::string out;
  auto link_word = [&](std::string_view word) {
    std::string_view rest = word;
    for (;;) {
      std::size_t size = rest.starts_with("&lt;")                         ? 4
                         : rest.starts_with('(') || rest.starts_with('<') ? 1
                                                                          : 0;
      if (size == 0) {
        break;
      }
      rest.remove_prefix(size);
    }
    std::string_view head = word.substr(0, word.size() - rest.size());
    std::size_t stop = rest.size();
    while (stop > 0) {
      std::string_view before = rest.substr(0, stop);
      if (before.ends_with("&gt;")) {
        stop -= 4;
      } else if (std::string_view(")>.,\n").find(before.back()) != std::string_view::npos) {
        --stop;
      } else {
        break;
      }
    }
    // Closing brackets belong to the address while it has more opening ones.
    std::size_t back = stop;
    using Pair = std::pair<std::string_view, std::string_view>;
    for (const auto &[open, close] : {Pair{"(", ")"}, Pair{"<", ">"}, Pair{"&lt;", "&gt;"}}) {
      std::size_t opened = count(rest.substr(0, back), open);
      if (opened <= count(rest.substr(0, back), close)) {
        continue;
      }
      for (std::size_t i = std::min(opened, count(rest.substr(back), close)); i > 0; --i) {
        back = rest.find(close, back) + close.size();
      }
    }
    std::string middle(rest.substr(0, back));
    std::string_view tail = rest.substr(back);
    if (web_address(middle)) {
      bool scheme = middle.starts_with("https://") || middle.starts_with("http://");
      middle = fmt::format("<a href=\"{}{}\"{}>{}</a>", scheme ? "" : "https://", middle,
                           attributes, shown(middle));
    } else if (middle.starts_with("mailto:") && mail_address(middle.substr(7))) {
      middle = fmt::format("<a href=\"{}\">{}</a>", middle, middle.substr(7));
    } else if (middle.find('@') != std::string::npos && !middle.starts_with("www.") &&
               !middle.starts_with('@') && middle.find(':') == std::string::npos &&
               mail_address(middle)) {
      middle = fmt::format("<a href=\"mailto:{}\">{}</a>", middle, middle);
    } else {
      for (std::string_view scheme : schemes) {
        if (middle != scheme && middle.starts_with(scheme)) {
          middle = fmt::format("<a href=\"{}\"{}>{}</a>", middle, attributes, middle);
        }
      }
    }
    out += head;
    out += middle;
    out += tail;
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at;
    std::size_t end = at;
    bool space = is_space(next_code_point(text, end));
    while (at < text.size()) {
      std::size_t next = at;
      if (is_space(next_code_point(text, next)) != space) {
        break;
      }
      at = next;
    }
    std::string_view word = text.substr(start, at - start);
    if (space) {
      out += word;
    } else {
      link_word(word);
    }
  }
  return runtime.str(out, runtime.autoescape);
}

constexpr std::size_t pretty_width = 80;

/// A dict's entries as pprint orders them.
std::vector<std::pair<Value, Value>> sorted_entries(Runtime &runtime, const Dict &dict) {
  std::vector<std::pair<Value, Value>> entries;
  for (const DictEntry &entry : dict.all()) {
    entries.emplace_back(entry.key, entry.value);
  }
  merge_sort(entries, [&](const auto &a, const auto &b) {
    bool same = a.first.is_string() == b.first.is_string();
    return same ? runtime.ordered(a.first, b.first, "<") : type_name(a.first) < type_name(b.first);
  });
  return entries;
}

/// repr() with the dicts inside sorted.
void append_flat(Runtime &runtime, std::string &out, const Value &value, int depth) {
  if (depth > 100) {
    raise(ErrorClass::RecursionError, "maximum recursion depth exceeded");
  }
  runtime.spend(1);
  if (out.size() > runtime.bounds.allocation_bytes) {
    throw OutOfMemory{};
  }
  std::string_view between;
  if (value.is_dict()) {
    out += '{';
    for (const auto &[key, item] : sorted_entries(runtime, *value.dict)) {
      out += between;
      append_flat(runtime, out, key, depth + 1);
      out += ": ";
      append_flat(runtime, out, item, depth + 1);
      between = ", ";
    }
    out += '}';
  } else if (value.is_sequence()) {
    out += value.is(Kind::list) ? '[' : '(';
    for (const Value &item : value.sequence->all()) {
      out += between;
      append_flat(runtime, out, item, depth + 1);
      between = ", ";
    }
    out += value.is(Kind::list) ? "]" : value.sequence->count == 1 ? ",)" : ")";
  } else {
    runtime.append_repr(out, value);
  }
}

/// pprint.pformat: on one line when it fits, else one item a line; dictionaries sorted by key.
void pretty(Runtime &runtime, std::string &out, const Value &value, std::size_t indent,
            std::size_t allowance) {
  runtime.spend(1);
  if (++runtime.work.depth > 100) {
    runtime.work.depth = 0;
    raise(ErrorClass::RecursionError, "maximum recursion depth exceeded");
  }
  std::string flat;
  append_flat(runtime, flat, value, 0);
  bool container = (value.is_dict() || value.is_sequence()) && truth(value);
  if (!container || count_code_points(flat) + indent + allowance <= pretty_width) {
    out += flat;
    --runtime.work.depth;
    return;
  }
  std::string between = ",\n" + std::string(indent + 1, ' ');
  if (value.is_dict()) {
    std::vector<std::pair<Value, Value>> entries = sorted_entries(runtime, *value.dict);
    out += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      std::string key = runtime.repr(entries[i].first);
      out += (i == 0 ? "" : between) + key + ": ";
      pretty(runtime, out, entries[i].second, indent + count_code_points(key) + 3,
             i + 1 == entries.size() ? allowance + 1 : 1);
    }
    out += '}';
  } else {
    bool tuple = value.is(Kind::tuple);
    out += tuple ? '(' : '[';
    std::span<const Value> items = value.sequence->all();
    for (std::size_t i = 0; i < items.size(); ++i) {
      out += i == 0 ? "" : between;
      pretty(runtime, out, items[i], indent + 1, i + 1 == items.size() ? allowance + 1 : 1);
    }
    out += tuple ? (items.size() == 1 ? ",)" : ")") : "]";
  }
  --runtime.work.depth;
}

Value pprint(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_pprint", arguments, {"value"}, 1);
  std::string out;
  pretty(runtime, out, *bound[0], 0, 0);
  return runtime.str(out);
}

constexpr std::array<NamedBuiltIn, 9> filters{{{"safe", safe},
                                               {"escape", escape_filter},
                                               {"e", escape_filter},
                                               {"forceescape", force_escape},
                                               {"striptags", striptags},
                                               {"urlencode", urlencode},
                                               {"urlize", urlize},
                                               {"xmlattr", xmlattr},
                                               {"pprint", pprint}}};

} // namespace

std::span<const NamedBuiltIn> html_filters() {
  return filters;
}

} // namespace headwater::jinja

#include "daemon/jinja/merge_sort.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

constexpr int max_json_depth = 300;

struct Style {
  bool ascii = false;
  bool indented = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// json.dumps: what Python's encoder writes, byte for byte.
class Writer {
public:
  Writer(Runtime &runtime, const Style &style) : runtime_(runtime), style_(style) {}

  std::string take() { return std::move(out_); }

  void write(const Value &value, int depth) {
    runtime_.spend(1);
    if (depth > max_json_depth) {
      raise(ErrorClass::RecursionError,
            "maximum recursion depth exceeded while encoding a JSON object");
    }
    if (out_.size() > runtime_.bounds.allocation_bytes) {
      throw OutOfMemory{};
    }
    switch (value.kind) {
    case Kind::none:
      out_ += "null";
      return;
    case Kind::boolean:
      out_ += value.boolean ? "true" : "false";
      return;
    case Kind::integer:
    case Kind::big:
      runtime_.append_repr(out_, value);
      return;
    case Kind::real:
      out_ += real(value.real);
      return;
    case Kind::string:
      text(value.string->view());
      return;
    case Kind::list:
    case Kind::tuple:
      sequence(value.sequence->all(), depth);
      return;
    case Kind::dict:
      object(*value.dict, depth);
      return;
    default:
      raise(ErrorClass::TypeError,
            fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
  }

private:
  static std::string real(double value) {
    if (std::isnan(value)) {
      return "NaN";
    }
    if (std::isinf(value)) {
      return value > 0 ? "Infinity" : "-Infinity";
    }
    return float_repr(value);
  }

  void text(std::string_view text) {
    runtime_.spend_slow(text.size());
    out_ += '"';
    for (std::size_t at = 0; at < text.size();) {
      char c = text[at];
      auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) {
        std::size_t start = at;
        char32_t point = next_code_point(text, at);
        if (!style_.ascii) {
          out_.append(text, start, at - start);
        } else if (point < 0x10000) {
          out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
        } else {
          out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0U + static_cast<unsigned>(point >> 10U),
                              0xDC00U + static_cast<unsigned>(point & 0x3FFU));
        }
        continue;
      }
      ++at;
      switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\f':
        out_ += "\\f";
        break;
      case '\b':
        out_ += "\\b";
        break;
      default:
        if (byte < 0x20) {
          out_ += fmt::format("\\u{:04x}", byte);
        } else {
          out_ += c;
        }
      }
    }
    out_ += '"';
  }

  void line(int depth) {
    if (!style_.indented) {
      return;
    }
    out_ += '\n';
    for (int i = 0; i < depth; ++i) {
      out_ += style_.indent;
    }
    runtime_.spend_bytes(style_.indent.size() * static_cast<std::size_t>(depth));
  }

  void sequence(std::span<const Value> items, int depth) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    bool first = true;
    for (const Value &item : items) {
      if (!first) {
        out_ += style_.item_separator;
      }
      first = false;
      line(depth + 1);
      write(item, depth + 1);
    }
    line(depth);
    out_ += ']';
  }

  void key(const Value &value) {
    switch (value.kind) {
    case Kind::string:
      text(value.string->view());
      return;
    case Kind::boolean:
    case Kind::none:
      out_ += '"';
      out_ += value.is_none() ? "null" : value.boolean ? "true" : "false";
      out_ += '"';
      return;
    case Kind::integer:
    case Kind::big:
    case Kind::real:
      out_ += '"';
      if (value.is(Kind::real)) {
        out_ += real(value.real);
      } else {
        runtime_.append_repr(out_, value);
      }
      out_ += '"';
      return;
    default:
      raise(ErrorClass::TypeError,
            fmt::format("keys must be str, int, float, bool or None, not {}", type_name(value)));
    }
  }

  void object(const Dict &dict, int depth) {
    if (dict.count == 0) {
      out_ += "{}";
      return;
    }
    std::vector<const DictEntry *> entries;
    entries.reserve(dict.count);
    for (const DictEntry &entry : dict.all()) {
      entries.push_back(&entry);
    }
    if (style_.sort_keys) {
      merge_sort(entries, [&](const DictEntry *a, const DictEntry *b) {
        runtime_.spend(1);
        return runtime_.ordered(a->key, b->key, "<");
      });
    }
    out_ += '{';
    bool first = true;
    for (const DictEntry *entry : entries) {
      if (!first) {
        out_ += style_.item_separator;
      }
      first = false;
      line(depth + 1);
      key(entry->key);
      out_ += style_.key_separator;
      write(entry->value, depth + 1);
    }
    line(depth);
    out_ += '}';
  }

  Runtime &runtime_;
  const Style &style_;
  std::string out_;
};

} // namespace

Value to_json(Runtime &runtime, const Arguments &arguments) {
  Bound bound("_cached_compile_jinja_template.<locals>.tojson", arguments,
              {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1);
  Style style;
  style.ascii = bound[1] != nullptr && truth(*bound[1]);
  style.sort_keys = bound[4] != nullptr && truth(*bound[4]);
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    style.indented = true;
    style.item_separator = ",";
    const Value &indent = *bound[2];
    if (indent.is_string()) {
      style.indent = indent.string->view();
    } else {
      std::int64_t width =
          runtime.index(indent, fmt::format("can't multiply sequence by non-int of type '{}'",
                                            type_name(indent)));
      runtime.arena.check(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)));
      style.indent.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
  }
  if (bound[3] != nullptr && !bound[3]->is_none()) {
    std::span<const Value> parts = runtime.items(*bound[3]);
    if (parts.size() != 2) {
      raise(ErrorClass::ValueError,
            parts.size() < 2
                ? fmt::format("not enough values to unpack (expected 2, got {})", parts.size())
                : std::string("too many values to unpack (expected 2)"));
    }
    for (const Value &part : parts) {
      if (!part.is_string()) {
        raise(ErrorClass::TypeError,
              fmt::format("sequence item 1: expected str instance, {} found", type_name(part)));
      }
    }
    style.item_separator = parts[0].string->view();
    style.key_separator = parts[1].string->view();
  }
  Writer writer(runtime, style);
  writer.write(*bound[0], 0);
  return runtime.str(writer.take());
}

} // namespace headwater::jinja

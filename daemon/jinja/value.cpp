#include "daemon/jinja/value.hpp"

#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

constexpr int max_depth = 200;
constexpr std::uint32_t small_dict = 8;

constexpr std::array<std::string_view, 19> error_names{
    "TemplateError",       "TemplateRuntimeError",
    "UndefinedError",      "SecurityError",
    "FilterArgumentError", "TypeError",
    "ValueError",          "KeyError",
    "IndexError",          "AttributeError",
    "ZeroDivisionError",   "OverflowError",
    "RecursionError",      "RuntimeError",
    "AssertionError",      "LookupError",
    "UnicodeEncodeError",  "MemoryError",
    "LimitExceeded"};

class Deeper {
public:
  explicit Deeper(Work &work) : work_(work) {
    work_.spend(1);
    if (++work_.depth > max_depth) {
      work_.depth = 0;
      raise(ErrorClass::RecursionError, "maximum recursion depth exceeded in comparison");
    }
  }
  Deeper(const Deeper &) = delete;
  Deeper &operator=(const Deeper &) = delete;
  ~Deeper() { --work_.depth; }

private:
  Work &work_;
};

bool is_number(const Value &value) {
  return value.is_small_int() || value.is(Kind::big) || value.is(Kind::real);
}

/// -1, 0, 1 of two numbers; `unordered` with NaN. Integers and floats compare exactly.
int compare_numbers(const Value &a, const Value &b, bool &unordered) {
  if (a.is_small_int() && b.is_small_int()) {
    return a.small_int() < b.small_int() ? -1 : (a.small_int() > b.small_int() ? 1 : 0);
  }
  if (a.is(Kind::real) && b.is(Kind::real)) {
    if (std::isnan(a.real) || std::isnan(b.real)) {
      unordered = true;
      return 1;
    }
    return a.real < b.real ? -1 : (a.real > b.real ? 1 : 0);
  }
  if (a.is(Kind::real)) {
    return -compare_numbers(b, a, unordered);
  }
  if (b.is(Kind::real)) {
    if (std::isnan(b.real)) {
      unordered = true;
      return 1;
    }
    if (std::isinf(b.real)) {
      return b.real > 0 ? -1 : 1;
    }
    double whole = std::trunc(b.real);
    int order = compare(widen(a), from_double(whole));
    if (order != 0) {
      return order;
    }
    return whole < b.real ? -1 : (whole > b.real ? 1 : 0);
  }
  return compare(widen(a), widen(b));
}

bool equal_dicts(const Dict &a, const Dict &b, Work &work) {
  if (a.count != b.count) {
    return false;
  }
  for (const DictEntry &entry : a.all()) {
    const Value *other = find(b, entry.key, work);
    if (other == nullptr || !(identical(entry.value, *other) || equal(entry.value, *other, work))) {
      return false;
    }
  }
  return true;
}

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 33U;
  value *= 0xFF51AFD7ED558CCDULL;
  value ^= value >> 33U;
  return value;
}

void rebuild_index(Arena &arena, Dict &dict) {
  std::uint32_t size = 16;
  while (size < dict.capacity * 2) {
    size *= 2;
  }
  dict.index = arena.array<std::uint32_t>(size);
  std::fill_n(dict.index, size, 0U);
  dict.index_mask = size - 1;
  for (std::uint32_t i = 0; i < dict.count; ++i) {
    auto at = static_cast<std::uint32_t>(dict.entries[i].hash) & dict.index_mask;
    while (dict.index[at] != 0) {
      at = (at + 1) & dict.index_mask;
    }
    dict.index[at] = i + 1;
  }
}

template <class Same> DictEntry *locate(const Dict &dict, std::uint64_t hash, Same same) {
  if (dict.index == nullptr) {
    for (std::uint32_t i = 0; i < dict.count; ++i) {
      if (dict.entries[i].hash == hash && same(dict.entries[i].key)) {
        return &dict.entries[i];
      }
    }
    return nullptr;
  }
  auto at = static_cast<std::uint32_t>(hash) & dict.index_mask;
  while (dict.index[at] != 0) {
    DictEntry &entry = dict.entries[dict.index[at] - 1];
    if (entry.hash == hash && same(entry.key)) {
      return &entry;
    }
    at = (at + 1) & dict.index_mask;
  }
  return nullptr;
}

DictEntry *locate(const Dict &dict, const Value &key, std::uint64_t hash, Work &work) {
  return locate(dict, hash, [&](const Value &other) {
    return identical(other, key) || equal(other, key, work);
  });
}

} // namespace

std::string_view name_of(ErrorClass error) {
  return error_names[static_cast<std::size_t>(error)];
}

void raise(ErrorClass error, std::string message) {
  throw Raise{error, std::move(message)};
}

std::int64_t Range::size() const {
  if (step > 0) {
    return start >= stop ? 0 : (stop - start - 1) / step + 1;
  }
  return start <= stop ? 0 : (start - stop - 1) / -step + 1;
}

std::string_view type_name(const Value &value) {
  switch (value.kind) {
  case Kind::missing:
    return "_MissingType";
  case Kind::undefined:
    return "Undefined";
  case Kind::none:
    return "NoneType";
  case Kind::boolean:
    return "bool";
  case Kind::integer:
  case Kind::big:
    return "int";
  case Kind::real:
    return "float";
  case Kind::string:
    return value.string->markup ? "Markup" : "str";
  case Kind::list:
    return "list";
  case Kind::tuple:
    return value.sequence->group ? "_GroupTuple" : "tuple";
  case Kind::dict:
    return "dict";
  case Kind::range:
    return "range";
  case Kind::dict_view:
    return value.view->what == ViewOf::keys     ? "dict_keys"
           : value.view->what == ViewOf::values ? "dict_values"
                                                : "dict_items";
  case Kind::iterator:
    return value.iterator->type;
  case Kind::name_space:
    return "TemplateNamespace";
  case Kind::macro:
    return "Macro";
  case Kind::loop:
    return "LoopContext";
  case Kind::cycler:
    return "Cycler";
  case Kind::joiner:
    return "Joiner";
  case Kind::function:
    if (!value.function->self.is_missing()) {
      return "builtin_function_or_method";
    }
    return value.function->name == "cycler" || value.function->name == "joiner" ||
                   value.function->name == "namespace"
               ? "type"
           : value.function->name == "dict" ? "TemplateDict"
                                            : "function";
  case Kind::slice:
    return "slice";
  case Kind::block_reference:
    return "BlockReference";
  }
  return "object";
}

std::string object_name(const Value &value) {
  switch (value.kind) {
  case Kind::none:
    return "None";
  case Kind::name_space:
    return "transformers.utils.chat_template_utils.TemplateNamespace object";
  case Kind::macro:
  case Kind::loop:
  case Kind::block_reference:
  case Kind::undefined:
    return fmt::format("jinja2.runtime.{} object", type_name(value));
  case Kind::cycler:
  case Kind::joiner:
    return fmt::format("jinja2.utils.{} object", type_name(value));
  case Kind::string:
    return value.string->markup ? "markupsafe.Markup object" : "str object";
  case Kind::tuple:
    return value.sequence->group ? "jinja2.filters._GroupTuple object" : "tuple object";
  default:
    return fmt::format("{} object", type_name(value));
  }
}

bool truth(const Value &value) {
  switch (value.kind) {
  case Kind::missing:
  case Kind::undefined:
  case Kind::none:
    return false;
  case Kind::boolean:
    return value.boolean;
  case Kind::integer:
    return value.integer != 0;
  case Kind::real:
    return value.real != 0.0;
  case Kind::string:
    return value.string->bytes != 0;
  case Kind::list:
  case Kind::tuple:
    return value.sequence->count != 0;
  case Kind::dict:
    return value.dict->count != 0;
  case Kind::range:
    return value.range->size() != 0;
  case Kind::dict_view:
    return value.view->dict->count != 0;
  default:
    return true;
  }
}

bool identical(const Value &a, const Value &b) {
  if (a.kind != b.kind) {
    return false;
  }
  switch (a.kind) {
  case Kind::missing:
  case Kind::none:
    return true;
  case Kind::boolean:
    return a.boolean == b.boolean;
  case Kind::integer:
    return a.integer == b.integer;
  case Kind::real:
    return std::memcmp(&a.real, &b.real, sizeof(double)) == 0 && !std::isnan(a.real);
  case Kind::string:
    return a.string == b.string || a.string->view() == b.string->view();
  default:
    return a.sequence == b.sequence;
  }
}

bool equal(const Value &a, const Value &b, Work &work) {
  if (is_number(a) && is_number(b)) {
    bool unordered = false;
    return compare_numbers(a, b, unordered) == 0 && !unordered;
  }
  if (a.kind != b.kind) {
    return false;
  }
  switch (a.kind) {
  case Kind::undefined:
  case Kind::none:
    return true;
  case Kind::string:
    return a.string == b.string || a.string->view() == b.string->view();
  case Kind::list:
  case Kind::tuple: {
    if (a.sequence == b.sequence) {
      return true;
    }
    Deeper deeper(work);
    return std::equal(a.sequence->items, a.sequence->items + a.sequence->count, b.sequence->items,
                      b.sequence->items + b.sequence->count,
                      [&](const Value &x, const Value &y) { return equal(x, y, work); });
  }
  case Kind::dict:
    if (a.dict == b.dict) {
      return true;
    }
    {
      Deeper deeper(work);
      return equal_dicts(*a.dict, *b.dict, work);
    }
  case Kind::range: {
    const Range &x = *a.range;
    const Range &y = *b.range;
    return x.size() == y.size() &&
           (x.size() == 0 || (x.start == y.start && (x.size() == 1 || x.step == y.step)));
  }
  case Kind::dict_view:
    if (a.view->what != b.view->what || a.view->dict->count != b.view->dict->count) {
      return false;
    }
    if (a.view->what == ViewOf::values) {
      return a.view == b.view;
    }
    return std::all_of(a.view->dict->entries, a.view->dict->entries + a.view->dict->count,
                       [&](const DictEntry &entry) {
                         const Value *other = find(*b.view->dict, entry.key, work);
                         return other != nullptr &&
                                (a.view->what == ViewOf::keys || equal(entry.value, *other, work));
                       });
  case Kind::function:
    return a.function->call == b.function->call && a.function->name == b.function->name &&
           identical(a.function->self, b.function->self);
  default:
    return a.sequence == b.sequence;
  }
}

int compare(const Value &a, const Value &b, std::string_view op, bool &unordered, Work &work) {
  if (is_number(a) && is_number(b)) {
    return compare_numbers(a, b, unordered);
  }
  if (a.is_string() && b.is_string()) {
    // UTF-8 keeps the order of code points.
    int order = a.string->view().compare(b.string->view());
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
  }
  if (a.kind == b.kind && a.is_sequence()) {
    Deeper deeper(work);
    std::size_t common = std::min(a.sequence->count, b.sequence->count);
    for (std::size_t i = 0; i < common; ++i) {
      if (!equal(a.sequence->items[i], b.sequence->items[i], work)) {
        return compare(a.sequence->items[i], b.sequence->items[i], op, unordered, work);
      }
    }
    return a.sequence->count < b.sequence->count ? -1
                                                 : (a.sequence->count > b.sequence->count ? 1 : 0);
  }
  raise(ErrorClass::TypeError, fmt::format("'{}' not supported between instances of '{}' and '{}'",
                                           op, type_name(a), type_name(b)));
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    hash = (hash ^ word) * 0x100000001B3ULL;
    hash ^= hash >> 29U;
    text.remove_prefix(8);
  }
  for (char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  hash ^= hash >> 32U;
  return (hash & 0xFFFFFFFFU) | 1U;
}

std::uint64_t hash_value(const Value &value, Work &work) {
  switch (value.kind) {
  case Kind::string:
    if (value.string->hash == 0) {
      value.string->hash = static_cast<std::uint32_t>(hash_text(value.string->view()));
    }
    return value.string->hash;
  case Kind::boolean:
  case Kind::integer:
    return mix(static_cast<std::uint64_t>(value.small_int()));
  case Kind::real:
    if (value.real == std::trunc(value.real) && std::fabs(value.real) < 9e18) {
      return mix(static_cast<std::uint64_t>(static_cast<std::int64_t>(value.real)));
    }
    return mix(std::hash<double>{}(value.real));
  case Kind::big:
    return mix(std::hash<double>{}(to_double(widen(value))));
  case Kind::tuple: {
    Deeper deeper(work);
    std::uint64_t hash = 77;
    for (const Value &item : value.sequence->all()) {
      hash = mix(hash * 31 + hash_value(item, work));
    }
    return hash;
  }
  case Kind::list:
  case Kind::dict:
  case Kind::slice:
    raise(ErrorClass::TypeError, fmt::format("unhashable type: '{}'", type_name(value)));
  case Kind::dict_view:
    if (value.view->what != ViewOf::values) {
      raise(ErrorClass::TypeError, fmt::format("unhashable type: '{}'", type_name(value)));
    }
    return 5;
  case Kind::none:
    return 3;
  case Kind::undefined:
    return 4;
  case Kind::range:
    return mix(static_cast<std::uint64_t>(value.range->size()) + 11);
  default:
    return mix(reinterpret_cast<std::uintptr_t>(value.sequence));
  }
}

const Value *find(const Dict &dict, const Value &key, Work &work) {
  DictEntry *entry = locate(dict, key, hash_value(key, work), work);
  return entry == nullptr ? nullptr : &entry->value;
}

const Value *find(const Dict &dict, const Str &key) {
  if (key.hash == 0) {
    key.hash = static_cast<std::uint32_t>(hash_text(key.view()));
  }
  DictEntry *entry = locate(dict, key.hash, [&](const Value &other) {
    return other.is_string() && (other.string == &key || other.string->view() == key.view());
  });
  return entry == nullptr ? nullptr : &entry->value;
}

const Value *find(const Dict &dict, std::string_view key) {
  DictEntry *entry = locate(dict, hash_text(key), [&](const Value &other) {
    return other.is_string() && other.string->view() == key;
  });
  return entry == nullptr ? nullptr : &entry->value;
}

const Str *share_str(Arena &arena, std::string_view text, bool ascii, bool markup) {
  if (text.size() > 0xFFFFFFFFU) {
    throw OutOfMemory{};
  }
  auto bytes = static_cast<std::uint32_t>(text.size());
  auto length = ascii ? bytes : static_cast<std::uint32_t>(count_code_points(text));
  return arena.make<Str>(text.data(), bytes, length, markup, 0U);
}

const Str *make_str(Arena &arena, std::string_view text) {
  char *data = arena.take(text.size());
  std::memcpy(data, text.data(), text.size());
  return share_str(arena, {data, text.size()}, false);
}

const Str *make_markup(Arena &arena, std::string_view text) {
  char *data = arena.take(text.size());
  std::memcpy(data, text.data(), text.size());
  return share_str(arena, {data, text.size()}, false, true);
}

Dict *make_dict(Arena &arena, std::size_t expected) {
  Dict *dict = arena.make<Dict>();
  if (expected > 0) {
    dict->capacity = static_cast<std::uint32_t>(expected);
    dict->entries = arena.array<DictEntry>(expected);
    if (dict->capacity > small_dict) {
      rebuild_index(arena, *dict);
    }
  }
  return dict;
}

void put(Arena &arena, Dict &dict, const Value &key, const Value &value, Work &work) {
  std::uint64_t hash = hash_value(key, work);
  if (DictEntry *entry = locate(dict, key, hash, work); entry != nullptr) {
    entry->value = value;
    return;
  }
  if (dict.count == dict.capacity) {
    std::uint32_t capacity = dict.capacity == 0 ? 4 : dict.capacity * 2;
    auto *entries = arena.array<DictEntry>(capacity);
    std::copy_n(dict.entries, dict.count, entries);
    dict.entries = entries;
    dict.capacity = capacity;
    if (capacity > small_dict) {
      rebuild_index(arena, dict);
    }
  }
  dict.entries[dict.count] = DictEntry{key, value, hash};
  ++dict.count;
  if (dict.index != nullptr) {
    auto at = static_cast<std::uint32_t>(hash) & dict.index_mask;
    while (dict.index[at] != 0) {
      at = (at + 1) & dict.index_mask;
    }
    dict.index[at] = dict.count;
  }
}

const Sequence *make_sequence(Arena &arena, std::span<const Value> items) {
  auto *copy = arena.array<Value>(items.size());
  std::copy(items.begin(), items.end(), copy);
  return arena.make<Sequence>(copy, items.size());
}

} // namespace headwater::jinja

#pragma once

#include "daemon/jinja/arena.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Python's values as chat templates meet them. A Value is 16 bytes and copied freely; what it
/// points to lives in an arena. Lists and dicts never change once made (the environment is
/// immutable), so no value can contain itself except through a namespace.
namespace headwater::jinja {

enum class Kind : std::uint8_t {
  missing, ///< an unset local: never seen by a template
  undefined,
  none,
  boolean,
  integer,
  big, ///< integer beyond 64 bits
  real,
  string,
  list,
  tuple,
  dict,
  range,
  dict_view,
  iterator, ///< generators and reversed(): consumed once
  name_space,
  macro,
  loop,
  cycler,
  joiner,
  function, ///< a global, or a bound method
  slice,
  block_reference,
};

struct Str;
struct Sequence;
struct Dict;
struct BigInt;
struct Undefined;
struct Range;
struct DictView;
struct Iterator;
struct Namespace;
struct Macro;
struct Loop;
struct Cycler;
struct Joiner;
struct Function;
struct Slice;
struct BlockReference;

struct Value {
  Kind kind = Kind::missing;
  union {
    bool boolean;
    std::int64_t integer;
    double real;
    const Str *string;
    const Sequence *sequence; ///< list or tuple
    const Dict *dict;
    const BigInt *big;
    const Undefined *undefined;
    const Range *range;
    const DictView *view;
    Iterator *iterator;
    Namespace *name_space;
    Macro *macro;
    Loop *loop;
    Cycler *cycler;
    Joiner *joiner;
    const Function *function;
    const Slice *slice;
    const BlockReference *block;
  };

  Value() : integer(0) {}
  static Value none() { return of(Kind::none); }
  Value(bool value) : kind(Kind::boolean), boolean(value) {}
  Value(std::int64_t value) : kind(Kind::integer), integer(value) {}
  Value(double value) : kind(Kind::real), real(value) {}
  Value(const Str *value) : kind(Kind::string), string(value) {}
  Value(const Dict *value) : kind(Kind::dict), dict(value) {}
  Value(const Undefined *value) : kind(Kind::undefined), undefined(value) {}
  Value(Iterator *value) : kind(Kind::iterator), iterator(value) {}
  Value(const Function *value) : kind(Kind::function), function(value) {}
  Value(const void *) = delete;
  static Value of(Kind kind) {
    Value value;
    value.kind = kind;
    return value;
  }
  static Value list(const Sequence *items) {
    Value value = of(Kind::list);
    value.sequence = items;
    return value;
  }
  static Value tuple(const Sequence *items) {
    Value value = of(Kind::tuple);
    value.sequence = items;
    return value;
  }
  [[nodiscard]] bool is(Kind other) const { return kind == other; }
  [[nodiscard]] bool is_missing() const { return kind == Kind::missing; }
  [[nodiscard]] bool is_undefined() const { return kind == Kind::undefined; }
  [[nodiscard]] bool is_none() const { return kind == Kind::none; }
  [[nodiscard]] bool is_string() const { return kind == Kind::string; }
  [[nodiscard]] bool is_dict() const { return kind == Kind::dict; }
  [[nodiscard]] bool is_sequence() const { return kind == Kind::list || kind == Kind::tuple; }
  /// int, bool included as in Python, within 64 bits.
  [[nodiscard]] bool is_small_int() const { return kind == Kind::integer || kind == Kind::boolean; }
  [[nodiscard]] std::int64_t small_int() const {
    return kind == Kind::boolean ? static_cast<std::int64_t>(boolean) : integer;
  }
};

/// Text: UTF-8 with lone surrogates kept as three bytes. `length` counts code points.
struct Str {
  const char *data;
  std::uint32_t bytes;
  std::uint32_t length;
  bool markup = false; ///< markupsafe.Markup
  mutable std::uint32_t hash = 0;
  [[nodiscard]] std::string_view view() const { return {data, bytes}; }
  [[nodiscard]] bool ascii() const { return bytes == length; }
};

struct Sequence {
  const Value *items;
  std::size_t count;
  bool group = false; ///< a groupby tuple: fields `grouper` and `list`
  [[nodiscard]] std::span<const Value> all() const { return {items, count}; }
};

struct DictEntry {
  Value key;
  Value value;
  std::uint64_t hash;
};

/// Entries in insertion order; `index` is an open-addressed table of entry numbers + 1, null while
/// small.
struct Dict {
  DictEntry *entries = nullptr;
  std::uint32_t count = 0;
  std::uint32_t capacity = 0;
  std::uint32_t *index = nullptr;
  std::uint32_t index_mask = 0;
  [[nodiscard]] std::span<const DictEntry> all() const { return {entries, count}; }
};

enum class ErrorClass : std::uint8_t {
  TemplateError,
  TemplateRuntimeError,
  UndefinedError,
  SecurityError,
  FilterArgumentError,
  TypeError,
  ValueError,
  KeyError,
  IndexError,
  AttributeError,
  ZeroDivisionError,
  OverflowError,
  RecursionError,
  RuntimeError,
  AssertionError,
  LookupError,
  UnicodeEncodeError,
  MemoryError,
  Limit,
};

std::string_view name_of(ErrorClass error);

/// A Python exception on its way out of the interpreter. Never leaves the room.
struct Raise {
  ErrorClass error;
  std::string message;
};

struct Undefined {
  const Str *hint = nullptr;
  Value object; ///< missing when a name was looked up
  Value name;
  ErrorClass error = ErrorClass::UndefinedError;
};

struct Range {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t step;
  [[nodiscard]] std::int64_t size() const;
};

enum class ViewOf : std::uint8_t { keys, values, items };

struct DictView {
  const Dict *dict;
  ViewOf what;
};

class Runtime;

/// Gives an iterator that has run out its next items: generators run late and one item at a time,
/// and so do their errors. Is asked again until it leaves itself unset.
using Producer = void (*)(Runtime &runtime, Iterator &self);

struct Iterator {
  std::string_view type = "generator";
  std::string_view name; ///< of a generator's function
  const Value *items = nullptr;
  std::size_t count = 0;
  std::size_t next = 0;
  Producer produce = nullptr;
  const Value *arguments = nullptr; ///< the producer's own
  std::size_t argument_count = 0;
  const Dict *keywords = nullptr;
  void *state = nullptr; ///< the producer's own, between two items
};

struct Namespace {
  Dict *attributes;
};

struct Cycler {
  const Sequence *items;
  std::size_t position = 0;
};

struct Joiner {
  const Str *separator;
  bool used = false;
};

struct Slice {
  Value start, stop, step;
};

struct Arguments;
using Native = Value (*)(Runtime &runtime, const Value &self, const Arguments &arguments);

struct Function {
  std::string_view name;
  Native call;
  Value self; ///< missing for globals
};

struct Keyword {
  const Str *name;
  Value value;
};

struct Arguments {
  std::span<const Value> positional;
  std::span<const Keyword> keywords;
};

[[noreturn]] void raise(ErrorClass error, std::string message);

/// What is left of a run's fuel, and how deep it is inside a nested value.
struct Work {
  std::int64_t left = 1'000'000;
  int depth = 0;
  void spend(std::int64_t steps) {
    left -= steps;
    if (left < 0) {
      raise(ErrorClass::Limit, "the template does too much work");
    }
  }
};

// ---- questions that need no memory

/// Python's type name: "str", "NoneType", "dict_items".
std::string_view type_name(const Value &value);
/// As jinja2 names an object in messages: "str object", "None".
std::string object_name(const Value &value);
bool truth(const Value &value);
/// Python's == ; shared structure can make it long: it costs work and its depth is bounded.
bool equal(const Value &a, const Value &b, Work &work);
/// Python's `is`.
bool identical(const Value &a, const Value &b);
/// Python's < and its kin: -1, 0, 1. Raises TypeError naming `op` for types without an order.
/// `unordered` is set when a NaN takes part.
int compare(const Value &a, const Value &b, std::string_view op, bool &unordered, Work &work);
std::uint64_t hash_text(std::string_view text);
/// Hash consistent with equal(). Raises TypeError for unhashable types.
std::uint64_t hash_value(const Value &value, Work &work);
/// The value under a key, or null. Raises TypeError for unhashable keys.
const Value *find(const Dict &dict, const Value &key, Work &work);
const Value *find(const Dict &dict, const Str &key);
const Value *find(const Dict &dict, std::string_view key);

// ---- making values

const Str *make_str(Arena &arena, std::string_view text);
const Str *make_markup(Arena &arena, std::string_view text);
/// No copy: `text` must live as long as the arena's values do. `ascii` when known to be so.
const Str *share_str(Arena &arena, std::string_view text, bool ascii, bool markup = false);
Dict *make_dict(Arena &arena, std::size_t expected);
/// Sets or replaces; a replaced key keeps its place.
void put(Arena &arena, Dict &dict, const Value &key, const Value &value, Work &work);
const Sequence *make_sequence(Arena &arena, std::span<const Value> items);

} // namespace headwater::jinja

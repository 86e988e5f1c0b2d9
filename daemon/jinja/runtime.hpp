#pragma once

#include "daemon/jinja/jinja.hpp"
#include "daemon/jinja/value.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::jinja {

/// How a macro or a recursive loop runs: the interpreter's part, seen from built-in code.
class Callbacks {
public:
  virtual ~Callbacks() = default;
  virtual Value call_macro(Macro &macro, const Arguments &arguments) = 0;
  virtual Value call_loop(Loop &loop, const Arguments &arguments) = 0;
  virtual Value call_block(const BlockReference &block) = 0;
  virtual Value loop_attribute(Loop &loop, std::string_view name) = 0;
  virtual Value macro_attribute(const Macro &macro, std::string_view name) = 0;
  virtual std::string macro_repr(const Macro &macro) = 0;
  virtual const Iterator &loop_rest(Loop &loop) = 0;
  virtual std::string block_repr(const BlockReference &block) = 0;
  virtual Value block_attribute(const BlockReference &block, std::string_view name) = 0;
};

/// One render in progress: its memory, its fuel, and Python's built-in behaviour on top of them.
class Runtime {
public:
  Runtime(const Limits &limits, Clock now)
      : arena(limits.allocation_bytes), bounds(limits), clock(now) {
    work.left = limits.fuel_steps;
  }

  Arena arena;
  Work work;
  Limits bounds;
  Clock clock;
  bool autoescape = false;
  int depth = 0;
  Callbacks *callbacks = nullptr;
  std::vector<const Namespace *> shown; ///< namespaces whose repr() is being written

  void spend(std::int64_t steps) { work.spend(steps); }
  /// Cost of looking at that many bytes one by one.
  void spend_slow(std::size_t bytes) { work.spend(static_cast<std::int64_t>(bytes >> 3U) + 1); }
  /// Cost of handling that many bytes.
  void spend_bytes(std::size_t bytes) { work.spend(static_cast<std::int64_t>(bytes >> 6U) + 1); }

  const Str *str(std::string_view text) {
    spend_bytes(text.size());
    return make_str(arena, text);
  }
  const Str *str(std::string_view text, bool markup) {
    spend_bytes(text.size());
    return markup ? make_markup(arena, text) : make_str(arena, text);
  }
  /// Part of a string of this run, not copied.
  const Str *part(const Str &of, std::size_t from, std::size_t to) {
    spend_bytes(to - from);
    return share_str(arena, of.view().substr(from, to - from), of.ascii(), of.markup);
  }
  Value list(std::span<const Value> items) {
    spend(static_cast<std::int64_t>(items.size() / 4));
    return Value::list(make_sequence(arena, items));
  }
  Value tuple(std::initializer_list<Value> items) {
    return Value::tuple(make_sequence(arena, std::span<const Value>(items.begin(), items.size())));
  }
  Value tuple(std::span<const Value> items) { return Value::tuple(make_sequence(arena, items)); }
  void set(Dict &dict, const Value &key, const Value &value) { put(arena, dict, key, value, work); }

  Value undefined_name(const Str *name);
  Value undefined_of(const Value &object, const Value &name);
  Value undefined_hint(std::string_view hint, std::string_view name = {});
  /// What using an undefined value raises.
  [[noreturn]] void fail_undefined(const Undefined &undefined);

  // ---- text (convert.cpp)
  void append_str(std::string &out, const Value &value);
  void append_repr(std::string &out, const Value &value);
  std::string repr(const Value &value);
  /// Python's str(): the same object for a string.
  const Str *to_str(const Value &value);
  /// markupsafe.escape(): text made safe for HTML.
  const Str *escape(const Value &value);

  // ---- operators (operators.cpp)
  Value add(const Value &a, const Value &b);
  Value subtract(const Value &a, const Value &b);
  Value multiply(const Value &a, const Value &b);
  Value divide(const Value &a, const Value &b);
  Value floor_divide(const Value &a, const Value &b);
  Value modulo(const Value &a, const Value &b);
  Value power(const Value &a, const Value &b);
  Value negative(const Value &a);
  Value positive(const Value &a);
  bool is_equal(const Value &a, const Value &b);
  /// One of "<" "<=" ">" ">=".
  bool ordered(const Value &a, const Value &b, std::string_view op);
  bool contains(const Value &container, const Value &item);

  // ---- containers (containers.cpp)
  /// All items that iterating gives; an iterator is used up. Raises TypeError when not iterable.
  std::span<const Value> items(const Value &value);
  /// Next item of an iterator, or missing at its end.
  Value next(Iterator &iterator);
  bool iterable(const Value &value);
  std::int64_t length(const Value &value);
  Value get_attribute(const Value &object, const Str &name);
  Value get_item(const Value &object, const Value &key);
  Value get_slice(const Value &object, const Slice &slice);
  /// The index behind a value, as __index__ gives it. Raises TypeError naming `what`.
  std::int64_t index(const Value &value, std::string_view message);
  Value call(const Value &callee, const Arguments &arguments);
  /// Bound attribute of a built-in type, or missing.
  Value method(const Value &object, std::string_view name);

  // ---- filters and tests
  Value call_filter(const Value &name, std::span<const Value> positional,
                    std::span<const Keyword> keywords);
  Value call_test(const Value &name, std::span<const Value> positional,
                  std::span<const Keyword> keywords);
};

/// A filter or a test: the value it is applied to comes first.
using BuiltIn = Value (*)(Runtime &runtime, const Arguments &arguments);
BuiltIn find_filter(std::string_view name);
BuiltIn find_test(std::string_view name);

struct NamedBuiltIn {
  std::string_view name;
  BuiltIn run;
};
std::span<const NamedBuiltIn> text_filters();
std::span<const NamedBuiltIn> sequence_filters();
std::span<const NamedBuiltIn> html_filters();

/// A global function of the environment, or null.
const Function *find_global(std::string_view name);
std::span<const Function> all_globals();

/// Methods of str, or null (str_methods.cpp and the rest in str_search.cpp).
Native find_str_method(std::string_view name);
Native find_str_predicate(std::string_view name);

/// printf-style formatting: `format % argument`.
Value format_percent(Runtime &runtime, const Str &format, const Value &argument);
/// str.format, its attribute look-ups sandboxed.
std::string format_braces(Runtime &runtime, const Str &format, const Arguments &arguments);
/// format(value, spec).
std::string format_spec(Runtime &runtime, const Value &value, std::string_view spec);
/// json.dumps as transformers calls it.
Value to_json(Runtime &runtime, const Arguments &arguments);

/// Python's repr() of a float.
std::string float_repr(double value);
/// repr() of text.
void append_text_repr(std::string &out, std::string_view text);
/// int(text, base); missing when it is no integer.
Value parse_integer(Runtime &runtime, std::string_view text, unsigned base);
/// float(text); missing when it is no number.
Value parse_real(std::string_view text);
/// float(value) for a number. Raises OverflowError.
double to_real(const Value &number);
/// Integer Value of a finite double, truncated.
Value integer_of(Runtime &runtime, double value);

/// Takes a call's arguments apart against a Python signature ("value", "width=", ...): names in
/// order, the first `required` of them without default. Raises TypeError as Python does.
class Bound {
public:
  Bound(std::string_view function, const Arguments &arguments,
        std::initializer_list<std::string_view> names, std::size_t required);
  /// The argument, or null when it was left out.
  const Value *operator[](std::size_t i) const { return values_[i]; }

private:
  static constexpr std::size_t most = 8;
  const Value *values_[most] = {};
};

} // namespace headwater::jinja

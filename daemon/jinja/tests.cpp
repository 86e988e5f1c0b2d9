// The tests behind `is`, and the look-up of filters and tests by name.

#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <array>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

const Value &only(std::string_view name, const Arguments &arguments) {
  Bound bound(name, arguments, {"value"}, 1);
  return arguments.positional.empty() ? arguments.keywords[0].value : arguments.positional[0];
}

bool is_integer(const Value &value) {
  return value.is(Kind::integer) || value.is(Kind::big);
}
bool is_number(const Value &value) {
  return is_integer(value) || value.is(Kind::boolean) || value.is(Kind::real);
}

Value parity(Runtime &runtime, const Arguments &arguments, std::string_view name,
             std::int64_t wanted) {
  Value rest = runtime.modulo(only(name, arguments), Value(std::int64_t{2}));
  return runtime.is_equal(rest, Value(wanted));
}
Value odd(Runtime &runtime, const Arguments &arguments) {
  return parity(runtime, arguments, "test_odd", 1);
}
Value even(Runtime &runtime, const Arguments &arguments) {
  return parity(runtime, arguments, "test_even", 0);
}

Value divisible_by(Runtime &runtime, const Arguments &arguments) {
  Bound bound("test_divisibleby", arguments, {"value", "num"}, 2);
  return runtime.is_equal(runtime.modulo(*bound[0], *bound[1]), Value(std::int64_t{0}));
}

Value defined(Runtime &, const Arguments &arguments) {
  return !only("test_defined", arguments).is_undefined();
}
Value undefined(Runtime &, const Arguments &arguments) {
  return only("test_undefined", arguments).is_undefined();
}
Value none(Runtime &, const Arguments &arguments) {
  return only("test_none", arguments).is_none();
}
Value boolean(Runtime &, const Arguments &arguments) {
  return only("test_boolean", arguments).is(Kind::boolean);
}
Value is_true(Runtime &, const Arguments &arguments) {
  const Value &value = only("test_true", arguments);
  return value.is(Kind::boolean) && value.boolean;
}
Value is_false(Runtime &, const Arguments &arguments) {
  const Value &value = only("test_false", arguments);
  return value.is(Kind::boolean) && !value.boolean;
}
Value integer(Runtime &, const Arguments &arguments) {
  return is_integer(only("test_integer", arguments));
}
Value real(Runtime &, const Arguments &arguments) {
  return only("test_float", arguments).is(Kind::real);
}
Value number(Runtime &, const Arguments &arguments) {
  return is_number(only("test_number", arguments));
}
Value string(Runtime &, const Arguments &arguments) {
  return only("test_string", arguments).is_string();
}
Value mapping(Runtime &, const Arguments &arguments) {
  return only("test_mapping", arguments).is_dict();
}

Value sequence(Runtime &, const Arguments &arguments) {
  const Value &value = only("test_sequence", arguments);
  return value.is_string() || value.is_sequence() || value.is_dict() || value.is(Kind::range);
}

Value iterable(Runtime &runtime, const Arguments &arguments) {
  return runtime.iterable(only("test_iterable", arguments));
}

Value callable(Runtime &, const Arguments &arguments) {
  if (arguments.positional.size() != 1) {
    raise(ErrorClass::TypeError, fmt::format("callable() takes exactly one argument ({} given)",
                                             arguments.positional.size()));
  }
  switch (arguments.positional[0].kind) {
  case Kind::function:
  case Kind::macro:
  case Kind::loop:
  case Kind::joiner:
  case Kind::undefined:
  case Kind::block_reference:
    return true;
  default:
    return false;
  }
}

Value case_test(Runtime &runtime, const Arguments &arguments, std::string_view name,
                std::string_view method) {
  Value text(runtime.to_str(only(name, arguments)));
  return find_str_predicate(method)(runtime, text, {});
}
Value lower(Runtime &runtime, const Arguments &arguments) {
  return case_test(runtime, arguments, "test_lower", "islower");
}
Value upper(Runtime &runtime, const Arguments &arguments) {
  return case_test(runtime, arguments, "test_upper", "isupper");
}

Value same_as(Runtime &, const Arguments &arguments) {
  Bound bound("test_sameas", arguments, {"value", "other"}, 2);
  return identical(*bound[0], *bound[1]);
}

Value escaped(Runtime &, const Arguments &arguments) {
  const Value &value = only("test_escaped", arguments);
  return value.is_string() && value.string->markup;
}

Value in(Runtime &runtime, const Arguments &arguments) {
  Bound bound("test_in", arguments, {"value", "seq"}, 2);
  return runtime.contains(*bound[1], *bound[0]);
}

std::span<const Value> two(const Arguments &arguments, std::string_view name) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, fmt::format("_operator.{}() takes no keyword arguments", name));
  }
  if (arguments.positional.size() != 2) {
    raise(ErrorClass::TypeError,
          fmt::format("{} expected 2 arguments, got {}", name, arguments.positional.size()));
  }
  return arguments.positional;
}

Value equal_to(Runtime &runtime, const Arguments &arguments) {
  std::span<const Value> given = two(arguments, "eq");
  return runtime.is_equal(given[0], given[1]);
}
Value not_equal_to(Runtime &runtime, const Arguments &arguments) {
  std::span<const Value> given = two(arguments, "ne");
  return !runtime.is_equal(given[0], given[1]);
}
Value less(Runtime &runtime, const Arguments &arguments) {
  std::span<const Value> given = two(arguments, "lt");
  return runtime.ordered(given[0], given[1], "<");
}
Value less_equal(Runtime &runtime, const Arguments &arguments) {
  std::span<const Value> given = two(arguments, "le");
  return runtime.ordered(given[0], given[1], "<=");
}
Value greater(Runtime &runtime, const Arguments &arguments) {
  std::span<const Value> given = two(arguments, "gt");
  return runtime.ordered(given[0], given[1], ">");
}
Value greater_equal(Runtime &runtime, const Arguments &arguments) {
  std::span<const Value> given = two(arguments, "ge");
  return runtime.ordered(given[0], given[1], ">=");
}

Value named(Runtime &runtime, const Arguments &arguments, std::string_view function, bool filter) {
  const Value &value = only(function, arguments);
  if (!value.is_string()) {
    hash_value(value, runtime.work);
    return false;
  }
  std::string_view name = value.string->view();
  return filter ? find_filter(name) != nullptr : find_test(name) != nullptr;
}
Value filter_exists(Runtime &runtime, const Arguments &arguments) {
  return named(runtime, arguments, "test_filter", true);
}
Value test_exists(Runtime &runtime, const Arguments &arguments) {
  return named(runtime, arguments, "test_test", false);
}

constexpr std::array<NamedBuiltIn, 39> tests{{{"defined", defined},
                                              {"none", none},
                                              {"string", string},
                                              {"mapping", mapping},
                                              {"iterable", iterable},
                                              {"sequence", sequence},
                                              {"undefined", undefined},
                                              {"true", is_true},
                                              {"false", is_false},
                                              {"boolean", boolean},
                                              {"integer", integer},
                                              {"float", real},
                                              {"number", number},
                                              {"odd", odd},
                                              {"even", even},
                                              {"divisibleby", divisible_by},
                                              {"filter", filter_exists},
                                              {"test", test_exists},
                                              {"lower", lower},
                                              {"upper", upper},
                                              {"callable", callable},
                                              {"sameas", same_as},
                                              {"escaped", escaped},
                                              {"in", in},
                                              {"==", equal_to},
                                              {"eq", equal_to},
                                              {"equalto", equal_to},
                                              {"!=", not_equal_to},
                                              {"ne", not_equal_to},
                                              {">", greater},
                                              {"gt", greater},
                                              {"greaterthan", greater},
                                              {"ge", greater_equal},
                                              {">=", greater_equal},
                                              {"<", less},
                                              {"lt", less},
                                              {"lessthan", less},
                                              {"<=", less_equal},
                                              {"le", less_equal}}};

BuiltIn look_up(std::span<const NamedBuiltIn> table, std::string_view name) {
  for (const NamedBuiltIn &entry : table) {
    if (entry.name == name) {
      return entry.run;
    }
  }
  return nullptr;
}

[[noreturn]] void unknown(Runtime &runtime, std::string_view what, const Value &name) {
  std::string message = fmt::format("No {} named {}.", what, runtime.repr(name));
  if (name.is_undefined()) {
    try {
      runtime.fail_undefined(*name.undefined);
    } catch (const Raise &error) {
      message += fmt::format(" ({}; did you forget to quote the callable name?)", error.message);
    }
  }
  raise(ErrorClass::TemplateRuntimeError, std::move(message));
}

} // namespace

BuiltIn find_filter(std::string_view name) {
  for (std::span<const NamedBuiltIn> table : {text_filters(), sequence_filters(), html_filters()}) {
    if (BuiltIn found = look_up(table, name); found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

BuiltIn find_test(std::string_view name) {
  return look_up(tests, name);
}

Value Runtime::call_filter(const Value &name, std::span<const Value> positional,
                           std::span<const Keyword> keywords) {
  spend(1);
  BuiltIn filter = name.is_string() ? find_filter(name.string->view()) : nullptr;
  if (filter == nullptr) {
    unknown(*this, "filter", name);
  }
  return filter(*this, {positional, keywords});
}

Value Runtime::call_test(const Value &name, std::span<const Value> positional,
                         std::span<const Keyword> keywords) {
  spend(1);
  BuiltIn test = name.is_string() ? find_test(name.string->view()) : nullptr;
  if (test == nullptr) {
    unknown(*this, "test", name);
  }
  return test(*this, {positional, keywords});
}

} // namespace headwater::jinja

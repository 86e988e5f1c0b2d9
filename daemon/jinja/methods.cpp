// Methods of the built-in types other than str, and the globals of the environment.

#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/runtime.hpp"

#include <array>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

constexpr std::int64_t max_range = 100000;

/// Python's refusal of arguments by a method that takes none.
void nothing(std::string_view method, const Arguments &arguments) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, fmt::format("{}() takes no keyword arguments", method));
  }
  if (!arguments.positional.empty()) {
    raise(ErrorClass::TypeError,
          fmt::format("{}() takes no arguments ({} given)", method, arguments.positional.size()));
  }
}

/// "int" or "float": a bool has the methods of int.
std::string_view number_type(const Value &self) {
  return self.is(Kind::real) ? "float" : "int";
}

Value dict_get(Runtime &runtime, const Value &self, const Arguments &arguments) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, "dict.get() takes no keyword arguments");
  }
  std::size_t count = arguments.positional.size();
  if (count == 0 || count > 2) {
    raise(ErrorClass::TypeError,
          fmt::format("get expected at {} {} argument{}, got {}", count == 0 ? "least" : "most",
                      count == 0 ? 1 : 2, count == 0 ? "" : "s", count));
  }
  const Value *found = find(*self.dict, arguments.positional[0], runtime.work);
  return found != nullptr ? *found : count == 2 ? arguments.positional[1] : Value::none();
}

Value dict_view(Runtime &runtime, const Value &self, ViewOf what, std::string_view name,
                const Arguments &arguments) {
  nothing(fmt::format("dict.{}", name), arguments);
  Value value = Value::of(Kind::dict_view);
  value.view = runtime.arena.make<DictView>(self.dict, what);
  return value;
}

Value dict_items(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return dict_view(runtime, self, ViewOf::items, "items", arguments);
}
Value dict_keys(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return dict_view(runtime, self, ViewOf::keys, "keys", arguments);
}
Value dict_values(Runtime &runtime, const Value &self, const Arguments &arguments) {
  return dict_view(runtime, self, ViewOf::values, "values", arguments);
}

Value dict_copy(Runtime &runtime, const Value &self, const Arguments &arguments) {
  nothing("dict.copy", arguments);
  Dict *copy = make_dict(runtime.arena, self.dict->count);
  for (const DictEntry &entry : self.dict->all()) {
    runtime.spend(1);
    runtime.set(*copy, entry.key, entry.value);
  }
  return Value(copy);
}

Value from_keys(Runtime &runtime, const Value &, const Arguments &arguments) {
  Bound bound("fromkeys", arguments, {"iterable", "value"}, 1);
  Dict *dict = make_dict(runtime.arena, 0);
  for (const Value &key : runtime.items(*bound[0])) {
    runtime.spend(1);
    runtime.set(*dict, key, bound[1] == nullptr ? Value::none() : *bound[1]);
  }
  return Value(dict);
}

Value sequence_count(Runtime &runtime, const Value &self, const Arguments &arguments) {
  Bound bound("count", arguments, {"value"}, 1);
  std::int64_t count = 0;
  for (const Value &item : self.sequence->all()) {
    runtime.spend(1);
    count +=
        static_cast<std::int64_t>(identical(item, *bound[0]) || runtime.is_equal(item, *bound[0]));
  }
  return count;
}

Value sequence_index(Runtime &runtime, const Value &self, const Arguments &arguments) {
  Bound bound("index", arguments, {"value", "start", "stop"}, 1);
  auto size = static_cast<std::int64_t>(self.sequence->count);
  auto place = [&](const Value *value, std::int64_t otherwise) {
    std::int64_t at =
        value == nullptr
            ? otherwise
            : runtime.index(*value, "slice indices must be integers or have an __index__ method");
    return at < 0 ? std::max<std::int64_t>(at + size, 0) : std::min(at, size);
  };
  for (std::int64_t i = place(bound[1], 0); i < place(bound[2], size); ++i) {
    runtime.spend(1);
    const Value &item = self.sequence->items[i];
    if (identical(item, *bound[0]) || runtime.is_equal(item, *bound[0])) {
      return i;
    }
  }
  raise(ErrorClass::ValueError, self.is(Kind::list)
                                    ? runtime.repr(*bound[0]) + " is not in list"
                                    : std::string("tuple.index(x): x not in tuple"));
}

Value list_copy(Runtime &, const Value &self, const Arguments &arguments) {
  nothing("list.copy", arguments);
  return self;
}

Value is_whole(Runtime &, const Value &self, const Arguments &arguments) {
  nothing("float.is_integer", arguments);
  return std::isfinite(self.real) && self.real == std::trunc(self.real);
}

Value bit_length(Runtime &, const Value &self, const Arguments &arguments) {
  nothing("int.bit_length", arguments);
  Wide wide = widen(self);
  if (wide.limbs.empty()) {
    return std::int64_t{0};
  }
  return static_cast<std::int64_t>(wide.limbs.size() * 32) - __builtin_clz(wide.limbs.back());
}

Value bit_count(Runtime &, const Value &self, const Arguments &arguments) {
  nothing("int.bit_count", arguments);
  std::int64_t count = 0;
  for (std::uint32_t limb : widen(self).limbs) {
    count += __builtin_popcount(limb);
  }
  return count;
}

Value conjugate(Runtime &runtime, const Value &self, const Arguments &arguments) {
  nothing(fmt::format("{}.conjugate", number_type(self)), arguments);
  return self.is(Kind::real) ? self : runtime.positive(self);
}

Value integer_ratio(Runtime &runtime, const Value &self, const Arguments &arguments) {
  nothing(fmt::format("{}.as_integer_ratio", number_type(self)), arguments);
  if (!self.is(Kind::real)) {
    return runtime.tuple({runtime.positive(self), Value(std::int64_t{1})});
  }
  if (std::isnan(self.real)) {
    raise(ErrorClass::ValueError, "cannot convert NaN to integer ratio");
  }
  if (std::isinf(self.real)) {
    raise(ErrorClass::OverflowError, "cannot convert Infinity to integer ratio");
  }
  int exponent = 0;
  double mantissa = std::frexp(self.real, &exponent);
  while (mantissa != std::trunc(mantissa)) {
    mantissa *= 2;
    --exponent;
  }
  Value power = runtime.power(Value(std::int64_t{2}), Value(std::int64_t{std::abs(exponent)}));
  Value whole = integer_of(runtime, mantissa);
  return exponent >= 0 ? runtime.tuple({runtime.multiply(whole, power), Value(std::int64_t{1})})
                       : runtime.tuple({whole, power});
}

Value cycler_next(Runtime &, const Value &self, const Arguments &) {
  Cycler &cycler = *self.cycler;
  Value value = cycler.items->items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items->count;
  return value;
}

Value cycler_reset(Runtime &, const Value &self, const Arguments &) {
  self.cycler->position = 0;
  return Value::none();
}

Value make_range(Runtime &runtime, const Value &, const Arguments &arguments) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, fmt::format("safe_range() got an unexpected keyword argument '{}'",
                                             arguments.keywords[0].name->view()));
  }
  std::size_t count = arguments.positional.size();
  if (count == 0 || count > 3) {
    raise(ErrorClass::TypeError,
          count == 0 ? std::string("range expected at least 1 argument, got 0")
                     : fmt::format("range expected at most 3 arguments, got {}", count));
  }
  std::int64_t numbers[3] = {0, 0, 1};
  for (std::size_t i = 0; i < count; ++i) {
    const Value &value = arguments.positional[i];
    if (value.is(Kind::big)) {
      raise(ErrorClass::OverflowError, "Python int too large to convert to C ssize_t");
    }
    numbers[i] = runtime.index(
        value, fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
  }
  if (count == 1) {
    numbers[1] = numbers[0];
    numbers[0] = 0;
  }
  if (numbers[2] == 0) {
    raise(ErrorClass::ValueError, "range() arg 3 must not be zero");
  }
  Range range{numbers[0], numbers[1], numbers[2]};
  // In doubles first: the span of two 64-bit ends may not fit.
  double span = (static_cast<double>(range.stop) - static_cast<double>(range.start)) /
                static_cast<double>(range.step);
  if (span > 2.0 * static_cast<double>(max_range) || (span > 0 && range.size() > max_range)) {
    raise(ErrorClass::OverflowError,
          "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
  }
  if (span <= 0) {
    range.stop = range.start;
    range.stop = numbers[1];
  }
  Value value = Value::of(Kind::range);
  value.range = runtime.arena.make<Range>(range);
  return value;
}

void fill_dict(Runtime &runtime, Dict &dict, const Arguments &arguments) {
  if (arguments.positional.size() > 1) {
    raise(ErrorClass::TypeError,
          fmt::format("dict expected at most 1 argument, got {}", arguments.positional.size()));
  }
  if (!arguments.positional.empty()) {
    const Value &source = arguments.positional[0];
    if (source.is_undefined()) {
      // Python asks for its keys first, as an attribute.
      runtime.fail_undefined(*source.undefined);
    }
    if (source.is_dict()) {
      for (const DictEntry &entry : source.dict->all()) {
        runtime.spend(1);
        runtime.set(dict, entry.key, entry.value);
      }
    } else {
      std::size_t i = 0;
      for (const Value &pair : runtime.items(source)) {
        runtime.spend(1);
        if (!runtime.iterable(pair)) {
          raise(ErrorClass::TypeError,
                fmt::format("cannot convert dictionary update sequence element #{} to a sequence",
                            i));
        }
        std::span<const Value> parts = runtime.items(pair);
        if (parts.size() != 2) {
          raise(ErrorClass::ValueError,
                fmt::format("dictionary update sequence element #{} has length {}; 2 is required",
                            i, parts.size()));
        }
        runtime.set(dict, parts[0], parts[1]);
        ++i;
      }
    }
  }
  for (const Keyword &keyword : arguments.keywords) {
    runtime.set(dict, Value(keyword.name), keyword.value);
  }
}

Value make_plain_dict(Runtime &runtime, const Value &, const Arguments &arguments) {
  Dict *dict = make_dict(runtime.arena, 0);
  fill_dict(runtime, *dict, arguments);
  return Value(dict);
}

Value make_namespace(Runtime &runtime, const Value &, const Arguments &arguments) {
  Dict *dict = make_dict(runtime.arena, 0);
  fill_dict(runtime, *dict, arguments);
  for (const DictEntry &entry : dict->all()) {
    if (entry.key.is_string() && entry.key.string->view().starts_with('_')) {
      raise(ErrorClass::SecurityError,
            fmt::format("Chat templates cannot store underscore-prefixed attributes on a "
                        "namespace, but got {}. "
                        "Please rename the attribute.",
                        runtime.repr(entry.key)));
    }
  }
  Value value = Value::of(Kind::name_space);
  value.name_space = runtime.arena.make<Namespace>(dict);
  return value;
}

Value make_cycler(Runtime &runtime, const Value &, const Arguments &arguments) {
  if (!arguments.keywords.empty()) {
    raise(ErrorClass::TypeError,
          fmt::format("Cycler.__init__() got an unexpected keyword argument '{}'",
                      arguments.keywords[0].name->view()));
  }
  if (arguments.positional.empty()) {
    raise(ErrorClass::RuntimeError, "at least one item has to be provided");
  }
  Value value = Value::of(Kind::cycler);
  value.cycler = runtime.arena.make<Cycler>(make_sequence(runtime.arena, arguments.positional),
                                            std::size_t{0});
  return value;
}

Value make_joiner(Runtime &runtime, const Value &, const Arguments &arguments) {
  Bound bound("Joiner.__init__", arguments, {"sep"}, 0);
  Value value = Value::of(Kind::joiner);
  const Str *separator = bound[0] == nullptr ? runtime.str(", ") : runtime.to_str(*bound[0]);
  value.joiner = runtime.arena.make<Joiner>(separator, false);
  return value;
}

Value raise_exception(Runtime &runtime, const Value &, const Arguments &arguments) {
  Bound bound("raise_exception", arguments, {"message"}, 1);
  raise(ErrorClass::TemplateError,
        truth(*bound[0]) ? std::string(runtime.to_str(*bound[0])->view()) : std::string());
}

Value strftime_now(Runtime &runtime, const Value &, const Arguments &arguments) {
  Bound bound("strftime_now", arguments, {"format"}, 1);
  if (bound[0]->is_undefined() || !bound[0]->is_string()) {
    raise(ErrorClass::TypeError,
          fmt::format("strftime() argument 1 must be str, not {}", type_name(*bound[0])));
  }
  auto day = std::chrono::floor<std::chrono::days>(runtime.clock);
  std::chrono::year_month_day date{day};
  std::chrono::hh_mm_ss time{runtime.clock - day};
  std::tm parts{};
  parts.tm_year = static_cast<int>(date.year()) - 1900;
  parts.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  parts.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  parts.tm_hour = static_cast<int>(time.hours().count());
  parts.tm_min = static_cast<int>(time.minutes().count());
  parts.tm_sec = static_cast<int>(time.seconds().count());
  parts.tm_wday = static_cast<int>(std::chrono::weekday{day}.c_encoding());
  parts.tm_yday = static_cast<int>((day - std::chrono::sys_days{date.year() / 1 / 1}).count());
  parts.tm_isdst = -1;
  std::string_view format = bound[0]->string->view();
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    char code = format[++i];
    if (code == 'f') {
      out += fmt::format("{:06}", time.subseconds().count());
      continue;
    }
    if (code == 'z' || code == 'Z') {
      continue; // a local time without zone prints none
    }
    runtime.spend(8);
    std::string directive{'%', code};
    if ((code == '-' || code == '_' || code == '0' || code == '^' || code == '#' || code == 'E' ||
         code == 'O') &&
        i + 1 < format.size()) {
      directive += format[++i];
    }
    char buffer[128];
    std::size_t size = std::strftime(buffer, sizeof buffer, directive.c_str(), &parts);
    out.append(buffer, size);
  }
  return runtime.str(out);
}

Value lipsum(Runtime &, const Value &, const Arguments &) {
  raise(ErrorClass::RuntimeError, "lipsum() is random: no rendering can depend on it");
}

const std::array<Function, 8> globals{{{"range", make_range, {}},
                                       {"dict", make_plain_dict, {}},
                                       {"namespace", make_namespace, {}},
                                       {"cycler", make_cycler, {}},
                                       {"joiner", make_joiner, {}},
                                       {"raise_exception", raise_exception, {}},
                                       {"strftime_now", strftime_now, {}},
                                       {"lipsum", lipsum, {}}}};

struct Method {
  std::string_view name;
  Native call;
};

constexpr std::array<Method, 6> dict_methods{{{"get", dict_get},
                                              {"items", dict_items},
                                              {"keys", dict_keys},
                                              {"values", dict_values},
                                              {"copy", dict_copy},
                                              {"fromkeys", from_keys}}};
constexpr std::array<Method, 3> sequence_methods{
    {{"count", sequence_count}, {"index", sequence_index}, {"copy", list_copy}}};

template <std::size_t N>
Value bound_method(Runtime &runtime, const std::array<Method, N> &methods, const Value &self,
                   std::string_view name) {
  for (const Method &method : methods) {
    if (method.name == name) {
      return Value(runtime.arena.make<const Function>(method.name, method.call, self));
    }
  }
  return {};
}

Value number_attribute(Runtime &runtime, const Value &self, std::string_view name) {
  bool real = self.is(Kind::real);
  auto bind = [&](std::string_view as, Native call) {
    return Value(runtime.arena.make<const Function>(as, call, self));
  };
  if (name == "real" || (name == "numerator" && !real)) {
    return self.is(Kind::boolean) ? Value(self.small_int()) : self;
  }
  if (name == "imag") {
    return real ? Value(0.0) : Value(std::int64_t{0});
  }
  if (name == "denominator" && !real) {
    return std::int64_t{1};
  }
  if (name == "is_integer" && real) {
    return bind("is_integer", is_whole);
  }
  if (name == "bit_length" && !real) {
    return bind("bit_length", bit_length);
  }
  if (name == "bit_count" && !real) {
    return bind("bit_count", bit_count);
  }
  if (name == "as_integer_ratio") {
    return bind("as_integer_ratio", integer_ratio);
  }
  if (name == "conjugate") {
    return bind("conjugate", conjugate);
  }
  return {};
}

} // namespace

const Function *find_global(std::string_view name) {
  for (const Function &global : globals) {
    if (global.name == name) {
      return &global;
    }
  }
  return nullptr;
}

std::span<const Function> all_globals() {
  return globals;
}

Value Runtime::method(const Value &object, std::string_view name) {
  switch (object.kind) {
  case Kind::string: {
    Native native = find_str_method(name);
    if (native == nullptr) {
      native = find_str_predicate(name);
    }
    if (native == nullptr) {
      return {};
    }
    // The bound name must outlive the call: the table's own does not reach us here.
    return Value(arena.make<const Function>(str(name)->view(), native, object));
  }
  case Kind::dict:
    return bound_method(*this, dict_methods, object, name);
  case Kind::tuple:
    if (object.sequence->group && (name == "grouper" || name == "list")) {
      return object.sequence->items[name == "list" ? 1 : 0];
    }
    return name == "copy" ? Value() : bound_method(*this, sequence_methods, object, name);
  case Kind::list:
    return bound_method(*this, sequence_methods, object, name);
  case Kind::boolean:
  case Kind::integer:
  case Kind::big:
  case Kind::real:
    return number_attribute(*this, object, name);
  case Kind::range:
    if (name == "start") {
      return object.range->start;
    }
    if (name == "stop") {
      return object.range->stop;
    }
    return name == "step" ? Value(object.range->step) : Value();
  case Kind::cycler:
    if (name == "current") {
      return object.cycler->items->items[object.cycler->position];
    }
    if (name == "items") {
      return Value::tuple(object.cycler->items);
    }
    if (name == "pos") {
      return static_cast<std::int64_t>(object.cycler->position);
    }
    if (name == "next") {
      return Value(arena.make<const Function>("next", cycler_next, object));
    }
    if (name == "reset") {
      return Value(arena.make<const Function>("reset", cycler_reset, object));
    }
    return {};
  case Kind::joiner:
    if (name == "sep") {
      return object.joiner->separator;
    }
    return name == "used" ? Value(object.joiner->used) : Value();
  case Kind::function:
    if (object.function->self.is_missing() && object.function->name == "dict" &&
        name == "fromkeys") {
      return Value(arena.make<const Function>("fromkeys", from_keys, object));
    }
    return {};
  default:
    return {};
  }
}

} // namespace headwater::jinja

#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

Value view_item(Runtime &runtime, const DictView &view, const DictEntry &entry) {
  return view.what == ViewOf::keys     ? entry.key
         : view.what == ViewOf::values ? entry.value
                                       : runtime.tuple({entry.key, entry.value});
}

/// Attributes of every Python object: present, and never safe to hand out.
bool object_dunder(std::string_view name) {
  static constexpr std::array<std::string_view, 23> names{
      "__class__",  "__delattr__",   "__dir__",         "__doc__",
      "__eq__",     "__format__",    "__ge__",          "__getattribute__",
      "__gt__",     "__hash__",      "__init__",        "__init_subclass__",
      "__le__",     "__lt__",        "__ne__",          "__new__",
      "__reduce__", "__reduce_ex__", "__repr__",        "__setattr__",
      "__sizeof__", "__str__",       "__subclasshook__"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool type_dunder(const Value &object, std::string_view name) {
  auto any = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  switch (object.kind) {
  case Kind::string:
    return any({"__add__", "__contains__", "__getitem__", "__getnewargs__", "__iter__", "__len__",
                "__mod__", "__mul__", "__rmod__", "__rmul__"});
  case Kind::list:
    return any({"__add__", "__contains__", "__delitem__", "__getitem__", "__iadd__", "__imul__",
                "__iter__", "__len__", "__mul__", "__reversed__", "__rmul__", "__setitem__",
                "__class_getitem__"});
  case Kind::tuple:
    return any({"__add__", "__contains__", "__getitem__", "__getnewargs__", "__iter__", "__len__",
                "__mul__", "__rmul__", "__class_getitem__"});
  case Kind::dict:
    return any({"__contains__", "__delitem__", "__getitem__", "__ior__", "__iter__", "__len__",
                "__or__", "__reversed__", "__ror__", "__setitem__", "__class_getitem__"});
  case Kind::function:
    return any({"__call__", "__name__", "__qualname__", "__self__", "__module__", "__globals__",
                "__code__", "__dict__", "__closure__", "__defaults__", "__kwdefaults__",
                "__annotations__", "__get__", "__mro__", "__subclasses__", "__base__", "__bases__",
                "__text_signature__"});
  case Kind::boolean:
  case Kind::integer:
  case Kind::big:
  case Kind::real:
    return any({"__abs__",      "__add__",  "__bool__",    "__divmod__", "__float__",
                "__floordiv__", "__int__",  "__mod__",     "__mul__",    "__neg__",
                "__pos__",      "__pow__",  "__radd__",    "__rmul__",   "__round__",
                "__rsub__",     "__sub__",  "__truediv__", "__trunc__",  "__getnewargs__",
                "__and__",      "__ceil__", "__floor__",   "__index__",  "__invert__",
                "__lshift__",   "__or__",   "__rshift__",  "__xor__"});
  case Kind::none:
    return name == "__bool__";
  case Kind::macro:
  case Kind::loop:
  case Kind::cycler:
  case Kind::joiner:
  case Kind::block_reference:
    return any(
        {"__call__", "__dict__", "__module__", "__weakref__", "__iter__", "__next__", "__len__"});
  case Kind::range:
  case Kind::dict_view:
  case Kind::iterator:
    return any({"__iter__", "__next__", "__len__", "__contains__", "__getitem__", "__reversed__",
                "__bool__"});
  default:
    return false;
  }
}

/// What the immutable sandbox keeps from being called.
bool modifies(const Value &object, std::string_view name) {
  auto any = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (object.is(Kind::list)) {
    return any({"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
  }
  if (object.is_dict()) {
    return any({"clear", "pop", "popitem", "setdefault", "update"});
  }
  return false;
}

/// Attributes with a single underscore that such objects have.
bool private_attribute(const Value &object, std::string_view name) {
  auto any = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (object.is(Kind::loop)) {
    return any({"_after", "_before", "_current", "_iterable", "_iterator", "_last_changed_value",
                "_length", "_peek_next", "_recurse", "_to_iterator", "_undefined"});
  }
  if (object.is(Kind::macro)) {
    return any({"_argument_count", "_async_invoke", "_default_autoescape", "_environment", "_func",
                "_invoke"});
  }
  return object.is(Kind::tuple) && object.sequence->group &&
         any({"_asdict", "_field_defaults", "_fields", "_make", "_replace"});
}

Value unsafe(Runtime &runtime, const Value &object, const Str &name) {
  const Str *hint = runtime.str(fmt::format("access to attribute {} of {} object is unsafe.",
                                            runtime.repr(Value(&name)),
                                            runtime.repr(Value(runtime.str(type_name(object))))));
  return runtime.arena.make<Undefined>(hint, object, Value(&name), ErrorClass::SecurityError);
}

/// obj.name as Python has it: missing when there is none.
Value plain_attribute(Runtime &runtime, const Value &object, const Str &name) {
  std::string_view text = name.view();
  switch (object.kind) {
  case Kind::name_space: {
    const Value *value = find(*object.name_space->attributes, name);
    return value == nullptr ? Value() : *value;
  }
  case Kind::loop:
    return runtime.callbacks->loop_attribute(*object.loop, text);
  case Kind::macro:
    return runtime.callbacks->macro_attribute(*object.macro, text);
  case Kind::block_reference:
    return runtime.callbacks->block_attribute(*object.block, text);
  default:
    return runtime.method(object, text);
  }
}

/// getattr() under the sandbox: missing when Python finds nothing, an unsafe value as an undefined
/// one.
Value safe_attribute(Runtime &runtime, const Value &object, const Str &name) {
  std::string_view text = name.view();
  if (object.is(Kind::name_space)) {
    // Its own attribute look-up answers for "__class__" alone.
    if (text == "__class__") {
      return unsafe(runtime, object, name);
    }
    return plain_attribute(runtime, object, name);
  }
  if (text.starts_with('_')) {
    if (object_dunder(text) || type_dunder(object, text) || private_attribute(object, text)) {
      return unsafe(runtime, object, name);
    }
    return {};
  }
  if (modifies(object, text)) {
    return unsafe(runtime, object, name);
  }
  return plain_attribute(runtime, object, name);
}

Value text_item(Runtime &runtime, const Str &text, std::int64_t index) {
  if (index < 0) {
    index += text.length;
  }
  if (index < 0 || index >= text.length) {
    return {};
  }
  auto point = static_cast<std::size_t>(index);
  if (text.ascii()) {
    return runtime.part(text, point, point + 1);
  }
  runtime.spend_slow(text.bytes / 2);
  std::size_t from = byte_offset(text.view(), point);
  std::size_t to = from;
  next_code_point(text.view(), to);
  return runtime.part(text, from, to);
}

/// obj[key] as Python has it: missing for IndexError, KeyError and TypeError.
Value plain_item(Runtime &runtime, const Value &object, const Value &key) {
  switch (object.kind) {
  case Kind::dict: {
    if (key.is_string()) {
      const Value *value = find(*object.dict, *key.string);
      return value == nullptr ? Value() : *value;
    }
    if (key.is(Kind::list) || key.is_dict() || key.is(Kind::slice)) {
      return {};
    }
    const Value *value = find(*object.dict, key, runtime.work);
    return value == nullptr ? Value() : *value;
  }
  case Kind::list:
  case Kind::tuple: {
    if (!key.is_small_int()) {
      return {};
    }
    std::int64_t index = key.small_int();
    auto count = static_cast<std::int64_t>(object.sequence->count);
    index += index < 0 ? count : 0;
    return index < 0 || index >= count ? Value() : object.sequence->items[index];
  }
  case Kind::string:
    return key.is_small_int() ? text_item(runtime, *object.string, key.small_int()) : Value();
  case Kind::range: {
    if (!key.is_small_int()) {
      return {};
    }
    std::int64_t size = object.range->size();
    std::int64_t index = key.small_int();
    index += index < 0 ? size : 0;
    return index < 0 || index >= size ? Value()
                                      : Value(object.range->start + index * object.range->step);
  }
  case Kind::block_reference:
    return key.is_string() && object.block != nullptr
               ? runtime.callbacks->block_attribute(*object.block, key.string->view())
               : Value();
  case Kind::undefined:
    runtime.fail_undefined(*object.undefined);
  default:
    return {};
  }
}

} // namespace

bool Runtime::iterable(const Value &value) {
  switch (value.kind) {
  case Kind::undefined:
  case Kind::string:
  case Kind::list:
  case Kind::tuple:
  case Kind::dict:
  case Kind::range:
  case Kind::dict_view:
  case Kind::iterator:
  case Kind::loop:
    return true;
  default:
    return false;
  }
}

Value Runtime::next(Iterator &iterator) {
  spend(1);
  while (iterator.next == iterator.count && iterator.produce != nullptr) {
    // One that raises is at its end, as a generator is.
    Producer produce = std::exchange(iterator.produce, nullptr);
    produce(*this, iterator);
  }
  return iterator.next < iterator.count ? iterator.items[iterator.next++] : Value();
}

std::span<const Value> Runtime::items(const Value &value) {
  switch (value.kind) {
  case Kind::undefined:
    return {};
  case Kind::list:
  case Kind::tuple:
    return value.sequence->all();
  case Kind::string: {
    const Str &text = *value.string;
    spend(text.length);
    auto *out = arena.array<Value>(text.length);
    std::size_t at = 0;
    for (std::size_t i = 0; i < text.length; ++i) {
      std::size_t from = at;
      next_code_point(text.view(), at);
      out[i] = Value(arena.make<const Str>(text.data + from, static_cast<std::uint32_t>(at - from),
                                           1U, false, 0U));
    }
    return {out, text.length};
  }
  case Kind::dict: {
    spend(value.dict->count / 4);
    auto *out = arena.array<Value>(value.dict->count);
    for (std::uint32_t i = 0; i < value.dict->count; ++i) {
      out[i] = value.dict->entries[i].key;
    }
    return {out, value.dict->count};
  }
  case Kind::dict_view: {
    const DictView &view = *value.view;
    spend(view.dict->count);
    auto *out = arena.array<Value>(view.dict->count);
    for (std::uint32_t i = 0; i < view.dict->count; ++i) {
      out[i] = view_item(*this, view, view.dict->entries[i]);
    }
    return {out, view.dict->count};
  }
  case Kind::range: {
    std::int64_t size = value.range->size();
    spend(size / 4);
    auto *out = arena.array<Value>(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      out[i] = Value(value.range->start + i * value.range->step);
    }
    return {out, static_cast<std::size_t>(size)};
  }
  case Kind::iterator: {
    Iterator &iterator = *value.iterator;
    if (iterator.produce != nullptr) {
      std::vector<Value> all;
      for (Value item = next(iterator); !item.is_missing(); item = next(iterator)) {
        all.push_back(item);
      }
      const Sequence *kept = make_sequence(arena, all);
      return kept->all();
    }
    std::span<const Value> rest(iterator.items + iterator.next, iterator.count - iterator.next);
    iterator.next = iterator.count;
    return rest;
  }
  case Kind::loop: {
    const Iterator &rest = callbacks->loop_rest(*value.loop);
    return {rest.items, rest.count};
  }
  default:
    raise(ErrorClass::TypeError, fmt::format("'{}' object is not iterable", type_name(value)));
  }
}

std::int64_t Runtime::length(const Value &value) {
  switch (value.kind) {
  case Kind::undefined:
    return 0;
  case Kind::string:
    return value.string->length;
  case Kind::list:
  case Kind::tuple:
    return static_cast<std::int64_t>(value.sequence->count);
  case Kind::dict:
    return value.dict->count;
  case Kind::dict_view:
    return value.view->dict->count;
  case Kind::range:
    return value.range->size();
  case Kind::loop:
    return callbacks->loop_attribute(*value.loop, "length").integer;
  default:
    raise(ErrorClass::TypeError, fmt::format("object of type '{}' has no len()", type_name(value)));
  }
}

Value Runtime::get_attribute(const Value &object, const Str &name) {
  if (object.is_undefined()) {
    fail_undefined(*object.undefined);
  }
  Value value = safe_attribute(*this, object, name);
  if (value.is_missing()) {
    value = plain_item(*this, object, Value(&name));
  }
  return value.is_missing() ? undefined_of(object, Value(&name)) : value;
}

Value Runtime::get_item(const Value &object, const Value &key) {
  Value value = plain_item(*this, object, key);
  if (value.is_missing() && key.is_string()) {
    value = safe_attribute(*this, object, *key.string);
  }
  return value.is_missing() ? undefined_of(object, key) : value;
}

std::int64_t Runtime::index(const Value &value, std::string_view message) {
  if (value.is_small_int()) {
    return value.small_int();
  }
  if (value.is(Kind::big)) {
    raise(ErrorClass::OverflowError, "Python int too large to convert to C ssize_t");
  }
  if (value.is_undefined()) {
    raise(ErrorClass::TypeError, std::string(message));
  }
  raise(ErrorClass::TypeError, std::string(message));
}

Value Runtime::get_slice(const Value &object, const Slice &slice) {
  if (object.is_undefined()) {
    fail_undefined(*object.undefined);
  }
  bool text = object.is_string();
  if (!text && !object.is_sequence() && !object.is(Kind::range)) {
    if (object.is_dict()) {
      raise(ErrorClass::TypeError, "unhashable type: 'slice'");
    }
    raise(ErrorClass::TypeError,
          fmt::format("'{}' object is not subscriptable", type_name(object)));
  }
  std::int64_t size = length(object);
  static constexpr std::string_view wrong =
      "slice indices must be integers or None or have an __index__ method";
  auto big = [](const Value &value) {
    return value.is(Kind::big) || (value.is_small_int() && (value.small_int() > INT64_MAX / 2 ||
                                                            value.small_int() < INT64_MIN / 2));
  };
  auto sign_big = [](const Value &value) {
    return value.is(Kind::big)     ? INT64_MAX / 2
           : value.small_int() > 0 ? INT64_MAX / 2
                                   : INT64_MIN / 2;
  };
  std::int64_t step = slice.step.is_none() ? 1
                      : big(slice.step)    ? sign_big(slice.step)
                                           : index(slice.step, wrong);
  if (step == 0) {
    raise(ErrorClass::ValueError, "slice step cannot be zero");
  }
  auto bound = [&](const Value &value, std::int64_t otherwise) {
    if (value.is_none()) {
      return otherwise;
    }
    std::int64_t at = big(value) ? sign_big(value) : index(value, wrong);
    if (at < 0) {
      at = std::max<std::int64_t>(at + size, step < 0 ? -1 : 0);
    }
    return std::min(at, step < 0 ? size - 1 : size);
  };
  std::int64_t start = bound(slice.start, step < 0 ? size - 1 : 0);
  std::int64_t stop = bound(slice.stop, step < 0 ? -1 : size);
  std::int64_t count = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0)
                                : (start > stop ? (start - stop - 1) / -step + 1 : 0);
  spend(count / 8);
  if (text) {
    const Str &source = *object.string;
    if (step == 1) {
      if (count == 0) {
        return str("", source.markup);
      }
      if (source.ascii()) {
        return part(source, static_cast<std::size_t>(start), static_cast<std::size_t>(stop));
      }
      std::size_t from = byte_offset(source.view(), static_cast<std::size_t>(start));
      std::size_t to =
          from + byte_offset(source.view().substr(from), static_cast<std::size_t>(count));
      spend_bytes(to);
      return part(source, from, to);
    }
    std::string out;
    std::span<const Value> points = items(object);
    for (std::int64_t i = 0; i < count; ++i) {
      out += points[static_cast<std::size_t>(start + i * step)].string->view();
    }
    return str(out, source.markup);
  }
  if (object.is(Kind::range)) {
    const Range &range = *object.range;
    Value value = Value::of(Kind::range);
    value.range = arena.make<Range>(range.start + start * range.step,
                                    range.start + stop * range.step, range.step * step);
    return value;
  }
  Sequence *out = nullptr;
  if (step == 1) {
    out = arena.make<Sequence>(object.sequence->items + (count == 0 ? 0 : start),
                               static_cast<std::size_t>(count));
  } else {
    auto *copy = arena.array<Value>(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      copy[i] = object.sequence->items[start + i * step];
    }
    out = arena.make<Sequence>(copy, static_cast<std::size_t>(count));
  }
  return object.is(Kind::list) ? Value::list(out) : Value::tuple(out);
}

Value Runtime::call(const Value &callee, const Arguments &arguments) {
  spend(1);
  switch (callee.kind) {
  case Kind::function:
    return callee.function->call(*this, callee.function->self, arguments);
  case Kind::macro:
    return callbacks->call_macro(*callee.macro, arguments);
  case Kind::loop:
    return callbacks->call_loop(*callee.loop, arguments);
  case Kind::block_reference:
    return callbacks->call_block(*callee.block);
  case Kind::joiner: {
    bool used = callee.joiner->used;
    callee.joiner->used = true;
    return used ? Value(callee.joiner->separator) : Value(str(""));
  }
  case Kind::undefined:
    fail_undefined(*callee.undefined);
  default:
    raise(ErrorClass::TypeError, fmt::format("'{}' object is not callable", type_name(callee)));
  }
}

Bound::Bound(std::string_view function, const Arguments &arguments,
             std::initializer_list<std::string_view> names, std::size_t required) {
  const std::string_view *name = names.begin();
  if (arguments.positional.size() > names.size()) {
    raise(ErrorClass::TypeError,
          fmt::format("{}() takes {}{} positional argument{} but {} were given", function,
                      required == names.size() ? "" : fmt::format("from {} to ", required),
                      names.size(), names.size() == 1 ? "" : "s", arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = &arguments.positional[i];
  }
  for (const Keyword &keyword : arguments.keywords) {
    const auto *found = std::find(names.begin(), names.end(), keyword.name->view());
    if (found == names.end()) {
      raise(ErrorClass::TypeError, fmt::format("{}() got an unexpected keyword argument '{}'",
                                               function, keyword.name->view()));
    }
    auto at = static_cast<std::size_t>(found - names.begin());
    if (values_[at] != nullptr) {
      raise(ErrorClass::TypeError, fmt::format("{}() got multiple values for argument '{}'",
                                               function, keyword.name->view()));
    }
    values_[at] = &keyword.value;
  }
  std::vector<std::string_view> missing;
  for (std::size_t i = 0; i < required; ++i) {
    if (values_[i] == nullptr) {
      missing.push_back(name[i]);
    }
  }
  if (!missing.empty()) {
    std::string list;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      list += i == 0                   ? ""
              : i + 1 < missing.size() ? ", "
              : missing.size() == 2    ? " and "
                                       : ", and ";
      list += fmt::format("'{}'", missing[i]);
    }
    raise(ErrorClass::TypeError,
          fmt::format("{}() missing {} required positional argument{}: {}", function,
                      missing.size(), missing.size() == 1 ? "" : "s", list));
  }
}

} // namespace headwater::jinja

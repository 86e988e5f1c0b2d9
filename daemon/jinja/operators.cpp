#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

bool is_integer(const Value &value) {
  return value.is_small_int() || value.is(Kind::big);
}
bool is_number(const Value &value) {
  return is_integer(value) || value.is(Kind::real);
}

[[noreturn]] void unsupported(std::string_view op, const Value &a, const Value &b) {
  raise(ErrorClass::TypeError, fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", op,
                                           type_name(a), type_name(b)));
}

/// An undefined operand fails before anything else is looked at.
void check(Runtime &runtime, const Value &a, const Value &b) {
  if (a.is_undefined()) {
    runtime.fail_undefined(*a.undefined);
  }
  if (b.is_undefined()) {
    runtime.fail_undefined(*b.undefined);
  }
}

std::size_t limbs(const Value &value) {
  return value.is(Kind::big) ? value.big->count : 2;
}

const Str *join(Runtime &runtime, const Str &a, const Str &b) {
  std::size_t size = std::size_t{a.bytes} + b.bytes;
  runtime.spend_bytes(size);
  char *data = runtime.arena.take(size);
  std::memcpy(data, a.data, a.bytes);
  std::memcpy(data + a.bytes, b.data, b.bytes);
  if (size > 0xFFFFFFFFU) {
    throw OutOfMemory{};
  }
  return runtime.arena.make<Str>(data, static_cast<std::uint32_t>(size), a.length + b.length,
                                 a.markup || b.markup, 0U);
}

const Str *repeat(Runtime &runtime, const Str &text, std::int64_t times) {
  if (times <= 0 || text.bytes == 0) {
    return runtime.str("", text.markup);
  }
  if (static_cast<std::uint64_t>(times) > runtime.bounds.allocation_bytes / text.bytes) {
    throw OutOfMemory{};
  }
  auto count = static_cast<std::size_t>(times);
  std::size_t size = count * text.bytes;
  runtime.spend_bytes(size);
  char *data = runtime.arena.take(size);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(data + i * text.bytes, text.data, text.bytes);
  }
  return runtime.arena.make<Str>(data, static_cast<std::uint32_t>(size),
                                 static_cast<std::uint32_t>(count * text.length), text.markup, 0U);
}

Value repeat_items(Runtime &runtime, const Value &sequence, std::int64_t times) {
  std::size_t count = times <= 0 ? 0 : static_cast<std::size_t>(times);
  std::size_t each = sequence.sequence->count;
  if (each != 0 && count > runtime.bounds.allocation_bytes / sizeof(Value) / each) {
    throw OutOfMemory{};
  }
  runtime.spend(static_cast<std::int64_t>(count * each / 4));
  auto *items = runtime.arena.array<Value>(count * each);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(sequence.sequence->items, each, items + i * each);
  }
  Value out = sequence;
  out.sequence = runtime.arena.make<Sequence>(items, count * each);
  return out;
}

/// A repetition count: missing when the value is no integer.
Value times_of(Runtime &runtime, const Value &sequence, const Value &count) {
  if (!is_integer(count)) {
    check(runtime, sequence, count);
    raise(ErrorClass::TypeError,
          fmt::format("can't multiply sequence by non-int of type '{}'", type_name(count)));
  }
  if (count.is(Kind::big)) {
    if (count.big->negative) {
      return std::int64_t{0};
    }
    raise(ErrorClass::OverflowError, "cannot fit 'int' into an index-sized integer");
  }
  return count.small_int();
}

bool repeatable(const Value &value) {
  return value.is_string() || value.is_sequence();
}

Value repeated(Runtime &runtime, const Value &sequence, const Value &count) {
  std::int64_t times = times_of(runtime, sequence, count).small_int();
  if (sequence.is_string()) {
    return repeat(runtime, *sequence.string, times);
  }
  return repeat_items(runtime, sequence, times);
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0.0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

} // namespace

Value Runtime::add(const Value &a, const Value &b) {
  if (a.is_string() && b.is_string()) {
    if (a.string->markup != b.string->markup) {
      return join(*this, a.string->markup ? *a.string : *escape(a),
                  b.string->markup ? *b.string : *escape(b));
    }
    return join(*this, *a.string, *b.string);
  }
  if (a.is_small_int() && b.is_small_int()) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a.small_int(), b.small_int(), &sum)) {
      return sum;
    }
  }
  if (is_integer(a) && is_integer(b)) {
    spend(static_cast<std::int64_t>(limbs(a) + limbs(b)));
    return narrow(arena, jinja::add(widen(a), widen(b)));
  }
  if (is_number(a) && is_number(b)) {
    return to_real(a) + to_real(b);
  }
  if (a.kind == b.kind && a.is_sequence()) {
    std::size_t count = a.sequence->count + b.sequence->count;
    spend(static_cast<std::int64_t>(count / 4));
    auto *both = arena.array<Value>(count);
    std::copy_n(a.sequence->items, a.sequence->count, both);
    std::copy_n(b.sequence->items, b.sequence->count, both + a.sequence->count);
    Value out = a;
    out.sequence = arena.make<Sequence>(both, count);
    return out;
  }
  check(*this, a, b);
  if (a.is_string()) {
    raise(ErrorClass::TypeError,
          fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
  }
  if (a.is_sequence()) {
    std::string_view type = a.is(Kind::list) ? "list" : "tuple";
    raise(ErrorClass::TypeError,
          fmt::format("can only concatenate {} (not \"{}\") to {}", type, type_name(b), type));
  }
  unsupported("+", a, b);
}

Value Runtime::subtract(const Value &a, const Value &b) {
  if (a.is_small_int() && b.is_small_int()) {
    std::int64_t difference = 0;
    if (!__builtin_sub_overflow(a.small_int(), b.small_int(), &difference)) {
      return difference;
    }
  }
  if (is_integer(a) && is_integer(b)) {
    spend(static_cast<std::int64_t>(limbs(a) + limbs(b)));
    return narrow(arena, jinja::subtract(widen(a), widen(b)));
  }
  if (is_number(a) && is_number(b)) {
    return to_real(a) - to_real(b);
  }
  check(*this, a, b);
  unsupported("-", a, b);
}

Value Runtime::multiply(const Value &a, const Value &b) {
  if (a.is_small_int() && b.is_small_int()) {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(a.small_int(), b.small_int(), &product)) {
      return product;
    }
  }
  if (is_integer(a) && is_integer(b)) {
    spend(static_cast<std::int64_t>(limbs(a) * limbs(b) / 8 + 1));
    return narrow(arena, jinja::multiply(widen(a), widen(b)));
  }
  if (is_number(a) && is_number(b)) {
    return to_real(a) * to_real(b);
  }
  check(*this, a, b);
  if (repeatable(a)) {
    return repeated(*this, a, b);
  }
  if (repeatable(b)) {
    return repeated(*this, b, a);
  }
  unsupported("*", a, b);
}

Value Runtime::divide(const Value &a, const Value &b) {
  if (is_number(a) && is_number(b)) {
    bool real = a.is(Kind::real) || b.is(Kind::real);
    double divisor = to_real(b);
    if (divisor == 0.0) {
      raise(ErrorClass::ZeroDivisionError, real ? "float division by zero" : "division by zero");
    }
    return to_real(a) / divisor;
  }
  check(*this, a, b);
  unsupported("/", a, b);
}

Value Runtime::floor_divide(const Value &a, const Value &b) {
  if (is_integer(a) && is_integer(b)) {
    if (!truth(b)) {
      raise(ErrorClass::ZeroDivisionError, "integer division or modulo by zero");
    }
    if (a.is_small_int() && b.is_small_int() && !(b.small_int() == -1)) {
      std::int64_t quotient = a.small_int() / b.small_int();
      std::int64_t rest = a.small_int() % b.small_int();
      return rest != 0 && ((rest < 0) != (b.small_int() < 0)) ? quotient - 1 : quotient;
    }
    spend(static_cast<std::int64_t>(limbs(a) * limbs(b) / 8 + 1));
    Wide quotient;
    Wide remainder;
    jinja::divide(widen(a), widen(b), quotient, remainder);
    return narrow(arena, quotient);
  }
  if (is_number(a) && is_number(b)) {
    double divisor = to_real(b);
    if (divisor == 0.0) {
      raise(ErrorClass::ZeroDivisionError, "float floor division by zero");
    }
    double dividend = to_real(a);
    double rest = float_modulo(dividend, divisor);
    double quotient = (dividend - rest) / divisor;
    double whole = std::floor(quotient);
    if (quotient - whole > 0.5) {
      whole += 1.0;
    }
    return quotient == 0.0 ? std::copysign(0.0, dividend / divisor) : whole;
  }
  check(*this, a, b);
  unsupported("//", a, b);
}

Value Runtime::modulo(const Value &a, const Value &b) {
  if (is_integer(a) && is_integer(b)) {
    if (!truth(b)) {
      raise(ErrorClass::ZeroDivisionError, "integer modulo by zero");
    }
    if (a.is_small_int() && b.is_small_int()) {
      if (b.small_int() == -1) {
        return std::int64_t{0};
      }
      std::int64_t rest = a.small_int() % b.small_int();
      return rest != 0 && ((rest < 0) != (b.small_int() < 0)) ? rest + b.small_int() : rest;
    }
    spend(static_cast<std::int64_t>(limbs(a) * limbs(b) / 8 + 1));
    Wide quotient;
    Wide remainder;
    jinja::divide(widen(a), widen(b), quotient, remainder);
    return narrow(arena, remainder);
  }
  if (is_number(a) && is_number(b)) {
    double divisor = to_real(b);
    if (divisor == 0.0) {
      raise(ErrorClass::ZeroDivisionError, "float modulo");
    }
    return float_modulo(to_real(a), divisor);
  }
  if (a.is_string()) {
    // Text's own % comes first, and prints an undefined value as nothing.
    return format_percent(*this, *a.string, b);
  }
  check(*this, a, b);
  unsupported("%", a, b);
}

Value Runtime::power(const Value &a, const Value &b) {
  if (is_integer(a) && is_integer(b)) {
    bool negative = b.is(Kind::big) ? b.big->negative : b.small_int() < 0;
    if (!negative) {
      Wide base = widen(a);
      bool tiny = base.limbs.empty() || (base.limbs.size() == 1 && base.limbs[0] == 1);
      if (b.is(Kind::big) && !tiny) {
        throw OutOfMemory{};
      }
      std::uint64_t exponent =
          b.is(Kind::big) ? (b.big->limbs[0] & 1U) + 2U : static_cast<std::uint64_t>(b.small_int());
      if (!tiny && exponent > bounds.allocation_bytes / base.limbs.size()) {
        throw OutOfMemory{};
      }
      Wide result = widen(std::int64_t{1});
      while (exponent > 0) {
        spend(static_cast<std::int64_t>(
            (result.limbs.size() + base.limbs.size()) * base.limbs.size() / 8 + 1));
        if ((exponent & 1U) != 0) {
          result = jinja::multiply(result, base);
        }
        exponent >>= 1U;
        if (exponent > 0) {
          base = jinja::multiply(base, base);
        }
      }
      return narrow(arena, result);
    }
    if (!truth(a)) {
      raise(ErrorClass::ZeroDivisionError, "0.0 cannot be raised to a negative power");
    }
    return std::pow(to_real(a), to_real(b));
  }
  if (is_number(a) && is_number(b)) {
    double base = to_real(a);
    double exponent = to_real(b);
    if (base == 0.0 && exponent < 0) {
      raise(ErrorClass::ZeroDivisionError, "0.0 cannot be raised to a negative power");
    }
    double result = std::pow(base, exponent);
    if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
      raise(ErrorClass::OverflowError, "(34, 'Numerical result out of range')");
    }
    if (std::isnan(result) && !std::isnan(base) && !std::isnan(exponent)) {
      raise(ErrorClass::ValueError, "complex numbers are not supported");
    }
    return result;
  }
  check(*this, a, b);
  unsupported("** or pow()", a, b);
}

Value Runtime::negative(const Value &a) {
  if (a.is_small_int() && a.small_int() != INT64_MIN) {
    return -a.small_int();
  }
  if (is_integer(a)) {
    return narrow(arena, jinja::subtract(Wide{}, widen(a)));
  }
  if (a.is(Kind::real)) {
    return -a.real;
  }
  check(*this, a, a);
  raise(ErrorClass::TypeError, fmt::format("bad operand type for unary -: '{}'", type_name(a)));
}

Value Runtime::positive(const Value &a) {
  if (a.is_small_int()) {
    return a.small_int();
  }
  if (is_number(a)) {
    return a;
  }
  check(*this, a, a);
  raise(ErrorClass::TypeError, fmt::format("bad operand type for unary +: '{}'", type_name(a)));
}

bool Runtime::is_equal(const Value &a, const Value &b) {
  if (a.is_string() && b.is_string()) {
    const Str &x = *a.string;
    const Str &y = *b.string;
    return x.bytes == y.bytes && (x.data == y.data || std::memcmp(x.data, y.data, x.bytes) == 0);
  }
  return equal(a, b, work);
}

bool Runtime::ordered(const Value &a, const Value &b, std::string_view op) {
  check(*this, a, b);
  bool unordered = false;
  int order = compare(a, b, op, unordered, work);
  if (unordered) {
    return false;
  }
  if (op[0] == '<') {
    return op.size() == 2 ? order <= 0 : order < 0;
  }
  return op.size() == 2 ? order >= 0 : order > 0;
}

bool Runtime::contains(const Value &container, const Value &item) {
  switch (container.kind) {
  case Kind::string:
    if (!item.is_string()) {
      raise(ErrorClass::TypeError,
            fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
    }
    spend_bytes(container.string->bytes);
    return container.string->view().find(item.string->view()) != std::string_view::npos;
  case Kind::dict:
    return find(*container.dict, item, work) != nullptr;
  case Kind::dict_view:
    if (container.view->what == ViewOf::keys) {
      return find(*container.view->dict, item, work) != nullptr;
    }
    break;
  case Kind::range:
    if (item.is_small_int()) {
      const Range &range = *container.range;
      std::int64_t at = item.small_int();
      bool inside = range.step > 0 ? at >= range.start && at < range.stop
                                   : at <= range.start && at > range.stop;
      return inside && (at - range.start) % range.step == 0;
    }
    break;
  default:
    break;
  }
  if (!iterable(container)) {
    raise(ErrorClass::TypeError,
          fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
  if (container.is(Kind::iterator)) {
    for (Value next_item = next(*container.iterator); !next_item.is_missing();
         next_item = next(*container.iterator)) {
      if (identical(next_item, item) || is_equal(next_item, item)) {
        return true;
      }
    }
    return false;
  }
  for (const Value &other : items(container)) {
    spend(1);
    if (identical(other, item) || is_equal(other, item)) {
      return true;
    }
  }
  return false;
}

} // namespace headwater::jinja

#include "daemon/jinja/bigint.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headwater::jinja {

namespace {

using Limbs = std::vector<std::uint32_t>;

void drop_zeros(Wide &wide) {
  while (!wide.limbs.empty() && wide.limbs.back() == 0) {
    wide.limbs.pop_back();
  }
  if (wide.limbs.empty()) {
    wide.negative = false;
  }
}

int compare_limbs(const Limbs &a, const Limbs &b) {
  if (a.size() != b.size()) {
    return a.size() < b.size() ? -1 : 1;
  }
  for (std::size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) {
      return a[i] < b[i] ? -1 : 1;
    }
  }
  return 0;
}

Limbs add_limbs(const Limbs &a, const Limbs &b) {
  Limbs out;
  out.reserve(std::max(a.size(), b.size()) + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    carry += (i < a.size() ? a[i] : 0U);
    carry += (i < b.size() ? b[i] : 0U);
    out.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32U;
  }
  return out;
}

/// a - b for a >= b.
Limbs subtract_limbs(const Limbs &a, const Limbs &b) {
  Limbs out(a.size());
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t digit = std::int64_t{a[i]} - (i < b.size() ? std::int64_t{b[i]} : 0) - borrow;
    borrow = digit < 0 ? 1 : 0;
    out[i] = static_cast<std::uint32_t>(digit);
  }
  return out;
}

std::uint32_t divide_small(Limbs &limbs, std::uint32_t divisor) {
  std::uint64_t remainder = 0;
  for (std::size_t i = limbs.size(); i-- > 0;) {
    std::uint64_t part = (remainder << 32U) | limbs[i];
    limbs[i] = static_cast<std::uint32_t>(part / divisor);
    remainder = part % divisor;
  }
  while (!limbs.empty() && limbs.back() == 0) {
    limbs.pop_back();
  }
  return static_cast<std::uint32_t>(remainder);
}

Limbs shift_left(const Limbs &limbs, unsigned bits) {
  Limbs out(limbs.size() + 1, 0);
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    std::uint64_t part = std::uint64_t{limbs[i]} << bits;
    out[i] |= static_cast<std::uint32_t>(part);
    out[i + 1] = static_cast<std::uint32_t>(part >> 32U);
  }
  return out;
}

/// Knuth's algorithm D (The Art of Computer Programming 2, 4.3.1).
void divide_limbs(const Limbs &a, const Limbs &b, Limbs &quotient, Limbs &remainder) {
  if (compare_limbs(a, b) < 0) {
    quotient.clear();
    remainder = a;
    return;
  }
  if (b.size() == 1) {
    quotient = a;
    std::uint32_t rest = divide_small(quotient, b[0]);
    remainder = rest == 0 ? Limbs{} : Limbs{rest};
    return;
  }
  auto shift = static_cast<unsigned>(std::countl_zero(b.back()));
  Limbs v = shift_left(b, shift);
  v.pop_back();
  Limbs u = shift_left(a, shift);
  std::size_t n = v.size();
  std::size_t m = a.size() - n;
  quotient.assign(m + 1, 0);
  for (std::size_t j = m + 1; j-- > 0;) {
    std::uint64_t top = (std::uint64_t{u[j + n]} << 32U) | u[j + n - 1];
    std::uint64_t guess = top / v[n - 1];
    std::uint64_t rest = top % v[n - 1];
    while (guess > 0xFFFFFFFFU || guess * v[n - 2] > ((rest << 32U) | u[j + n - 2])) {
      --guess;
      rest += v[n - 1];
      if (rest > 0xFFFFFFFFU) {
        break;
      }
    }
    std::int64_t borrow = 0;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t product = guess * v[i] + carry;
      carry = product >> 32U;
      std::int64_t digit =
          std::int64_t{u[i + j]} - borrow - static_cast<std::int64_t>(product & 0xFFFFFFFFU);
      u[i + j] = static_cast<std::uint32_t>(digit);
      borrow = digit < 0 ? 1 : 0;
    }
    std::int64_t digit = std::int64_t{u[j + n]} - borrow - static_cast<std::int64_t>(carry);
    u[j + n] = static_cast<std::uint32_t>(digit);
    if (digit < 0) {
      --guess;
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += std::uint64_t{u[i + j]} + v[i];
        u[i + j] = static_cast<std::uint32_t>(sum);
        sum >>= 32U;
      }
      u[j + n] += static_cast<std::uint32_t>(sum);
    }
    quotient[j] = static_cast<std::uint32_t>(guess);
  }
  u.resize(n);
  for (std::size_t i = 0; shift != 0 && i < n; ++i) {
    std::uint32_t above = i + 1 < n ? u[i + 1] << (32U - shift) : 0U;
    u[i] = (u[i] >> shift) | above;
  }
  remainder = std::move(u);
}

} // namespace

Wide widen(std::int64_t value) {
  Wide wide;
  wide.negative = value < 0;
  std::uint64_t magnitude = static_cast<std::uint64_t>(value);
  if (wide.negative) {
    magnitude = ~magnitude + 1;
  }
  while (magnitude != 0) {
    wide.limbs.push_back(static_cast<std::uint32_t>(magnitude));
    magnitude >>= 32U;
  }
  return wide;
}

Wide widen(const BigInt &value) {
  return {Limbs(value.limbs, value.limbs + value.count), value.negative};
}

Wide widen(const Value &value) {
  return value.is(Kind::big) ? widen(*value.big) : widen(value.small_int());
}

Value narrow(Arena &arena, const Wide &source) {
  Wide wide = source;
  drop_zeros(wide);
  if (wide.limbs.size() <= 2) {
    std::uint64_t magnitude = 0;
    for (std::size_t i = wide.limbs.size(); i-- > 0;) {
      magnitude = (magnitude << 32U) | wide.limbs[i];
    }
    std::uint64_t bound = (std::uint64_t{1} << 63U) - (wide.negative ? 0U : 1U);
    if (magnitude <= bound) {
      return static_cast<std::int64_t>(wide.negative ? ~magnitude + 1 : magnitude);
    }
  }
  auto *limbs = arena.array<std::uint32_t>(wide.limbs.size());
  std::copy(wide.limbs.begin(), wide.limbs.end(), limbs);
  Value value = Value::of(Kind::big);
  value.big =
      arena.make<BigInt>(limbs, static_cast<std::uint32_t>(wide.limbs.size()), wide.negative);
  return value;
}

Wide add(const Wide &a, const Wide &b) {
  Wide out;
  if (a.negative == b.negative) {
    out = {add_limbs(a.limbs, b.limbs), a.negative};
  } else if (compare_limbs(a.limbs, b.limbs) >= 0) {
    out = {subtract_limbs(a.limbs, b.limbs), a.negative};
  } else {
    out = {subtract_limbs(b.limbs, a.limbs), b.negative};
  }
  drop_zeros(out);
  return out;
}

Wide subtract(const Wide &a, const Wide &b) {
  Wide negated = b;
  negated.negative = !b.negative && !b.limbs.empty();
  return add(a, negated);
}

Wide multiply(const Wide &a, const Wide &b) {
  Wide out;
  out.limbs.assign(a.limbs.size() + b.limbs.size() + 1, 0);
  for (std::size_t i = 0; i < a.limbs.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs.size(); ++j) {
      carry += std::uint64_t{a.limbs[i]} * b.limbs[j] + out.limbs[i + j];
      out.limbs[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32U;
    }
    out.limbs[i + b.limbs.size()] = static_cast<std::uint32_t>(carry);
  }
  out.negative = a.negative != b.negative;
  drop_zeros(out);
  return out;
}

void divide(const Wide &a, const Wide &b, Wide &quotient, Wide &remainder) {
  divide_limbs(a.limbs, b.limbs, quotient.limbs, remainder.limbs);
  quotient.negative = a.negative != b.negative;
  remainder.negative = a.negative;
  drop_zeros(quotient);
  drop_zeros(remainder);
  if (!remainder.limbs.empty() && a.negative != b.negative) {
    quotient = subtract(quotient, widen(std::int64_t{1}));
    remainder = add(remainder, b);
  }
}

int compare(const Wide &a, const Wide &b) {
  if (a.negative != b.negative) {
    return a.negative ? -1 : 1;
  }
  int order = compare_limbs(a.limbs, b.limbs);
  return a.negative ? -order : order;
}

bool is_zero(const Wide &wide) {
  return wide.limbs.empty();
}

double to_double(const Wide &wide) {
  // The top 64 bits with a sticky lowest bit round once, correctly, in the conversion.
  std::size_t count = wide.limbs.size();
  if (count == 0) {
    return 0.0;
  }
  std::size_t bits = count * 32 - static_cast<std::size_t>(std::countl_zero(wide.limbs.back()));
  std::uint64_t top = 0;
  std::size_t shift = bits > 64 ? bits - 64 : 0;
  bool sticky = false;
  for (std::size_t bit = 0; bit < shift && !sticky; ++bit) {
    sticky = ((wide.limbs[bit / 32] >> (bit % 32)) & 1U) != 0;
  }
  for (std::size_t bit = std::min<std::size_t>(bits, 64); bit-- > 0;) {
    std::size_t at = bit + shift;
    top = (top << 1U) | ((wide.limbs[at / 32] >> (at % 32)) & 1U);
  }
  if (sticky) {
    top |= 1U;
  }
  double value =
      std::ldexp(static_cast<double>(top), static_cast<int>(std::min<std::size_t>(shift, 100000)));
  return wide.negative ? -value : value;
}

Wide from_double(double value) {
  Wide out;
  int exponent = 0;
  double fraction = std::frexp(std::fabs(std::trunc(value)), &exponent);
  if (fraction == 0.0) {
    return out;
  }
  auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  int shift = exponent - 53;
  if (shift < 0) {
    mantissa >>= static_cast<unsigned>(-shift);
    shift = 0;
  }
  out = widen(static_cast<std::int64_t>(mantissa));
  Limbs low(static_cast<std::size_t>(shift) / 32, 0);
  Limbs shifted = shift_left(out.limbs, static_cast<unsigned>(shift) % 32);
  low.insert(low.end(), shifted.begin(), shifted.end());
  out.limbs = std::move(low);
  out.negative = value < 0;
  drop_zeros(out);
  return out;
}

std::string to_base(const Wide &wide, unsigned base) {
  if (wide.limbs.empty()) {
    return "0";
  }
  std::uint32_t chunk = base;
  unsigned digits = 1;
  while (std::uint64_t{chunk} * base <= 0xFFFFFFFFU) {
    chunk *= base;
    ++digits;
  }
  std::string out;
  Limbs rest = wide.limbs;
  while (!rest.empty()) {
    std::uint32_t part = divide_small(rest, chunk);
    for (unsigned i = 0; i < digits && (!rest.empty() || part != 0); ++i) {
      out.push_back("0123456789abcdefghijklmnopqrstuvwxyz"[part % base]);
      part /= base;
    }
  }
  if (wide.negative) {
    out.push_back('-');
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::string to_decimal(const Wide &wide) {
  return to_base(wide, 10);
}

Wide from_digits(std::string_view digits, unsigned base) {
  Wide out;
  // As many digits at once as a limb holds.
  std::size_t chunk = 1;
  for (std::uint64_t power = base; power * base <= 0xFFFFFFFFU; power *= base) {
    ++chunk;
  }
  for (std::size_t at = 0; at < digits.size(); at += chunk) {
    std::uint64_t carry = 0;
    std::uint64_t factor = 1;
    for (char c : digits.substr(at, chunk)) {
      unsigned digit =
          c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>((c | 0x20) - 'a') + 10U;
      carry = carry * base + digit;
      factor *= base;
    }
    for (std::uint32_t &limb : out.limbs) {
      carry += limb * factor;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32U;
    }
    if (carry != 0) {
      out.limbs.push_back(static_cast<std::uint32_t>(carry));
    }
  }
  return out;
}

} // namespace headwater::jinja

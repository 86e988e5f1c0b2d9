#pragma once

#include "daemon/jinja/value.hpp"

#include <optional>
#include <string>
#include <vector>

namespace headwater::jinja {

/// Integer of any size as Python's: sign and magnitude, base 2^32, lowest limb first, no leading
/// zeros.
struct BigInt {
  const std::uint32_t *limbs;
  std::uint32_t count;
  bool negative;
};

/// A wide integer while it is worked on.
struct Wide {
  std::vector<std::uint32_t> limbs;
  bool negative = false;
};

Wide widen(std::int64_t value);
Wide widen(const BigInt &value);
/// Integer or boolean Value of any size.
Wide widen(const Value &value);
/// The Value of a wide integer: small when it fits 64 bits.
Value narrow(Arena &arena, const Wide &wide);

Wide add(const Wide &a, const Wide &b);
Wide subtract(const Wide &a, const Wide &b);
Wide multiply(const Wide &a, const Wide &b);
/// Floor division, as Python's // and %. b must not be zero.
void divide(const Wide &a, const Wide &b, Wide &quotient, Wide &remainder);
int compare(const Wide &a, const Wide &b);
bool is_zero(const Wide &wide);
/// Nearest double; infinite when out of range.
double to_double(const Wide &wide);
/// Truncation of a finite double.
Wide from_double(double value);
std::string to_decimal(const Wide &wide);
/// Digits of any base up to 36, sign included, no prefix.
std::string to_base(const Wide &wide, unsigned base);
/// Digits (already validated for the base, no sign, no underscores).
Wide from_digits(std::string_view digits, unsigned base);

} // namespace headwater::jinja

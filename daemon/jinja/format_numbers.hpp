#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What the three ways to format (specs, braces, percent signs) share.
namespace headwater::jinja {

/// The widest field and the most digits that a template may ask for.
constexpr std::size_t most_width = 1U << 20U;

/// Digits of a double in Python's presentation types e, f, g (upper-case too), `alternate` keeps
/// the point.
std::string real_digits(double value, char type, int precision, bool alternate);

/// The decimal number at `at`, which is moved behind it; a number above most_width ends the render
/// as one that is out of memory.
std::size_t read_number(std::string_view text, std::size_t &at);

} // namespace headwater::jinja

#pragma once

#include <string>
#include <string_view>

namespace headwater::diff {

/// The two sides of a difference between renderings, raw: escape before showing.
struct Excerpt {
  std::string before;
  std::string after;
};

/// The shortest differing part of two texts that cuts no marker such as `<|im_start|>` in two.
Excerpt excerpt(std::string_view before, std::string_view after);

/// Two renderings, cut to their difference and some of what surrounds it.
Excerpt in_context(std::string_view before, std::string_view after);

/// A piece of a rendering in a sentence, between backticks: line ends and tabs as escapes,
/// everything else made safe to show, cut at 160 characters.
std::string show_rendered(std::string_view text);

} // namespace headwater::diff

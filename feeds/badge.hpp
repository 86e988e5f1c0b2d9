#pragma once

#include "schemas/time.hpp"
#include "store/records.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::feeds {

/// Two halves of a badge; the message says it all without the colour.
struct Badge {
  std::string label = "upstream";
  std::string message;
  std::string color; ///< a name of the palette or #hex
  bool is_error = false;
};

enum class BadgeStyle : std::uint8_t { flat, flat_square, plastic, for_the_badge };
std::optional<BadgeStyle> badge_style_from(std::string_view word);

/// Body for shields.io's endpoint badge; only keys that its strict reader knows.
std::string badge_json(const Badge &badge);
/// The badge itself, geometry as npm badge-maker 6.0.0 draws it.
std::string badge_svg(const Badge &badge, BadgeStyle style);

/// What is known about a repo for its badge.
struct BadgeFacts {
  const store::Repo *repo = nullptr; ///< null: unknown, or not public
  std::string since = {};            ///< substance time of the strongest open advisory
  TimePoint now;
};
/// "unchanged", "high change 3 days ago", "gone", "unknown repo" ...
Badge repo_badge(const BadgeFacts &facts);

/// How far a pinned revision is behind the head, and how much that matters.
struct PinFacts {
  bool known_repo = false;
  bool known_pin = false;  ///< the pin is a revision that was read
  bool on_branch = true;   ///< false: history was rewritten past it
  std::int64_t behind = 0; ///< revisions between pin and head
  std::optional<Level>
      level; ///< strongest change between pin and head, nothing when all of it is cosmetic
};
/// "current", "3 behind, high", "unknown pin", "history rewritten", "unknown repo".
Badge pin_badge(const PinFacts &facts);

/// Colour name of a level.
std::string_view level_color(Level level);

} // namespace headwater::feeds

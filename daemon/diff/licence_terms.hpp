#pragma once

#include "daemon/read/card.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace headwater::diff {

/// What a licence asks for or forbids, as far as two can be set against each other.
struct LicenceTerms {
  bool no_commercial = false;  ///< commercial use forbidden
  bool no_derivatives = false; ///< changed versions may not be passed on
  bool use_restricted = false; ///< forbids certain uses, people or sizes of business
  int copyleft = 0;            ///< 0 none, 1 of files, 2 of the work, 3 also over a network
  bool attribution = true;
};

/// The terms of a licence by the hub's name for it; nothing for one that we do not know.
std::optional<LicenceTerms> licence_terms(std::string_view name);

/// Lower case, spaces trimmed, known spellings made one ("Apache 2.0" -> "apache-2.0").
std::string licence_name(std::string_view text);

/// The licence of a card; "other" goes by the name that its publisher gives it.
std::string full_licence_name(const read::Card &card);

} // namespace headwater::diff

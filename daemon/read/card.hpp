#pragma once

#include "schemas/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace headwater::read {

/// What a README's front matter says that a tracker acts on.
struct Card {
  std::string licence;      ///< as written: "apache-2.0", "other"; several joined by ", "
  std::string licence_name; ///< of licence "other"
  std::string licence_link;
  std::vector<std::string> base_models;
};

/// Reads the YAML between the leading --- lines of a model card; a card without any gives an empty
/// Card. Bounded in size and depth, aliases refused. Errors: malformed, too_large.
Result<Card> read_card(std::string_view text);

} // namespace headwater::read

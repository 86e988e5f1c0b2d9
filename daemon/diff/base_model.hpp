#pragma once

#include "schemas/change.hpp"
#include "schemas/snapshot.hpp"

#include <string>
#include <vector>

namespace headwater::diff {

/// The base models that a revision's card names ("org/name"), at most 8.
std::vector<std::string> base_models(const Snapshot &snapshot);

/// Where a model differs from its base in template, stop set and tokenizer: one cosmetic change a
/// subject, `before` the base, for the model's page. Nothing where both agree.
std::vector<Change> compare_with_base(const Snapshot &base, const Snapshot &model);

} // namespace headwater::diff

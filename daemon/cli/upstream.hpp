#pragma once

#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"

#include <string>

namespace headwater::cli {

/// config.json of a repo on the configured hub (HF_ENDPOINT, HF_TOKEN); revision "" = main. Blocks.
Result<std::string> fetch_config(const std::string &repo, const std::string &revision);
/// A whole revision as the tracker would read it. Blocks.
Result<Snapshot> fetch_snapshot(const std::string &repo, const std::string &revision);

} // namespace headwater::cli

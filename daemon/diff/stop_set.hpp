#pragma once

#include "daemon/diff/sides.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace headwater::diff {

/// Where generation stops, as the files of one revision say it.
struct StopSet {
  /// What one file says; nothing when it says nothing.
  struct Source {
    std::optional<std::set<std::int64_t>> ids;
    bool as_list = false;
    std::string pointer = "/eos_token_id"; ///< where the file says it
  };
  Source generation_config;
  Source config;
  std::optional<std::set<std::int64_t>>
      assumed;                   ///< what the model type takes where neither file says it
  std::set<std::string> strings; ///< stop_strings of generation_config.json
  std::optional<std::string>
      tokenizer_text; ///< eos_token of tokenizer_config.json, else of special_tokens_map.json
  std::optional<std::string> map_text;      ///< eos_token of special_tokens_map.json
  std::optional<std::int64_t> tokenizer_id; ///< its id where a file gives one

  /// The ids at which generation stops: generation_config.json's, else config.json's, else the
  /// model type's.
  const std::optional<std::set<std::int64_t>> &effective() const {
    return generation_config.ids ? generation_config.ids : config.ids ? config.ids : assumed;
  }
  /// "" when all files agree, else in words what differs.
  std::string disagreement() const;
};

StopSet stop_set(const Side &side);

/// What the model type of a config without an end token takes for it.
std::optional<std::set<std::int64_t>> assumed_stops(const Side &side);

/// The place whose ids hold.
std::string effective_stop_path(const StopSet &set);

/// "{128001, 128009}".
std::string shown_ids(const std::optional<std::set<std::int64_t>> &ids);

} // namespace headwater::diff

#pragma once

#include "daemon/hub/client.hpp"
#include "schemas/repo.hpp"
#include "store/records.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::track {

/// How the branch stands to what was read of it.
struct Line {
  std::vector<Commit> fresh;               ///< to read, oldest first
  std::vector<std::string> rewritten_away; ///< read, and no longer on the branch; oldest first
  bool gap = false; ///< there may be commits between the last one read and the first of `fresh`
  friend bool operator==(const Line &, const Line &) = default;
};

/// Revisions that a first look reads: "all", "none" (the head alone, to compare with) or a number.
/// `most` bounds all.
std::size_t history_limit(std::string_view history, std::size_t most);

/// Compares the hub's commit list (newest first, as far back as the last revision read or to the
/// start) with the revisions that were read. History that no longer holds the last one was
/// rewritten: what it shares with ours stays, and of a line that shares nothing the newest `limit`
/// commits are read. Only a whole list proves that: one that was cut, or that a mirror does not
/// have, tells of new commits alone. Pure.
Line compare_lines(const hub::CommitList &list, const std::vector<store::Revision> &read,
                   std::size_t limit);

} // namespace headwater::track

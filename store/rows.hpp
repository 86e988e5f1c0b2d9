#pragma once

#include "store/records.hpp"
#include "store/sqlite.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace headwater::store {

std::string facts_to_text(const RepoFacts &facts);
RepoFacts facts_from_text(std::string_view text);

/// A revision's tree with what was read of each file (part or problem), and the repos it
/// references, as JSON text.
std::string tree_to_text(const Snapshot &snapshot);
/// Fills files, contents (without bytes) and referenced.
void tree_from_text(std::string_view text, Snapshot &snapshot);

std::string_view to_string(FilePart part);
FilePart part_from(std::string_view word);
RepoState repo_state_from(std::string_view word);
Visibility visibility_from(std::string_view word);
RevisionStatus revision_status_from(std::string_view word);

/// zstd, one frame with its size.
std::string compress(std::string_view bytes);
/// Nothing when the bytes are not such a frame or hold over `limit` bytes.
std::optional<std::string> decompress(std::string_view bytes, std::size_t limit);

} // namespace headwater::store

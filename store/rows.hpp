#pragma once

#include "store/records.hpp"
#include "store/sqlite.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace headwater::store {

std::string facts_to_text(const RepoFacts &facts);
/// Errors: malformed.
Result<RepoFacts> facts_from_text(std::string_view text);

/// A revision's facts and tree with what was read of each file (part or problem), and the repos it
/// references, as JSON text.
std::string tree_to_text(const Snapshot &snapshot);
/// Fills facts, files, contents (without bytes) and referenced. Errors: malformed.
Result<void> tree_from_text(std::string_view text, Snapshot &snapshot);

/// What a row holds is not what its place promises: an error that names the row, with the mend.
std::unexpected<Error> undecodable(const Database &database, std::string_view table,
                                   std::string_view key, const Error &reason);

std::string_view to_string(FilePart part);
FilePart part_from(std::string_view word);
RepoState repo_state_from(std::string_view word);
Visibility visibility_from(std::string_view word);
RevisionStatus revision_status_from(std::string_view word);

/// True for an error that tells of damage: such a row, or pages that SQLite cannot read.
bool is_damage(const Error &error);

/// zstd, one frame with its size.
std::string compress(std::string_view bytes);
/// Errors: malformed, when the bytes are not such a frame or hold over 256 MiB.
Result<std::string> decompress(std::string_view bytes);

/// The SHA-256 of the bytes, as 32 bytes: the key of what is kept once.
std::string digest_of(std::string_view bytes);

} // namespace headwater::store

#pragma once

#include "daemon/diff/facts.hpp"
#include "daemon/read/wanted.hpp"
#include "schemas/change.hpp"
#include "schemas/json.hpp"
#include "schemas/snapshot.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::diff {

/// One path on both sides; an entry is null where the file is absent.
struct FilePair {
  std::string path;
  read::FileRole role = read::FileRole::other;
  const FileEntry *before = nullptr;
  const FileEntry *after = nullptr;
  bool differs = false; ///< content differs, or the file is on one side only
};

/// One revision: its files and what they say.
struct Side {
  const Snapshot &snapshot;
  const Facts &facts;
  operator const Snapshot &() const { return snapshot; } // NOLINT(google-explicit-constructor)
};

/// Both snapshots and the union of their files, sorted by path: what every subject looks at.
struct Sides {
  Side before;
  Side after;
  std::vector<FilePair> files;
};

Sides make_sides(const Side &old, const Side &now);

/// True when any file of the role differs.
bool any_differs(const Sides &sides, read::FileRole role);

/// True when the revision has something to load in `folder` ("" = the root) or below: a config or
/// weights. Files that come before that are a first upload.
bool loadable(const Snapshot &snapshot, std::string_view folder = "");

/// Reads a JSON object of a snapshot.
Document parse_document(const Snapshot &snapshot, std::string_view path);

/// What a JSON file of a side says.
inline const Document &read_document(const Side &side, std::string_view path) {
  return document_of(side.facts, path);
}

/// The bytes that were read of a file, or null; `problem` says why when the file is there.
const std::string *bytes_of(const Snapshot &snapshot, std::string_view path,
                            std::string *problem = nullptr);

/// True for the small text that git keeps in place of a file that git-lfs holds.
bool is_lfs_pointer(std::string_view bytes);

/// Compact JSON text of a value for a change; long values become {"length", "sha256"}.
std::string json_text(const Json &value);
/// The content id of a file as JSON text, "null" for an absent file.
std::string id_text(const FileEntry *entry);

/// A value in a sentence: numbers with thousands separators, strings in backticks, long lists by
/// their length.
std::string shown(const Json &value);
/// Upstream text in a sentence, in backticks, cut.
std::string shown_text(std::string_view text, std::size_t limit = 80);

/// "1 token", "3 tokens".
std::string counted(std::size_t n, std::string_view singular, std::string_view plural = {});

/// "a, b, c and 12 more".
std::string listed(const std::vector<std::string> &items, std::size_t limit = 4);

/// Escapes a key for a JSON pointer.
std::string pointer_key(std::string_view key);

/// Whole numbers as integers, so that 1e6, 1000000.0 and 1000000 are one; at any depth.
Json canonical_numbers(const Json &value);

} // namespace headwater::diff

#pragma once

#include "schemas/repo.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headwater {

/// One file of a revision as the tree lists it.
struct FileEntry {
  std::string path;
  std::string oid;         ///< git blob id (of the pointer for an LFS file)
  std::int64_t size = 0;   ///< real size in bytes
  std::string sha256 = {}; ///< LFS content digest; "" for a file that git holds itself
  /// What identifies the content: the LFS digest, else the blob id.
  const std::string &content_id() const { return sha256.empty() ? oid : sha256; }
  friend bool operator==(const FileEntry &, const FileEntry &) = default;
};

/// How much of a file is read.
enum class FilePart : std::uint8_t { none, whole, safetensors_header, gguf_header };

/// What was read of one file: the bytes of `part`, or why there are none.
struct FileContent {
  FilePart part = FilePart::whole;
  std::shared_ptr<const std::string> bytes; ///< null when `problem` says why
  std::string problem = {}; ///< a sentence for a person: malformed, too large, gated ...
};

/// Code that a config takes from another repo (auto_map "other/repo--module.Class").
struct ReferencedRepo {
  std::string name;
  std::string head = {};             ///< "" when it could not be read
  std::vector<FileEntry> files = {}; ///< its .py files
  std::string problem = {};
  friend bool operator==(const ReferencedRepo &, const ReferencedRepo &) = default;
};

/// Where bytes were seen before.
struct KnownFile {
  std::string repo;
  std::string revision;
  std::string path;
  friend bool operator==(const KnownFile &, const KnownFile &) = default;
};

/// All that is known about one revision of one repo on one branch.
struct Snapshot {
  RepoFacts facts;
  std::string branch = "main";
  Commit commit;
  std::vector<FileEntry> files;                ///< sorted by path
  std::map<std::string, FileContent> contents; ///< by path; only the files that are read
  std::vector<ReferencedRepo> referenced = {};
  /// Where the bytes of files that the revision before does not have were seen earlier, by sha256.
  /// Known while a revision is read; not stored with it.
  std::map<std::string, KnownFile> known = {};
};

/// The entry at `path`, or null.
const FileEntry *find_file(const Snapshot &snapshot, std::string_view path);
/// The whole text at `path`, or null when the file is absent or was not read whole.
const std::string *find_text(const Snapshot &snapshot, std::string_view path);

} // namespace headwater

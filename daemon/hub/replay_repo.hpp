#pragma once

// A recorded repository as the replay hub keeps it: commits with git object ids, and the events
// between them. Everything here is fixed when the folder is read; what is visible of it is a
// ReplayView (replay_view.hpp).

#include "schemas/json.hpp"
#include "schemas/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace headwater::hub {

/// One file of a recorded commit. For an LFS file `oid` is the id of the pointer, as git holds it.
struct ReplayFile {
  std::string disk;       ///< where the kept bytes are
  std::uint64_t kept = 0; ///< bytes on disk; the rest up to `size` reads as zeros
  std::uint64_t size = 0;
  std::string oid;
  std::string sha256 = {};  ///< of the content; "" for a file that git holds itself
  std::string pointer = {}; ///< text of the LFS pointer
  bool lfs() const { return !sha256.empty(); }
};

constexpr std::size_t no_commit = static_cast<std::size_t>(-1);

struct ReplayCommit {
  std::string sha;
  std::string title;
  std::string message = {};
  std::int64_t date = 0; ///< seconds since 1970, UTC
  std::size_t parent = no_commit;
  std::map<std::string, ReplayFile> files;    ///< by path
  std::map<std::string, std::string> trees;   ///< directory path -> tree id
  std::map<std::string, std::size_t> touched; ///< path -> commit that last changed it
};

/// Something that happens to a repo once `after` of its revisions are revealed.
struct ReplayEvent {
  std::size_t after = 0;
  std::int64_t date = 0;     ///< place in the timeline
  Json set = Json::object(); ///< facts that change
  std::optional<bool> gone = {};
  std::optional<std::size_t> head = {}; ///< commit that main moves to: a force-push
};

struct ReplayRepo {
  std::string kind; ///< "models", "datasets", "spaces"
  std::string id;   ///< "org/name" as the folder has it
  std::string oid;  ///< stands for the hub's _id
  Json meta = Json::object();
  std::vector<ReplayCommit> commits;
  std::vector<ReplayEvent> events; ///< in order of `after`
};

struct ReplayReadOptions {
  std::uint64_t lfs_threshold = 10U << 20U; ///< files larger than this are LFS whatever their name
};

/// Reads ROOT/KIND/ORG/NAME. Object ids are true git ids, so the same folder gives the same ids
/// everywhere; "commits" of repo.json may override sha, date, title. Errors: bad_input that names
/// the folder or the key at fault.
Result<ReplayRepo> read_replay_repo(const std::string &kind, const std::string &id,
                                    const std::string &folder, const ReplayReadOptions &options);

/// "2026-08-14T14:44:41.000Z", the form of the hub's API.
std::string hub_time(std::int64_t seconds);

/// `count` bytes of a file's content from `offset`, zeros beyond what is kept. Errors: store when
/// the disk fails.
Result<std::string> read_replay_bytes(const ReplayFile &file, std::uint64_t offset,
                                      std::uint64_t count);

} // namespace headwater::hub

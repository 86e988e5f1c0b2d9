#pragma once

#include "schemas/snapshot.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace headwater::hub {

/// Where and how to ask upstream.
struct HubOptions {
  std::string endpoint = "https://huggingface.co"; ///< no trailing slash
  std::string token = {};
  std::string user_agent = "headwater";
  std::uint64_t max_text_bytes = 64U << 20U;    ///< a file read whole (tokenizer.json)
  std::uint64_t max_json_bytes = 32U << 20U;    ///< an API answer
  std::uint64_t max_header_bytes = 100'000'000; ///< a safetensors header, as the format bounds it
  double requests_per_second = 0;       ///< own bound beside the published rate limits; 0 = none
  std::int64_t first_backoff_ms = 1000; ///< before the first retry, doubled up to eight of it
  int retries = 5; ///< of transient errors inside one call, with jittered backoff (rate limits are
                   ///< waited out)
};

/// Branch and tag heads.
struct Refs {
  struct Ref {
    std::string name;
    std::string target;
  };
  std::vector<Ref> branches;
  std::vector<Ref> tags;
};

/// Commits reachable from a revision, newest first.
struct CommitList {
  std::vector<Commit> commits;
  /// True when it goes back to the commit that was asked for, or to the first one. Only a whole
  /// list proves that a commit is not in it.
  bool whole = false;
};

/// How an answer differs from plain success, kept apart because only some are facts about a repo.
/// gone: 404 RepoNotFound, or 401 without a code; gated: 401/403 GatedRepo; transient: 5xx,
/// timeouts, HTML, truncation. Error::cause carries the X-Error-Code (or "" ) and the HTTP status
/// as "RepoNotFound 404".

/// One upstream hub (spec/hub-protocol.md). All calls bounded in size and time.
class Client {
public:
  static std::unique_ptr<Client> make(boost::asio::any_io_executor executor, HubOptions options);
  virtual ~Client() = default;

  /// Facts at a revision or branch ("main"); follows one rename (RepoFacts::name is where it
  /// landed).
  virtual boost::asio::awaitable<Result<RepoFacts>> repo(std::string name,
                                                         std::string revision) = 0;
  /// Cheap poll: the same with fewer fields (sha, lastModified, gated, private, disabled, tags
  /// where cheap).
  virtual boost::asio::awaitable<Result<RepoFacts>> poll(std::string name, std::string branch) = 0;
  /// Commits reachable from `revision`, newest first, stopping after `limit` or once `until` (a
  /// sha) has been seen (included, last). An `until` that is not met gives the whole list. A mirror
  /// without commit lists gives the one commit that the revision is, and no whole list; where the
  /// call has worked before, "no such call" is trouble that passes.
  virtual boost::asio::awaitable<Result<CommitList>>
  commits(std::string name, std::string revision, std::size_t limit, std::string until) = 0;
  virtual boost::asio::awaitable<Result<Refs>> refs(std::string name) = 0;
  /// The whole tree, sorted by path, directories left out.
  virtual boost::asio::awaitable<Result<std::vector<FileEntry>>> tree(std::string name,
                                                                      std::string revision) = 0;
  /// The bytes of `part` of a file. A safetensors header costs at most two small range requests and
  /// is returned as 8-byte length + JSON; a GGUF header is read by growing ranges. Size and git
  /// blob id / sha256 are checked where whole.
  virtual boost::asio::awaitable<Result<std::string>>
  content(std::string name, std::string revision, FileEntry file, FilePart part) = 0;
  /// Paths of a revision as its facts list them (siblings): a second witness for a tree that lacks
  /// files.
  virtual boost::asio::awaitable<Result<std::vector<std::string>>> paths(std::string name,
                                                                         std::string revision) = 0;
  /// What calls in hand are waiting out, in a sentence; "" while upstream answers. Any thread may
  /// ask.
  virtual std::string trouble() const = 0;
  virtual void close() = 0;
};

/// A failed call in words for a person, with the mend ("org/name is gated: ask for access and give
/// a token ...").
std::string explain(const Error &error, std::string_view repo);

} // namespace headwater::hub

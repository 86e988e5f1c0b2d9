#pragma once

// How the replay hub answers one request: the pieces that its API and its file answers share.

#include "daemon/hub/replay_view.hpp"
#include "daemon/net/message.hpp"

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::hub {

/// Who asks, by token: "hf_ok" may read everything, "hf_noaccess" is a valid user without access.
enum class ReplayUser : std::uint8_t { anonymous, with_access, without_access, invalid };

/// One request against what is shown.
struct ReplayCall {
  const ReplayShown &shown;
  const net::Request &request;
  const net::Target &target;
  std::string path;       ///< as sent, without the query
  std::string origin;     ///< "http://host:port" as the client reached us
  std::string cdn_origin; ///< of LFS content; the same as `origin` when there is no second listener
  std::int64_t now = 0;   ///< seconds since 1970
  bool code_on_401 = false;
  bool is_cdn = false;

  ReplayUser user() const;
  /// Values of a query key, "key[]" included.
  std::vector<std::string> values(std::string_view key) const;
  std::string value(std::string_view key, std::string otherwise = {}) const;
  bool flag(std::string_view key) const;
  std::uint64_t number(std::string_view key, std::uint64_t otherwise, std::uint64_t most) const;
};

net::Response text_answer(const ReplayCall &call, int status, std::string body,
                          net::Headers headers = {},
                          std::string_view type = "text/plain; charset=utf-8");
/// JSON with its weak ETag; 304 when the client has it.
net::Response json_answer(const ReplayCall &call, const OrderedJson &body, int status = 200,
                          net::Headers headers = {});
/// An error as the hub words it: X-Error-Code and X-Error-Message, JSON under /api/.
net::Response error_answer(const ReplayCall &call, int status, std::string_view code,
                           std::string_view message, net::Headers headers = {});
/// A Link header to the next page: the same request with these query values instead.
std::pair<std::string, std::string> next_link(const ReplayCall &call, const net::Headers &changed);

/// The repo, or the answer that refuses or redirects. `content`: the caller gives files or history,
/// which gates close.
std::expected<const ReplayView *, net::Response>
find_repo(const ReplayCall &call, const std::string &kind, const std::string &id, bool content);
/// The commit, or 404 RevisionNotFound.
std::expected<const ReplayCommit *, net::Response>
find_commit(const ReplayCall &call, const ReplayView &view, const std::string &revision);

/// The kept bytes of a file of the commit, "" when there is none.
std::string file_text(const ReplayCommit &commit, const std::string &path);
/// A safetensors header with its 8-byte length; nothing when it is not whole.
std::optional<std::string> header_bytes(const ReplayFile &file);

/// Facts of a repo at a revision, "" for the head of main.
net::Response answer_info(const ReplayCall &call, const ReplayView &view,
                          const std::string &revision);
/// The repos of a kind, filtered, sorted and in pages.
net::Response answer_listing(const ReplayCall &call, const std::string &kind);
/// Whatever is asked under /api/.
net::Response answer_api(const ReplayCall &call);
/// resolve, raw, the redirect targets of resolve, and the refs of `git ls-remote`.
net::Response answer_file(const ReplayCall &call);
/// LFS content by digest, as the content origin serves it.
net::Response answer_blob(const ReplayCall &call);
/// The file of a resolve-cache address: SEGMENTS after /api/resolve-cache/.
net::Response answer_resolve_cache(const ReplayCall &call);

/// Segments from `first` on, joined by '/'.
std::string join_segments(const net::Target &target, std::size_t first);
/// Percent-encodes each segment of a path.
std::string encode_path(std::string_view path);

} // namespace headwater::hub

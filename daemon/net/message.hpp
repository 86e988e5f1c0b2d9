#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwater::net {

/// Header fields in order; names compare without case.
using Headers = std::vector<std::pair<std::string, std::string>>;

/// True when two header field names are the same (ASCII letters of either case).
bool same_name(std::string_view a, std::string_view b);
/// The first value of a field, or null.
const std::string *find_header(const Headers &headers, std::string_view name);
/// Replaces all fields of that name by one.
void set_header(Headers &headers, std::string name, std::string value);

/// A request as a server sees it.
struct Request {
  std::string method = "GET";
  std::string target = "/"; ///< path and query as sent, still percent-encoded
  Headers headers = {};
  std::string body = {};
  std::string remote_address = {};
};

/// A body that is produced as it is sent (a weight file of many GB): `read(offset, out, count)`
/// fills up to count bytes and returns how many.
struct StreamedBody {
  std::uint64_t size = 0;
  std::function<std::size_t(std::uint64_t offset, char *out, std::size_t count)> read;
};

/// Lines pushed to a client for as long as it listens (server-sent events). Thread-safe.
class EventChannel;

/// A response. `stream` replaces `body`; `events` keeps the connection open. The server counts
/// Content-Length itself (a HEAD answer keeps the one it is given), adds Date, and leaves the body
/// out for HEAD, 204 and 304. Status 0 closes the connection without an answer.
struct Response {
  int status = 200;
  Headers headers = {};
  std::string body = {};
  std::optional<StreamedBody> stream = {};
  std::shared_ptr<EventChannel> events = {};
};

/// The path of a target, percent-decoded a segment at a time ("%2F" stays inside its segment), and
/// its query.
struct Target {
  std::vector<std::string> segments;
  std::vector<std::pair<std::string, std::string>> query;
  bool trailing_slash = false;
};
/// Nothing for a target that is not well formed (bad escape, NUL, dot segments, empty segments).
/// "+" in the query is a blank. A decoded segment may hold "/" and control characters: whoever
/// makes a file name of it checks it.
std::optional<Target> split_target(std::string_view target);
/// First value of a query key, or null.
const std::string *find_query(const Target &target, std::string_view key);
/// Percent-encodes for one path segment (everything but unreserved).
std::string encode_segment(std::string_view text);

/// Runs on a worker thread of the server; may block on the disk, not on the network.
using Handler = std::function<Response(const Request &)>;

} // namespace headwater::net

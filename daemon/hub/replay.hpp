#pragma once

#include "daemon/net/message.hpp"
#include "schemas/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwater::hub {

struct ReplayOptions {
  std::optional<std::size_t> revealed =
      {}; ///< steps of the timeline that are shown at start; nothing = all
  std::string cdn_origin =
      {}; ///< "http://host:port" of a second listener for LFS content; "" = ours
  std::uint64_t lfs_threshold = 10U << 20U; ///< files larger than this are LFS whatever their name
  bool code_on_401 =
      false; ///< X-Error-Code also on the 401 for a missing repo, unlike the real hub
};

/// Serves a folder of recorded repos (ROOT/models/ORG/NAME/revisions/NNNN-title/..., repo.json)
/// through the API of the real hub. The timeline over all repos begins with the first revision of
/// each, then goes by date; a repo's events are steps of their own behind the revision that they
/// follow. Thread-safe.
class ReplayHub {
public:
  /// Reads the whole folder. Errors: bad_input that names the file at fault.
  static Result<std::unique_ptr<ReplayHub>> open(const std::string &folder,
                                                 const ReplayOptions &options = {});
  virtual ~ReplayHub() = default;

  /// One request of the hub's API, or of the control path /_hub/ (mark, fault, reload, reveal, log;
  /// loopback only).
  virtual net::Response handle(const net::Request &request) = 0;
  /// One request on the second listener.
  virtual net::Response handle_cdn(const net::Request &request) = 0;
  /// LFS content is sent to this port of the host that the client asked.
  virtual void set_cdn_port(std::uint16_t port) = 0;

  /// Shows the next step and gives the name of its repo ("org/name"); nothing when all is shown.
  virtual std::optional<std::string> reveal_next() = 0;
  /// Steps shown, and steps in all.
  virtual std::size_t revealed() const = 0;
  virtual std::size_t timeline_size() const = 0;
  /// Steps in front of the first event: what they did can still be read later, what an event did
  /// is seen only by those who look before and after it.
  virtual std::size_t steps_before_events() const = 0;
  /// Names of the model repos as they are now, sorted; those gone left out.
  virtual std::vector<std::string> repos() const = 0;
};

} // namespace headwater::hub

#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace headwater::cli {

struct HubCommand {
  std::string folder;     ///< ROOT of recorded repos
  std::uint16_t port = 0; ///< 0 = any free one
  std::string address = "127.0.0.1";
  std::uint16_t cdn_port =
      0;            ///< second listener for LFS content, when `cdn` is set; 0 = any free one
  bool cdn = false; ///< serve LFS content from a second origin, as the real hub does
  double reveal_every_seconds =
      0; ///< 0 = all revisions at once; else the first of each repo, then one more each time
};

/// Serves a folder of recorded repos until SIGTERM or SIGINT. Prints the address once it listens.
/// Gives the exit code: 0, or 2 for a folder that cannot be read or an address that cannot be had
/// (said on `err`).
int run_hub(const HubCommand &command, std::ostream &out, std::ostream &err);

} // namespace headwater::cli

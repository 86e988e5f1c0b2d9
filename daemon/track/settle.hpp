#pragma once

#include "daemon/track/advise.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace headwater::track {

/// What a step leaves of the advisories that it made or touched.
struct Settled {
  std::vector<Advisory> advisories;
  std::vector<std::string> dropped = {}; ///< held, and undone before anybody was told
};

/// Makes new advisories wait for `wait` before they are public, and drops those that still wait and
/// of which nothing is left. Security and access never wait. `known` is what advise() was given,
/// `touched` what it gave. Pure.
Settled settle(std::vector<Advisory> touched, const std::vector<Advisory> &known, const Step &step,
               std::chrono::milliseconds wait);

/// Lets the held ones go whose time has come by `time` (RFC 3339), and gives their ids. Pure.
std::vector<std::string> let_go(std::vector<Advisory> &advisories, const std::string &time);

/// `released` are public now: public advisories that they name name them too, and no public one
/// names one that is held. Adds to `written` what that touches of `known`. Pure.
void relate_public(std::vector<Advisory> &written, const std::vector<Advisory> &known,
                   const std::vector<std::string> &released);

} // namespace headwater::track

#pragma once

#include "schemas/advisory.hpp"

#include <string>

namespace headwater::feeds {

/// What an OSV record needs besides the advisory.
struct OsvOptions {
  std::string hub_origin = "https://huggingface.co"; ///< where repos live, no trailing slash;
                                                     ///< package names and ranges use it
  std::string
      public_url; ///< our own pages, no trailing slash; "" leaves the ADVISORY reference out
};

/// The advisory as one OSV record, compact JSON, fields in the order of the OSV text
/// (spec/osv-and-badges.md section 0). Every affected entry has ecosystem GIT with a GIT range
/// only: a SEMVER range there crashes scanners.
std::string render_osv(const Advisory &advisory, const OsvOptions &options);

/// The record of an advisory whose repo is no longer public: its id and its times alone.
std::string render_withdrawn(const std::string &id, const std::string &published,
                             const std::string &modified, const std::string &withdrawn);

/// One line, at most 120 characters: "org/repo: what changed".
std::string advisory_summary(const Advisory &advisory);
/// CommonMark for people: what changed, what to do, before and after, plan figures.
std::string advisory_details(const Advisory &advisory);

} // namespace headwater::feeds

#pragma once

#include "feeds/pages.hpp"
#include "store/records.hpp"

#include <span>
#include <string>
#include <vector>

namespace headwater::feeds {

/// One feed of advisories: all public repos, or one.
struct AdvisoryFeed {
  SiteText site;
  std::string title;
  std::string folder; ///< site path that feed.atom and feed.json lie in: "" or "models/org/name/"
  std::vector<store::AdvisoryRecord> advisories; ///< any order
};

/// Advisories that a feed shows: newest change of substance first, at most 100.
std::vector<store::AdvisoryRecord> feed_order(std::vector<store::AdvisoryRecord> advisories);
/// Newest change of substance, "" when there is none.
std::string feed_updated(std::span<const store::AdvisoryRecord> advisories);

/// RFC 4287. `updated` of an entry is its last change of substance, never growth of its list of
/// revisions.
std::string atom_feed(const AdvisoryFeed &feed);
/// JSON Feed 1.1, with {"id","level","impact","state","url"} under "_osv".
std::string json_feed(const AdvisoryFeed &feed);

/// One address of the site and the day it last changed ("" = not said).
struct SitemapEntry {
  std::string path; ///< without leading slash
  std::string last_modified;
};
/// sitemaps.org protocol 0.9, at most 50,000 addresses.
std::string sitemap(const std::string &public_url, std::span<const SitemapEntry> entries);

} // namespace headwater::feeds

#pragma once

#include "feeds/pages.hpp"
#include "schemas/advisory.hpp"

#include <string>
#include <vector>

namespace headwater::feeds {

/// What both feed formats say of one advisory.
struct FeedEntry {
  std::string id;    ///< permanent: "tag:host,year:advisory:ID"
  std::string title; ///< plain text, with the state when it is settled
  std::string page_url;
  std::string record_url;
  std::string html;              ///< what changed, upstream text escaped
  std::vector<std::string> tags; ///< level, impact, kinds
};
FeedEntry feed_entry(const Advisory &advisory, const SiteText &site);

/// The tag URI of a feed or an advisory. `year` is the first year it could have been minted in.
std::string tag_uri(const SiteText &site, std::string_view year, std::string_view specific);

} // namespace headwater::feeds

#include "feeds/syndication.hpp"
#include "schemas/text.hpp"

#include <algorithm>

namespace headwater::feeds {
namespace {
constexpr std::size_t most_addresses = 50'000; // the protocol's own limit
}

std::string sitemap(const std::string &public_url, std::span<const SitemapEntry> entries) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
  for (const SitemapEntry &entry : entries.first(std::min(entries.size(), most_addresses))) {
    xml += "<url><loc>" + escape_html(public_url + "/" + entry.path) + "</loc>";
    if (!entry.last_modified.empty())
      xml += "<lastmod>" + escape_html(entry.last_modified) + "</lastmod>";
    xml += "</url>\n";
  }
  return xml + "</urlset>\n";
}

} // namespace headwater::feeds

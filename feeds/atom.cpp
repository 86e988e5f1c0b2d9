#include "feeds/entry.hpp"
#include "feeds/syndication.hpp"
#include "schemas/text.hpp"

#include <fmt/format.h>

namespace headwater::feeds {
namespace {

std::string entry_xml(const Advisory &advisory, const SiteText &site) {
  const FeedEntry entry = feed_entry(advisory, site);
  std::string xml = "<entry>\n";
  xml += fmt::format("<id>{}</id>\n<title>{}</title>\n", escape_html(entry.id),
                     escape_html(entry.title));
  xml += fmt::format("<updated>{}</updated>\n<published>{}</published>\n",
                     escape_html(advisory.substance_at), escape_html(advisory.published));
  xml += fmt::format("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n",
                     escape_html(entry.page_url));
  xml += fmt::format("<link rel=\"related\" type=\"application/json\" href=\"{}\"/>\n",
                     escape_html(entry.record_url));
  for (const std::string &tag : entry.tags)
    xml += fmt::format("<category term=\"{}\"/>\n", escape_html(tag));
  xml += "<content type=\"html\">" + escape_html(entry.html) + "</content>\n";
  return xml + "</entry>\n";
}

} // namespace

std::string atom_feed(const AdvisoryFeed &feed) {
  const auto advisories = feed_order(feed.advisories);
  // A feed without entries has no time of its own; the format wants one.
  std::string updated = feed_updated(advisories);
  if (updated.empty())
    updated = "1970-01-01T00:00:00Z";
  const std::string base = feed.site.public_url + "/" + feed.folder;
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n";
  xml +=
      fmt::format("<id>{}</id>\n", escape_html(tag_uri(feed.site, "2026", "feed:/" + feed.folder)));
  xml +=
      fmt::format("<title>{}</title>\n<updated>{}</updated>\n", escape_html(feed.title), updated);
  xml += fmt::format("<author><name>{}</name></author>\n", escape_html(feed.site.title));
  xml += fmt::format("<link rel=\"self\" type=\"application/atom+xml\" href=\"{}feed.atom\"/>\n",
                     escape_html(base));
  xml +=
      fmt::format("<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n", escape_html(base));
  for (const store::AdvisoryRecord &record : advisories)
    xml += entry_xml(record.advisory, feed.site);
  return xml + "</feed>\n";
}

} // namespace headwater::feeds

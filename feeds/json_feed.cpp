#include "feeds/entry.hpp"
#include "feeds/syndication.hpp"
#include "schemas/json.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace headwater::feeds {
namespace {

OrderedJson item_json(const Advisory &advisory, const SiteText &site) {
  const FeedEntry entry = feed_entry(advisory, site);
  OrderedJson item;
  item["id"] = entry.id;
  item["url"] = entry.page_url;
  item["title"] = entry.title;
  item["content_html"] = entry.html;
  item["date_published"] = advisory.published;
  item["date_modified"] = advisory.substance_at;
  item["tags"] = entry.tags;
  item["_osv"] = {{"id", advisory.id},
                  {"level", to_string(advisory.level)},
                  {"impact", to_string(advisory.impact)},
                  {"state", to_string(advisory.state)},
                  {"url", entry.record_url}};
  return item;
}

} // namespace

std::string json_feed(const AdvisoryFeed &feed) {
  const std::string base = feed.site.public_url + "/" + feed.folder;
  OrderedJson json;
  json["version"] = "https://jsonfeed.org/version/1.1";
  json["title"] = feed.title;
  json["home_page_url"] = base;
  json["feed_url"] = base + "feed.json";
  json["authors"] = OrderedJson::array({{{"name", feed.site.title}}});
  json["language"] = "en";
  json["items"] = OrderedJson::array();
  for (const store::AdvisoryRecord &record : feed_order(feed.advisories))
    json["items"].push_back(item_json(record.advisory, feed.site));
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

} // namespace headwater::feeds

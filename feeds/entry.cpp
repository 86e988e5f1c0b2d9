#include "feeds/entry.hpp"

#include "feeds/osv.hpp"
#include "schemas/text.hpp"

#include <fmt/format.h>

namespace headwater::feeds {
namespace {

/// Host of our own address, without scheme and port.
std::string host_of(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos)
    url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  if (!url.starts_with('['))
    url = url.substr(0, url.rfind(':'));
  return url.empty() ? "localhost" : std::string(url);
}

std::string changes_html(const Advisory &advisory) {
  std::string html;
  if (!advisory.withdrawn.empty())
    html += "<p>Withdrawn: " + escape_html(plain_text(advisory.withdrawn_reason)) + "</p>\n";
  html += "<ul>\n";
  for (const AffectedEntry &entry : advisory.affected)
    for (const Change &change : entry.changes)
      html +=
          fmt::format("<li><b>{} {}</b> ({}): {} <code>{}</code></li>\n", to_string(change.impact),
                      to_string(change.level), escape_html(entry.subject),
                      escape_html(change.explanation), escape_html(plain_text(change.path)));
  for (const PlanChange &change : advisory.plan_changes)
    html += "<li>" + escape_html(change.sentence) + "</li>\n";
  return html + "</ul>\n";
}

} // namespace

std::string tag_uri(const SiteText &site, std::string_view year, std::string_view specific) {
  return fmt::format("tag:{},{}:{}", host_of(site.public_url), year, specific);
}

FeedEntry feed_entry(const Advisory &advisory, const SiteText &site) {
  FeedEntry entry;
  const std::string year =
      advisory.published.size() >= 4 ? advisory.published.substr(0, 4) : "2000";
  entry.id = tag_uri(site, year, "advisory:" + advisory.id);
  entry.title = advisory_summary(advisory);
  if (advisory.withdrawn.empty() && advisory.state != AdvisoryState::open)
    entry.title += fmt::format(" ({})", to_string(advisory.state));
  entry.record_url = site.public_url + "/osv/" + advisory.id + ".json";
  entry.page_url =
      is_revision(advisory.to)
          ? site.public_url + "/models/" + advisory.repo + "/revisions/" + advisory.to + "/"
          : site.public_url + "/models/" + advisory.repo + "/changes/";
  entry.html = changes_html(advisory);
  entry.tags.emplace_back(to_string(advisory.level));
  entry.tags.emplace_back(to_string(advisory.impact));
  for (const std::string &kind : advisory.kinds)
    entry.tags.push_back(kind);
  return entry;
}

} // namespace headwater::feeds

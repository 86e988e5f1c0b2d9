#include "feeds/syndication.hpp"

#include <algorithm>

namespace headwater::feeds {
namespace {
constexpr std::size_t most_entries = 100;
}

std::vector<store::AdvisoryRecord> feed_order(std::vector<store::AdvisoryRecord> advisories) {
  std::ranges::sort(advisories, [](const store::AdvisoryRecord &a, const store::AdvisoryRecord &b) {
    if (a.advisory.substance_at != b.advisory.substance_at)
      return a.advisory.substance_at > b.advisory.substance_at;
    return a.advisory.id < b.advisory.id;
  });
  if (advisories.size() > most_entries)
    advisories.resize(most_entries);
  return advisories;
}

std::string feed_updated(std::span<const store::AdvisoryRecord> advisories) {
  std::string updated;
  for (const store::AdvisoryRecord &record : advisories)
    updated = std::max(updated, record.advisory.substance_at);
  return updated;
}

} // namespace headwater::feeds

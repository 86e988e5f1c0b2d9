#include "daemon/track/line.hpp"

#include <algorithm>
#include <charconv>

namespace headwater::track {

std::size_t history_limit(std::string_view history, std::size_t most) {
  if (history == "all")
    return most;
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(history.data(), history.data() + history.size(), count);
  const bool is_number = error == std::errc() && end == history.data() + history.size();
  return is_number ? std::clamp<std::size_t>(count, 1, most) : 1;
}

Line compare_lines(const hub::CommitList &list, const std::vector<store::Revision> &read,
                   std::size_t limit) {
  const std::vector<Commit> &listed = list.commits;
  Line line;
  const auto find_read = [&](const Commit &commit) {
    return std::ranges::find_if(read, [&](const store::Revision &revision) {
      return revision.on_branch && revision.sha == commit.sha;
    });
  };
  // The newest commit that both have: all before it are new, all that was read behind it is off the
  // branch.
  auto base = listed.begin();
  while (base != listed.end() && find_read(*base) == read.end())
    ++base;
  const bool shared = base != listed.end();
  const auto last = shared ? find_read(*base) : read.begin();
  for (auto at = shared ? last + 1 : read.begin(); at != read.end(); ++at)
    if (at->on_branch && list.whole)
      line.rewritten_away.push_back(at->sha);
  line.gap = !list.whole && !shared && !read.empty();

  const auto fresh_end =
      shared ? base : listed.begin() + static_cast<std::ptrdiff_t>(std::min(limit, listed.size()));
  line.fresh.assign(listed.begin(), fresh_end);
  // A branch that was moved back ends on a commit that was read before: it is what the change leads
  // to.
  if (line.fresh.empty() && shared && !line.rewritten_away.empty())
    line.fresh.push_back(*base);
  std::ranges::reverse(line.fresh);
  return line;
}

} // namespace headwater::track

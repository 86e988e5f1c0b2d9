#include "daemon/diff/subjects.hpp"
#include "schemas/text.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

/// "12 of 48 moved, most by 31 % at place 7" for two lists of equal length, else what can be said
/// of their lengths.
std::string describe_lists(const Json &before, const Json &after) {
  if (before.size() != after.size())
    return fmt::format("a list of {} became a list of {}", before.size(), after.size());
  std::size_t moved = 0;
  std::size_t where = 0;
  double most = -1;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i])
      continue;
    ++moved;
    if (!before[i].is_number() || !after[i].is_number())
      continue;
    const double from = before[i].get<double>();
    const double by = std::abs(after[i].get<double>() - from);
    const double share = from != 0 ? by / std::abs(from) : by;
    if (share > most) {
      most = share;
      where = i;
    }
  }
  std::string text = fmt::format("{} of {} entries moved", moved, before.size());
  if (most >= 0)
    text += fmt::format(", the most at place {}: {} became {}", where + 1, shown(before[where]),
                        shown(after[where]));
  return text;
}

} // namespace

std::string describe(std::string_view noun, const KeyChange &change) {
  std::string subject = plain_text(change.key, 60);
  if (!noun.empty())
    subject = fmt::format("{} ({})", noun, subject);
  if (subject.front() >= 'a' && subject.front() <= 'z' && !noun.empty())
    subject.front() = static_cast<char>(subject.front() - 'a' + 'A');
  if (change.before == nullptr)
    return fmt::format("{} is new: {}.", subject, shown(*change.after));
  if (change.after == nullptr)
    return fmt::format("{} was removed; it was {}.", subject, shown(*change.before));
  if (change.before->is_array() && change.after->is_array() &&
      (change.before->size() > 8 || change.after->size() > 8))
    return fmt::format("{}: {}.", subject, describe_lists(*change.before, *change.after));
  return fmt::format("{}: {} became {}.", subject, shown(*change.before), shown(*change.after));
}

} // namespace headwater::diff

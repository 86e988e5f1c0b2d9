#pragma once

#include "schemas/time.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace headwater::track {

/// When an answer about a repo counts (DESIGN.md rule 5).
struct ConfirmOptions {
  int polls = 3;                                            ///< the same answer this often
  std::chrono::milliseconds span{std::chrono::minutes(30)}; ///< over at least this long
};

/// An answer that waits to be confirmed.
struct Pending {
  std::string what; ///< the answer, in one line
  int count = 0;
  std::string first; ///< RFC 3339 UTC
  friend bool operator==(const Pending &, const Pending &) = default;
};

/// The pending answer after `what` was given at `now`; a different answer starts anew.
Pending confirm_once_more(const std::optional<Pending> &before, std::string_view what,
                          TimePoint now);
/// True when it was given often and long enough.
bool is_confirmed(const Pending &pending, TimePoint now, const ConfirmOptions &options);

/// As the store keeps it between runs; nothing for a text that is not one.
std::string to_text(const Pending &pending);
std::optional<Pending> pending_from(std::string_view text);

/// Counts repos that give the same answer at once. Over 5 % of the watched ones (and at least
/// three) is trouble of ours or of upstream, not news about the repos. Thread-safe.
class Alarm {
public:
  /// `repo` gives the answer `what` now; an empty one ends its part.
  void set(const std::string &repo, const std::string &what);
  /// True when too many repos give this answer.
  bool rings(const std::string &what, std::size_t watched) const;

  /// True the first time that this alarm is told; again only after all was quiet.
  bool is_news(const std::string &what);

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::string told_;
};

} // namespace headwater::track

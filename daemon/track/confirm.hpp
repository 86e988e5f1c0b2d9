#pragma once

#include "schemas/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// What an answer that differs from what was told rests on.
enum class Evidence : std::uint8_t {
  facts,   ///< upstream described the repo: it is well, and so are we
  absence, ///< upstream said in its own words that it has no such repo for us
  refusal, ///< upstream only refused: it may just as well be us whom it does not let in
};

/// What the other watched repos answer at the same time.
struct Crowd {
  std::size_t same = 0; ///< repos that give this answer now, this one included
  std::size_t watched = 0;
  std::optional<TimePoint> well = {}; ///< when a repo last answered as it was told
  int given = 2; ///< how often in a row the repo gave its answer since the start
};
/// True when over 5 % of the watched repos (and at least three) give the same answer at once: that
/// is trouble of ours or of upstream rather than news about the repos.
bool is_alarm(const Crowd &crowd);

/// An alarm asks for so many times the polls and the span before its answers count.
inline constexpr int alarm_spans = 4;
/// So many spans, where nothing but the absence itself is heard.
inline constexpr int silent_spans = 24;

enum class Verdict : std::uint8_t { wait, held, confirmed };

/// Whether a pending answer counts. Alone it counts once it is confirmed, by two answers since the
/// start at least: by then all others were heard. Under an alarm it counts
/// after alarm_spans, when upstream is seen to be well: by the facts that it gives, or by another
/// repo that answered as it was told in the later half of that time. Without such a witness an
/// absence counts after silent_spans, and a refusal never: a lost token is no news. Pure.
Verdict judge(const Pending &pending, Evidence evidence, const Crowd &crowd, TimePoint now,
              const ConfirmOptions &options);

/// What the watched repos answer at once, as far as it differs from what was told. Thread-safe.
class Alarm {
public:
  /// `repo` gives the answer `what` now. Gives how often it did so in a row since the start.
  int give(const std::string &repo, const std::string &what);
  /// `repo` answers as it was told.
  void well(const std::string &repo, TimePoint now);
  /// The answer of `repo` counted: it is no part of the alarm any more.
  void settled(const std::string &repo);
  Crowd crowd(const std::string &what, std::size_t watched) const;

  /// True the first time that this alarm is told; again only after all was quiet.
  bool is_news(const std::string &what);

private:
  struct Answer {
    std::string what;
    int times = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::optional<TimePoint> well_;
  std::string told_;
};

} // namespace headwater::track

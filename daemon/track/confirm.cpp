#include "daemon/track/confirm.hpp"

#include "schemas/json.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace headwater::track {

Pending confirm_once_more(const std::optional<Pending> &before, std::string_view what,
                          TimePoint now) {
  Pending pending;
  if (before && before->what == what)
    pending = *before;
  else
    pending = {std::string(what), 0, format_time(now)};
  ++pending.count;
  return pending;
}

bool is_confirmed(const Pending &pending, TimePoint now, const ConfirmOptions &options) {
  const Result<TimePoint> first = parse_time(pending.first);
  return first && pending.count >= options.polls && now - *first >= options.span;
}

std::string to_text(const Pending &pending) {
  OrderedJson json;
  json["what"] = pending.what;
  json["count"] = pending.count;
  json["first"] = pending.first;
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::optional<Pending> pending_from(std::string_view text) {
  const Result<Json> json = parse_json(text);
  if (!json || !json->is_object())
    return std::nullopt;
  const auto what = json->find("what");
  const auto count = json->find("count");
  const auto first = json->find("first");
  if (what == json->end() || count == json->end() || first == json->end() || !what->is_string() ||
      !count->is_number_integer() || !first->is_string())
    return std::nullopt;
  return Pending{what->get<std::string>(), count->get<int>(), first->get<std::string>()};
}

bool is_alarm(const Crowd &crowd) {
  return crowd.same >= 3 && crowd.same * 20 > crowd.watched;
}

Verdict judge(const Pending &pending, Evidence evidence, const Crowd &crowd, TimePoint now,
              const ConfirmOptions &options) {
  const bool heard = crowd.given >= std::min(2, options.polls);
  if (!is_alarm(crowd))
    return heard && is_confirmed(pending, now, options) ? Verdict::confirmed : Verdict::wait;
  const Result<TimePoint> first = parse_time(pending.first);
  if (!first)
    return Verdict::held;
  const bool witnessed =
      evidence == Evidence::facts || (crowd.well && *crowd.well >= *first + (now - *first) / 2);
  if (!witnessed && evidence == Evidence::refusal)
    return Verdict::held;
  const ConfirmOptions longer{options.polls * alarm_spans,
                              options.span * (witnessed ? alarm_spans : silent_spans)};
  return heard && is_confirmed(pending, now, longer) ? Verdict::confirmed : Verdict::held;
}

int Alarm::give(const std::string &repo, const std::string &what) {
  const std::lock_guard lock(mutex_);
  Answer &answer = answers_[repo];
  if (answer.what != what)
    answer = {what, 0};
  return ++answer.times;
}

void Alarm::well(const std::string &repo, TimePoint now) {
  settled(repo);
  const std::lock_guard lock(mutex_);
  well_ = now;
}

void Alarm::settled(const std::string &repo) {
  const std::lock_guard lock(mutex_);
  answers_.erase(repo);
  if (answers_.empty())
    told_.clear();
}

Crowd Alarm::crowd(const std::string &what, std::size_t watched) const {
  const std::lock_guard lock(mutex_);
  const auto same = static_cast<std::size_t>(std::ranges::count_if(
      answers_, [&](const auto &answer) { return answer.second.what == what; }));
  return {same, watched, well_, 2};
}

bool Alarm::is_news(const std::string &what) {
  const std::lock_guard lock(mutex_);
  return std::exchange(told_, what) != what;
}

} // namespace headwater::track

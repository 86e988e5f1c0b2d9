#include "daemon/http/event_hub.hpp"

#include "daemon/http/public_store.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::http {
namespace {

constexpr std::size_t most_missed = 200;
constexpr std::size_t batch = 500;

std::string event_text(std::int64_t serial, const OrderedJson &data) {
  return fmt::format("id: {}\ndata: {}\n\n", serial,
                     data.dump(-1, ' ', true, OrderedJson::error_handler_t::replace));
}

std::string position_event(std::int64_t serial) {
  return event_text(serial, OrderedJson{{"serial", serial}});
}

std::string delta_event(const store::DeltaRecord &record) {
  OrderedJson data;
  data["serial"] = record.serial;
  data["repo"] = record.delta.repo;
  data["to"] = record.delta.to;
  data["impact"] = to_string(impact_of(record.delta.changes));
  data["level"] = to_string(level_of(record.delta.changes));
  if (!record.advisory_id.empty())
    data["advisory"] = record.advisory_id;
  return event_text(record.serial, data);
}

/// Without an id: the place in the stream of deltas stays where it is.
std::string advisory_event(const Advisory &advisory) {
  const OrderedJson data{{"repo", advisory.repo},
                         {"to", advisory.to},
                         {"impact", to_string(advisory.impact)},
                         {"level", to_string(advisory.level)},
                         {"advisory", advisory.id},
                         {"state", to_string(advisory.state)}};
  return fmt::format("data: {}\n\n",
                     data.dump(-1, ' ', true, OrderedJson::error_handler_t::replace));
}

} // namespace

std::shared_ptr<net::EventChannel>
EventHub::listen(const PublicStore &store, const std::string &last_id, const std::string &client) {
  announce(store);
  std::int64_t asked = -1;
  std::from_chars(last_id.data(), last_id.data() + last_id.size(), asked);

  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [](const Listener &one) { return one.channel->closed(); });
  const auto of_client = std::ranges::count(listeners_, client, &Listener::client);
  if (listeners_.size() >= max_listeners_ ||
      (!client.empty() && static_cast<std::size_t>(of_client) >= max_of_one_))
    return nullptr;
  auto channel = std::make_shared<net::EventChannel>();
  std::string greeting = "retry: 5000\n";
  greeting += position_event(last_serial_);
  if (asked >= 0 && asked < last_serial_) {
    if (const auto missed = store.deltas_since(asked, most_missed); missed)
      for (const store::DeltaRecord &record : missed->records)
        if (record.serial <= last_serial_)
          greeting += delta_event(record);
  }
  channel->push(std::move(greeting));
  listeners_.push_back({channel, client});
  return channel;
}

void EventHub::announce(const PublicStore &store, const std::vector<std::string> &changed) {
  const std::lock_guard lock(mutex_);
  // Nobody has been told anything yet: start where the stream ends now.
  if (last_serial_ < 0) {
    if (const auto newest = store.newest_serial(); newest)
      last_serial_ = *newest;
    return;
  }
  const std::set<std::string> named = send_deltas(store);
  if (listeners_.empty())
    return;
  for (const std::string &id : changed) {
    if (named.contains(id))
      continue;
    const auto record = store.find_advisory(id);
    if (record && *record)
      send_all(advisory_event((*record)->advisory));
  }
}

std::set<std::string> EventHub::send_deltas(const PublicStore &store) {
  std::set<std::string> named;
  for (;;) {
    const auto deltas = store.deltas_since(last_serial_, batch);
    if (!deltas || deltas->read_to == last_serial_)
      return named;
    last_serial_ = deltas->read_to;
    for (const store::DeltaRecord &record : deltas->records) {
      named.insert(record.advisory_id);
      send_all(delta_event(record));
    }
  }
}

void EventHub::keep_alive() {
  const std::lock_guard lock(mutex_);
  send_all(": keep-alive\n\n");
}

void EventHub::close() {
  const std::lock_guard lock(mutex_);
  for (const Listener &one : listeners_)
    one.channel->close();
  listeners_.clear();
}

std::size_t EventHub::listeners() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      listeners_, [](const Listener &one) { return !one.channel->closed(); }));
}

void EventHub::send_all(const std::string &text) {
  std::erase_if(listeners_, [&](const Listener &one) { return !one.channel->push(text); });
}

} // namespace headwater::http

// The replay hub: a view of the world that steps forward, faults put in its way, and a log of what
// was asked.

#include "daemon/hub/replay.hpp"

#include "daemon/hub/replay_answer.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <regex.h>

namespace headwater::hub {
namespace {

constexpr std::string_view control_prefix = "/_hub/";
constexpr std::size_t max_log_records = 10'000;
constexpr std::size_t max_logged_body = 2000;
constexpr double max_fault_delay_seconds = 60;

/// A POSIX extended regular expression.
class Pattern {
public:
  static std::shared_ptr<const Pattern> compile(const std::string &text) {
    auto pattern = std::make_shared<Pattern>();
    pattern->ready_ = regcomp(&pattern->regex_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
    return pattern->ready_ ? pattern : nullptr;
  }
  Pattern() = default;
  Pattern(const Pattern &) = delete;
  Pattern &operator=(const Pattern &) = delete;
  ~Pattern() {
    if (ready_) {
      regfree(&regex_);
    }
  }
  bool matches(const std::string &text) const {
    return regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0;
  }

private:
  regex_t regex_ = {};
  bool ready_ = false;
};

/// An answer that is given instead of the true one, a number of times.
struct Fault {
  std::shared_ptr<const Pattern> match;
  std::string method; ///< "" = any
  int status = 0;     ///< 0 = only the delay
  std::int64_t times = 1;
  double delay_seconds = 0;
  bool close = false;
  net::Headers headers = {};
  std::string body = {};
};

std::string text_of(const Json &object, const char *key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_of(const Json &object, const char *key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

Result<Fault> read_fault(const Json &json) {
  Fault fault;
  fault.match = Pattern::compile(text_of(json, "match"));
  if (fault.match == nullptr) {
    return fail(Errc::bad_input, "\"match\" must be an extended regular expression");
  }
  fault.method = text_of(json, "method");
  fault.status = static_cast<int>(std::clamp(number_of(json, "status", 0), 0.0, 999.0));
  fault.times = static_cast<std::int64_t>(std::clamp(number_of(json, "times", 1), 0.0, 1e9));
  fault.delay_seconds = std::clamp(number_of(json, "delay", 0), 0.0, max_fault_delay_seconds);
  fault.close = json.contains("close") && json["close"] == true;
  fault.body = text_of(json, "body");
  if (json.contains("headers") && json["headers"].is_object()) {
    for (const auto &[name, value] : json["headers"].items()) {
      fault.headers.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return fault;
}

/// The Host field when it is a plain host and port, else our loopback name: it becomes part of
/// addresses that we send.
std::string host_of(const net::Request &request) {
  const std::string *host = net::find_header(request.headers, "Host");
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
  const bool usable = host != nullptr && !host->empty() && host->size() < 256 &&
                      host->find_first_not_of(plain) == std::string::npos;
  return usable ? *host : "127.0.0.1";
}

std::string without_port(const std::string &host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

bool from_loopback(const net::Request &request) {
  const std::string &address = request.remote_address;
  return address.empty() || address.starts_with("127.") || address.starts_with("::1") ||
         address.starts_with("[::1]") || address.starts_with("::ffff:127.");
}

net::Response plain_json(const OrderedJson &body, int status = 200) {
  return {status,
          {{"Content-Type", "application/json; charset=utf-8"}},
          body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)};
}

class Hub final : public ReplayHub {
public:
  Hub(std::string folder, ReplayOptions options, ReplayShown shown)
      : folder_(std::move(folder)), options_(std::move(options)),
        shown_(std::make_shared<const ReplayShown>(std::move(shown))) {}

  net::Response handle(const net::Request &request) override { return answer(request, false); }
  net::Response handle_cdn(const net::Request &request) override { return answer(request, true); }

  void set_cdn_port(std::uint16_t port) override {
    const std::scoped_lock lock(mutex_);
    cdn_port_ = port;
  }

  std::optional<std::string> reveal_next() override {
    const std::scoped_lock stepping(stepping_);
    const std::shared_ptr<const ReplayShown> before = shown();
    if (before->steps >= before->world->timeline.size()) {
      return std::nullopt;
    }
    auto after = std::make_shared<const ReplayShown>(show(before->world, before->steps + 1));
    const std::string name = after->views[after->world->timeline[before->steps].repo].id;
    const std::scoped_lock lock(mutex_);
    shown_ = std::move(after);
    return name;
  }

  std::size_t revealed() const override { return shown()->steps; }
  std::size_t timeline_size() const override { return shown()->world->timeline.size(); }
  std::size_t steps_before_events() const override {
    const std::shared_ptr<const ReplayWorld> world = shown()->world;
    const auto live = world->timeline.begin() + static_cast<std::ptrdiff_t>(world->first_steps);
    return static_cast<std::size_t>(
        std::ranges::find_if(live, world->timeline.end(), &ReplayStep::is_event) -
        world->timeline.begin());
  }

  std::vector<std::string> repos() const override {
    std::vector<std::string> names;
    for (const ReplayView &view : shown()->views) {
      if (view.repo->kind == "models" && !view.gone) {
        names.push_back(view.id);
      }
    }
    std::ranges::sort(names);
    return names;
  }

private:
  std::shared_ptr<const ReplayShown> shown() const {
    const std::scoped_lock lock(mutex_);
    return shown_;
  }

  /// The fault that this request runs into, counted down.
  std::optional<Fault> take_fault(const net::Request &request) {
    const std::scoped_lock lock(mutex_);
    for (Fault &fault : faults_) {
      if (fault.times > 0 && (fault.method.empty() || fault.method == request.method) &&
          fault.match->matches(request.target)) {
        --fault.times;
        return fault;
      }
    }
    return std::nullopt;
  }

  void record(const net::Request &request, bool is_cdn, int status) {
    OrderedJson headers = OrderedJson::object();
    for (const auto &[name, value] : request.headers) {
      headers[name] = value;
    }
    const std::size_t mark = request.target.find('?');
    const std::scoped_lock lock(mutex_);
    log_.push_back({{"label", label_},
                    {"server", is_cdn ? "cdn" : "hub"},
                    {"method", request.method},
                    {"path", request.target.substr(0, mark)},
                    {"query", mark == std::string::npos ? "" : request.target.substr(mark + 1)},
                    {"headers", std::move(headers)},
                    {"body", request.body.substr(0, max_logged_body)},
                    {"status", status}});
    if (log_.size() > max_log_records) {
      log_.pop_front();
    }
  }

  net::Response answer(const net::Request &request, bool is_cdn) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    const std::optional<net::Target> target = net::split_target(request.target);
    if (!target) {
      return {400, {{"Content-Type", "text/plain; charset=utf-8"}}, "Bad Request"};
    }
    if (path.starts_with(control_prefix) && from_loopback(request)) {
      return control(request, *target, path.substr(control_prefix.size()));
    }
    net::Response response = answer_or_fail(request, *target, path, is_cdn);
    record(request, is_cdn, response.status);
    return response;
  }

  net::Response answer_or_fail(const net::Request &request, const net::Target &target,
                               const std::string &path, bool is_cdn) {
    const std::shared_ptr<const ReplayShown> now_shown = shown();
    const std::string host = host_of(request);
    ReplayCall call = {
        *now_shown,           request, target, path, "http://" + host, options_.cdn_origin, 0,
        options_.code_on_401, is_cdn};
    call.now = std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
    if (call.cdn_origin.empty()) {
      const std::scoped_lock lock(mutex_);
      call.cdn_origin =
          cdn_port_ == 0 ? call.origin : fmt::format("http://{}:{}", without_port(host), cdn_port_);
    }
    if (const std::optional<Fault> fault = take_fault(request)) {
      if (fault->delay_seconds > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(fault->delay_seconds));
      }
      if (fault->close) {
        return {0, {}, ""};
      }
      if (fault->status != 0) {
        return text_answer(call, fault->status, fault->body, fault->headers);
      }
    }
    if (is_cdn || path.starts_with("/xet-bridge-us/")) {
      return answer_blob(call);
    }
    return path.starts_with("/api/") ? answer_api(call) : answer_file(call);
  }

  net::Response control(const net::Request &request, const net::Target &target,
                        const std::string &verb) {
    if (verb == "log") {
      const std::scoped_lock lock(mutex_);
      return plain_json(OrderedJson(log_));
    }
    if (request.method != "POST") {
      return plain_json({{"error", "POST mark, fault, reload or reveal; GET log"}}, 405);
    }
    if (verb == "mark") {
      const std::string *label = net::find_query(target, "label");
      const std::scoped_lock lock(mutex_);
      label_ = label != nullptr ? *label : "";
    } else if (verb == "fault") {
      return set_fault(request.body);
    } else if (verb == "reload") {
      return reload();
    } else if (verb == "reveal") {
      const std::string *all = net::find_query(target, "all");
      std::optional<std::string> name = reveal_next();
      while (all != nullptr && name && revealed() < timeline_size()) {
        name = reveal_next();
      }
      return plain_json({{"repo", name ? OrderedJson(*name) : OrderedJson()},
                         {"revealed", revealed()},
                         {"of", timeline_size()}});
    } else {
      return plain_json({{"error", "unknown control"}}, 404);
    }
    return plain_json({{"ok", true}});
  }

  net::Response set_fault(const std::string &body) {
    const Result<Json> json = parse_json(body.empty() ? "{}" : body);
    if (!json || !json->is_object()) {
      return plain_json({{"error", "a fault is a JSON object"}}, 400);
    }
    const bool clear = json->contains("clear") && (*json)["clear"] == true;
    Result<Fault> fault = clear ? Result<Fault>(Fault()) : read_fault(*json);
    if (!fault) {
      return plain_json({{"error", fault.error().message}}, 400);
    }
    const std::scoped_lock lock(mutex_);
    if (clear) {
      faults_.clear();
    } else {
      std::erase_if(faults_, [](const Fault &old) { return old.times == 0; });
      faults_.push_back(std::move(*fault));
    }
    return plain_json({{"ok", true}});
  }

  /// Reads the folder again; what was wholly shown stays wholly shown.
  net::Response reload() {
    const std::scoped_lock stepping(stepping_);
    Result<std::shared_ptr<const ReplayWorld>> world =
        read_replay_world(folder_, {options_.lfs_threshold});
    if (!world) {
      return plain_json({{"error", world.error().message}}, 500);
    }
    const std::shared_ptr<const ReplayShown> before = shown();
    const bool all = before->steps == before->world->timeline.size();
    const std::size_t steps = all ? (*world)->timeline.size() : before->steps;
    auto after = std::make_shared<const ReplayShown>(show(*world, steps));
    const std::scoped_lock lock(mutex_);
    shown_ = std::move(after);
    return plain_json({{"ok", true}});
  }

  const std::string folder_;
  const ReplayOptions options_;
  std::mutex stepping_; ///< one step or reload at a time; taken before mutex_
  mutable std::mutex mutex_;
  std::shared_ptr<const ReplayShown> shown_;
  std::vector<Fault> faults_;
  std::string label_;
  std::deque<OrderedJson> log_;
  std::uint16_t cdn_port_ = 0;
};

} // namespace

Result<std::unique_ptr<ReplayHub>> ReplayHub::open(const std::string &folder,
                                                   const ReplayOptions &options) {
  Result<std::shared_ptr<const ReplayWorld>> world =
      read_replay_world(folder, {options.lfs_threshold});
  if (!world) {
    return std::unexpected(world.error());
  }
  const std::size_t steps = options.revealed.value_or((*world)->timeline.size());
  return std::make_unique<Hub>(folder, options, show(std::move(*world), steps));
}

} // namespace headwater::hub

#pragma once

#include "daemon/service/config.hpp"
#include "schemas/result.hpp"
#include "schemas/time.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace headwater::store {
class Store;
}
namespace headwater::http {
struct SiteOptions;
}

namespace headwater::service {

/// What a daemon is made of besides its config.
struct DaemonOptions {
  Config config;
  std::string token = {};
  std::function<TimePoint()> clock; ///< the time that records are dated with
  std::string hub_origin =
      {}; ///< where the repos live for readers, part of every id; "" = the endpoint asked
  int inherited_public_socket = -1;
  bool control_socket = true;
  bool admin_listener = true;
};

/// The daemon: store, hub client, tracker and listeners on threads of their own. Destroying it
/// stops it in order: listeners, tracker (the transaction in hand ends), store.
class Daemon {
public:
  /// Opens the store, listens, starts tracking; ready when it returns. Errors: bad_input (address,
  /// folder, newer database), store.
  static Result<std::unique_ptr<Daemon>> start(DaemonOptions options);
  virtual ~Daemon() = default;

  virtual std::uint16_t public_port() const = 0;
  /// Absolute address of the public pages, no trailing slash.
  virtual const std::string &public_url() const = 0;
  virtual store::Store &store() = 0;
  virtual const http::SiteOptions &site_options() const = 0;
  /// Takes the new config's watches, intervals and rules; what needs a restart is named in the log.
  virtual Result<void> reload(const Config &config) = 0;
  /// Blocks until every watched repo is caught up with what upstream shows now.
  virtual void wait_until_caught_up() = 0;
  /// Looks at a watched repo at once; false when none of that name is watched.
  virtual bool poll_now(const std::string &repo) = 0;
  /// Looks at every watched repo at once.
  virtual void poll_all_now() = 0;
  /// Lets listeners of /events know that the daemon is there; call it every few seconds.
  virtual void keep_alive() = 0;
  /// Ends within `grace`; idempotent.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

/// `headwater serve`: runs until SIGTERM or SIGINT, reloads `config_path` on SIGHUP. Gives the exit
/// code.
int serve(const std::string &config_path);

} // namespace headwater::service

#include "daemon/service/daemon.hpp"
#include "daemon/service/log.hpp"
#include "daemon/service/notify.hpp"
#include "daemon/service/stop_signal.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

namespace headwater::service {
namespace {

constexpr const char *default_config = "/etc/headwater/headwater.toml";
constexpr std::chrono::seconds stop_grace{4};

TimePoint system_time() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

Result<Config> read_config(const std::string &path) {
  Config config;
  std::error_code ignored;
  if (!path.empty() || std::filesystem::exists(default_config, ignored)) {
    Result<Config> loaded = load_config(path.empty() ? default_config : path);
    if (!loaded)
      return loaded;
    config = std::move(*loaded);
  }
  apply_environment(config, process_environment());
  return config;
}

int complain(const Error &error) {
  std::fprintf(stderr, "headwater: %s\n", error.message.c_str());
  return error.code == Errc::bad_input ? 2 : 3;
}

void reload(Daemon &daemon, const std::string &config_path) {
  notify_reloading();
  const Result<Config> config = read_config(config_path);
  Result<void> done = config ? daemon.reload(*config) : std::unexpected(config.error());
  if (done)
    log(LogLevel::info, "the config was read again");
  else
    log(LogLevel::error, "the config was not taken, the old one stays: " + done.error().message);
  notify_ready("serving " + daemon.public_url());
}

} // namespace

int serve(const std::string &config_path) {
  StopSignal signals;
  Result<Config> config = read_config(config_path);
  if (!config)
    return complain(config.error());
  const Result<std::string> token = find_token(*config, process_environment());
  if (!token)
    return complain(token.error());
  start_log(config->log_level);

  DaemonOptions options;
  options.config = std::move(*config);
  options.token = *token;
  options.clock = system_time;
  if (inherited_socket_count() > 0)
    options.inherited_public_socket = inherited_socket(0);
  Result<std::unique_ptr<Daemon>> daemon = Daemon::start(std::move(options));
  if (!daemon)
    return complain(daemon.error());
  log(LogLevel::info, "serving " + (*daemon)->public_url());
  notify_ready("serving " + (*daemon)->public_url());

  const auto watchdog = std::chrono::duration_cast<std::chrono::milliseconds>(watchdog_interval());
  const std::chrono::milliseconds beat =
      watchdog.count() > 0 ? watchdog : std::chrono::milliseconds(10'000);
  while (!signals.wait_for(beat)) {
    notify_alive();
    (*daemon)->keep_alive();
    if (signals.take_reload())
      reload(**daemon, config_path);
  }
  log(LogLevel::info, "stopping");
  notify_stopping();
  (*daemon)->stop(stop_grace);
  return 0;
}

} // namespace headwater::service

#include "daemon/cli/files.hpp"

#include "daemon/http/export.hpp"
#include "daemon/service/config.hpp"
#include "store/store.hpp"

#include <filesystem>
#include <ostream>

#include <fmt/format.h>

namespace headwater::cli {
namespace {

constexpr const char *default_config = "/etc/headwater/headwater.toml";

Result<service::Config> read_config(const std::string &path) {
  service::Config config;
  std::error_code ignored;
  if (!path.empty() || std::filesystem::exists(default_config, ignored)) {
    Result<service::Config> loaded = service::load_config(path.empty() ? default_config : path);
    if (!loaded)
      return loaded;
    config = std::move(*loaded);
  }
  service::apply_environment(config, service::process_environment());
  return config;
}

int complain(const Error &error, std::ostream &err) {
  err << "headwater: " << error.message << "\n";
  return error.code == Errc::bad_input ? exit_bad_input : exit_upstream;
}

TimePoint now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

/// The store of a config; one that was never made is an error, not an empty one.
Result<std::unique_ptr<store::Store>> open_store(const service::Config &config) {
  const std::string path = (std::filesystem::path(config.state_folder) / "headwater.db").string();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return fail(
        Errc::bad_input,
        fmt::format("{}: there is no database: has `headwater serve` run with this config?", path));
  // Beside a daemon that may be running: nothing of its database is changed.
  return store::Store::open({.path = path, .clock = now, .read_only = true});
}

} // namespace

int run_export(const ExportCommand &command, std::ostream &out, std::ostream &err) {
  const Result<service::Config> config = read_config(command.config_path);
  if (!config)
    return complain(config.error(), err);
  http::SiteOptions site;
  site.public_url = config->public_url.empty() ? "http://" + service::to_string(config->listen)
                                               : config->public_url;
  site.hub_origin = config->hub_endpoint;
  site.title = config->title;
  site.clock = now;
  if (!command.clock.empty()) {
    const Result<TimePoint> time = parse_time(command.clock);
    if (!time)
      return complain({Errc::bad_input, "--clock: " + time.error().message}, err);
    site.clock = [time = *time] { return time; };
  }
  const Result<std::unique_ptr<store::Store>> store = open_store(*config);
  if (!store)
    return complain(store.error(), err);
  const Result<http::ExportReport> report =
      http::export_site(http::PublicStore(**store), site, command.folder);
  if (!report)
    return complain(report.error(), err);
  out << fmt::format("published {} files in {}\n", report->files, command.folder);
  return exit_fine;
}

int run_config(const ConfigCommand &command, std::ostream &out, std::ostream &err) {
  const Result<service::Config> config = read_config(command.config_path);
  if (!config)
    return complain(config.error(), err);
  if (command.show)
    out << service::show_config(*config);
  else
    out << fmt::format("fine: {} watched\n", config->watches.size());
  return exit_fine;
}

int run_backup(const BackupCommand &command, std::ostream &out, std::ostream &err) {
  const Result<service::Config> config = read_config(command.config_path);
  if (!config)
    return complain(config.error(), err);
  const Result<std::unique_ptr<store::Store>> store = open_store(*config);
  if (!store)
    return complain(store.error(), err);
  if (const Result<void> copied = (*store)->copy_to(command.file); !copied)
    return complain(copied.error(), err);
  out << "copied to " << command.file << "\n";
  return exit_fine;
}

} // namespace headwater::cli

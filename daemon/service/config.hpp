#pragma once

#include "schemas/change.hpp"
#include "schemas/result.hpp"
#include "store/records.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::service {

/// Where a listener listens: "127.0.0.1:8484", "[::1]:0".
struct ListenAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  friend bool operator==(const ListenAddress &, const ListenAddress &) = default;
};

/// `[[rule]]`: ignores changes or sets their level, by repo, kind and subject ("*" matches any run
/// of characters).
struct Rule {
  std::string repo = "*";
  std::string kind = "*";
  std::string subject = "*";
  bool ignore = false;
  std::optional<Level> level = {};
  friend bool operator==(const Rule &, const Rule &) = default;
};

/// Everything a config file may say; the defaults are what an empty file means.
struct Config {
  std::string hub_endpoint = "https://huggingface.co";
  std::string hub_token_file = {};
  double hub_requests_per_second = 0; ///< 0: only the hub's own published limits

  std::string state_folder = "/var/lib/headwater";

  ListenAddress listen{"127.0.0.1", 8484};
  ListenAddress admin_listen{"127.0.0.1", 8485};
  std::vector<std::string> trusted_proxies = {};
  std::uint64_t cache_bytes = 32U << 20U;

  std::string public_url = {}; ///< no trailing slash; "" = http://LISTEN
  std::string title = "Headwater";

  std::chrono::seconds poll_interval{600};
  int confirm = 3;
  std::chrono::seconds confirm_span{1800};
  std::string history = "20";
  int concurrency = 4;

  std::string advisory_prefix = "x_HEADWATER";
  std::chrono::seconds settle{0}; ///< before an advisory is public; security and access never wait
  std::string socket_path = "/run/headwater/control.sock";
  std::string log_level = "info";
  std::vector<store::Watch> watches = {};
  std::vector<Rule> rules = {};
  std::vector<std::string> given =
      {}; ///< keys that the file names ("hub.endpoint"): the environment does not override them
  friend bool operator==(const Config &, const Config &) = default;
};

/// Reads TOML. `source` names the text in errors. Errors: bad_input, one line with source, line,
/// key and the mend; an unknown key names the nearest known one.
Result<Config> parse_config(std::string_view text, std::string_view source);
/// parse_config of a file. Errors: bad_input also when it cannot be read.
Result<Config> load_config(const std::string &path);

/// A variable's value, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string &name)>;
/// The process environment.
Environment process_environment();

/// HF_ENDPOINT, HEADWATER_SOCKET and systemd's STATE_DIRECTORY in place of what the file does not
/// say.
void apply_environment(Config &config, const Environment &environment);

/// The hub token: systemd credential "hub-token", else the config's token_file, else HF_TOKEN; ""
/// when there is none. Errors: bad_input when a named file cannot be read.
Result<std::string> find_token(const Config &config, const Environment &environment);

/// The config as TOML with every key, defaults included, the token never.
std::string show_config(const Config &config);

/// "90", "90s", "10m", "2h", "1d" as seconds. Errors: bad_input.
Result<std::chrono::seconds> parse_duration(std::string_view text);
/// "host:port", "[v6]:port". Errors: bad_input.
Result<ListenAddress> parse_listen(std::string_view text);
std::string to_string(const ListenAddress &address);

} // namespace headwater::service

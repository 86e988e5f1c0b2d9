#pragma once

#include "daemon/net/message.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headwater::store {
class Store;
}

namespace headwater::http {

/// One sample for /metrics. Labels never hold repo names.
struct Metric {
  std::string name; ///< "headwater_polls_total"
  std::string help;
  bool counter = false; ///< else a gauge
  std::vector<std::pair<std::string, std::string>> labels = {};
  double value = 0;
};

struct AdminOptions {
  /// Why the daemon is not ready, "" when it is.
  std::function<std::string()> not_ready = {};
  /// Figures of the running daemon (polls, requests upstream, waiting), beside those that the store
  /// gives.
  std::function<std::vector<Metric>()> metrics = {};
};

/// The admin listener's handler: /metrics (Prometheus text format 0.0.4), /readyz, /healthz.
net::Handler make_admin(store::Store &store, AdminOptions options);

/// Samples as Prometheus text, grouped by name.
std::string prometheus_text(const std::vector<Metric> &metrics);

} // namespace headwater::http

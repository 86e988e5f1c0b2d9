#pragma once

#include "daemon/http/event_hub.hpp"
#include "daemon/net/message.hpp"
#include "schemas/time.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headwater::http {

class PublicStore;

/// What the public site is told about itself.
struct SiteOptions {
  std::string public_url; ///< absolute, no trailing slash; the only source of absolute URLs
  std::string hub_origin = "https://huggingface.co"; ///< where repos live, no trailing slash
  std::string title = "Headwater";
  std::vector<std::string> trusted_proxies = {}; ///< addresses that may name the client's
  std::size_t cache_bytes = 32U << 20U;          ///< bound of the response cache; 0 = no cache
  std::function<TimePoint()> clock = {};         ///< for ages in badges; empty = the system's
  std::shared_ptr<EventHub> events = {};         ///< empty: /events answers 404
  net::Handler plan_handler = {};                ///< POST /api/v1/plan; empty = 404
  net::Handler hook_handler = {};                ///< POST /hooks/huggingface; empty = 404
};

/// The public listener's handler: every path of the table in routes.cpp, conditional requests,
/// gzip, HEAD, security headers. Reads from `store` alone, so no anonymous request causes one
/// upstream, and nothing that is not public is at hand. What `store` reads must outlive it.
net::Handler make_site(const PublicStore &store, SiteOptions options);

} // namespace headwater::http

#pragma once

#include "daemon/http/document.hpp"
#include "daemon/http/lookup.hpp"
#include "daemon/http/site.hpp"
#include "daemon/net/message.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::http {

/// What a route's name stands for, which says what its placeholders run over in an export.
enum class Scope : std::uint8_t { site, repo, revision, advisory };

/// What a route answers from.
struct RouteRequest {
  const PublicStore &store;
  const SiteOptions &options;
  RecordView &records;
  RepoView &repos;
  TimePoint now;
  std::map<std::string, std::string> names = {}; ///< placeholders of the path: org, name, sha, id
  std::map<std::string, std::string> query = {}; ///< only those keys that the route takes
};

/// Nothing = there is no such document (404).
using Render = Result<std::optional<Document>> (*)(const RouteRequest &);

/// A row of the table of routes: one document each.
struct Route {
  std::string_view path; ///< "/models/{org}/{name}/latest.json"
  Scope scope;
  bool ages; ///< what it says changes with the time of day
  Render render;
  std::string_view type;
  std::string_view summary;                 ///< for /openapi.json
  std::vector<std::string_view> query = {}; ///< keys that change the document
};
std::span<const Route> routes();

/// Placeholders of `path` when it has the route's form. `segments` are decoded.
std::optional<std::map<std::string, std::string>> match(std::string_view path,
                                                        const net::Target &target);
/// The path with its placeholders put in, percent-encoded.
std::string expand(std::string_view path, const std::map<std::string, std::string> &names);

/// /openapi.json: the routes, and the paths that take a POST.
std::string openapi(const SiteOptions &options);

} // namespace headwater::http

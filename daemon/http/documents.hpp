#pragma once

#include "daemon/http/routes.hpp"

namespace headwater::http {

// One function a document, as the table of routes names them.
Result<std::optional<Document>> front_page(const RouteRequest &request);
Result<std::optional<Document>> front_twin(const RouteRequest &request);
Result<std::optional<Document>> front_md(const RouteRequest &request);
Result<std::optional<Document>> repo_page(const RouteRequest &request);
Result<std::optional<Document>> repo_twin(const RouteRequest &request);
Result<std::optional<Document>> repo_md(const RouteRequest &request);
Result<std::optional<Document>> changes_page(const RouteRequest &request);
Result<std::optional<Document>> changes_twin(const RouteRequest &request);
Result<std::optional<Document>> revision_page(const RouteRequest &request);
Result<std::optional<Document>> revision_twin(const RouteRequest &request);
Result<std::optional<Document>> latest(const RouteRequest &request);
Result<std::optional<Document>> site_atom(const RouteRequest &request);
Result<std::optional<Document>> site_json_feed(const RouteRequest &request);
Result<std::optional<Document>> repo_atom(const RouteRequest &request);
Result<std::optional<Document>> repo_json_feed(const RouteRequest &request);
Result<std::optional<Document>> site_map(const RouteRequest &request);
Result<std::optional<Document>> api_description(const RouteRequest &request);
Result<std::optional<Document>> health(const RouteRequest &request);

Result<std::optional<Document>> badge_svg_image(const RouteRequest &request);
Result<std::optional<Document>> badge_endpoint(const RouteRequest &request);

Result<std::optional<Document>> osv_record(const RouteRequest &request);
Result<std::optional<Document>> osv_all_json(const RouteRequest &request);
Result<std::optional<Document>> osv_all_zip(const RouteRequest &request);
Result<std::optional<Document>> osv_csv(const RouteRequest &request);
Result<std::optional<Document>> osv_bucket_csv(const RouteRequest &request);
Result<std::optional<Document>> osv_ecosystem_names(const RouteRequest &request);

} // namespace headwater::http

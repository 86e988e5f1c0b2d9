#pragma once

#include "daemon/http/public_store.hpp"
#include "daemon/http/site.hpp"
#include "schemas/result.hpp"

#include <cstdint>
#include <string>

namespace headwater::http {

struct ExportReport {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

/// Writes every canonical path of the site as a file under `folder` (HTML as index.html), through
/// the renderers that the listener uses. The same store, options and clock give the same bytes.
/// Files of an earlier export that are no longer published stay. Errors: store, bad_input when the
/// folder cannot be written.
Result<ExportReport> export_site(const PublicStore &store, const SiteOptions &options,
                                 const std::string &folder);

} // namespace headwater::http

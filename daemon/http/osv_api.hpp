#pragma once

#include "daemon/http/lookup.hpp"
#include "daemon/net/message.hpp"

#include <string_view>

namespace headwater::http {

/// POST /v1/query: {"commit"} or {"version","package"} -> {"vulns":[records],"next_page_token"?};
/// {} for none. Withdrawn records are not answered here. 400 as api.osv.dev gives it for what is
/// not well formed.
net::Response osv_query(const PublicRecords &records, std::string_view body);

/// POST /v1/querybatch: {"queries":[...]}, at most 1,000 ->
/// {"results":[{"vulns":[{"id","modified"}]}...]} in order.
net::Response osv_query_batch(const PublicRecords &records, std::string_view body);

/// The answer to an id that is not known: {"code":5,"message":...}.
net::Response osv_not_found();

} // namespace headwater::http

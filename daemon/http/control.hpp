#pragma once

#include "daemon/net/message.hpp"
#include "schemas/result.hpp"
#include "store/records.hpp"

#include <functional>
#include <string>

namespace headwater::store {
class Store;
}

namespace headwater::http {

/// What the control socket can make the daemon do; an empty function answers 501.
struct ControlActions {
  std::function<Result<void>(const store::Watch &)> add_watch;
  std::function<Result<void>(const std::string &repo, const std::string &branch)> remove_watch;
  std::function<Result<void>(const std::string &repo)> check_now; ///< brings the next poll forward
  /// Erases all that is known of a repo; false when nothing was.
  std::function<Result<bool>(const std::string &repo)> forget = {};
  /// What calls upstream are waiting out now, in a sentence; "" when they are answered.
  std::function<std::string()> trouble = {};
};

/// The control socket's handler, JSON over HTTP. Repos that are not public are told here.
///   GET    /watches {"watches":[{"repo","branch","declared","publish","history"}]} POST   /watches
///   {"repo","branch"?,"publish"?,"history"?}     201 {"repo","branch"} DELETE
///   /watches?repo=R[&branch=B]             {"repo","branch"}; 404 when it is not watched, 409 when
///   the config declares it GET    /status
///   {"repos":[{"repo","branch","state","note","head","level","open_advisories",
///                                                  "revisions","last_polled","last_changed","public","watched"}],
///                                                  "trouble"?: what calls upstream wait out now}
///   GET    /revisions?repo=R[&branch=B]
///   {"repo","branch","revisions":[{"sha","date","title","status","note"?,
///                                                  "on_branch","level","changes"}]} newest first
///   GET    /changes?repo=R[&branch=B][&impact=I,I][&level=L][&limit=N]
///   {"repo","branch","changes":[delta...]} newest first GET
///   /advisories[?repo=R][&impact=I,I][&level=L][&state=S]
///   {"advisories":[{"id","repo","level","impact","state",
///                                                  "summary","introduced","published","modified","url"?}]}
///   GET    /check?repo=R&pin=P[&branch=B]
///   {"repo","pin","status","head","behind","impact","level","advisories","affected_by"} POST
///   /check-now?repo=R                      202 {"repo"}
///   DELETE /repos?repo=R                   {"repo"}; erased. 404 when nothing is known of it, 409
///   when the config declares it
/// An error is {"error": code word, "message": sentence} with 400, 404, 409, 501 or 503.
net::Handler make_control(store::Store &store, std::string public_url, ControlActions actions);

} // namespace headwater::http

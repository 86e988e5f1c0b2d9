#include "daemon/http/admin.hpp"

#include "daemon/http/document.hpp"
#include "schemas/version.hpp"
#include "store/store.hpp"

#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace headwater::http {
namespace {

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"')
      out.push_back('\\');
    if (c == '\n')
      out += "\\n";
    else
      out.push_back(c);
  }
  return out;
}

std::string sample(const Metric &metric) {
  std::string line = metric.name;
  char mark = '{';
  for (const auto &[key, value] : metric.labels) {
    line += fmt::format("{}{}=\"{}\"", mark, key, label_value(value));
    mark = ',';
  }
  if (!metric.labels.empty())
    line += "}";
  return line + fmt::format(" {}\n", metric.value);
}

/// What the store alone can tell.
Result<std::vector<Metric>> store_metrics(store::Store &store) {
  const Result<std::vector<store::Repo>> repos = store.repos();
  if (!repos)
    return std::unexpected(repos.error());
  std::map<std::string, double> by_state;
  std::map<std::string, double> by_level;
  double revisions = 0;
  for (const store::RepoState state :
       {store::RepoState::pending, store::RepoState::ok, store::RepoState::gated,
        store::RepoState::gone, store::RepoState::disabled, store::RepoState::unreadable,
        store::RepoState::waiting, store::RepoState::not_found})
    by_state[std::string(store::to_string(state))] = 0;
  for (const Level level : {Level::medium, Level::high, Level::critical})
    by_level[std::string(to_string(level))] = 0;
  for (const store::Repo &repo : *repos) {
    by_state[std::string(store::to_string(repo.state))] += 1;
    if (repo.open_advisories > 0)
      by_level[std::string(to_string(repo.open_level))] += 1;
    revisions += static_cast<double>(repo.revision_count);
  }
  std::vector<Metric> metrics;
  for (const auto &[state, count] : by_state)
    metrics.push_back(
        {"headwater_repos", "Followed repos by state.", false, {{"state", state}}, count});
  for (const auto &[level, count] : by_level)
    metrics.push_back({"headwater_repos_with_open_advisories",
                       "Repos with open advisories, by the highest level.",
                       false,
                       {{"level", level}},
                       count});
  metrics.push_back({"headwater_revisions", "Revisions read and kept.", false, {}, revisions});
  metrics.push_back({"headwater_store_generation",
                     "Committed writes that changed what is served.",
                     true,
                     {},
                     static_cast<double>(store.generation())});
  return metrics;
}

net::Response text_answer(int status, std::string type, std::string body) {
  net::Response response;
  response.status = status;
  response.headers = {{"Content-Type", std::move(type)}, {"Cache-Control", "no-store"}};
  response.body = std::move(body);
  return response;
}

} // namespace

std::string prometheus_text(const std::vector<Metric> &metrics) {
  std::string text;
  std::set<std::string> told;
  for (const Metric &first : metrics) {
    if (!told.insert(first.name).second)
      continue;
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", first.name, first.help, first.name,
                        first.counter ? "counter" : "gauge");
    for (const Metric &metric : metrics)
      if (metric.name == first.name)
        text += sample(metric);
  }
  return text;
}

net::Handler make_admin(store::Store &store, AdminOptions options) {
  return [&store, options = std::move(options)](const net::Request &request) {
    if (request.method != "GET" && request.method != "HEAD")
      return json_error(405, "method_not_allowed", "This listener is only read.");
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path == "/healthz")
      return json_answer(200, "{\"status\":\"ok\"}\n");
    if (path == "/readyz") {
      std::string reason = options.not_ready ? options.not_ready() : std::string();
      // A page that cannot be read is no state to be ready in.
      if (reason.empty())
        reason = store.damage();
      return reason.empty() ? json_answer(200, "{\"status\":\"ready\"}\n")
                            : json_error(503, "not_ready", reason);
    }
    if (path == "/metrics") {
      Result<std::vector<Metric>> metrics = store_metrics(store);
      if (!metrics)
        return json_error(503, "unavailable", metrics.error().message);
      metrics->push_back({"headwater_build_info",
                          "The running version.",
                          false,
                          {{"version", std::string(version())}},
                          1});
      if (options.metrics)
        for (Metric &metric : options.metrics())
          metrics->push_back(std::move(metric));
      return text_answer(200, "text/plain; version=0.0.4; charset=utf-8",
                         prometheus_text(*metrics));
    }
    return json_error(404, "not_found", "Here are /metrics, /readyz and /healthz.");
  };
}

} // namespace headwater::http

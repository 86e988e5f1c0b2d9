#include "daemon/http/routes.hpp"

#include "daemon/http/documents.hpp"
#include "schemas/json.hpp"
#include "schemas/version.hpp"

#include <nlohmann/json.hpp>

namespace headwater::http {
namespace {

constexpr std::string_view html = "text/html; charset=utf-8";
constexpr std::string_view markdown = "text/markdown; charset=utf-8";
constexpr std::string_view json = "application/json";
constexpr std::string_view atom = "application/atom+xml";
constexpr std::string_view feed = "application/feed+json";

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (path.starts_with('/'))
    path.remove_prefix(1);
  while (!path.empty()) {
    const auto slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return parts;
}

/// "{name}.svg" against "tiny.svg": a placeholder and what must follow it.
bool match_segment(std::string_view pattern, const std::string &segment,
                   std::map<std::string, std::string> &names) {
  if (!pattern.starts_with('{'))
    return pattern == segment;
  const auto end = pattern.find('}');
  const std::string_view suffix = pattern.substr(end + 1);
  if (segment.size() <= suffix.size() || !segment.ends_with(suffix))
    return false;
  names[std::string(pattern.substr(1, end - 1))] =
      segment.substr(0, segment.size() - suffix.size());
  return true;
}

OrderedJson operation(std::string_view summary, std::string_view path,
                      const std::vector<std::string_view> &query) {
  OrderedJson operation;
  operation["summary"] = summary;
  OrderedJson parameters = OrderedJson::array();
  for (auto at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1))
    parameters.push_back({{"name", path.substr(at + 1, path.find('}', at) - at - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  for (const std::string_view key : query)
    parameters.push_back({{"name", key}, {"in", "query"}, {"schema", {{"type", "string"}}}});
  if (!parameters.empty())
    operation["parameters"] = std::move(parameters);
  return operation;
}

struct PostRoute {
  std::string_view path;
  std::string_view summary;
};
constexpr PostRoute posts[] = {
    {"/v1/query", "OSV query by commit, by package and version, or by purl"},
    {"/v1/querybatch", "Up to 1,000 OSV queries; ids and times alone"},
    {"/api/v1/plan",
     "What a config.json, or a watched repo's revision, takes to fine-tune and to serve"},
};

} // namespace

std::span<const Route> routes() {
  // Literal names stand before placeholders that they would match.
  static const std::vector<Route> table{
      {"/", Scope::site, false, front_page, html, "All followed repos and the latest changes"},
      {"/index.json", Scope::site, false, front_twin, json, "All followed repos"},
      {"/index.md", Scope::site, false, front_md, markdown, "All followed repos, as Markdown"},
      {"/feed.atom", Scope::site, false, site_atom, atom, "Advisories of all repos"},
      {"/feed.json", Scope::site, false, site_json_feed, feed, "Advisories of all repos"},
      {"/sitemap.xml", Scope::site, false, site_map, "application/xml", "Addresses of the pages"},
      {"/openapi.json", Scope::site, false, api_description, json, "This description"},
      {"/healthz", Scope::site, false, health, json, "The process answers"},
      {"/models/{org}/{name}/", Scope::repo, false, repo_page, html,
       "One repo: what moved, and what it takes"},
      {"/models/{org}/{name}/index.md", Scope::repo, false, repo_md, markdown,
       "The same, as Markdown"},
      {"/models/{org}/{name}/index.json", Scope::repo, false, repo_twin, json, "The same, as JSON"},
      {"/models/{org}/{name}/latest.json", Scope::repo, false, latest, json,
       "The head, for version checkers"},
      {"/models/{org}/{name}/feed.atom", Scope::repo, false, repo_atom, atom,
       "Advisories of one repo"},
      {"/models/{org}/{name}/feed.json", Scope::repo, false, repo_json_feed, feed,
       "Advisories of one repo"},
      {"/models/{org}/{name}/changes/", Scope::repo, false, changes_page, html,
       "All changes of one repo"},
      {"/models/{org}/{name}/changes/index.json", Scope::repo, false, changes_twin, json,
       "All changes of one repo"},
      {"/models/{org}/{name}/revisions/{sha}/", Scope::revision, false, revision_page, html,
       "One revision: its changes and its plan"},
      {"/models/{org}/{name}/revisions/{sha}/index.json", Scope::revision, false, revision_twin,
       json, "The same, as JSON"},
      {"/badges/{org}/{name}.svg",
       Scope::repo,
       true,
       badge_svg_image,
       "image/svg+xml; charset=utf-8",
       "Badge of a repo, or of how far a pin is behind",
       {"branch", "pin", "style"}},
      {"/badges/{org}/{name}.json",
       Scope::repo,
       true,
       badge_endpoint,
       json,
       "The same, for shields.io's endpoint badge",
       {"branch", "pin"}},
      {"/osv/all.json", Scope::site, false, osv_all_json, json, "Ids and times of all records"},
      {"/osv/all.zip", Scope::site, false, osv_all_zip, "application/zip", "All records"},
      {"/osv/modified_id.csv", Scope::site, false, osv_bucket_csv, "text/csv; charset=utf-8",
       "Times and ids of all records, newest first"},
      {"/osv/ecosystems.txt", Scope::site, false, osv_ecosystem_names, "text/plain; charset=utf-8",
       "Ecosystems in use"},
      {"/osv/GIT/all.zip", Scope::site, false, osv_all_zip, "application/zip",
       "All records of ecosystem GIT"},
      {"/osv/GIT/modified_id.csv", Scope::site, false, osv_csv, "text/csv; charset=utf-8",
       "Times and ids of the records of ecosystem GIT, newest first"},
      {"/osv/GIT/{id}.json", Scope::advisory, false, osv_record, json, "One OSV record"},
      {"/osv/{id}.json", Scope::advisory, false, osv_record, json, "One OSV record"},
      {"/v1/vulns/{id}", Scope::advisory, false, osv_record, json, "One OSV record"},
  };
  return table;
}

std::optional<std::map<std::string, std::string>> match(std::string_view path,
                                                        const net::Target &target) {
  const std::vector<std::string_view> pattern = split(path);
  if (pattern.size() != target.segments.size())
    return std::nullopt;
  if (!pattern.empty() && path.ends_with('/') != target.trailing_slash)
    return std::nullopt;
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (!match_segment(pattern[i], target.segments[i], names))
      return std::nullopt;
  return names;
}

std::string expand(std::string_view path, const std::map<std::string, std::string> &names) {
  std::string out;
  while (!path.empty()) {
    const auto open = path.find('{');
    out += path.substr(0, open);
    if (open == std::string_view::npos)
      break;
    const auto close = path.find('}', open);
    const auto name = names.find(std::string(path.substr(open + 1, close - open - 1)));
    if (name != names.end())
      out += net::encode_segment(name->second);
    path = path.substr(close + 1);
  }
  return out;
}

std::string openapi(const SiteOptions &options) {
  OrderedJson document;
  document["openapi"] = "3.1.0";
  document["info"] = {{"title", options.title}, {"version", version()}};
  document["servers"] = OrderedJson::array({{{"url", options.public_url}}});
  OrderedJson &paths = document["paths"];
  for (const Route &route : routes()) {
    OrderedJson get = operation(route.summary, route.path, route.query);
    get["responses"]["200"] = {{"description", "The document"},
                               {"content", {{std::string(route.type), OrderedJson::object()}}}};
    get["responses"]["304"] = {{"description", "It has not changed"}};
    if (route.scope != Scope::site && !route.ages)
      get["responses"]["404"] = {{"description", "Not known here, or not public"}};
    paths[std::string(route.path)]["get"] = std::move(get);
  }
  paths["/events"]["get"] = {{"summary", "Server-sent events: one for each delta that is stored"},
                             {"responses", {{"200", {{"description", "The stream"}}}}}};
  for (const PostRoute &route : posts) {
    OrderedJson post = operation(route.summary, route.path, {});
    post["requestBody"]["content"]["application/json"] = OrderedJson::object();
    post["responses"]["200"] = {{"description", "The answer"}};
    post["responses"]["400"] = {
        {"description", "The request is not well formed; the answer says why"}};
    paths[std::string(route.path)]["post"] = std::move(post);
  }
  return document.dump(1) + "\n";
}

} // namespace headwater::http

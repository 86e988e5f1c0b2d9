#include "daemon/http/site.hpp"

#include "daemon/http/cache.hpp"
#include "daemon/http/client_address.hpp"
#include "daemon/http/osv_api.hpp"
#include "daemon/http/public_store.hpp"
#include "daemon/http/routes.hpp"
#include "schemas/repo.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headwater::http {
namespace {

constexpr std::size_t longest_value = 128;

class Site {
public:
  Site(const PublicStore &store, SiteOptions options)
      : store_(store), options_(std::move(options)), records_(store, options_.hub_origin),
        repos_(store), cache_(options_.cache_bytes) {}

  net::Response handle(const net::Request &request) {
    if (request.target.starts_with("/v1/query") || request.target == "/api/v1/plan" ||
        request.target == "/hooks/huggingface")
      return post(request);
    if (request.method != "GET" && request.method != "HEAD") {
      net::Response refused =
          json_error(405, "method_not_allowed", "This path is only read: GET and HEAD.");
      refused.headers.emplace_back("Allow", "GET, HEAD");
      return refused;
    }
    const std::optional<net::Target> target = net::split_target(request.target);
    if (!target)
      return json_error(400, "bad_request", "The path is not well formed.");
    if (target->segments.size() == 1 && target->segments[0] == "events" &&
        options_.events != nullptr)
      return events(request);
    for (const Route &route : routes())
      if (auto names = match(route.path, *target); names)
        return answer(request, route, std::move(*names), *target);
    if (std::string to = moved(*target); !to.empty())
      return redirect(request, to);
    return missing(request, "Nothing is published at this address.");
  }

private:
  TimePoint now() const {
    return options_.clock
               ? options_.clock()
               : std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }

  net::Response post(const net::Request &request) {
    const bool query = request.target == "/v1/query";
    const bool batch = request.target == "/v1/querybatch";
    const net::Handler &handler =
        request.target == "/api/v1/plan" ? options_.plan_handler : options_.hook_handler;
    if (!query && !batch && !handler)
      return missing(request, "Nothing is published at this address.");
    if (request.method != "POST") {
      net::Response refused = json_error(405, "method_not_allowed", "This path takes a POST.");
      refused.headers.emplace_back("Allow", "POST");
      return refused;
    }
    if (!query && !batch)
      return handler(request);
    const auto view = records_.current();
    if (!view)
      return unavailable();
    return query ? osv_query(**view, request.body) : osv_query_batch(**view, request.body);
  }

  net::Response events(const net::Request &request) {
    const std::string *last = net::find_header(request.headers, "Last-Event-ID");
    net::Response response;
    response.headers = {{"Content-Type", "text/event-stream"},
                        {"Cache-Control", "no-store"},
                        {"X-Content-Type-Options", "nosniff"},
                        {"X-Accel-Buffering", "no"}};
    if (request.method == "HEAD")
      return response;
    response.events = options_.events->listen(store_, last != nullptr ? *last : std::string(),
                                              client_address(request, options_.trusted_proxies));
    if (response.events == nullptr) {
      net::Response full =
          json_error(503, "too_many_listeners", "Too many listeners: read /feed.json instead.");
      full.headers.emplace_back("Retry-After", "60");
      return full;
    }
    return response;
  }

  net::Response answer(const net::Request &request, const Route &route,
                       std::map<std::string, std::string> names, const net::Target &target) {
    RouteRequest asked{store_, options_, records_, repos_, now()};
    asked.names = std::move(names);
    std::string key = expand(route.path, asked.names);
    // Only what changes the document is part of the key: other query keys make no second entry.
    for (const std::string_view name : route.query)
      if (const std::string *value = net::find_query(target, name);
          value != nullptr && value->size() <= longest_value) {
        asked.query[std::string(name)] = *value;
        key += fmt::format("\n{}={}", name, net::encode_segment(*value));
      }
    if (route.ages) {
      asked.now = std::chrono::floor<std::chrono::minutes>(asked.now);
      key += "\n@" + format_time(asked.now);
    }
    const std::int64_t generation = store_.generation();
    const auto written_at = [this](const std::vector<std::int64_t> &about) {
      std::int64_t last = about.empty() ? store_.generation() : 0;
      for (const std::int64_t repo_id : about)
        last = std::max(last, store_.generation_of(repo_id));
      return last;
    };
    if (const auto held = cache_.find(key, written_at); held != nullptr)
      return deliver(request, *held, now());
    Result<std::optional<Document>> document = route.render(asked);
    if (!document)
      return unavailable();
    if (!*document)
      return absent(request, route, asked);
    const auto prepared = prepare(std::move(**document));
    cache_.put(key, generation, prepared);
    return deliver(request, *prepared, now());
  }

  /// A route that matched, about something that is not known.
  net::Response absent(const net::Request &request, const Route &route, const RouteRequest &asked) {
    if (route.scope == Scope::advisory)
      return route.path.starts_with("/v1/") ? osv_not_found()
                                            : missing(request, "No advisory has this id.");
    const std::string name = asked.names.at("org") + "/" + asked.names.at("name");
    if (const auto renamed = store_.find_renamed(name); renamed && *renamed) {
      const auto slash = (*renamed)->name.find('/');
      auto names = asked.names;
      names["org"] = (*renamed)->name.substr(0, slash);
      names["name"] = (*renamed)->name.substr(slash + 1);
      return redirect(request, expand(route.path, names));
    }
    if (route.scope == Scope::revision) {
      const auto repo = store_.find_repo(name, "");
      if (repo && *repo)
        return missing(request,
                       "This revision has not been read: an unknown revision is not a safe one.");
    }
    return missing(
        request,
        fmt::format("{} is not watched here. Whoever runs this can add it: headwater watch add {}",
                    plain_text(name), parse_repo_id(name) ? name : "org/name"));
  }

  /// Where a path that is spelt otherwise lies: a slash too few, `.md` and `.json` on a repo's
  /// name.
  static std::string moved(const net::Target &target) {
    const std::vector<std::string> &parts = target.segments;
    if (parts.size() < 3 || parts[0] != "models")
      return {};
    const std::string org = net::encode_segment(parts[1]);
    std::string name = parts[2];
    if (parts.size() == 3 && !target.trailing_slash) {
      for (const std::string_view suffix : {".md", ".json"})
        if (name.size() > suffix.size() && name.ends_with(suffix)) {
          name.resize(name.size() - suffix.size());
          return fmt::format("/models/{}/{}/index{}", org, net::encode_segment(name), suffix);
        }
      return fmt::format("/models/{}/{}/", org, net::encode_segment(name));
    }
    if (target.trailing_slash)
      return {};
    if (parts.size() == 4 && parts[3] == "changes")
      return fmt::format("/models/{}/{}/changes/", org, net::encode_segment(name));
    if (parts.size() == 5 && parts[3] == "revisions")
      return fmt::format("/models/{}/{}/revisions/{}/", org, net::encode_segment(name),
                         net::encode_segment(parts[4]));
    return {};
  }

  net::Response redirect(const net::Request &request, const std::string &path) {
    // Without an origin, so that Host is never repeated; with the folder that the public address
    // lies in, if any.
    const auto scheme = options_.public_url.find("://");
    const auto folder = options_.public_url.find('/', scheme == std::string::npos ? 0 : scheme + 3);
    const std::string at =
        (folder == std::string::npos ? "" : options_.public_url.substr(folder)) + path;
    Document document{.type = "text/plain; charset=utf-8", .body = "It lies at " + at + "\n"};
    document.status = 308;
    document.location = at;
    return deliver(request, *prepare(std::move(document)), now());
  }

  net::Response missing(const net::Request &request, const std::string &message) {
    const std::string *accept = net::find_header(request.headers, "Accept");
    if (accept == nullptr || accept->find("text/html") == std::string::npos) {
      net::Response response = json_error(404, "not_found", message);
      response.headers.emplace_back("Vary", "Accept");
      if (request.method == "HEAD")
        response.body.clear();
      return response;
    }
    Document document{.type = "text/html; charset=utf-8", .body = {}};
    document.status = 404;
    document.body = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\"><title>Not found - "
        "{0}</title><style>:root{{color-scheme:light "
        "dark}}body{{max-width:40rem;margin:4rem auto;padding:0 1.25rem;font:16px/1.5 "
        "system-ui,sans-serif}}</style>"
        "</head><body><main><h1>Not found</h1><p>{1}</p><p><a href=\"{2}/\">All "
        "repositories</a></p></main></body></html>\n",
        escape_html(options_.title), escape_html(message), escape_html(options_.public_url));
    return deliver(request, *prepare(std::move(document)), now());
  }

  static net::Response unavailable() {
    net::Response response =
        json_error(503, "unavailable", "The records cannot be read at this moment: try again.");
    response.headers.emplace_back("Retry-After", "5");
    return response;
  }

  PublicStore store_;
  SiteOptions options_;
  RecordView records_;
  RepoView repos_;
  ResponseCache cache_;
};

} // namespace

net::Handler make_site(const PublicStore &store, SiteOptions options) {
  return [site = std::make_shared<Site>(store, std::move(options))](const net::Request &request) {
    return site->handle(request);
  };
}

} // namespace headwater::http

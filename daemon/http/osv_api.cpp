#include "daemon/http/osv_api.hpp"

#include "daemon/http/document.hpp"
#include "schemas/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::http {
namespace {

// Limits and codes as api.osv.dev has them.
constexpr std::size_t most_queries = 1000;
constexpr std::size_t most_per_query = 1000;
constexpr std::size_t most_per_batch = 3000;
constexpr int invalid_argument = 3;
constexpr int not_found = 5;

/// Ecosystems of the OSV format: a scanner asks for all that it found at once, and an answer is due
/// for each.
constexpr std::array<std::string_view, 49> ecosystems{"AlmaLinux",
                                                      "Alpaquita",
                                                      "Alpine",
                                                      "Android",
                                                      "Azure Linux",
                                                      "BellSoft Hardened Containers",
                                                      "Bioconductor",
                                                      "Bitnami",
                                                      "CRAN",
                                                      "Chainguard",
                                                      "CleanStart",
                                                      "ConanCenter",
                                                      "Debian",
                                                      "Docker Hardened Images",
                                                      "Echo",
                                                      "FreeBSD",
                                                      "GHC",
                                                      "GIT",
                                                      "GitHub Actions",
                                                      "Go",
                                                      "Hackage",
                                                      "Hex",
                                                      "Julia",
                                                      "Kubernetes",
                                                      "Linux",
                                                      "Mageia",
                                                      "Maven",
                                                      "MinimOS",
                                                      "NuGet",
                                                      "OSS-Fuzz",
                                                      "Packagist",
                                                      "Photon OS",
                                                      "Pub",
                                                      "PyPI",
                                                      "Red Hat",
                                                      "Rocky Linux",
                                                      "Root",
                                                      "RubyGems",
                                                      "SUSE",
                                                      "SwiftURL",
                                                      "TuxCare",
                                                      "Ubuntu",
                                                      "VSCode",
                                                      "Wolfi",
                                                      "crates.io",
                                                      "npm",
                                                      "opam",
                                                      "openEuler",
                                                      "openSUSE"};

bool known_ecosystem(std::string_view name) {
  return std::ranges::find(ecosystems, name.substr(0, name.find(':'))) != ecosystems.end();
}

net::Response api_error(int status, int code, std::string_view message) {
  const OrderedJson body = {{"code", code}, {"message", message}};
  return json_answer(status,
                     body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

/// One query, checked.
struct Query {
  std::string version = {}; ///< commit or version, "" for all of the package
  std::string package = {}; ///< normalised address, "" = any
  bool ours = true;         ///< false: of an ecosystem that we have no records for
  std::size_t offset = 0;
};

Result<std::string> text_of(const Json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null())
    return std::string();
  if (!at->is_string())
    return fail(Errc::bad_input, fmt::format("{} is not a string", key));
  return at->get<std::string>();
}

/// Undoes %XX; anything else stands for itself.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3) {
      out.push_back(static_cast<char>(value));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

/// "pkg:huggingface/org/name@sha?repository_url=...": the address and the version. Another type is
/// none of ours.
Result<Query> query_of_purl(std::string_view purl, const std::string &version) {
  Query query;
  if (!purl.starts_with("pkg:") || purl.find('/') == std::string_view::npos)
    return fail(Errc::bad_input, "invalid purl");
  std::string origin = "huggingface.co";
  std::string_view rest = purl.substr(4);
  rest = rest.substr(0, rest.find('#'));
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    const std::string_view qualifiers = rest.substr(mark + 1);
    constexpr std::string_view key = "repository_url=";
    if (const auto at = qualifiers.find(key); at != std::string_view::npos) {
      std::string_view value = qualifiers.substr(at + key.size());
      origin = percent_decoded(value.substr(0, value.find('&')));
    }
    rest = rest.substr(0, mark);
  }
  const auto at = rest.rfind('@');
  if (at != std::string_view::npos) {
    if (!version.empty())
      return fail(Errc::bad_input, "purl with a version and version are given");
    query.version = lower(percent_decoded(rest.substr(at + 1)));
    rest = rest.substr(0, at);
  } else {
    query.version = lower(version);
  }
  const auto slash = rest.find('/');
  query.ours = lower(std::string(rest.substr(0, slash))) == "huggingface";
  query.package = normalised_package(origin) + "/" + percent_decoded(rest.substr(slash + 1));
  return query;
}

Result<Query> query_of_package(const Json &package, const std::string &version) {
  if (!package.is_object())
    return fail(Errc::bad_input, "package is not an object");
  const Result<std::string> name = text_of(package, "name");
  const Result<std::string> ecosystem = text_of(package, "ecosystem");
  const Result<std::string> purl = text_of(package, "purl");
  for (const Result<std::string> *part : {&name, &ecosystem, &purl})
    if (!*part)
      return std::unexpected(part->error());
  if (!purl->empty()) {
    if (!name->empty() || !ecosystem->empty())
      return fail(Errc::bad_input, "purl and name or ecosystem are given: one of both is enough");
    return query_of_purl(*purl, version);
  }
  if (name->empty())
    return fail(Errc::bad_input, "package has no name");
  if (!ecosystem->empty() && !known_ecosystem(*ecosystem))
    return fail(Errc::bad_input, "invalid ecosystem");
  Query query;
  query.version = lower(version);
  query.package = normalised_package(*name);
  query.ours = ecosystem->empty() || *ecosystem == "GIT";
  return query;
}

Result<Query> read_query(const Json &json) {
  if (!json.is_object())
    return fail(Errc::bad_input, "a query is not an object");
  const Result<std::string> commit = text_of(json, "commit");
  const Result<std::string> version = text_of(json, "version");
  const Result<std::string> token = text_of(json, "page_token");
  for (const Result<std::string> *part : {&commit, &version, &token})
    if (!*part)
      return std::unexpected(part->error());
  const auto package = json.find("package");
  Result<Query> query = Query();
  if (json.contains("commit")) {
    if (!version->empty())
      return fail(Errc::bad_input, "commit and version exclude each other");
    query->version = lower(*commit);
    if (query->version.empty() ||
        query->version.find_first_not_of("0123456789abcdef") != std::string::npos)
      return fail(Errc::bad_input, "invalid hash");
  } else if (package != json.end()) {
    query = query_of_package(*package, *version);
    if (!query)
      return query;
  } else {
    return fail(Errc::bad_input, "a query names neither commit nor package");
  }
  if (!token->empty()) {
    const auto read = std::from_chars(token->data(), token->data() + token->size(), query->offset);
    if (read.ec != std::errc() || read.ptr != token->data() + token->size())
      return fail(Errc::bad_input, "invalid page token");
  }
  return query;
}

/// Records that answer a query, newest first.
std::vector<std::size_t> find(const PublicRecords &records, const Query &query) {
  static const std::vector<std::size_t> none;
  if (!query.ours)
    return none;
  const auto of = [](const auto &map, const std::string &key) -> const std::vector<std::size_t> & {
    const auto at = map.find(key);
    return at == map.end() ? none : at->second;
  };
  if (query.version.empty())
    return of(records.by_package, query.package);
  const std::vector<std::size_t> &with_version = of(records.by_version, query.version);
  if (query.package.empty())
    return with_version;
  const std::vector<std::size_t> &of_package = of(records.by_package, query.package);
  std::vector<std::size_t> both;
  std::ranges::set_intersection(with_version, of_package, std::back_inserter(both));
  return both;
}

struct Page {
  std::vector<std::size_t> records;
  std::string next_token = {};
};

Page page_of(const std::vector<std::size_t> &found, std::size_t offset, std::size_t most) {
  Page page;
  const std::size_t begin = std::min(offset, found.size());
  const std::size_t end = std::min(found.size(), begin + most);
  page.records.assign(found.begin() + static_cast<std::ptrdiff_t>(begin),
                      found.begin() + static_cast<std::ptrdiff_t>(end));
  if (end < found.size())
    page.next_token = std::to_string(end);
  return page;
}

Result<Json> read_body(std::string_view body) {
  JsonLimits limits;
  limits.max_bytes = 4U << 20U;
  limits.max_depth = 16;
  limits.max_values = 100'000;
  Result<Json> json = parse_json(body, limits);
  if (json && !json->is_object())
    return fail(Errc::bad_input, "the body is not a JSON object");
  return json;
}

} // namespace

net::Response osv_query(const PublicRecords &records, std::string_view body) {
  const Result<Json> json = read_body(body);
  if (!json)
    return api_error(400, invalid_argument, json.error().message);
  const Result<Query> query = read_query(*json);
  if (!query)
    return api_error(400, invalid_argument, query.error().message);
  const Page page = page_of(find(records, *query), query->offset, most_per_query);
  // Records are bytes already: put together, never read and written again.
  std::string answer = "{";
  for (const std::size_t at : page.records)
    answer += (answer.size() == 1 ? "\"vulns\":[" : ",") + records.records[at].osv_json;
  if (!page.records.empty())
    answer += "]";
  if (!page.next_token.empty())
    answer += std::string(page.records.empty() ? "" : ",") + "\"next_page_token\":\"" +
              page.next_token + "\"";
  return json_answer(200, answer + "}\n");
}

net::Response osv_query_batch(const PublicRecords &records, std::string_view body) {
  const Result<Json> json = read_body(body);
  if (!json)
    return api_error(400, invalid_argument, json.error().message);
  const auto queries = json->find("queries");
  if (queries == json->end() || !queries->is_array())
    return api_error(400, invalid_argument, "the body has no list of queries");
  if (queries->size() > most_queries)
    return api_error(400, invalid_argument, "too many queries");
  OrderedJson results = OrderedJson::array();
  std::size_t left = most_per_batch;
  for (const Json &item : *queries) {
    const Result<Query> query = read_query(item);
    if (!query)
      return api_error(400, invalid_argument, query.error().message);
    const Page page = page_of(find(records, *query), query->offset, std::min(left, most_per_query));
    left -= page.records.size();
    OrderedJson result = OrderedJson::object();
    for (const std::size_t at : page.records)
      result["vulns"].push_back({{"id", records.records[at].advisory.id},
                                 {"modified", records.records[at].advisory.modified}});
    if (!page.next_token.empty())
      result["next_page_token"] = page.next_token;
    results.push_back(std::move(result));
  }
  return json_answer(200, OrderedJson{{"results", std::move(results)}}.dump() + "\n");
}

net::Response osv_not_found() {
  return api_error(404, not_found, "Bug not found.");
}

} // namespace headwater::http

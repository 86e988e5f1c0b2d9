#include "daemon/http/document.hpp"

#include "schemas/digest.hpp"
#include "schemas/json.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <zlib.h>

namespace headwater::http {
namespace {

constexpr std::size_t worth_compressing = 512;

bool compressible(std::string_view type) {
  return type.starts_with("text/") || type.find("json") != std::string_view::npos ||
         type.find("xml") != std::string_view::npos;
}

/// 'sha256-...' of the text between an opening and a closing mark, the last such pair; "" without
/// one. Upstream text cannot make one: its "<" is always escaped.
std::string source_hash(std::string_view page, std::string_view open, std::string_view close) {
  const auto begin = page.rfind(open);
  if (begin == std::string_view::npos)
    return {};
  const auto end = page.find(close, begin);
  if (end == std::string_view::npos)
    return {};
  const std::string_view text = page.substr(begin + open.size(), end - begin - open.size());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> encoded{};
  const int size = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(length));
  std::string hash = " 'sha256-";
  for (int i = 0; i < size; ++i)
    hash.push_back(static_cast<char>(encoded[static_cast<std::size_t>(i)]));
  return hash + "'";
}

std::string content_policy(const Document &document) {
  if (document.type.starts_with("image/svg"))
    return "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
  if (!document.type.starts_with("text/html"))
    return "default-src 'none'; frame-ancestors 'none'";
  const std::string script = source_hash(document.body, "<script>", "</script>");
  const std::string style = source_hash(document.body, "<style>", "</style>");
  return fmt::format(
      "default-src 'none'; img-src 'self'; connect-src 'self'; script-src{}; style-src{}; base-uri "
      "'none'; form-action 'none'; frame-ancestors 'none'",
      script.empty() ? " 'none'" : script, style.empty() ? " 'none'" : style);
}

/// RFC 9110 date of an RFC 3339 time, rounded up to the second: a client that has it can never miss
/// a change.
std::string rounded_up(const std::string &time) {
  const Result<TimePoint> point = parse_time(time);
  if (time.empty() || !point)
    return {};
  return format_http_date(std::chrono::ceil<std::chrono::seconds>(*point));
}

int number_at(std::string_view text, std::size_t at, std::size_t count) {
  int value = -1;
  if (at + count <= text.size())
    std::from_chars(text.data() + at, text.data() + at + count, value);
  return value;
}

/// "Fri, 14 Aug 2026 14:44:41 GMT"; the two older forms are not read, which only costs a full
/// answer.
std::optional<TimePoint> read_http_date(std::string_view text) {
  static constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || !text.ends_with(" GMT"))
    return std::nullopt;
  const auto month = months.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0)
    return std::nullopt;
  const Result<TimePoint> time =
      parse_time(fmt::format("{:04}-{:02}-{:02}T{}Z", number_at(text, 12, 4), month / 3 + 1,
                             number_at(text, 5, 2), text.substr(17, 8)));
  if (!time)
    return std::nullopt;
  return *time;
}

bool accepts_gzip(const net::Request &request) {
  const std::string *accepted = net::find_header(request.headers, "Accept-Encoding");
  if (accepted == nullptr)
    return false;
  std::string_view rest = *accepted;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    std::string_view coding = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (coding.starts_with(' '))
      coding.remove_prefix(1);
    if (!coding.starts_with("gzip"))
      continue;
    const auto weight = coding.find("q=");
    return weight == std::string_view::npos ||
           coding.substr(weight + 2).find_first_not_of("0. ") != std::string_view::npos;
  }
  return false;
}

/// Weak comparison with a list of tags; a tag of either encoding names the same document.
bool names_tag(std::string_view list, std::string_view tag) {
  if (list == "*")
    return true;
  return list.find(fmt::format("\"{}\"", tag)) != std::string_view::npos ||
         list.find(fmt::format("\"{}-gzip\"", tag)) != std::string_view::npos;
}

bool not_modified(const net::Request &request, const Prepared &prepared) {
  if (const std::string *tags = net::find_header(request.headers, "If-None-Match"); tags != nullptr)
    return names_tag(*tags, prepared.tag);
  const std::string *since = net::find_header(request.headers, "If-Modified-Since");
  if (since == nullptr || prepared.last_modified.empty())
    return false;
  const auto asked = read_http_date(*since);
  const auto changed = read_http_date(prepared.last_modified);
  return asked && changed && *asked >= *changed;
}

void add_caching(net::Headers &headers, const Prepared &prepared, TimePoint now) {
  switch (prepared.document.freshness) {
  case Freshness::ask:
    headers.emplace_back("Cache-Control", "no-cache");
    break;
  case Freshness::minute:
    headers.emplace_back("Cache-Control", "public, max-age=60");
    break;
  case Freshness::image:
    headers.emplace_back("Cache-Control", "no-cache");
    headers.emplace_back("Expires", format_http_date(now));
    break;
  }
  if (!prepared.last_modified.empty())
    headers.emplace_back("Last-Modified", prepared.last_modified);
}

} // namespace

std::string gzip(const std::string &bytes) {
  z_stream stream{};
  // 15 bits of window, 16 more ask for the gzip wrapper, whose time field stays zero.
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  std::string input = bytes;
  stream.next_in = reinterpret_cast<Bytef *>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return ended == Z_STREAM_END ? out : std::string();
}

std::shared_ptr<const Prepared> prepare(Document document) {
  auto prepared = std::make_shared<Prepared>();
  prepared->tag = sha256_hex(document.body).substr(0, 24);
  if (document.body.size() >= worth_compressing && compressible(document.type)) {
    prepared->gzip = gzip(document.body);
    if (prepared->gzip.size() >= document.body.size())
      prepared->gzip.clear();
  }
  prepared->last_modified = rounded_up(document.modified);
  prepared->content_policy = content_policy(document);
  prepared->document = std::move(document);
  return prepared;
}

net::Response deliver(const net::Request &request, const Prepared &prepared, TimePoint now) {
  const Document &document = prepared.document;
  const bool compressed = !prepared.gzip.empty() && accepts_gzip(request);
  net::Response response;
  response.status = document.status;
  net::Headers &headers = response.headers;
  headers.emplace_back("ETag", fmt::format("\"{}{}\"", prepared.tag, compressed ? "-gzip" : ""));
  add_caching(headers, prepared, now);
  if (compressible(document.type))
    headers.emplace_back("Vary",
                         document.status == 404 ? "Accept, Accept-Encoding" : "Accept-Encoding");
  headers.emplace_back("X-Content-Type-Options", "nosniff");
  headers.emplace_back("Content-Security-Policy", prepared.content_policy);
  headers.emplace_back("Referrer-Policy", "same-origin");
  headers.emplace_back("Access-Control-Allow-Origin", "*");
  if (document.status == 200 && not_modified(request, prepared)) {
    response.status = 304;
    return response;
  }
  if (!document.location.empty())
    headers.emplace_back("Location", document.location);
  headers.emplace_back("Content-Type", document.type);
  if (compressed)
    headers.emplace_back("Content-Encoding", "gzip");
  const std::string &body = compressed ? prepared.gzip : document.body;
  if (request.method == "HEAD")
    headers.emplace_back("Content-Length", std::to_string(body.size()));
  else
    response.body = body;
  return response;
}

net::Response json_answer(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"},
                      {"Cache-Control", "no-store"},
                      {"X-Content-Type-Options", "nosniff"}};
  response.body = std::move(body);
  return response;
}

net::Response json_error(int status, std::string_view word, std::string_view message) {
  const OrderedJson body = {{"error", word}, {"message", message}};
  return json_answer(status,
                     body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

} // namespace headwater::http

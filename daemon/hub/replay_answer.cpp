#include "daemon/hub/replay_answer.hpp"

#include "schemas/digest.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

namespace headwater::hub {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

std::string base64(const std::vector<unsigned char> &bytes) {
  std::vector<unsigned char> out((bytes.size() + 2) / 3 * 4 + 1);
  const int length = EVP_EncodeBlock(out.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {out.begin(), out.begin() + length};
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::vector<unsigned char> in(text.begin(), text.end());
  std::vector<unsigned char> out(text.size() / 4 * 3 + 3);
  const int length = EVP_DecodeBlock(out.data(), in.data(), static_cast<int>(in.size()));
  if (length < 0) {
    return std::nullopt;
  }
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') {
    ++padding;
  }
  return std::string(out.begin(), out.begin() + length - static_cast<std::ptrdiff_t>(padding));
}

std::string weak_etag(std::string_view body) {
  const std::string hex = sha1_hex(body);
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    bytes.push_back(static_cast<unsigned char>(value));
  }
  std::string digest = base64(bytes);
  while (digest.ends_with('=')) {
    digest.pop_back();
  }
  return fmt::format("W/\"{:x}-{}\"", body.size(), digest);
}

/// The published limits, as if nothing else had been asked: the replay hub does not count.
void add_rate_limit(const ReplayCall &call, net::Headers &headers) {
  const bool api = call.path.starts_with("/api/") && !call.path.starts_with("/api/resolve-cache/");
  const bool file = call.path.contains("/resolve");
  const std::string_view bucket = file ? "resolvers" : api ? "api" : "pages";
  const int quota = file ? 3000 : api ? 500 : 100;
  headers.emplace_back("RateLimit", fmt::format("\"{}\";r={};t=295", bucket, quota - 1));
  headers.emplace_back("RateLimit-Policy",
                       fmt::format("\"fixed window\";\"{}\";q={};w=300", bucket, quota));
}

net::Response missing(const ReplayCall &call) {
  if (call.user() == ReplayUser::anonymous) {
    // The real hub sends no code here, so that missing and private look the same.
    return error_answer(call, 401, call.code_on_401 ? "RepoNotFound" : "",
                        "Invalid username or password.");
  }
  return error_answer(call, 404, "RepoNotFound", "Repository not found");
}

/// Where a name leads that is not a repo's own: after a rename, or in another letter case.
std::optional<std::string> redirected_name(const ReplayCall &call, const std::string &kind,
                                           const std::string &id) {
  if (const auto renamed = call.shown.renames.find({kind, id});
      renamed != call.shown.renames.end()) {
    return renamed->second;
  }
  for (const auto &[name, index] : call.shown.by_name) {
    if (name.first == kind && lower(name.second) == lower(id)) {
      return name.second;
    }
  }
  return std::nullopt;
}

bool is_gated(const ReplayView &view) {
  const auto gated = view.meta.find("gated");
  return gated != view.meta.end() && *gated != false && !gated->is_null();
}

} // namespace

ReplayUser ReplayCall::user() const {
  const std::string *field = net::find_header(request.headers, "Authorization");
  if (field == nullptr || field->empty()) {
    return ReplayUser::anonymous;
  }
  std::string token =
      field->substr(field->find(' ') == std::string::npos ? 0 : field->find(' ') + 1);
  if (lower(*field).starts_with("basic ")) {
    const std::string pair = decode_base64(token).value_or("");
    token = pair.substr(pair.find(':') == std::string::npos ? 0 : pair.find(':') + 1);
  }
  return token == "hf_ok"         ? ReplayUser::with_access
         : token == "hf_noaccess" ? ReplayUser::without_access
                                  : ReplayUser::invalid;
}

std::vector<std::string> ReplayCall::values(std::string_view key) const {
  const std::string list = std::string(key) + "[]";
  std::vector<std::string> found;
  for (const auto &[name, text] : target.query) {
    if (name == key || name == list) {
      found.push_back(text);
    }
  }
  return found;
}

std::string ReplayCall::value(std::string_view key, std::string otherwise) const {
  const std::string *found = net::find_query(target, key);
  return found != nullptr ? *found : otherwise;
}

bool ReplayCall::flag(std::string_view key) const {
  const std::string text = lower(value(key));
  return text == "true" || text == "1" || text == "yes";
}

std::uint64_t ReplayCall::number(std::string_view key, std::uint64_t otherwise,
                                 std::uint64_t most) const {
  const std::string text = value(key);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return std::min(error == std::errc() && !text.empty() ? number : otherwise, most);
}

net::Response text_answer(const ReplayCall &call, int status, std::string body,
                          net::Headers headers, std::string_view type) {
  net::Response response;
  response.status = status;
  response.headers = std::move(headers);
  if (net::find_header(response.headers, "Content-Type") == nullptr) {
    response.headers.emplace_back("Content-Type", type);
  }
  if (!call.is_cdn) {
    add_rate_limit(call, response.headers);
  }
  response.body = std::move(body);
  return response;
}

net::Response json_answer(const ReplayCall &call, const OrderedJson &body, int status,
                          net::Headers headers) {
  std::string text = body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  const std::string etag = weak_etag(text);
  const std::string *known = net::find_header(call.request.headers, "If-None-Match");
  headers.emplace_back("ETag", etag);
  if (status == 200 && known != nullptr && known->contains(etag) && call.request.method != "POST") {
    return text_answer(call, 304, "", std::move(headers));
  }
  return text_answer(call, status, std::move(text), std::move(headers),
                     "application/json; charset=utf-8");
}

net::Response error_answer(const ReplayCall &call, int status, std::string_view code,
                           std::string_view message, net::Headers headers) {
  if (!code.empty()) {
    headers.emplace_back("X-Error-Code", code);
  }
  if (!message.empty()) {
    headers.emplace_back("X-Error-Message", message);
  }
  if (status == 401) {
    headers.emplace_back("WWW-Authenticate",
                         "Bearer realm=\"Authentication required\", charset=\"UTF-8\"");
  }
  if (call.path.starts_with("/api/") && !call.path.starts_with("/api/resolve-cache/")) {
    return json_answer(call, OrderedJson{{"error", message}}, status, std::move(headers));
  }
  return text_answer(call, status, std::string(message), std::move(headers));
}

std::pair<std::string, std::string> next_link(const ReplayCall &call, const net::Headers &changed) {
  std::string query;
  const auto add = [&](std::string_view key, std::string_view value) {
    query += fmt::format("{}{}={}", query.empty() ? "?" : "&", net::encode_segment(key),
                         net::encode_segment(value));
  };
  for (const auto &[key, value] : call.target.query) {
    if (std::ranges::none_of(changed, [&](const auto &pair) { return pair.first == key; })) {
      add(key, value);
    }
  }
  for (const auto &[key, value] : changed) {
    add(key, value);
  }
  return {"Link", fmt::format("<{}{}{}>; rel=\"next\"", call.origin, call.path, query)};
}

std::expected<const ReplayView *, net::Response>
find_repo(const ReplayCall &call, const std::string &kind, const std::string &id, bool content) {
  const ReplayUser user = call.user();
  if (user == ReplayUser::invalid) {
    return std::unexpected(
        error_answer(call, 401, "", "Invalid credentials in Authorization header"));
  }
  const auto found = call.shown.by_name.find({kind, id});
  if (found == call.shown.by_name.end()) {
    const std::optional<std::string> name = redirected_name(call, kind, id);
    const std::string old_path = encode_path(id);
    const std::size_t at = call.path.find(old_path);
    if (!name || at == std::string::npos) {
      return std::unexpected(missing(call));
    }
    std::string location = call.request.target;
    location.replace(at, old_path.size(), encode_path(*name));
    return std::unexpected(text_answer(call, 307, "Temporary Redirect. Redirecting to " + location,
                                       {{"Location", location}}));
  }
  const ReplayView &view = call.shown.views[found->second];
  if (view.gone || (view.flag("private") && user != ReplayUser::with_access)) {
    return std::unexpected(missing(call));
  }
  if (content && view.flag("disabled")) { // plain info still answers 200 with disabled: true
    return std::unexpected(error_answer(call, 403, "", "Access to this resource is disabled."));
  }
  if (content && is_gated(view) && user != ReplayUser::with_access) {
    const std::string what =
        fmt::format("Access to {} {} is restricted", kind.substr(0, kind.size() - 1), id);
    if (user == ReplayUser::anonymous) {
      return std::unexpected(error_answer(
          call, 401, "GatedRepo",
          what + ". You must have access to it and be authenticated to access it. Please log in."));
    }
    return std::unexpected(error_answer(
        call, 403, "GatedRepo",
        fmt::format("{} and you are not in the authorized list. Visit {}/{} to ask for access.",
                    what, call.origin, id)));
  }
  return &view;
}

std::expected<const ReplayCommit *, net::Response>
find_commit(const ReplayCall &call, const ReplayView &view, const std::string &revision) {
  const ReplayCommit *commit = view.resolve(revision);
  if (commit == nullptr) {
    return std::unexpected(
        error_answer(call, 404, "RevisionNotFound", "Invalid rev id: " + revision));
  }
  return commit;
}

std::string file_text(const ReplayCommit &commit, const std::string &path) {
  const auto found = commit.files.find(path);
  if (found == commit.files.end()) {
    return "";
  }
  return read_replay_bytes(found->second, 0, found->second.kept).value_or("");
}

std::optional<std::string> header_bytes(const ReplayFile &file) {
  const Result<std::string> length = read_replay_bytes(file, 0, 8);
  if (!length || file.kept < 8) {
    return std::nullopt;
  }
  std::uint64_t size = 0;
  for (std::size_t i = 8; i-- > 0;) {
    size = size << 8U | static_cast<unsigned char>((*length)[i]);
  }
  if (size > file.kept - 8) {
    return std::nullopt;
  }
  const Result<std::string> bytes = read_replay_bytes(file, 0, 8 + size);
  return bytes ? std::optional(*bytes) : std::nullopt;
}

std::string join_segments(const net::Target &target, std::size_t first) {
  std::string joined;
  for (std::size_t i = first; i < target.segments.size(); ++i) {
    joined += (i == first ? "" : "/") + target.segments[i];
  }
  return joined;
}

std::string encode_path(std::string_view path) {
  std::string out;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    out += (start == 0 ? "" : "/") + net::encode_segment(path.substr(start, slash - start));
    start = slash + 1;
  }
  return out;
}

} // namespace headwater::hub

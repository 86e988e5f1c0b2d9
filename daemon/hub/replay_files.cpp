// The bytes side of the replay hub: resolve and its redirects, ranges, LFS content, and the refs
// that git asks for.

#include "daemon/hub/replay_answer.hpp"
#include "schemas/digest.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include <fmt/format.h>

namespace headwater::hub {
namespace {

constexpr std::uint64_t buffered_bytes = 1U
                                         << 20U; ///< an answer up to this size is built in memory
constexpr std::int64_t signature_seconds = 3600;

struct ByteRange {
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> last;
};

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

/// One "bytes=a-b"; nothing for a form that a server may ignore (RFC 9110, 14.2).
std::optional<ByteRange> read_range(const ReplayCall &call) {
  const std::string *field = net::find_header(call.request.headers, "Range");
  if (field == nullptr || !field->starts_with("bytes=")) {
    return std::nullopt;
  }
  const std::string_view text = std::string_view(*field).substr(6);
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = text.substr(dash + 1);
  const ByteRange range = {read_number(first), read_number(last)};
  const bool odd = (!first.empty() && !range.first) || (!last.empty() && !range.last);
  return odd || (!range.first && !range.last) ? std::nullopt : std::optional(range);
}

/// Puts `count` bytes of the file from `offset` into the answer, streamed when they are many.
void add_bytes(net::Response &response, const ReplayFile &file, std::uint64_t offset,
               std::uint64_t count) {
  if (count <= buffered_bytes) {
    Result<std::string> bytes = read_replay_bytes(file, offset, count);
    if (bytes) {
      response.body = std::move(*bytes);
    } else {
      response = {500, {}, bytes.error().message};
    }
    return;
  }
  net::StreamedBody stream;
  stream.size = count;
  stream.read = [file, offset, count](std::uint64_t at, char *out,
                                      std::size_t wanted) -> std::size_t {
    const Result<std::string> bytes =
        read_replay_bytes(file, offset + at, std::min<std::uint64_t>(wanted, count - at));
    if (!bytes) {
      return 0;
    }
    std::ranges::copy(*bytes, out);
    return bytes->size();
  };
  response.stream = std::move(stream);
}

/// The content with its ETag: 200, 206, 304 or 416.
net::Response answer_content(const ReplayCall &call, const ReplayFile &file,
                             const std::string &etag, net::Headers headers, std::string_view type) {
  net::set_header(headers, "ETag", etag);
  net::set_header(headers, "Accept-Ranges", "bytes");
  const std::string *known = net::find_header(call.request.headers, "If-None-Match");
  if (known != nullptr && known->contains(etag)) {
    return text_answer(call, 304, "", std::move(headers), type);
  }
  const std::optional<ByteRange> range = read_range(call);
  if (!range) {
    net::Response response = text_answer(call, 200, "", std::move(headers), type);
    add_bytes(response, file, 0, file.size);
    return response;
  }
  if (file.size == 0) { // @huggingface/hub asks bytes=0-0 and takes the size from Content-Range
    headers.emplace_back("Content-Range", "bytes */0");
    return text_answer(call, 200, "", std::move(headers), type);
  }
  const std::uint64_t end = file.size - 1;
  const std::uint64_t first =
      range->first ? *range->first : file.size - std::min(file.size, *range->last);
  const std::uint64_t last = range->first && range->last ? std::min(*range->last, end) : end;
  if (first > end || last < first) {
    headers.emplace_back("Content-Range", fmt::format("bytes */{}", file.size));
    return text_answer(call, 416, "", std::move(headers));
  }
  headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", first, last, file.size));
  net::Response response = text_answer(call, 206, "", std::move(headers), type);
  add_bytes(response, file, first, last - first + 1);
  return response;
}

/// ETag of LFS content on the content origin: like the hub's, it is not the sha256.
std::string content_etag(const ReplayFile &file) {
  return fmt::format("\"{}\"", sha256_hex("content " + file.sha256));
}

/// Where the content origin serves an LFS file, signed for an hour.
std::string content_location(const ReplayCall &call, const ReplayView &view,
                             const ReplayFile &file) {
  return fmt::format(
      "{}/xet-bridge-us/{}/"
      "{}?X-Xet-Cas-Uid=public&response-content-disposition=inline&Expires={}&Signature=replay",
      call.cdn_origin, view.oid, file.sha256, call.now + signature_seconds);
}

enum class FileForm { resolve, cached, raw };

struct FileQuestion {
  std::string kind = "models";
  std::string id;
  std::string revision;
  std::string path;
  FileForm form = FileForm::resolve;
};

net::Response answer_one_file(const ReplayCall &call, const FileQuestion &question) {
  const auto view = find_repo(call, question.kind, question.id, true);
  if (!view) {
    return view.error();
  }
  const auto commit = find_commit(call, **view, question.revision);
  if (!commit) {
    return commit.error();
  }
  net::Headers headers = {{"X-Repo-Commit", (*commit)->sha}, {"Accept-Ranges", "bytes"}};
  const auto found = (*commit)->files.find(question.path);
  if (found == (*commit)->files.end()) {
    return error_answer(call, 404, "EntryNotFound", "Entry not found", std::move(headers));
  }
  const ReplayFile &file = found->second;
  const std::string name = question.path.substr(question.path.rfind('/') + 1);
  headers.emplace_back(
      "Content-Disposition",
      fmt::format("inline; filename*=UTF-8''{0}; filename=\"{0}\";", net::encode_segment(name)));
  const std::string etag = fmt::format("\"{}\"", file.oid);
  constexpr std::string_view plain = "text/plain; charset=utf-8";
  if (question.form == FileForm::raw) {
    if (!file.lfs()) {
      return answer_content(call, file, etag, std::move(headers), plain);
    }
    headers.emplace_back("ETag", etag);
    return text_answer(call, 200, file.pointer, std::move(headers));
  }
  const bool other_origin = call.cdn_origin != call.origin;
  const std::string linked = file.lfs() ? fmt::format("\"{}\"", file.sha256) : etag;
  headers.emplace_back("X-Linked-ETag", linked);
  if (file.lfs()) {
    headers.emplace_back("X-Linked-Size", std::to_string(file.size));
  }
  if (file.lfs() && other_origin) {
    const std::string location = content_location(call, **view, file);
    headers.emplace_back("Location", location);
    return text_answer(call, 302, "Found. Redirecting to " + location, std::move(headers));
  }
  if (question.form == FileForm::cached) {
    return answer_content(call, file, linked, std::move(headers),
                          file.lfs() ? "application/octet-stream" : plain);
  }
  const std::string asked =
      fmt::format("/{}{}/resolve/{}/{}", question.kind == "models" ? "" : question.kind + "/",
                  question.id, question.revision, question.path);
  const std::string location =
      fmt::format("/api/resolve-cache/{}/{}/{}/{}?{}=&etag={}", question.kind,
                  encode_path(question.id), (*commit)->sha, encode_path(question.path),
                  net::encode_segment(asked), net::encode_segment(linked));
  headers.emplace_back("Location", location);
  return text_answer(call, 307, "Temporary Redirect. Redirecting to " + location,
                     std::move(headers));
}

/// Refs as `git ls-remote` reads them (protocol version 0).
net::Response answer_git_refs(const ReplayCall &call, const std::string &kind, std::string id) {
  if (id.ends_with(".git")) {
    id.erase(id.size() - 4);
  }
  const auto view = find_repo(call, kind, id, false);
  if (!view) {
    return view.error();
  }
  if (call.value("service") != "git-upload-pack") {
    return text_answer(call, 403, "only git-upload-pack");
  }
  const auto packet = [](std::string_view text) {
    return fmt::format("{:04x}{}", text.size() + 4, text);
  };
  std::string capabilities(1, '\0');
  capabilities += "multi_ack side-band-64k ofs-delta symref=HEAD:refs/heads/main agent=headwater";
  std::string body = packet("# service=git-upload-pack\n") + "0000";
  const auto add = [&](const std::string &sha, std::string_view name) {
    body += packet(fmt::format("{} {}{}\n", sha, name, capabilities));
    capabilities.clear();
  };
  if ((*view)->refs.empty()) {
    add(std::string(40, '0'), "capabilities^{}");
  }
  if (const ReplayCommit *head = (*view)->head()) {
    add(head->sha, "HEAD");
  }
  for (const auto &[name, target] : (*view)->refs) {
    add((*view)->repo->commits[target].sha, name);
  }
  return text_answer(call, 200, body + "0000", {{"Cache-Control", "no-cache"}},
                     "application/x-git-upload-pack-advertisement");
}

} // namespace

net::Response answer_file(const ReplayCall &call) {
  const std::vector<std::string> &parts = call.target.segments;
  const bool prefixed = !parts.empty() && (parts[0] == "datasets" || parts[0] == "spaces");
  const std::string kind = prefixed ? parts[0] : "models";
  const std::size_t start = prefixed ? 1 : 0;
  for (const std::size_t length :
       {std::size_t{2}, std::size_t{1}}) { // org/name, or a legacy name of one part
    const std::size_t at = start + length;
    if (parts.size() < at + 2) {
      continue;
    }
    const std::string id = length == 2 ? parts[start] + "/" + parts[start + 1] : parts[start];
    if (parts[at] == "info" && parts[at + 1] == "refs" && parts.size() == at + 2) {
      return answer_git_refs(call, kind, id);
    }
    if ((parts[at] == "resolve" || parts[at] == "raw") && parts.size() > at + 2) {
      const FileForm form = parts[at] == "raw" ? FileForm::raw : FileForm::resolve;
      return answer_one_file(call,
                             {kind, id, parts[at + 1], join_segments(call.target, at + 2), form});
    }
  }
  return error_answer(call, 404, "", "Sorry, we can't find the page you are looking for.");
}

net::Response answer_resolve_cache(const ReplayCall &call) {
  const std::vector<std::string> &parts = call.target.segments;
  for (const std::size_t length : {std::size_t{2}, std::size_t{1}}) {
    const std::size_t at = 3 + length;
    if (parts.size() > at + 1 && parts[at].size() == 40) {
      const std::string id = length == 2 ? parts[3] + "/" + parts[4] : parts[3];
      return answer_one_file(
          call, {parts[2], id, parts[at], join_segments(call.target, at + 1), FileForm::cached});
    }
  }
  return error_answer(call, 404, "", "Sorry, we can't find the page you are looking for.");
}

net::Response answer_blob(const ReplayCall &call) {
  if (call.is_cdn && net::find_header(call.request.headers, "Authorization") != nullptr) {
    // What object stores answer when a signed address also carries a token.
    return text_answer(call, 400, "Only one auth mechanism allowed");
  }
  const std::vector<std::string> &parts = call.target.segments;
  const auto blob = parts.size() == 3 && parts[0] == "xet-bridge-us"
                        ? call.shown.blobs.find(parts[2])
                        : call.shown.blobs.end();
  const std::uint64_t expires = call.number("Expires", 0, UINT64_MAX);
  if (blob == call.shown.blobs.end() || expires < static_cast<std::uint64_t>(call.now)) {
    return text_answer(call, 403, "<Error><Code>AccessDenied</Code></Error>", {},
                       "application/xml");
  }
  return answer_content(call, *blob->second, content_etag(*blob->second), {},
                        "application/octet-stream");
}

} // namespace headwater::hub

#include "daemon/hub/http_content.hpp"

#include "daemon/read/gguf.hpp"
#include "schemas/digest.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headwater::hub {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

/// What the Python client asks for first: 97 % of the headers fit in it.
constexpr std::uint64_t first_safetensors_bytes = 100'001;
constexpr std::uint64_t first_gguf_bytes = 1U << 20U;

/// The id that the hub names for the content, off the redirect where there was one; "" where it
/// names none.
std::string linked_id(const net::ClientResponse &answer) {
  for (const net::Headers *headers : {&answer.first_headers, &answer.headers}) {
    const std::string *tag = net::find_header(*headers, "X-Linked-ETag");
    if (tag == nullptr)
      continue;
    std::string id = *tag;
    if (id.starts_with("W/"))
      id.erase(0, 2);
    std::erase(id, '"');
    return id;
  }
  return {};
}

Result<void> check_identity(const net::ClientResponse &answer, const FileEntry &file) {
  const std::string linked = linked_id(answer);
  const bool comparable =
      (linked.size() == 40 && linked.size() == file.oid.size() && file.sha256.empty()) ||
      (linked.size() == 64 && linked.size() == file.sha256.size());
  if (comparable && linked != file.content_id())
    return fail(Errc::transient,
                fmt::format("the hub gives {} where its tree lists {}", linked, file.content_id()));
  return {};
}

bool is_page(const FileEntry &file) {
  return file.path.ends_with(".html") || file.path.ends_with(".htm");
}

/// What a proxy or an origin in trouble gives in a file's place passes: a page of HTML, or the
/// pointer to the content instead of the content.
Result<void> check_kind(const net::ClientResponse &answer, const FileEntry &file) {
  constexpr std::string_view pointer = "version https://git-lfs.github.com/spec/";
  constexpr std::size_t longest_pointer = 1024;
  const std::string *type = net::find_header(answer.headers, "Content-Type");
  if (type != nullptr && type->starts_with("text/html") && !is_page(file))
    return fail(Errc::transient, "a page of HTML came in its place");
  if (answer.body.size() <= longest_pointer && answer.body.starts_with(pointer) &&
      static_cast<std::uint64_t>(file.size) != answer.body.size())
    return fail(Errc::transient, "a git-lfs pointer came in its place");
  return {};
}

/// A whole answer names the size that the tree lists.
Result<void> check_length(const net::ClientResponse &answer, const FileEntry &file) {
  const std::string *length = net::find_header(answer.headers, "Content-Length");
  if (answer.status != 200 || length == nullptr ||
      net::find_header(answer.headers, "Content-Encoding") != nullptr)
    return {};
  if (*length != std::to_string(file.size))
    return fail(Errc::transient,
                fmt::format("{} bytes are offered where its tree lists {}", *length, file.size));
  return {};
}

/// The bytes of the whole file against what the tree says of them.
Result<void> check_digest(std::string_view bytes, const FileEntry &file) {
  std::string id;
  if (!file.sha256.empty() || file.oid.size() == 64)
    id = sha256_hex(bytes);
  else if (file.oid.size() == 40)
    id = git_blob_id(bytes);
  if (!id.empty() && id != file.content_id())
    return fail(Errc::malformed, fmt::format("its bytes have the id {} where the tree lists {}", id,
                                             file.content_id()));
  return {};
}

Result<void> check_whole(const net::ClientResponse &answer, const FileEntry &file) {
  if (answer.status != 200)
    return fail(Errc::transient, "a part came where the whole was asked for");
  if (Result<void> kind = check_kind(answer, file); !kind)
    return kind;
  if (answer.body.size() != static_cast<std::uint64_t>(file.size))
    return fail(Errc::transient, fmt::format("{} bytes came where its tree lists {}",
                                             answer.body.size(), file.size));
  return check_digest(answer.body, file);
}

/// "bytes 8-99/1234": where the part begins.
std::optional<std::uint64_t> range_begin(const net::Headers &headers) {
  const std::string *field = net::find_header(headers, "Content-Range");
  if (field == nullptr || !field->starts_with("bytes "))
    return std::nullopt;
  std::uint64_t begin = 0;
  const auto [end, error] =
      std::from_chars(field->data() + 6, field->data() + field->size(), begin);
  if (error != std::errc{})
    return std::nullopt;
  return begin;
}

/// Makes `bytes`, the start of the file, at least `wanted` long (or as long as the file). A server
/// that ignores the range gives the file from its beginning, of which no more than that is read.
awaitable<Result<void>> extend(HttpSession &session, std::string target, FileEntry file,
                               std::uint64_t wanted, std::string *bytes) {
  const std::uint64_t end = std::min(wanted, static_cast<std::uint64_t>(file.size));
  const std::uint64_t begin = bytes->size();
  if (begin >= end)
    co_return Result<void>();
  Ask question;
  question.target = std::move(target);
  question.bucket = "resolvers";
  question.range = fmt::format("bytes={}-{}", begin, end - 1);
  question.accept_encoding = "identity";
  question.max_bytes = end;
  question.stop_at_limit = true;
  question.check = [file, begin, end](const net::ClientResponse &answer) -> Result<void> {
    if (Result<void> same = check_identity(answer, file); !same)
      return same;
    if (Result<void> kind = check_kind(answer, file); !kind)
      return kind;
    if (Result<void> length = check_length(answer, file); !length)
      return length;
    const bool part = answer.status == 206;
    if (part && range_begin(answer.headers) != begin)
      return fail(Errc::transient, "another range came than was asked for");
    const std::uint64_t expected = part ? end - begin : end;
    if (answer.body.size() < expected)
      return fail(Errc::transient,
                  fmt::format("{} bytes came of {}", answer.body.size(), expected));
    // A small file is read to its end at once: then all of it is known to be right.
    const bool whole = begin == 0 && end == static_cast<std::uint64_t>(file.size);
    return whole ? check_digest(std::string_view(answer.body).substr(0, end), file)
                 : Result<void>();
  };
  Result<net::ClientResponse> answer = co_await session.ask(std::move(question));
  if (!answer && answer.error().cause == "416")
    co_return fail(Errc::malformed,
                   fmt::format("it is shorter than the {} bytes that its tree lists", file.size));
  if (!answer)
    co_return std::unexpected(answer.error());
  if (answer->status == 206) {
    bytes->append(answer->body, 0, static_cast<std::size_t>(end - begin));
  } else {
    bytes->assign(answer->body, 0, static_cast<std::size_t>(end));
  }
  co_return Result<void>();
}

awaitable<Result<std::string>> read_whole(HttpSession &session, std::string target,
                                          FileEntry file) {
  const std::uint64_t limit = session.options().max_text_bytes;
  if (static_cast<std::uint64_t>(file.size) > limit)
    co_return fail(Errc::too_large,
                   fmt::format("{} bytes, over the limit of {}", file.size, limit));
  Ask question;
  question.target = std::move(target);
  question.bucket = "resolvers";
  question.accept_encoding = "identity";
  question.max_bytes = limit;
  question.check = [file](const net::ClientResponse &answer) { return check_whole(answer, file); };
  Result<net::ClientResponse> answer = co_await session.ask(std::move(question));
  if (!answer)
    co_return std::unexpected(answer.error());
  co_return std::move(answer->body);
}

awaitable<Result<std::string>> read_safetensors(HttpSession &session, std::string target,
                                                FileEntry file) {
  constexpr std::uint64_t length_bytes = 8;
  std::string bytes;
  const Result<void> first =
      co_await extend(session, target, file, first_safetensors_bytes, &bytes);
  if (!first)
    co_return std::unexpected(first.error());
  if (bytes.size() < length_bytes)
    co_return fail(Errc::malformed, "too short for a safetensors header");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  // A small file that is no safetensors, such as a git-lfs pointer in its place: all of it was
  // read, and what it is is for the reader to say.
  const std::uint64_t all = static_cast<std::uint64_t>(file.size);
  if (bytes.size() == all && length > all - length_bytes)
    co_return bytes;
  if (length > session.options().max_header_bytes)
    co_return fail(Errc::too_large,
                   fmt::format("its header says that it is {} bytes long, over the limit of {}",
                               length, session.options().max_header_bytes));
  const std::uint64_t whole = length + length_bytes;
  if (whole > static_cast<std::uint64_t>(file.size))
    co_return fail(Errc::malformed,
                   fmt::format("its header says that it is {} bytes long, in a file of {}", length,
                               file.size));
  const Result<void> rest = co_await extend(session, target, file, whole, &bytes);
  if (!rest)
    co_return std::unexpected(rest.error());
  bytes.resize(static_cast<std::size_t>(whole));
  co_return bytes;
}

awaitable<Result<std::string>> read_gguf(HttpSession &session, std::string target, FileEntry file) {
  const std::uint64_t limit = std::min(static_cast<std::uint64_t>(file.size),
                                       static_cast<std::uint64_t>(read::gguf_max_header));
  std::string bytes;
  std::uint64_t wanted = first_gguf_bytes;
  while (true) {
    const Result<void> more =
        co_await extend(session, target, file, std::min(wanted, limit), &bytes);
    if (!more)
      co_return std::unexpected(more.error());
    const Result<std::optional<std::int64_t>> size = read::gguf_header_size(bytes);
    if (!size)
      co_return std::unexpected(size.error());
    if (*size && static_cast<std::uint64_t>(**size) <= bytes.size()) {
      bytes.resize(static_cast<std::size_t>(**size));
      co_return bytes;
    }
    if (bytes.size() >= limit) {
      // The data may be padded to begin beyond the end of a file that has none.
      const bool ends_here = *size && bytes.size() == static_cast<std::uint64_t>(file.size);
      if (ends_here)
        co_return bytes;
      if (bytes.size() == static_cast<std::uint64_t>(file.size))
        co_return fail(Errc::malformed, "its header is longer than the file");
      co_return fail(Errc::too_large,
                     fmt::format("its header is longer than {} bytes", read::gguf_max_header));
    }
    wanted = *size ? static_cast<std::uint64_t>(**size) : wanted * 4;
  }
}

awaitable<Result<std::string>> refused(Errc code, std::string message) {
  co_return fail(code, std::move(message));
}

} // namespace

awaitable<Result<std::string>> read_content(HttpSession &session, std::string target,
                                            FileEntry file, FilePart part) {
  if (file.size < 0)
    return refused(Errc::malformed, "its size is not known");
  switch (part) {
  case FilePart::whole:
    return read_whole(session, std::move(target), std::move(file));
  case FilePart::safetensors_header:
    return read_safetensors(session, std::move(target), std::move(file));
  case FilePart::gguf_header:
    return read_gguf(session, std::move(target), std::move(file));
  case FilePart::none:
    break;
  }
  return refused(Errc::internal, "no part of it was asked for");
}

} // namespace headwater::hub

#pragma once

#include "daemon/net/message.hpp"
#include "schemas/time.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headwater::http {

/// How long a client may keep a document without asking again.
enum class Freshness : std::uint8_t {
  ask,    ///< pages: keep it, and ask each time
  minute, ///< records and feeds
  image,  ///< badges: image proxies obey Expires and Last-Modified better than no-cache alone
};

/// One representation, before it is encoded for a client.
struct Document {
  std::string type; ///< Content-Type
  std::string body;
  std::string modified = {}; ///< RFC 3339 time of the last change, "" when it is not known
  Freshness freshness = Freshness::ask;
  int status = 200;
  std::string location = {}; ///< with a 308: where it lies
  /// Ids of the repos that it is made from, and of nothing else; empty = of all that is stored.
  std::vector<std::int64_t> about = {};
};

/// A document with what its delivery needs, computed once.
struct Prepared {
  Document document;
  std::string tag;                ///< hash of the body
  std::string gzip = {};          ///< the body compressed, "" when that does not pay
  std::string last_modified = {}; ///< RFC 9110, the fraction rounded up
  std::string content_policy;     ///< Content-Security-Policy
  std::size_t bytes() const { return document.body.size() + gzip.size() + 512; }
};
std::shared_ptr<const Prepared> prepare(Document document);

/// The answer to a GET or HEAD: conditional requests (RFC 9110: If-None-Match before
/// If-Modified-Since), gzip where it is accepted, security headers.
net::Response deliver(const net::Request &request, const Prepared &prepared, TimePoint now);

/// gzip of the bytes, the same for the same bytes.
std::string gzip(const std::string &bytes);

/// A JSON answer that is not kept anywhere.
net::Response json_answer(int status, std::string body);
/// {"error": word, "message": sentence}
net::Response json_error(int status, std::string_view word, std::string_view message);

} // namespace headwater::http

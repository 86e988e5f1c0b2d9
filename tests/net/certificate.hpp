#pragma once

#include <memory>
#include <string>

#include <openssl/ssl.h>

namespace headwater::net::test {

/// A self-signed certificate for "localhost" and 127.0.0.1, made new for each test run.
struct Certificate {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
  std::string pem; ///< the certificate alone
};
Certificate make_certificate(const std::string &host);

/// Serves one TLS connection on a blocking descriptor: shakes hands, reads a request header, sends
/// `answer`; ends with a clean TLS goodbye only when `goodbye` says so. Returns the request, ""
/// when the handshake failed; `server_name` gets what the client asked for.
std::string serve_tls(int descriptor, const Certificate &certificate, const std::string &answer,
                      bool goodbye, std::string *server_name);

} // namespace headwater::net::test

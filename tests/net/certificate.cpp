#include "tests/net/certificate.hpp"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace headwater::net::test {
namespace {

void add_extension(X509 *certificate, int nid, const std::string &value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION *)> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()), X509_EXTENSION_free);
  X509_add_ext(certificate, extension.get(), -1);
}

} // namespace

Certificate make_certificate(const std::string &host) {
  Certificate made;
  made.key = std::shared_ptr<EVP_PKEY>(EVP_EC_gen("P-256"), EVP_PKEY_free);
  made.certificate = std::shared_ptr<X509>(X509_new(), X509_free);
  X509 *x509 = made.certificate.get();
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509), 86400);
  X509_set_pubkey(x509, made.key.get());
  X509_NAME *name = X509_get_subject_name(x509);
  const std::basic_string<unsigned char> common(host.begin(), host.end());
  X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC, common.data(),
                             static_cast<int>(common.size()), -1, 0);
  X509_set_issuer_name(x509, name);
  add_extension(x509, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(x509, NID_subject_alt_name, "DNS:" + host);
  X509_sign(x509, made.key.get(), EVP_sha256());
  const std::unique_ptr<BIO, int (*)(BIO *)> memory(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(memory.get(), x509);
  made.pem.resize(BIO_pending(memory.get()));
  BIO_read(memory.get(), made.pem.data(), static_cast<int>(made.pem.size()));
  return made;
}

std::string serve_tls(int descriptor, const Certificate &certificate, const std::string &answer,
                      bool goodbye, std::string *server_name) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX *)> context(SSL_CTX_new(TLS_server_method()),
                                                              SSL_CTX_free);
  SSL_CTX_use_certificate(context.get(), certificate.certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), certificate.key.get());
  const std::unique_ptr<SSL, void (*)(SSL *)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), descriptor);
  if (SSL_accept(ssl.get()) != 1)
    return {};
  if (const char *name = SSL_get_servername(ssl.get(), TLSEXT_NAMETYPE_host_name);
      name != nullptr && server_name != nullptr)
    *server_name = name;
  std::string request;
  char byte = 0;
  while (!request.ends_with("\r\n\r\n") && SSL_read(ssl.get(), &byte, 1) == 1)
    request += byte;
  SSL_write(ssl.get(), answer.data(), static_cast<int>(answer.size()));
  if (goodbye)
    SSL_shutdown(ssl.get());
  return request;
}

} // namespace headwater::net::test

#include "daemon/net/listener.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace headwater::net {
namespace {

/// A descriptor that closes itself unless it is released.
class Descriptor {
public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0)
      ::close(value_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

private:
  int value_;
};

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// Room for an address of any family; the kernel reads and writes it through its general form.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr *get() { return static_cast<sockaddr *>(static_cast<void *>(&storage)); }
  template <class T> void set(const T &value) {
    std::memcpy(&storage, &value, sizeof value);
    size = sizeof value;
  }
  template <class T> T as() const {
    T value{};
    std::memcpy(&value, &storage, sizeof value);
    return value;
  }
};

std::uint16_t bound_port(int descriptor) {
  Address address;
  if (::getsockname(descriptor, address.get(), &address.size) != 0)
    return 0;
  if (address.storage.ss_family == AF_INET)
    return ntohs(address.as<sockaddr_in>().sin_port);
  if (address.storage.ss_family == AF_INET6)
    return ntohs(address.as<sockaddr_in6>().sin6_port);
  return 0;
}

Result<Listener> inherited(int descriptor) {
  int listening = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0)
    return fail(Errc::bad_input,
                fmt::format("descriptor {} is not a listening socket: use Accept=no and "
                            "ListenStream= in the socket unit",
                            descriptor));
  Address address;
  if (::getsockname(descriptor, address.get(), &address.size) != 0)
    return fail(Errc::bad_input,
                fmt::format("descriptor {} has no address: {}", descriptor, reason(errno)));
  Listener listener;
  listener.descriptor = descriptor;
  listener.family = address.storage.ss_family;
  listener.port = bound_port(descriptor);
  if (listener.family != AF_UNIX && listener.family != AF_INET && listener.family != AF_INET6)
    return fail(Errc::bad_input,
                fmt::format("descriptor {} is neither a TCP nor a Unix socket", descriptor));
  return listener;
}

/// Removes what a dead process left at the path; an error when somebody listens there or it is no
/// socket.
Result<void> clear_path(const std::string &path, Address &address) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT)
      return {};
    return fail(Errc::bad_input, fmt::format("{}: {}: choose another path", path, reason(errno)));
  }
  if (!S_ISSOCK(info.st_mode))
    return fail(Errc::bad_input,
                fmt::format("{} exists and is not a socket: choose another path", path));
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0)
    return fail(Errc::internal, "cannot make a socket: " + reason(errno));
  if (::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT)
      return {};
    return fail(Errc::bad_input,
                fmt::format("{}: the old socket cannot be removed: {}", path, reason(errno)));
  }
  return fail(
      Errc::bad_input,
      fmt::format("{}: another process listens there: stop it or choose another path", path));
}

Result<Listener> open_unix(const std::string &path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path)
    return fail(Errc::bad_input,
                fmt::format("{}: a socket path has at most {} bytes: choose a shorter one", path,
                            sizeof name.sun_path - 1));
  std::memcpy(name.sun_path, path.data(), path.size());
  Address address;
  address.set(name);
  if (const Result<void> clear = clear_path(path, address); !clear)
    return std::unexpected(clear.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0)
    return fail(Errc::internal, "cannot make a socket: " + reason(errno));
  if (::bind(socket.get(), address.get(), address.size) != 0)
    return fail(Errc::bad_input,
                fmt::format("cannot listen on {}: {}: make its folder or choose another path", path,
                            reason(errno)));
  // Nobody can connect between bind and listen, so the mode holds from the first moment.
  if (::chmod(path.c_str(), 0660) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    return fail(Errc::bad_input, fmt::format("cannot listen on {}: {}", path, reason(error)));
  }
  Listener listener;
  listener.descriptor = socket.release();
  listener.family = AF_UNIX;
  listener.bound_path = path;
  return listener;
}

Result<Listener> open_tcp(const std::string &host, std::uint16_t port) {
  Address address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.set(v4);
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.set(v6);
  } else {
    return fail(Errc::bad_input,
                fmt::format("cannot listen on {}: not an IP address (127.0.0.1 for this machine "
                            "alone, :: for every one)",
                            host));
  }
  const bool bracketed = host.find(':') != std::string::npos;
  const std::string where =
      bracketed ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
  Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0)
    return fail(Errc::bad_input, fmt::format("cannot listen on {}: {}", where, reason(errno)));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), address.get(), address.size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    const std::string_view mend =
        error == EADDRINUSE      ? "stop what uses the port or choose another"
        : error == EACCES        ? "ports below 1024 need CAP_NET_BIND_SERVICE; choose a higher one"
        : error == EADDRNOTAVAIL ? "this machine has no such address"
                                 : "choose another address or port";
    return fail(Errc::bad_input,
                fmt::format("cannot listen on {}: {}: {}", where, reason(error), mend));
  }
  Listener listener;
  listener.descriptor = socket.release();
  listener.family = address.storage.ss_family;
  listener.port = bound_port(listener.descriptor);
  return listener;
}

} // namespace

Result<Listener> open_listener(const ServerOptions &options) {
  if (options.inherited_socket >= 0)
    return inherited(options.inherited_socket);
  if (!options.unix_path.empty())
    return open_unix(options.unix_path);
  return open_tcp(options.address, options.port);
}

void remove_socket_file(const std::string &path) {
  ::unlink(path.c_str());
}

} // namespace headwater::net

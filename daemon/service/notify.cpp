#include "daemon/service/notify.hpp"

#include "schemas/text.hpp"

#include <string>

#include <systemd/sd-daemon.h>
#include <time.h>

namespace headwater::service {

void notify_ready(std::string_view status) {
  const std::string text = "READY=1\nSTATUS=" + plain_text(status);
  sd_notify(0, text.c_str());
}

void notify_status(std::string_view status) {
  const std::string text = "STATUS=" + plain_text(status);
  sd_notify(0, text.c_str());
}

void notify_reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long microseconds =
      static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  const std::string text = "RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds);
  sd_notify(0, text.c_str());
}

void notify_stopping() {
  sd_notify(0, "STOPPING=1");
}

void notify_alive() {
  sd_notify(0, "WATCHDOG=1");
}

std::chrono::microseconds watchdog_interval() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0)
    return std::chrono::microseconds{0};
  return std::chrono::microseconds(microseconds / 2);
}

int inherited_socket_count() {
  const int count = sd_listen_fds(0);
  return count > 0 ? count : 0;
}

int inherited_socket(int index) {
  return SD_LISTEN_FDS_START + index;
}

} // namespace headwater::service

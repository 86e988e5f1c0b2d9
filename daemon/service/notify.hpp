#pragma once

#include <chrono>
#include <string_view>

namespace headwater::service {

/// Tells systemd that the service is up, with a status line; nothing outside systemd.
void notify_ready(std::string_view status);
void notify_status(std::string_view status);
void notify_reloading();
void notify_stopping();
/// The watchdog's ping; call it at watchdog_interval().
void notify_alive();
/// Half of the interval that systemd asks for, 0 when it asks for none.
std::chrono::microseconds watchdog_interval();

/// Listening sockets handed over by socket activation, in the order of the unit; empty outside it.
int inherited_socket_count();
/// The n-th one's descriptor.
int inherited_socket(int index);

} // namespace headwater::service

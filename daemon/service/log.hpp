#pragma once

#include <string>
#include <string_view>

namespace headwater::service {

enum class LogLevel : unsigned char { debug, info, warning, error };

/// Sends log lines to standard error: with journal priorities ("<6>...") under systemd, with a time
/// otherwise. `level` is debug, info, warning or error.
void start_log(std::string_view level);
/// Writes one line. Control characters are spelled out.
void log(LogLevel level, std::string_view message);

} // namespace headwater::service

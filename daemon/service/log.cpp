#include "daemon/service/log.hpp"

#include "schemas/text.hpp"

#include <cstdlib>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace headwater::service {
namespace {

spdlog::level::level_enum level_from(std::string_view word) {
  if (word == "debug")
    return spdlog::level::debug;
  if (word == "warning")
    return spdlog::level::warn;
  if (word == "error")
    return spdlog::level::err;
  return spdlog::level::info;
}

std::string_view journal_priority(LogLevel level) {
  switch (level) {
  case LogLevel::debug:
    return "<7>";
  case LogLevel::info:
    return "<6>";
  case LogLevel::warning:
    return "<4>";
  case LogLevel::error:
    return "<3>";
  }
  return "<6>";
}

bool under_journal() {
  return std::getenv("JOURNAL_STREAM") != nullptr;
}

} // namespace

void start_log(std::string_view level) {
  auto logger = std::make_shared<spdlog::logger>("headwater",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(level_from(level));
  logger->set_pattern(under_journal() ? "%v" : "%Y-%m-%dT%H:%M:%SZ %l: %v",
                      spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

void log(LogLevel level, std::string_view message) {
  const std::string line =
      (under_journal() ? std::string(journal_priority(level)) : std::string()) +
      plain_text(message, 2000);
  switch (level) {
  case LogLevel::debug:
    spdlog::debug("{}", line);
    break;
  case LogLevel::info:
    spdlog::info("{}", line);
    break;
  case LogLevel::warning:
    spdlog::warn("{}", line);
    break;
  case LogLevel::error:
    spdlog::error("{}", line);
    break;
  }
}

} // namespace headwater::service

#pragma once

#include <chrono>
#include <optional>

namespace headwater::service {

/// Takes SIGTERM, SIGINT and SIGHUP for the whole process as long as it lives, so that one loop
/// decides when to act on them. Make it before any thread is started. SIGPIPE is ignored.
class StopSignal {
public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal &) = delete;
  StopSignal &operator=(const StopSignal &) = delete;

  /// Waits for a request to stop; true when it came within the time (and ever after).
  bool wait_for(std::chrono::milliseconds time);
  /// True once when a reload (SIGHUP) was asked for since the last call.
  bool take_reload();

private:
  bool stopped_ = false;
  bool reload_ = false;
};

} // namespace headwater::service

#pragma once

namespace headwater::track {

/// Gives the calling thread a stack of its own for signal handlers, once: a fault that has used up
/// the thread's stack can still be told (service/crash_marker.hpp).
void use_signal_stack();

} // namespace headwater::track

#pragma once

#include <string>

namespace headwater::service {

/// True when the last process on this state folder ended by a fault of its own (a segmentation
/// fault, an abort, the watchdog), and forgets it. An end from outside (kill -9, a power cut)
/// leaves no mark: what was in hand then is read again and is not to blame.
bool take_crash_mark(const std::string &state_folder);

/// From now on a fault of this process leaves a mark in the folder. One folder a process.
void mark_crashes(const std::string &state_folder);

} // namespace headwater::service

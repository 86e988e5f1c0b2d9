#pragma once

#include <string>

namespace headwater::service {

/// True when the last process on this state folder ended by a fault of its own (a segmentation
/// fault, an abort, the watchdog), and forgets it. An end from outside (kill -9, a power cut)
/// leaves no mark: what was in hand then is read again, with care.
bool take_crash_mark(const std::string &state_folder);

/// From now on a fault of this process leaves a mark in the folder, a stack overflow of this thread
/// and of those that work for the tracker included. One folder a process.
void mark_crashes(const std::string &state_folder);

} // namespace headwater::service

#pragma once

#include "daemon/track/confirm.hpp"
#include "schemas/result.hpp"
#include "store/store.hpp"

#include <functional>
#include <string>

/// An answer that waits to be confirmed, where it lives between two looks: a note of the store.
namespace headwater::track {

/// Counts `what` once more under `key`. The note goes once `counts` says so of it, and stays
/// otherwise. Blocks. Errors: store.
Result<Pending> note_once_more(store::Store &store, const std::string &key, const std::string &what,
                               TimePoint now, const std::function<bool(const Pending &)> &counts);

/// Nothing waits under `key` any more; writes only where something did. Blocks. Errors: store.
Result<void> drop_note(store::Store &store, const std::string &key);

} // namespace headwater::track

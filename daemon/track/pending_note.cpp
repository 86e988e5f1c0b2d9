#include "daemon/track/pending_note.hpp"

#include <optional>

namespace headwater::track {

Result<Pending> note_once_more(store::Store &store, const std::string &key, const std::string &what,
                               TimePoint now, const std::function<bool(const Pending &)> &counts) {
  const Result<std::optional<std::string>> stored = store.get_note(key);
  if (!stored)
    return std::unexpected(stored.error());
  const std::optional<Pending> before = *stored ? pending_from(**stored) : std::nullopt;
  Pending pending = confirm_once_more(before, what, now);
  if (Result<void> put = store.put_note(key, counts(pending) ? "" : to_text(pending)); !put)
    return std::unexpected(put.error());
  return pending;
}

Result<void> drop_note(store::Store &store, const std::string &key) {
  const Result<std::optional<std::string>> stored = store.get_note(key);
  if (!stored)
    return std::unexpected(stored.error());
  if (!*stored || (*stored)->empty())
    return {};
  return store.put_note(key, "");
}

} // namespace headwater::track

#include "daemon/http/cache.hpp"

namespace headwater::http {

std::shared_ptr<const Prepared> ResponseCache::find(const std::string &key,
                                                    const Current &current) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end())
    return nullptr;
  if (current(found->second->prepared->document.about) > found->second->generation) {
    erase(found->second);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->prepared;
}

void ResponseCache::put(const std::string &key, std::int64_t generation,
                        std::shared_ptr<const Prepared> prepared) {
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end())
    erase(found->second);
  Entry entry{key, generation, std::move(prepared)};
  // One answer may not push out all others.
  if (size_of(entry) > most_bytes_ / 2)
    return;
  bytes_ += size_of(entry);
  entries_.push_front(std::move(entry));
  index_[key] = entries_.begin();
  while (bytes_ > most_bytes_)
    erase(std::prev(entries_.end()));
}

std::size_t ResponseCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void ResponseCache::erase(std::list<Entry>::iterator at) {
  bytes_ -= size_of(*at);
  index_.erase(at->key);
  entries_.erase(at);
}

} // namespace headwater::http

#pragma once

#include "daemon/http/document.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace headwater::http {

/// Answers by canonical path, the longest unused ones dropped first. An entry holds for one
/// generation of the store. Any thread may call any member.
class ResponseCache {
public:
  explicit ResponseCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  /// Null when there is none of this generation.
  std::shared_ptr<const Prepared> find(const std::string &key, std::int64_t generation);
  void put(const std::string &key, std::int64_t generation,
           std::shared_ptr<const Prepared> prepared);
  std::size_t bytes() const;

private:
  struct Entry {
    std::string key;
    std::int64_t generation = 0;
    std::shared_ptr<const Prepared> prepared;
  };
  static std::size_t size_of(const Entry &entry) {
    return entry.prepared->bytes() + 2 * entry.key.size();
  }
  void erase(std::list<Entry>::iterator at);

  mutable std::mutex mutex_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_; ///< most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

} // namespace headwater::http

#pragma once

#include "daemon/http/document.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headwater::http {

/// Answers by canonical path, the longest unused ones dropped first. An entry holds until something
/// that it is about is written. Any thread may call any member.
class ResponseCache {
public:
  explicit ResponseCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  /// The generation of the last write to what a document is about.
  using Current = std::function<std::int64_t(const std::vector<std::int64_t> &about)>;
  /// Null when there is none, or what it is about was written since it was made.
  std::shared_ptr<const Prepared> find(const std::string &key, const Current &current);
  /// `generation` is that of the store before the document was made.
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

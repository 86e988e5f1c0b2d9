#pragma once

#include "store/records.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace headwater::store {

/// Counts committed writes, and knows which repo each touched. Thread-safe.
class Generations {
public:
  std::int64_t now() const;
  /// Of the last write that touched the repo.
  std::int64_t of(std::int64_t repo_id) const;
  /// What was touched behind a generation.
  Touched since(std::int64_t generation) const;
  /// No repo = all.
  void touch(const std::vector<std::int64_t> &repos);

private:
  mutable std::mutex mutex_;
  std::int64_t now_ = 1;
  std::int64_t all_ = 1;
  std::unordered_map<std::int64_t, std::int64_t> last_; ///< by repo
  std::map<std::int64_t, std::int64_t> order_;          ///< repo by generation
};

} // namespace headwater::store

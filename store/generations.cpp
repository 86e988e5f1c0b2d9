#include "store/generations.hpp"

#include <algorithm>
#include <utility>

namespace headwater::store {

std::int64_t Generations::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

std::int64_t Generations::of(std::int64_t repo_id) const {
  const std::lock_guard lock(mutex_);
  const auto at = last_.find(repo_id);
  return at == last_.end() ? all_ : std::max(all_, at->second);
}

Touched Generations::since(std::int64_t generation) const {
  const std::lock_guard lock(mutex_);
  Touched touched;
  touched.all = generation < all_;
  for (auto at = order_.upper_bound(generation); at != order_.end() && !touched.all; ++at)
    touched.repos.push_back(at->second);
  return touched;
}

void Generations::touch(const std::vector<std::int64_t> &repos) {
  const std::lock_guard lock(mutex_);
  if (repos.empty())
    all_ = ++now_;
  for (const std::int64_t repo : repos) {
    ++now_;
    const auto [at, is_new] = last_.try_emplace(repo, now_);
    if (!is_new)
      order_.erase(std::exchange(at->second, now_));
    order_.emplace(now_, repo);
  }
}

} // namespace headwater::store

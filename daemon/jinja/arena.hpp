#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace headwater::jinja {

/// Thrown inside the room when a run crosses its bound on memory; render() turns it into an error
/// value.
struct OutOfMemory {};

/// Bump allocator for values that live until their owner (a template, a set of variables, one
/// render) ends. Nothing in it is destroyed one by one, so it holds trivially destructible types
/// only.
class Arena {
public:
  explicit Arena(std::size_t limit) : limit_(limit) {}

  /// Memory for `bytes`, aligned to 16. Throws OutOfMemory beyond the limit.
  char *take(std::size_t bytes) {
    bytes = (bytes + 15U) & ~std::size_t{15};
    if (bytes > static_cast<std::size_t>(end_ - next_)) {
      grow(bytes);
    }
    char *result = next_;
    next_ += bytes;
    return result;
  }

  template <class T, class... Args> T *make(Args &&...args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return ::new (take(sizeof(T))) T{std::forward<Args>(args)...};
  }

  /// Uninitialised room for `count` values.
  template <class T> T *array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > limit_ / sizeof(T)) {
      throw OutOfMemory{};
    }
    return reinterpret_cast<T *>(take(count * sizeof(T)));
  }

  /// Throws OutOfMemory when `bytes` more cannot be had: before work that would end there anyway.
  void check(std::size_t bytes) const {
    if (bytes > limit_ || used_ > limit_ - bytes) {
      throw OutOfMemory{};
    }
  }

private:
  void grow(std::size_t bytes) {
    check(bytes);
    std::size_t size = block_;
    if (block_ < (std::size_t{1} << 20U)) {
      block_ *= 2;
    }
    if (size < bytes) {
      size = bytes;
    }
    if (size > limit_ - used_) {
      size = limit_ - used_ < bytes ? bytes : limit_ - used_;
    }
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    used_ += size;
    next_ = blocks_.back().get();
    end_ = next_ + size;
  }

  std::size_t limit_;
  std::size_t used_ = 0;
  std::size_t block_ = 16384;
  char *next_ = nullptr;
  char *end_ = nullptr;
  std::vector<std::unique_ptr<char[]>> blocks_;
};

} // namespace headwater::jinja

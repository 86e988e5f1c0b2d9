#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headwater::jinja {

/// Stable sort that stays within its range whatever the comparison answers: Python values need not
/// have a consistent order (NaN), and the comparison may throw.
template <class T, class Less> void merge_sort(std::vector<T> &items, Less less) {
  std::vector<T> spare(items);
  for (std::size_t width = 1; width < items.size(); width *= 2) {
    for (std::size_t start = 0; start < items.size(); start += 2 * width) {
      std::size_t middle = std::min(start + width, items.size());
      std::size_t end = std::min(start + 2 * width, items.size());
      std::size_t left = start;
      std::size_t right = middle;
      for (std::size_t at = start; at < end; ++at) {
        bool take_right = left == middle || (right < end && less(items[right], items[left]));
        spare[at] = items[take_right ? right++ : left++];
      }
    }
    items.swap(spare);
  }
}

} // namespace headwater::jinja

#include "daemon/diff/tensor_compare.hpp"

#include "schemas/text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

std::int64_t elements_of(const TensorView &tensor) {
  std::int64_t product = 1;
  for (const std::int64_t size : *tensor.shape)
    if (__builtin_mul_overflow(product, size, &product))
      return 0;
  return product;
}

std::int64_t elements_of(const std::vector<TensorView> &tensors) {
  std::int64_t sum = 0;
  for (const TensorView &tensor : tensors)
    if (__builtin_add_overflow(sum, elements_of(tensor), &sum))
      return 0;
  return sum;
}

/// One replacement at one place of a name: what it takes away and puts in, between equal ends.
struct Substitution {
  std::string_view from;
  std::string_view to;
};

Substitution substitution(std::string_view from, std::string_view to) {
  std::size_t head = 0;
  while (head < from.size() && head < to.size() && from[head] == to[head])
    ++head;
  while (head > 0 && from[head - 1] != '.')
    --head;
  std::size_t tail = 0;
  while (tail < from.size() - head && tail < to.size() - head &&
         from[from.size() - 1 - tail] == to[to.size() - 1 - tail])
    ++tail;
  while (tail > 0 && from[from.size() - tail] != '.')
    --tail;
  const std::string_view was = from.substr(head, from.size() - head - tail);
  const std::string_view is = to.substr(head, to.size() - head - tail);
  // A part put in front or taken away at the start leaves the rest as it was.
  const auto in_front = [](std::string_view longer, std::string_view shorter) {
    return !shorter.empty() && longer.size() > shorter.size() && longer.ends_with(shorter) &&
           longer[longer.size() - shorter.size() - 1] == '.';
  };
  if (head == 0 && in_front(is, was))
    return {{}, is.substr(0, is.size() - was.size())};
  if (head == 0 && in_front(was, is))
    return {was.substr(0, was.size() - is.size()), {}};
  return {was, is};
}

/// Digits as one mark, so that layers of one kind are one pattern.
std::string pattern(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] >= '0' && name[i] <= '9') {
      if (!text.ends_with('*'))
        text += '*';
    } else {
      text += name[i];
    }
  }
  return text;
}

/// The names in order of their numbers, so that layer 10 follows layer 9 whatever stands before the
/// number.
bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::size_t k = i;
      std::size_t l = j;
      while (k < a.size() && digit(a[k]))
        ++k;
      while (l < b.size() && digit(b[l]))
        ++l;
      if (k - i != l - j)
        return k - i < l - j;
      if (const int order = a.substr(i, k - i).compare(b.substr(j, l - j)); order != 0)
        return order < 0;
      i = k;
      j = l;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

std::string names_json(const std::vector<TensorView> &tensors) {
  Json names = Json::array();
  for (std::size_t i = 0; i < tensors.size() && i < 20; ++i)
    names.push_back(std::string(tensors[i].name));
  return json_text(Json{
      {"count", tensors.size()}, {"elements", elements_of(tensors)}, {"first", std::move(names)}});
}

std::string first_names(const std::vector<TensorView> &tensors) {
  std::vector<std::string> names;
  for (const TensorView &tensor : tensors) {
    if (names.size() < 3)
      names.push_back(shown_text(tensor.name, 100));
    else
      names.emplace_back();
  }
  return listed(names, 3);
}

std::string parameters(std::int64_t count) {
  return with_thousands(count) + " parameters";
}

class TensorDiff {
public:
  TensorDiff(const std::string &path, const std::vector<TensorView> &before,
             const std::vector<TensorView> &after, Changes &changes,
             const ShapesAnnounced &shapes_announced)
      : path_(path), before_(before), after_(after), changes_(changes),
        shapes_announced_(shapes_announced) {}

  bool run() {
    split();
    if (removed_.empty() && added_.empty() && common_.empty())
      return false;
    const bool all_renamed = !removed_.empty() && !added_.empty() && renamed();
    if (!all_renamed && !removed_.empty() && !added_.empty())
      mostly_renamed();
    if (!removed_.empty() && !all_renamed)
      add("weights.tensors-removed", names_json(removed_), "null",
          fmt::format("{} removed: {}. {}", counted(removed_.size(), "tensor was", "tensors were"),
                      first_names(removed_), totals()));
    if (!added_.empty() && !all_renamed)
      add("weights.tensors-added", "null", names_json(added_),
          fmt::format("{} added: {}. {}", counted(added_.size(), "tensor was", "tensors were"),
                      first_names(added_), totals()));
    reshaped();
    recast();
    return true;
  }

private:
  void add(std::string_view kind, std::string before, std::string after, std::string sentence) {
    changes_.push_back(
        make_change(kind, path_, std::move(before), std::move(after), std::move(sentence)));
  }

  std::string totals() const {
    const std::int64_t was = elements_of(before_);
    const std::int64_t is = elements_of(after_);
    return was == is ? fmt::format("The parameter count stays {}.", with_thousands(is))
                     : fmt::format("{} became {}.", parameters(was), with_thousands(is));
  }

  void split() {
    auto left = before_.begin();
    auto right = after_.begin();
    while (left != before_.end() || right != after_.end()) {
      if (right == after_.end() || (left != before_.end() && left->name < right->name)) {
        removed_.push_back(*left++);
      } else if (left == before_.end() || right->name < left->name) {
        added_.push_back(*right++);
      } else {
        if (left->dtype != right->dtype || *left->shape != *right->shape)
          common_.emplace_back(*left, *right);
        ++left;
        ++right;
      }
    }
  }

  /// Renames by shape and order; tells them and returns true when all that went came back under
  /// other names.
  bool renamed() {
    std::vector<TensorView> from = removed_;
    std::vector<TensorView> to = added_;
    const auto by_number = [](const TensorView &a, const TensorView &b) {
      return natural_less(a.name, b.name);
    };
    if (from.size() == to.size()) {
      std::ranges::sort(from, by_number);
      std::ranges::sort(to, by_number);
      if (!same_shapes(from, to))
        return regrouped();
      const Substitution first = substitution(from.front().name, to.front().name);
      bool one_rule = true;
      for (std::size_t i = 1; i < from.size() && one_rule; ++i) {
        const Substitution next = substitution(from[i].name, to[i].name);
        one_rule = next.from == first.from && next.to == first.to;
      }
      if (one_rule)
        tell_rule(from, to, first);
      else
        add("weights.renamed", names_json(from), names_json(to),
            fmt::format(
                "{} renamed: {} became {} and so on. Adapters and loaders of the old names fail.",
                counted(from.size(), "tensor was", "tensors were"),
                shown_text(pattern(from.front().name), 100),
                shown_text(pattern(to.front().name), 100)));
      return true;
    }
    return regrouped();
  }

  /// The name that a rule makes of another, "" where it does not apply.
  static std::string by_rule(std::string_view name, const Substitution &rule) {
    if (rule.from.empty())
      return std::string(rule.to) + std::string(name);
    const std::size_t at = name.find(rule.from);
    if (at == std::string_view::npos)
      return {};
    return std::string(name.substr(0, at)) + std::string(rule.to) +
           std::string(name.substr(at + rule.from.size()));
  }

  static std::size_t common_end(std::string_view a, std::string_view b) {
    std::size_t n = 0;
    while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n])
      ++n;
    return n;
  }

  /// One rule that renames most tensors while others came or went: told as one change, and the rest
  /// as what it is.
  void mostly_renamed() {
    std::map<std::string_view, const TensorView *> by_name;
    for (const TensorView &tensor : added_)
      by_name.emplace(tensor.name, &tensor);
    const auto partner = [&](const TensorView &tensor, const Substitution &rule) {
      const auto at = by_name.find(by_rule(tensor.name, rule));
      return at != by_name.end() && *at->second->shape == *tensor.shape ? at->second : nullptr;
    };
    Substitution best{};
    std::size_t most = 0;
    for (const std::size_t place : {std::size_t{0}, removed_.size() / 2, removed_.size() - 1}) {
      const TensorView &from = removed_[place];
      const TensorView *nearest = nullptr;
      for (const TensorView &to : added_)
        if (*to.shape == *from.shape &&
            (nearest == nullptr ||
             common_end(from.name, to.name) > common_end(from.name, nearest->name)))
          nearest = &to;
      if (nearest == nullptr)
        continue;
      const Substitution rule = substitution(from.name, nearest->name);
      const auto hits = static_cast<std::size_t>(std::ranges::count_if(
          removed_, [&](const TensorView &tensor) { return partner(tensor, rule) != nullptr; }));
      if (hits > most) {
        most = hits;
        best = rule;
      }
    }
    if (most < 2 || most * 10 < std::min(removed_.size(), added_.size()) * 8)
      return;
    std::vector<TensorView> from;
    std::vector<TensorView> to;
    for (const TensorView &tensor : removed_)
      if (const TensorView *now = partner(tensor, best)) {
        from.push_back(tensor);
        to.push_back(*now);
      }
    tell_rule(from, to, best);
    const auto drop = [](std::vector<TensorView> &tensors, const std::vector<TensorView> &matched) {
      std::set<std::string_view> names;
      for (const TensorView &tensor : matched)
        names.insert(tensor.name);
      std::erase_if(tensors, [&](const TensorView &tensor) { return names.contains(tensor.name); });
    };
    drop(removed_, from);
    drop(added_, to);
  }

  void tell_rule(const std::vector<TensorView> &from, const std::vector<TensorView> &to,
                 const Substitution &rule) {
    const std::string text =
        rule.from.empty() ? fmt::format("{} was put in front", shown_text(rule.to))
        : rule.to.empty() ? fmt::format("{} was taken away", shown_text(rule.from))
                          : fmt::format("{} became {}", shown_text(rule.from), shown_text(rule.to));
    add("weights.renamed", names_json(from), names_json(to),
        fmt::format("{} renamed: {}. Adapters and loaders of the old names fail.",
                    counted(from.size(), "tensor was", "tensors were"), text));
  }

  static bool same_shapes(const std::vector<TensorView> &from, const std::vector<TensorView> &to) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (*from[i].shape != *to[i].shape)
        return false;
    return true;
  }

  /// Other names and other cuts (fused into split projections): the same parameters under a new
  /// layout.
  bool regrouped() {
    const std::int64_t was = elements_of(removed_);
    const std::int64_t is = elements_of(added_);
    const bool disjoint =
        common_.empty() && removed_.size() == before_.size() && added_.size() == after_.size();
    if (was != is || was == 0)
      return false;
    add("weights.renamed", names_json(removed_), names_json(added_),
        fmt::format("{}: {} ({}) became {} ({}); the parameter count is equal, {}. Adapters and "
                    "loaders of the old names fail.",
                    disjoint ? "No tensor name is left as it was"
                             : "Tensors were renamed and cut differently",
                    counted(removed_.size(), "tensor"),
                    shown_text(pattern(removed_.front().name), 80),
                    counted(added_.size(), "tensor"), shown_text(pattern(added_.front().name), 80),
                    with_thousands(elements_of(after_))));
    return true;
  }

  void reshaped() {
    std::vector<std::pair<TensorView, TensorView>> rows;
    for (const auto &pair : common_)
      if (*pair.first.shape != *pair.second.shape)
        rows.push_back(pair);
    if (rows.empty())
      return;
    std::map<std::string, std::size_t> kinds;
    for (const auto &[a, b] : rows)
      ++kinds[fmt::format("{} {} became {}", shown_text(pattern(a.name), 100),
                          shown_shape(*a.shape), shown_shape(*b.shape))];
    std::vector<std::string> texts;
    for (const auto &[text, n] : kinds)
      texts.push_back(n > 1 ? fmt::format("{} ({} tensors)", text, n) : text);
    Json was = Json::object();
    Json is = Json::object();
    for (std::size_t i = 0; i < rows.size() && i < 20; ++i) {
      was[std::string(rows[i].first.name)] = *rows[i].first.shape;
      is[std::string(rows[i].second.name)] = *rows[i].second.shape;
    }
    const bool announced = shapes_announced_ && shapes_announced_(rows);
    add(announced ? "weights.reshaped-with-config" : "weights.reshaped", json_text(was),
        json_text(is),
        fmt::format(
            "{} another shape{}: {}. {}", counted(rows.size(), "tensor has", "tensors have"),
            announced ? ", the one that config.json now gives" : "", listed(texts, 3), totals()));
  }

  void recast() {
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> kinds;
    std::size_t count = 0;
    for (const auto &[a, b] : common_)
      if (a.dtype != b.dtype) {
        ++kinds[{a.dtype, b.dtype}];
        ++count;
      }
    if (count == 0)
      return;
    std::vector<std::string> texts;
    Json was = Json::object();
    Json is = Json::object();
    for (const auto &[pair, n] : kinds) {
      texts.push_back(
          fmt::format("{} became {} ({})", shown_text(pair.first), shown_text(pair.second), n));
      was[std::string(pair.first)] = n;
      is[std::string(pair.second)] = n;
    }
    add("weights.dtype", json_text(was), json_text(is),
        fmt::format("{} stored in another number format: {}.",
                    counted(count, "tensor is", "tensors are"), listed(texts)));
  }

  const std::string &path_;
  const std::vector<TensorView> &before_;
  const std::vector<TensorView> &after_;
  Changes &changes_;
  std::vector<TensorView> removed_;
  std::vector<TensorView> added_;
  std::vector<std::pair<TensorView, TensorView>> common_;
  const ShapesAnnounced &shapes_announced_;
};

} // namespace

std::string shown_shape(const std::vector<std::int64_t> &shape) {
  std::string text = "[";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

bool compare_tensors(const std::string &path, const std::vector<TensorView> &before,
                     const std::vector<TensorView> &after, Changes &changes,
                     const ShapesAnnounced &shapes_announced) {
  return TensorDiff(path, before, after, changes, shapes_announced).run();
}

} // namespace headwater::diff

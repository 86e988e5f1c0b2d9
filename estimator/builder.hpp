#pragma once

#include "estimator/architecture.hpp"
#include "estimator/config.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwater::estimator {

/// Collects tensor runs: names under a prefix, axes for the layers and experts they repeat over.
class Builder {
public:
  Builder(Architecture &architecture, ReadErrors &errors);

  /// One tensor under the present prefix, repeated over the present axes.
  void add(std::string_view name, std::initializer_list<std::int64_t> shape,
           TensorKind kind = TensorKind::parameter);
  /// NAME.weight [out, in], and NAME.bias [out].
  void linear(std::string_view name, std::int64_t out, std::int64_t in, bool bias = false);
  /// NAME.weight [width], and NAME.bias [width].
  void norm(std::string_view name, std::int64_t width, bool bias = false);
  /// A tensor that shares the bytes of `target` (a full name; `{}` stands for the present axes'
  /// indices).
  void tied(std::string_view name, std::initializer_list<std::int64_t> shape, std::string target);
  /// NAME.weight, counted as embedding too.
  void embedding(std::string_view name, std::int64_t rows, std::int64_t width);

  /// Lasts as long as it lives: a longer prefix, with or without one more axis (`{}` in the text).
  class Scope {
  public:
    Scope(Builder &builder, std::size_t prefix, std::size_t axes)
        : builder_(&builder), prefix_(prefix), axes_(axes) {}
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Builder *builder_;
    std::size_t prefix_;
    std::size_t axes_;
  };
  [[nodiscard]] Scope in(std::string_view prefix);
  [[nodiscard]] Scope over(std::string_view prefix, std::span<const std::int64_t> indices);
  [[nodiscard]] Scope over(std::string_view prefix, std::int64_t count);

  /// What is added from here on counts into these figures (of one layer); nullptr for none.
  void count_into(std::int64_t *parameters, std::int64_t *expert_parameters = nullptr);
  void set_mtp(bool mtp) { mtp_ = mtp; }
  const std::string &prefix() const { return prefix_; }
  ReadErrors &errors() { return *errors_; }

private:
  std::int64_t product(std::span<const std::int64_t> shape, std::string_view name);

  Architecture *architecture_;
  ReadErrors *errors_;
  std::string prefix_;
  std::vector<std::vector<std::int64_t>> axes_;
  std::int64_t *parameters_ = nullptr;
  std::int64_t *expert_parameters_ = nullptr;
  bool mtp_ = false;
};

/// a * b, an error on overflow.
std::int64_t times(ReadErrors &errors, std::int64_t a, std::int64_t b);

} // namespace headwater::estimator

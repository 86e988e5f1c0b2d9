#include "estimator/builder.hpp"

#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace headwater::estimator {

std::int64_t times(ReadErrors &errors, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    errors.add(fmt::format("{} x {} overflows 64 bits", a, b));
    return 1;
  }
  return result;
}

Builder::Builder(Architecture &architecture, ReadErrors &errors)
    : architecture_(&architecture), errors_(&errors) {
  architecture_->tensors.reserve(48);
}

Builder::Scope::~Scope() {
  builder_->prefix_.resize(prefix_);
  builder_->axes_.resize(axes_);
}

Builder::Scope Builder::in(std::string_view prefix) {
  const std::size_t before = prefix_.size();
  prefix_ += prefix;
  if (!prefix.empty() && prefix.back() != '.') {
    prefix_ += '.';
  }
  return {*this, before, axes_.size()};
}

Builder::Scope Builder::over(std::string_view prefix, std::span<const std::int64_t> indices) {
  const std::size_t before = prefix_.size();
  const std::size_t axes = axes_.size();
  prefix_ += prefix;
  prefix_ += prefix.find("{}") == std::string_view::npos ? ".{}." : ".";
  axes_.emplace_back(indices.begin(), indices.end());
  return {*this, before, axes};
}

Builder::Scope Builder::over(std::string_view prefix, std::int64_t count) {
  constexpr std::int64_t limit = 200'000;
  if (count > limit) {
    errors_->add(
        fmt::format("{}{}: {} entries are over the limit of {}", prefix_, prefix, count, limit));
    count = 1;
  }
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return over(prefix, indices);
}

std::int64_t Builder::product(std::span<const std::int64_t> shape, std::string_view name) {
  std::int64_t result = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(result, dimension, &result)) {
      errors_->add(fmt::format("{}{}: shape with {} is negative or overflows 64 bits", prefix_,
                               name, dimension));
      return 0;
    }
  }
  return result;
}

void Builder::add(std::string_view name, std::initializer_list<std::int64_t> shape,
                  TensorKind kind) {
  std::int64_t scalars = product({shape.begin(), shape.size()}, name);
  if (parameters_ != nullptr && kind == TensorKind::parameter) {
    for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
      scalars = times(*errors_, scalars, static_cast<std::int64_t>(axes_[axis].size()));
    }
    *parameters_ += scalars;
    if (expert_parameters_ != nullptr) {
      *expert_parameters_ += scalars;
    }
  }
  TensorRun &run = architecture_->tensors.emplace_back();
  run.name.reserve(prefix_.size() + name.size());
  run.name = prefix_;
  run.name += name;
  run.axes = axes_;
  run.shape.assign(shape.begin(), shape.end());
  run.kind = kind;
  run.mtp = mtp_;
}

void Builder::linear(std::string_view name, std::int64_t out, std::int64_t in, bool bias) {
  std::string full(name);
  full += ".weight";
  add(full, {out, in});
  if (bias) {
    full.replace(name.size(), std::string::npos, ".bias");
    add(full, {out});
  }
}

void Builder::norm(std::string_view name, std::int64_t width, bool bias) {
  std::string full(name);
  full += ".weight";
  add(full, {width});
  if (bias) {
    full.replace(name.size(), std::string::npos, ".bias");
    add(full, {width});
  }
}

void Builder::tied(std::string_view name, std::initializer_list<std::int64_t> shape,
                   std::string target) {
  std::int64_t *parameters = std::exchange(parameters_, nullptr);
  add(name, shape);
  architecture_->tensors.back().tied_to = std::move(target);
  parameters_ = parameters;
}

void Builder::embedding(std::string_view name, std::int64_t rows, std::int64_t width) {
  const std::int64_t scalars = times(*errors_, rows, width);
  if (__builtin_add_overflow(architecture_->counts.embedding, scalars,
                             &architecture_->counts.embedding)) {
    errors_->add(fmt::format("{}{}: the embeddings overflow 64 bits", prefix_, name));
  }
  linear(name, rows, width);
}

void Builder::count_into(std::int64_t *parameters, std::int64_t *expert_parameters) {
  parameters_ = parameters;
  expert_parameters_ = expert_parameters;
}

} // namespace headwater::estimator

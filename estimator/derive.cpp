#include "estimator/architecture.hpp"
#include "estimator/decoder.hpp"
#include "estimator/families.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::estimator {
namespace {

// Scalars of all tensors of a run; -1 on overflow.
std::int64_t scalars_of(const TensorRun &run) {
  std::int64_t total = 1;
  for (const std::int64_t dimension : run.shape) {
    if (__builtin_mul_overflow(total, dimension, &total)) {
      return -1;
    }
  }
  for (const auto &axis : run.axes) {
    if (__builtin_mul_overflow(total, static_cast<std::int64_t>(axis.size()), &total)) {
      return -1;
    }
  }
  return total;
}

void count(Architecture &architecture, ReadErrors &errors) {
  Counts &counts = architecture.counts;
  for (const TensorRun &run : architecture.tensors) {
    if (!run.tied_to.empty()) {
      continue;
    }
    const std::int64_t scalars = scalars_of(run);
    if (run.kind == TensorKind::buffer) {
      counts.buffers += run.mtp || scalars < 0 ? 0 : scalars;
      continue;
    }
    if (scalars < 0 || __builtin_add_overflow(counts.total, scalars, &counts.total)) {
      errors.add(fmt::format("{}: the number of weights overflows 64 bits", run.name));
      return;
    }
    counts.mtp += run.mtp ? scalars : 0;
  }
  counts.active = counts.total - counts.mtp;
  for (const Layer &layer : architecture.layers) {
    counts.active -= layer.feed_forward.parameters - layer.feed_forward.active_parameters;
  }
}

std::string fill(const std::string &pattern, const std::vector<std::int64_t> &indices) {
  std::string name;
  name.reserve(pattern.size() + 8);
  std::size_t axis = 0;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern.compare(at, 2, "{}") == 0 && axis < indices.size()) {
      name += std::to_string(indices[axis++]);
      ++at;
    } else {
      name += pattern[at];
    }
  }
  return name;
}

} // namespace

std::string_view to_string(Reading reading) {
  switch (reading) {
  case Reading::exact:
    return "exact";
  case Reading::transformers_semantics:
    return "transformers-semantics";
  case Reading::headers:
    return "headers";
  case Reading::unknown:
    break;
  }
  return "unknown";
}

Result<Architecture> derive(const Json &config) {
  if (!config.is_object()) {
    return fail(Errc::malformed, "config: not a JSON object");
  }
  Architecture architecture;
  ReadErrors errors;
  Config reader(config, {}, {}, errors);
  architecture.model_type = reader.text("model_type");
  const Json *auto_map = reader.find("auto_map");
  architecture.custom_code = auto_map != nullptr && auto_map->is_object() && !auto_map->empty();
  if (errors.first) {
    return std::unexpected(std::move(*errors.first));
  }
  reader.set_model_type(architecture.model_type);
  read_family(reader, architecture, errors);
  if (!errors.first && architecture.reading != Reading::unknown) {
    count(architecture, errors);
  }
  if (errors.first) {
    return std::unexpected(std::move(*errors.first));
  }
  return architecture;
}

Result<std::vector<Tensor>> expand(const std::vector<TensorRun> &runs, std::size_t limit) {
  std::vector<Tensor> tensors;
  for (const TensorRun &run : runs) {
    std::size_t entries = 1;
    for (const auto &axis : run.axes) {
      if (axis.size() > limit || (axis.size() > 0 && entries > limit / axis.size())) {
        return fail(Errc::too_large, fmt::format("{}: over {} tensors", run.name, limit));
      }
      entries *= axis.size();
    }
    if (entries + tensors.size() > limit) {
      return fail(Errc::too_large, fmt::format("{}: over {} tensors", run.name, limit));
    }
    std::vector<std::int64_t> indices(run.axes.size());
    for (std::size_t entry = 0; entry < entries; ++entry) {
      std::size_t rest = entry;
      for (std::size_t axis = run.axes.size(); axis-- > 0;) {
        indices[axis] = run.axes[axis][rest % run.axes[axis].size()];
        rest /= run.axes[axis].size();
      }
      tensors.push_back(
          {fill(run.name, indices), run.shape, run.kind, run.mtp, fill(run.tied_to, indices)});
    }
  }
  return tensors;
}

} // namespace headwater::estimator

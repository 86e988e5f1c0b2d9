#include "daemon/track/stages.hpp"

#include "daemon/diff/base_model.hpp"
#include "daemon/diff/diff.hpp"
#include "daemon/read/safetensors.hpp"
#include "daemon/read/wanted.hpp"
#include "estimator/plan.hpp"
#include "schemas/json.hpp"
#include "schemas/plan.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace headwater::track {
namespace {

/// Scalars that the safetensors headers at the root add up to; nothing when one of them was not
/// read.
std::optional<std::int64_t> stored_scalars(const Snapshot &snapshot) {
  std::int64_t total = 0;
  bool any = false;
  for (const FileEntry &file : snapshot.files) {
    if (!file.path.ends_with(".safetensors") || file.path.find('/') != std::string::npos)
      continue;
    const auto content = snapshot.contents.find(file.path);
    if (content == snapshot.contents.end() || !content->second.bytes)
      return std::nullopt;
    const Result<read::SafetensorsHeader> header =
        read::read_safetensors_header(*content->second.bytes);
    if (!header)
      return std::nullopt;
    for (const read::StoredTensor &tensor : header->tensors)
      if (__builtin_add_overflow(total, tensor.elements(), &total))
        return std::nullopt;
    any = true;
  }
  return any ? std::optional(total) : std::nullopt;
}

Result<std::string> plan_text(const Snapshot &snapshot) {
  const std::string *text = find_text(snapshot, "config.json");
  if (text == nullptr)
    return std::string();
  const Result<Json> config = parse_json(*text);
  if (!config)
    return wrap("config.json", config.error());
  estimator::PlanOptions options;
  options.stored_scalars = stored_scalars(snapshot);
  const Result<Plan> plan = estimator::plan(*config, options);
  if (!plan)
    return wrap("config.json", plan.error());
  return to_json(*plan).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::vector<PlanChange> plan_moves(const std::string &before, const std::string &after) {
  if (before.empty() || after.empty() || before == after)
    return {};
  const Result<Json> before_json = parse_json(before);
  const Result<Json> after_json = parse_json(after);
  if (!before_json || !after_json)
    return {};
  const Result<Plan> before_plan = plan_from_json(*before_json);
  const Result<Plan> after_plan = plan_from_json(*after_json);
  if (!before_plan || !after_plan)
    return {};
  return estimator::plan_changes(*before_plan, *after_plan);
}

} // namespace

Stages real_stages(const feeds::OsvOptions &osv) {
  Stages stages;
  stages.wanted = read::wanted_part;
  stages.facts = [](const Snapshot &snapshot, const diff::Facts *known) {
    return std::make_shared<const diff::Facts>(diff::facts_of(snapshot, known));
  };
  stages.diff = [](const diff::Side &before, const diff::Side &after) {
    return diff::diff(before, after);
  };
  stages.diff_access = diff::diff_access;
  stages.plan = plan_text;
  stages.plan_changes = plan_moves;
  stages.base_models = diff::base_models;
  stages.compare_with_base = diff::compare_with_base;
  stages.render = [osv](const Advisory &advisory) { return feeds::render_osv(advisory, osv); };
  return stages;
}

} // namespace headwater::track

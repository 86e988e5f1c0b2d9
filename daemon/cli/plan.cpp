#include "daemon/cli/plan.hpp"

#include "daemon/cli/commands.hpp"
#include "estimator/plan.hpp"
#include "schemas/change.hpp"
#include "schemas/text.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_config = std::uintmax_t{16} << 20U;

/// A config and where it came from.
struct Source {
  Json config;
  std::string name;
  std::string repo = {};
  std::string revision = {};
};

int exit_code_of(const Error &error) {
  return error.code == Errc::bad_input || error.code == Errc::malformed ||
                 error.code == Errc::too_large
             ? exit_bad_input
             : exit_upstream;
}

int complain(std::ostream &err, const Error &error) {
  err << "headwater plan: " << plain_text(error.message, 600) << '\n';
  return exit_code_of(error);
}

Result<std::string> read_file(const fs::path &path) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed)
    return fail(Errc::bad_input, fmt::format("{}: {}", path.string(), failed.message()));
  if (size > largest_config) {
    return fail(Errc::too_large,
                fmt::format("{}: {} bytes, more than the {} that a config may have", path.string(),
                            size, largest_config));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file)
    return fail(Errc::bad_input, fmt::format("{}: cannot be read", path.string()));
  return text;
}

/// org/name or name, with @revision behind it.
bool looks_like_repo(std::string_view text) {
  const std::string_view repo = text.substr(0, text.find('@'));
  const std::size_t slash = repo.find('/');
  return !repo.empty() && repo.front() != '.' && repo.front() != '/' && !repo.ends_with(".json") &&
         (slash == std::string_view::npos || repo.find('/', slash + 1) == std::string_view::npos);
}

Result<Source> parse_source(const std::string &text, Source source) {
  Result<Json> config = parse_json(text);
  if (!config)
    return wrap(source.name, std::move(config.error()));
  source.config = std::move(*config);
  return source;
}

Result<Source> load(const PlanCommand &command, const std::string &name) {
  std::error_code ignored;
  fs::path path(name);
  if (fs::is_directory(path, ignored)) {
    path /= "config.json";
    if (!fs::exists(path, ignored)) {
      return fail(Errc::bad_input, fmt::format("{}: the folder has no config.json", name));
    }
  }
  if (fs::exists(path, ignored)) {
    const Result<std::string> text = read_file(path);
    if (!text)
      return std::unexpected(text.error());
    return parse_source(*text, {.config = {}, .name = name});
  }
  if (!looks_like_repo(name) || !command.fetch_config) {
    return fail(Errc::bad_input,
                fmt::format("{}: no such file or folder{}", name,
                            looks_like_repo(name) ? "" : ", and not a repo (org/name[@revision])"));
  }
  const std::size_t at = name.find('@');
  Source source = {.config = {},
                   .name = name,
                   .repo = name.substr(0, at),
                   .revision = at == std::string::npos ? "" : name.substr(at + 1)};
  Result<std::string> text = command.fetch_config(source.repo, source.revision);
  if (!text)
    return wrap(name, std::move(text.error()));
  return parse_source(*text, std::move(source));
}

estimator::PlanOptions options_of(const PlanCommand &command) {
  estimator::PlanOptions options;
  options.batch = command.batch;
  if (command.seq != 0) {
    options.train_seq = command.seq;
    options.serve_seq = command.seq;
  }
  options.card = command.card;
  options.muted = command.muted;
  options.tensors = command.tensors;
  return options;
}

Result<Plan> plan_source(const Source &source, const estimator::PlanOptions &options) {
  Result<Plan> plan = estimator::plan(source.config, options);
  if (!plan) {
    if (plan.error().code == Errc::malformed) {
      plan.error().message += "; correct that key in the config, a size is never guessed";
      return wrap(source.name, std::move(plan.error()));
    }
    return plan;
  }
  plan->source = source.name;
  plan->repo = source.repo;
  plan->revision = source.revision;
  return plan;
}

int print_comparison(const PlanCommand &command, const Plan &before, const Plan &after,
                     std::ostream &out) {
  const std::vector<PlanChange> changes = estimator::plan_changes(before, after);
  if (command.json) {
    OrderedJson changed = OrderedJson::array();
    for (const PlanChange &change : changes)
      changed.push_back(to_json(change));
    out << OrderedJson{{"before", to_json(before)}, {"after", to_json(after)}, {"changed", changed}}
               .dump(2, ' ', false, OrderedJson::error_handler_t::replace)
        << '\n';
    return exit_fine;
  }
  out << fmt::format("{} -> {}\n", plain_text(before.source), plain_text(after.source));
  if (changes.empty())
    out << "  no figure differs\n";
  for (const PlanChange &change : changes)
    out << "  " << plain_text(change.sentence) << '\n';
  return exit_fine;
}

} // namespace

int run_plan(const PlanCommand &command, std::ostream &out, std::ostream &err) {
  estimator::PlanOptions options = options_of(command);
  const std::optional<estimator::MemoryModel> model =
      estimator::memory_model_from(command.memory_model);
  if (!model) {
    return complain(
        err, {Errc::bad_input, fmt::format("memory model \"{}\" is neither reference nor physical",
                                           command.memory_model)});
  }
  options.memory_model = *model;

  const Result<Source> source = load(command, command.source);
  if (!source)
    return complain(err, source.error());
  std::optional<Reconciliation> reconciliation;
  if (!command.reconcile.empty()) {
    Result<Reconciliation> held = reconcile(source->config, command.reconcile);
    if (!held)
      return complain(err, held.error());
    reconciliation = std::move(*held);
    options.stored_scalars = reconciliation->stored_scalars;
  }
  const Result<Plan> plan = plan_source(*source, options);
  if (!plan)
    return complain(err, plan.error());
  const int code = plan->reading == "unknown" ? exit_upstream : exit_fine;

  if (!command.compare.empty()) {
    const Result<Source> other = load(command, command.compare);
    if (!other)
      return complain(err, other.error());
    const Result<Plan> after = plan_source(*other, options);
    if (!after)
      return complain(err, after.error());
    return print_comparison(command, *plan, *after, out);
  }
  if (command.json) {
    OrderedJson json = to_json(*plan);
    if (reconciliation)
      json["reconciliation"] = to_json(*reconciliation);
    out << json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) << '\n';
  } else {
    out << plan_page(*plan, command.colour);
    if (reconciliation)
      out << reconciliation_page(*reconciliation, command.colour);
  }
  if (reconciliation && plan->reading != "headers" && !reconciliation->agrees())
    return exit_found;
  return code;
}

} // namespace headwater::cli

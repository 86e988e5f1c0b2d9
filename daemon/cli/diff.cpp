#include "daemon/cli/diff.hpp"

#include "daemon/diff/diff.hpp"
#include "daemon/diff/load.hpp"
#include "estimator/plan.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {
namespace {

Result<Snapshot> load(const std::string &source, const DiffCommand &command) {
  std::error_code error;
  if (std::filesystem::is_directory(source, error))
    return diff::load_folder(source);
  const std::size_t at = source.rfind('@');
  const std::string repo = source.substr(0, at);
  const std::string revision = at == std::string::npos ? "" : source.substr(at + 1);
  if (!parse_repo_id(repo))
    return fail(Errc::bad_input,
                fmt::format("{} is neither a folder nor org/name@revision", plain_text(source)));
  if (!command.fetch)
    return fail(Errc::bad_input, "revisions of a hub cannot be read here; give two folders");
  return command.fetch(repo, revision);
}

std::optional<Plan> plan_of(const Snapshot &snapshot) {
  const std::string *text = find_text(snapshot, "config.json");
  if (text == nullptr)
    return std::nullopt;
  const Result<Json> config = parse_json(*text);
  if (!config)
    return std::nullopt;
  Result<Plan> plan = estimator::plan(*config);
  return plan ? std::optional(std::move(*plan)) : std::nullopt;
}

OrderedJson as_json(const DiffCommand &command, const Delta &delta,
                    const std::optional<Plan> &before, const std::optional<Plan> &after) {
  OrderedJson json;
  json["from"] = command.before;
  json["to"] = command.after;
  json["impact"] = to_string(impact_of(delta.changes));
  json["level"] = to_string(level_of(delta.changes));
  json["advisory"] = level_of(delta.changes) >= Level::medium;
  json["changes"] = OrderedJson::array();
  for (const Change &change : delta.changes)
    json["changes"].push_back(to_json(change));
  json["plan"]["before"] = before ? to_json(*before) : OrderedJson();
  json["plan"]["after"] = after ? to_json(*after) : OrderedJson();
  json["plan"]["changed"] = OrderedJson::array();
  for (const PlanChange &change : delta.plan_changes)
    json["plan"]["changed"].push_back(to_json(change));
  return json;
}

/// Paints words on a terminal; gives them back plain elsewhere.
class Paint {
public:
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(std::string_view text, std::string_view code) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  std::string level(Level level) const {
    constexpr std::array<std::string_view, 4> codes{"2", "33", "1;31", "1;97;41"};
    return (*this)(to_string(level), codes[static_cast<std::size_t>(level)]);
  }

private:
  bool on_;
};

/// A paragraph broken at spaces, each line set in.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string out;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += fmt::format("{}{}\n", indent, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!line.empty())
    out += fmt::format("{}{}\n", indent, line);
  return out;
}

/// A value that only names a file's bytes says nothing to a person.
bool is_object_id(std::string_view json) {
  return (json.size() == 42 || json.size() == 66) &&
         json.substr(1, json.size() - 2).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

/// Where the lines of two values start so that a long common beginning does not hide what differs.
std::size_t start_of_difference(std::string_view before, std::string_view after, std::size_t lead) {
  const auto [left, right] = std::ranges::mismatch(before, after);
  const std::size_t differs = static_cast<std::size_t>(left - before.begin());
  if (differs <= 2 * lead)
    return 0;
  std::size_t start = differs - lead;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(before[at]) & 0xC0U) == 0x80U;
  };
  while (start > 0 && start < before.size() && continues(start))
    --start;
  return start;
}

std::string value_lines(const Change &change, const Paint &paint) {
  constexpr std::size_t longest = 160;
  constexpr std::size_t lead = 40;
  const std::string_view before = change.before_json;
  const std::string_view after = change.after_json;
  if (is_object_id(before) || is_object_id(after))
    return {};
  const std::size_t start =
      before != "null" && after != "null" ? start_of_difference(before, after, lead) : 0;
  const auto line = [&](std::string_view mark, std::string_view value, std::string_view colour) {
    if (value == "null")
      return std::string();
    return paint(fmt::format("      {} {}{}", mark, start > 0 ? "\u2026" : "",
                             plain_text(value.substr(start), longest)),
                 colour) +
           "\n";
  };
  return line("-", before, "31") + line("+", after, "32");
}

void print(const DiffCommand &command, const Delta &delta, std::ostream &out) {
  const Paint paint(command.colour);
  const std::string title =
      fmt::format("{} -> {}", plain_text(command.before), plain_text(command.after));
  if (delta.changes.empty()) {
    out << paint(title, "1") << "\nNothing changed that a reader of these files can tell.\n";
    return;
  }
  out << paint(title, "1") << "\n"
      << fmt::format("{}, {}; {} {}{}\n", paint.level(level_of(delta.changes)),
                     to_string(impact_of(delta.changes)), delta.changes.size(),
                     delta.changes.size() == 1 ? "change" : "changes",
                     level_of(delta.changes) >= Level::medium ? "; an advisory would be made"
                                                              : "; no advisory");
  std::optional<Level> level;
  for (const Change &change : delta.changes) {
    if (level != change.level)
      out << "\n" << paint.level(change.level) << "\n";
    level = change.level;
    out << fmt::format("  {} {} {}\n", to_string(change.impact), paint(change.kind, "1"),
                       paint(plain_text(change.path), "36"));
    out << wrapped(change.explanation, 96, "    ");
    out << value_lines(change, paint);
  }
  if (!delta.plan_changes.empty()) {
    out << "\n" << paint("plan", "1") << "\n";
    for (const PlanChange &change : delta.plan_changes)
      out << wrapped(change.sentence, 96, "  ");
  }
}

int refuse(const Error &error, std::ostream &err) {
  err << "headwater diff: " << error.message << "\n";
  return error.code == Errc::bad_input ? 2 : 3;
}

} // namespace

int run_diff(const DiffCommand &command, std::ostream &out, std::ostream &err) {
  const Result<Snapshot> before = load(command.before, command);
  if (!before)
    return refuse(before.error(), err);
  const Result<Snapshot> after = load(command.after, command);
  if (!after)
    return refuse(after.error(), err);
  Delta delta = diff::diff(*before, *after);
  const std::optional<Plan> plan_before = plan_of(*before);
  const std::optional<Plan> plan_after = plan_of(*after);
  if (plan_before && plan_after)
    delta.plan_changes = estimator::plan_changes(*plan_before, *plan_after);
  if (command.json)
    out << as_json(command, delta, plan_before, plan_after)
               .dump(2, ' ', false, OrderedJson::error_handler_t::replace)
        << "\n";
  else
    print(command, delta, out);
  return command.exit_code && level_of(delta.changes) >= Level::medium ? 1 : 0;
}

} // namespace headwater::cli

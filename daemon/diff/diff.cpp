#include "daemon/diff/diff.hpp"

#include "daemon/diff/subjects.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using SubjectDiff = void (*)(const Sides &, Changes &);

constexpr std::array<SubjectDiff, 8> subject_diffs{diff_template,  diff_stop_set, diff_sampling,
                                                   diff_tokenizer, diff_config,   diff_weights,
                                                   diff_code,      diff_licence};

Json gate_json(Gate gate) {
  return gate == Gate::open ? Json(false) : Json(gate == Gate::manual ? "manual" : "auto");
}

std::string_view gate_kind(Gate before, Gate after) {
  if (after == Gate::open)
    return "access.ungated";
  if (before == Gate::open)
    return "access.gated";
  return after == Gate::manual ? "access.gate-manual" : "access.gate-automatic";
}

std::string gate_sentence(Gate before, Gate after) {
  if (after == Gate::open)
    return "Files can be read again without asking for access.";
  const std::string who =
      after == Gate::manual ? "a person decides" : "it is granted automatically";
  if (before == Gate::open)
    return fmt::format("Access to the files must now be asked for ({}); downloads without a token "
                       "of somebody with access fail.",
                       who);
  return fmt::format("Access to the files is still asked for; now {}.", who);
}

} // namespace

Delta diff(const Snapshot &before, const Snapshot &after) {
  const Facts was = facts_beside(before, after);
  const Facts is = facts_beside(after, before, &was);
  return diff({before, was}, {after, is});
}

Delta diff(const Side &old, const Side &now) {
  const Snapshot &before = old.snapshot;
  const Snapshot &after = now.snapshot;
  Delta delta;
  delta.repo = after.facts.name;
  delta.branch = after.branch;
  delta.from = before.commit.sha;
  delta.to = after.commit.sha;
  delta.date = after.commit.date;
  delta.title = after.commit.title;
  const Sides sides = make_sides(old, now);
  for (const SubjectDiff subject : subject_diffs)
    subject(sides, delta.changes);
  sort_changes(delta.changes);
  return delta;
}

std::vector<Change> diff_access(const RepoFacts &before, const RepoFacts &after) {
  Changes changes;
  const auto add = [&](std::string_view kind, const Json &was, const Json &is,
                       std::string sentence) {
    changes.push_back(make_change(kind, "", json_text(was), json_text(is), std::move(sentence)));
  };
  if (!before.identity.empty() && !after.identity.empty() && before.identity != after.identity)
    add("access.replaced", before.identity, after.identity,
        before.name == after.name
            ? fmt::format(
                  "Another repository took the name {}: it is not the one that was tracked.",
                  after.name)
            : fmt::format("The name {} now leads to another repository, {}: it is not the one that "
                          "was tracked.",
                          before.name, after.name));
  else if (before.name != after.name)
    add("access.renamed", before.name, after.name,
        fmt::format("{} is now called {}; the old name leads there for the time being.",
                    before.name, after.name));
  if (before.gate != after.gate)
    add(gate_kind(before.gate, after.gate), gate_json(before.gate), gate_json(after.gate),
        gate_sentence(before.gate, after.gate));
  if (before.is_private != after.is_private)
    add(after.is_private ? "access.private" : "access.public", before.is_private, after.is_private,
        after.is_private ? "The repository was made private: nobody outside can read it."
                         : "The repository is public again.");
  if (before.disabled != after.disabled)
    add(after.disabled ? "access.disabled" : "access.enabled", before.disabled, after.disabled,
        after.disabled ? "The hub disabled the repository: its files cannot be downloaded."
                       : "The hub enabled the repository again.");
  diff_licence_tags(before, after, changes);
  sort_changes(changes);
  return changes;
}

} // namespace headwater::diff

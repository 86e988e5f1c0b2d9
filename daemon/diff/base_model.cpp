#include "daemon/diff/base_model.hpp"

#include "daemon/diff/subjects.hpp"
#include "daemon/read/card.hpp"
#include "schemas/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

constexpr std::size_t most_bases = 8;

using SubjectDiff = void (*)(const Sides &, Changes &);

/// The strongest difference of one subject, told as a difference from the base.
void compare(const Sides &sides, SubjectDiff subject, std::string_view kind, std::string_view what,
             Changes &told) {
  Changes changes;
  subject(sides, changes);
  std::erase_if(changes, [](const Change &change) { return change.impact == Impact::cosmetic; });
  if (changes.empty())
    return;
  sort_changes(changes);
  const Change &first = changes.front();
  std::string sentence =
      fmt::format("{} differs from that of the base model {}: {}", what,
                  plain_text(sides.before.snapshot.facts.name, 100), first.explanation);
  if (changes.size() > 1)
    sentence += fmt::format(" And {} more.", counted(changes.size() - 1, "difference"));
  told.push_back(
      make_change(kind, first.path, first.before_json, first.after_json, std::move(sentence)));
}

} // namespace

std::vector<std::string> base_models(const Snapshot &snapshot) {
  std::vector<std::string> names;
  const std::string *text = find_text(snapshot, "README.md");
  if (text == nullptr)
    return names;
  const Result<read::Card> card = read::read_card(*text);
  if (!card)
    return names;
  for (const std::string &name : card->base_models)
    if (names.size() < most_bases && parse_repo_id(name))
      names.push_back(name);
  return names;
}

std::vector<Change> compare_with_base(const Snapshot &base, const Snapshot &model) {
  const Facts base_facts = facts_beside(base, model);
  const Facts model_facts = facts_beside(model, base, &base_facts);
  const Sides sides = make_sides({base, base_facts}, {model, model_facts});
  Changes told;
  compare(sides, diff_template, "template.base-differs", "The chat template", told);
  compare(sides, diff_stop_set, "stop-set.base-differs", "Where generation stops", told);
  compare(sides, diff_tokenizer, "tokenizer.base-differs", "The tokenizer", told);
  return told;
}

} // namespace headwater::diff

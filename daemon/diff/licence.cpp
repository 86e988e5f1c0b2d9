#include "daemon/diff/licence_terms.hpp"
#include "daemon/diff/subjects.hpp"
#include "daemon/read/card.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using read::FileRole;

/// Where two licences stand to each other by their terms: +1 the second is stricter, -1 looser, 0
/// neither.
int stricter(const LicenceTerms &before, const LicenceTerms &after) {
  bool more = false;
  bool less = false;
  const auto weigh = [&](int a, int b) {
    more = more || b > a;
    less = less || b < a;
  };
  weigh(before.no_commercial ? 1 : 0, after.no_commercial ? 1 : 0);
  weigh(before.no_derivatives ? 1 : 0, after.no_derivatives ? 1 : 0);
  weigh(before.use_restricted ? 1 : 0, after.use_restricted ? 1 : 0);
  weigh(before.copyleft, after.copyleft);
  weigh(before.attribution ? 1 : 0, after.attribution ? 1 : 0);
  // To forbid commerce outweighs what else may have been eased; copyleft and attribution do not.
  if (before.no_commercial != after.no_commercial)
    return after.no_commercial ? 1 : -1;
  return more == less ? 0 : more ? 1 : -1;
}

void compare(const std::string &path, const std::string &before, const std::string &after,
             Changes &changes) {
  if (before == after)
    return;
  const std::string was = licence_name(before);
  const std::string is = licence_name(after);
  const std::string from = before.empty() ? "nothing" : shown_text(before);
  const std::string to = after.empty() ? "nothing" : shown_text(after);
  const auto add = [&](std::string_view kind, std::string sentence) {
    changes.push_back(make_change(kind, path, before.empty() ? "null" : json_text(Json(before)),
                                  after.empty() ? "null" : json_text(Json(after)),
                                  std::move(sentence)));
  };
  if (was == is)
    return add("licence.name", fmt::format("The licence {} is now written {}.", from, to));
  if (was.empty())
    return add("licence.stated", fmt::format("The licence is now stated: {}.", to));
  if (is.empty())
    return add(
        "licence.withdrawn",
        fmt::format("The licence {} is no longer stated; without one, nothing is allowed.", from));
  const std::optional<LicenceTerms> old_terms = licence_terms(was);
  const std::optional<LicenceTerms> new_terms = licence_terms(is);
  // "other" stands for terms of the publisher's own: from a known free licence that takes something
  // away.
  const LicenceTerms own{false, false, true, 0, true};
  const auto terms = [&](const std::optional<LicenceTerms> &known,
                         const std::string &name) -> std::optional<LicenceTerms> {
    return known ? known : name == "other" ? std::optional(own) : std::nullopt;
  };
  const std::optional<LicenceTerms> left = terms(old_terms, was);
  const std::optional<LicenceTerms> right = terms(new_terms, is);
  const int order = left && right ? stricter(*left, *right) : 0;
  if (order > 0)
    return add("licence.stricter",
               fmt::format("The licence became stricter: {} became {}.{}", from, to,
                           right->no_commercial && !left->no_commercial
                               ? " Commercial use is no longer allowed."
                               : ""));
  if (order < 0)
    return add("licence.looser", fmt::format("The licence became looser: {} became {}.{}", from, to,
                                             left->no_commercial && !right->no_commercial
                                                 ? " Commercial use is now allowed."
                                                 : ""));
  add("licence.changed", fmt::format("The licence changed: {} became {}.", from, to));
}

std::string tag_licence(const RepoFacts &facts) {
  std::string text;
  for (const std::string &tag : facts.tags)
    if (tag.starts_with("license:"))
      text += (text.empty() ? "" : ", ") + tag.substr(8);
  return text;
}

} // namespace

std::string full_licence_name(const read::Card &card) {
  if (card.licence.empty())
    return {};
  return card.licence == "other" && !card.licence_name.empty() ? card.licence_name : card.licence;
}

void diff_licence(const Sides &sides, Changes &changes) {
  bool card_told = false;
  for (const FilePair &file : sides.files) {
    if (file.role != FileRole::card || !file.differs || !read::folder_of(file.path).empty())
      continue;
    const auto card_of = [&](const Snapshot &snapshot) -> Result<read::Card> {
      if (find_file(snapshot, file.path) == nullptr)
        return read::Card{};
      const std::string *text = bytes_of(snapshot, file.path);
      return text != nullptr ? read::read_card(*text) : fail(Errc::gone, "not read");
    };
    const Result<read::Card> before = card_of(sides.before);
    const Result<read::Card> after = card_of(sides.after);
    if (!before || !after)
      continue;
    const std::size_t start = changes.size();
    compare(file.path + "#/license", full_licence_name(*before), full_licence_name(*after),
            changes);
    card_told = card_told || changes.size() > start;
  }
  for (const FilePair &file : sides.files) {
    if (file.role != FileRole::licence || !file.differs || file.before == nullptr ||
        file.after == nullptr)
      continue;
    const auto words = [](const std::string *text) {
      std::string joined;
      if (text != nullptr)
        for (const char c : *text)
          if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            joined += c;
      return joined;
    };
    const std::string *before = bytes_of(sides.before, file.path);
    const std::string *after = bytes_of(sides.after, file.path);
    const bool spaces_only = before != nullptr && after != nullptr && words(before) == words(after);
    changes.push_back(make_change(
        spaces_only ? "licence.name" : "licence.text", file.path, id_text(file.before),
        id_text(file.after),
        spaces_only
            ? fmt::format("{} differs in white space alone.", file.path)
            : fmt::format("The text of {} changed{}.", file.path,
                          card_told ? "" : "; the card states the same licence as before")));
  }
}

void diff_licence_tags(const RepoFacts &before, const RepoFacts &after, Changes &changes) {
  compare("", tag_licence(before), tag_licence(after), changes);
}

} // namespace headwater::diff

// The page of change kinds in docs/ is made from the table, so that the docs cannot say anything
// else.
#include "schemas/change.hpp"
#include "tests/diff/fixture.hpp"
#include "tests/folders.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace headwater {
namespace {

std::string page() {
  std::string text = "# What Headwater tells\n\n"
                     "Every change has a kind. The kind alone decides the subject, the impact and "
                     "the level; an advisory is made for a\n"
                     "revision from level `medium`. This page is made from "
                     "`schemas/change_kinds.cpp`: run the diff tests with\n"
                     "`HEADWATER_WRITE_DOCS=1` after a change of the table.\n\n"
                     "Impact: `breaking` a normal user stops working, `security` other code runs "
                     "or history was rewritten, `access`\n"
                     "licence, gate, removal or rename, `behaviour` it runs and answers "
                     "differently, `cost` memory, price or speed,\n"
                     "`cosmetic` nothing that runs can tell. Level: `critical` fails for all at "
                     "load or request, `high` wrong answers, other\n"
                     "code or other weights for most, `medium` some must act or test again, `low` "
                     "told, never an advisory.\n";
  std::string_view subject;
  for (const ChangeKind &kind : change_kinds()) {
    const std::string_view group = kind.subject.substr(0, kind.subject.find('.'));
    if (group != subject)
      text += fmt::format("\n## {}\n\n| Kind | Subject | Impact | Level | Meaning | Example "
                          "|\n|---|---|---|---|---|---|\n",
                          group);
    subject = group;
    const auto cell = [](std::string_view value) {
      std::string escaped;
      for (const char c : value)
        escaped += c == '|' ? std::string("\\|") : std::string(1, c);
      return escaped;
    };
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", kind.kind, kind.subject,
                        to_string(kind.impact), to_string(kind.level), cell(kind.meaning),
                        cell(kind.example));
  }
  return text;
}

TEST(ChangeKinds, AreEachListedOnceWithAKnownSubject) {
  std::set<std::string_view> seen;
  const std::set<std::string_view> known(subjects().begin(), subjects().end());
  for (const ChangeKind &kind : change_kinds()) {
    EXPECT_TRUE(seen.insert(kind.kind).second) << kind.kind;
    EXPECT_TRUE(known.contains(kind.subject)) << kind.kind << " " << kind.subject;
    EXPECT_TRUE(kind.meaning.ends_with('.')) << kind.kind;
    EXPECT_FALSE(kind.example.empty()) << kind.kind;
    EXPECT_EQ(find_change_kind(kind.kind), &kind);
    if (kind.impact == Impact::cosmetic) {
      EXPECT_EQ(kind.level, Level::low) << kind.kind;
    }
  }
  for (const std::string_view subject : subjects())
    EXPECT_TRUE(std::ranges::any_of(change_kinds(), [&](const ChangeKind &kind) {
      return kind.subject == subject;
    })) << subject;
}

TEST(ChangeKinds, AreOnTheDocsPage) {
  const std::string path = test::source_folder() / "docs/changes.md";
  if (std::getenv("HEADWATER_WRITE_DOCS") != nullptr)
    std::ofstream(path, std::ios::binary) << page();
  EXPECT_EQ(diff::test::read_file(path), page());
}

} // namespace
} // namespace headwater

#include "schemas/change.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace headwater {
namespace {

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

} // namespace
} // namespace headwater

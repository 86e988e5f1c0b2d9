// Random single edits are named at their place and nowhere else; random rewrites that mean the same
// stay quiet; what is undone is told the other way round. HEADWATER_SEED sets the seed, which is
// printed. Without the shared corpus the same runs over small files of our own.
#include "daemon/diff/diff.hpp"
#include "tests/diff/material.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::diff {
namespace {

using test::Material;
using test::Random;
using test::Revision;
using test::Rewrite;

constexpr int rounds = 300;

Random seeded() {
  const char *given = std::getenv("HEADWATER_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20260614;
  std::cout << "HEADWATER_SEED=" << seed << "\n";
  return Random(seed);
}

std::string told(const Delta &delta) {
  std::string text;
  for (const Change &item : delta.changes)
    text += "  " + item.kind + " " + item.path + ": " + item.before_json.substr(0, 100) + " -> " +
            item.after_json.substr(0, 100) + "\n    " + item.explanation + "\n";
  return text;
}

/// True when a change at `path` names the place that was edited, or the value that it is a part of.
bool names(const std::string &path, const std::string &place) {
  return path == place || place.starts_with(path + "/") || place.starts_with(path + "#") ||
         path.starts_with(place + "/");
}

/// Kinds of which each direction has a name of its own.
std::string mirrored(const std::string &kind) {
  constexpr auto pairs = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"weights.tensors-added", "weights.tensors-removed"},
      {"licence.stricter", "licence.looser"},
      {"licence.stated", "licence.withdrawn"},
      {"template.does-not-parse", "template.parses-again"},
      {"template.raises", "template.renders-again"},
      {"code.auto-map", "code.auto-map-removed"},
  });
  for (const auto &[one, other] : pairs) {
    if (kind == one)
      return std::string(other);
    if (kind == other)
      return std::string(one);
  }
  // A token that went can change ids; one that came can only where a merge or a score leads to it.
  if (kind.starts_with("tokenizer.vocabulary-") && kind != "tokenizer.vocabulary-renumbered")
    return "tokenizer.vocabulary-";
  return kind;
}

/// Faults that are told when they come and not when they go.
bool one_way(const Change &change) {
  return change.kind == "stop-set.disagreement" || change.kind == "weights.index-mismatch" ||
         change.kind == "template.double-bos";
}

void expect_mirror(const Delta &there, const Delta &back) {
  for (const auto &[from, to] : {std::pair(&there, &back), std::pair(&back, &there)})
    for (const Change &change : from->changes) {
      const std::string kind = mirrored(change.kind);
      EXPECT_TRUE(one_way(change) ||
                  std::ranges::any_of(to->changes,
                                      [&](const Change &other) {
                                        return (other.kind == change.kind ||
                                                other.kind.starts_with(kind)) &&
                                               other.before_json == change.after_json &&
                                               other.after_json == change.before_json;
                                      }))
          << change.kind << " " << change.path << " has no mirror\n"
          << told(*to);
    }
}

TEST(Mutation, OneEditIsNamedAtItsPlaceAndNowhereElse) {
  Random random = seeded();
  const Material material;
  std::map<std::string, int> tried;
  for (int done = 0; done < rounds;) {
    const std::optional<Rewrite> edit = material.edit(random);
    if (!edit)
      continue;
    ++done;
    ++tried[edit->sort];
    const Snapshot before = test::snapshot_of(edit->before);
    const Snapshot after = test::snapshot_of(edit->after);
    const Delta delta = diff(before, after);
    SCOPED_TRACE(edit->what + "\n" + told(delta));
    EXPECT_FALSE(delta.changes.empty());
    for (const Change &change : delta.changes)
      EXPECT_TRUE(names(change.path, edit->place)) << change.path << " is not " << edit->place;
    if (edit->one_fact) {
      EXPECT_EQ(delta.changes.size(), 1U);
    }
    expect_mirror(delta, diff(after, before));
    EXPECT_TRUE(diff(after, after).changes.empty());
  }
  for (const auto &[sort, n] : tried)
    std::cout << "  " << n << " " << sort << "\n";
}

TEST(Mutation, RewritesThatMeanTheSameStayQuiet) {
  Random random = seeded();
  const Material material;
  std::map<std::string, int> tried;
  for (int done = 0; done < rounds;) {
    const std::optional<Rewrite> rewrite = material.same(random);
    if (!rewrite)
      continue;
    ++done;
    ++tried[rewrite->sort];
    const Snapshot before = test::snapshot_of(rewrite->before);
    const Snapshot after = test::snapshot_of(rewrite->after);
    const Delta delta = diff(before, after);
    const Delta back = diff(after, before);
    SCOPED_TRACE(rewrite->what + "\n" + told(delta) + "back:\n" + told(back));
    for (const Delta *one : {&delta, &back}) {
      EXPECT_EQ(level_of(one->changes), Level::low);
      EXPECT_EQ(impact_of(one->changes), Impact::cosmetic);
    }
    expect_mirror(delta, back);
  }
  for (const auto &[sort, n] : tried)
    std::cout << "  " << n << " " << sort << "\n";
}

} // namespace
} // namespace headwater::diff

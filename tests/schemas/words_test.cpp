#include "schemas/advisory.hpp"
#include "schemas/change.hpp"
#include "schemas/digest.hpp"
#include "schemas/repo.hpp"
#include "schemas/text.hpp"
#include "schemas/time.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

TEST(RepoId, TakesOrgAndNameAndRefusesTheRest) {
  EXPECT_EQ(parse_repo_id("meta-llama/Llama-3.1-8B")->str(), "meta-llama/Llama-3.1-8B");
  for (const char *bad : {"", "gpt2", "/x", "x/", "a/b/c", "../b", "a/.b", "-a/b", "a b/c", "a/b\n",
                          "a/b?x", "a/\xE2\x80\xAE"})
    EXPECT_FALSE(parse_repo_id(bad)) << bad;
  EXPECT_FALSE(parse_repo_id(std::string(97, 'a') + "/b"));
}

TEST(Revision, IsFortyLowerCaseHexDigits) {
  EXPECT_TRUE(is_revision("607a30d783dfa663caf39e06633721c8d4cfcd7e"));
  EXPECT_FALSE(is_revision("607A30D783DFA663CAF39E06633721C8D4CFCD7E"));
  EXPECT_FALSE(is_revision("main"));
}

TEST(ChangeKinds, EachRowIsCompleteAndNamedOnce) {
  std::set<std::string_view> seen;
  for (const ChangeKind &kind : change_kinds()) {
    EXPECT_TRUE(seen.insert(kind.kind).second) << kind.kind;
    EXPECT_NE(kind.kind.find('.'), std::string_view::npos) << kind.kind;
    EXPECT_FALSE(kind.meaning.empty()) << kind.kind;
    EXPECT_FALSE(kind.example.empty()) << kind.kind;
    EXPECT_TRUE(std::ranges::find(subjects(), kind.subject) != subjects().end())
        << kind.kind << " " << kind.subject;
    EXPECT_TRUE(kind.impact != Impact::cosmetic || kind.level == Level::low) << kind.kind;
  }
  EXPECT_GT(seen.size(), 30U);
}

TEST(Delta, LevelIsTheHighestAndImpactThatOfTheHighest) {
  std::vector<Change> changes(3);
  changes[0].level = Level::low;
  changes[0].impact = Impact::breaking;
  changes[1].level = Level::high;
  changes[1].impact = Impact::cost;
  changes[2].level = Level::high;
  changes[2].impact = Impact::behaviour;
  EXPECT_EQ(level_of(changes), Level::high);
  EXPECT_EQ(impact_of(changes), Impact::behaviour);
  sort_changes(changes);
  EXPECT_EQ(changes.front().impact, Impact::behaviour);
  EXPECT_EQ(changes.back().level, Level::low);
  EXPECT_EQ(impact_of({}), Impact::cosmetic);
}

Delta sample_delta() {
  Delta delta;
  delta.repo = "acme/tiny";
  delta.from = std::string(40, 'a');
  delta.to = std::string(40, 'b');
  delta.date = "2026-01-02T03:04:05Z";
  delta.title = "Change \"everything\"";
  Change change;
  change.kind = "template.generation-prompt";
  change.subject = "template";
  change.impact = Impact::behaviour;
  change.level = Level::high;
  change.path = "chat_template.jinja";
  change.before_json = R"("<a>")";
  change.after_json = R"({"x":[1,2.5,null]})";
  change.explanation = "generation prompt gained suffix";
  delta.changes = {change};
  delta.plan_changes = {{"kv_cache_bytes", "1", "2", "KV cache doubled"}};
  return delta;
}

TEST(Delta, ReadsBackFromItsJson) {
  const Delta delta = sample_delta();
  const auto again = delta_from_json(Json::parse(to_json(delta).dump()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, delta);
}

TEST(Advisory, ReadsBackFromItsJson) {
  Advisory advisory;
  advisory.id = "x_T-2026-0123456789ab";
  advisory.repo = "acme/tiny";
  advisory.impact = Impact::behaviour;
  advisory.level = Level::high;
  advisory.kinds = {"template.generation-prompt"};
  advisory.backfilled = true;
  advisory.related = {"x_T-2026-ba9876543210"};
  advisory.affected = {{"template",
                        AdvisoryState::reverted,
                        std::string(40, 'b'),
                        std::string(40, 'c'),
                        "",
                        {std::string(40, 'b')},
                        sample_delta().changes}};
  advisory.plan_changes = sample_delta().plan_changes;
  const auto again = advisory_from_json(Json::parse(to_json(advisory).dump()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, advisory);
}

TEST(AdvisoryId, IsTheHashOfWhatChangedAndNothingCounted) {
  const std::string origin = "https://hub.example";
  const auto id = [&](const char *date, const char *branch) {
    return advisory_id("x_T", date, "2026-12-02T00:00:00Z", origin, "621ffdc036468d709f17434d",
                       std::string(40, 'b'), branch);
  };
  const std::string material = origin + std::string(1, '\0') + "621ffdc036468d709f17434d" +
                               std::string(1, '\0') + std::string(40, 'b');
  EXPECT_EQ(id("2025-05-01T00:00:00Z", "main"), "x_T-2025-" + sha256_hex(material).substr(0, 12));
  EXPECT_NE(id("2025-05-01T00:00:00Z", "dev"), id("2025-05-01T00:00:00Z", "main"));
  EXPECT_EQ(id("1970-01-01T00:00:00Z", "main").substr(0, 9), "x_T-2000-")
      << "years before 2000 are clamped";
  EXPECT_EQ(id("9999-01-01T00:00:00Z", "main").substr(0, 9), "x_T-2026-")
      << "years after now are clamped";
}

TEST(Digest, MatchesTheKnownValues) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(git_blob_id(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST(Time, ReadsAndWritesRfc3339) {
  struct Case {
    const char *text;
    const char *utc;
  };
  const Case cases[] = {{"2026-08-14T14:44:41.000Z", "2026-08-14T14:44:41Z"},
                        {"2026-04-16T00:48:11+05:30", "2026-04-15T19:18:11Z"},
                        {"2024-02-29T23:59:59.25-01:00", "2024-03-01T00:59:59.250Z"},
                        {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"}};
  for (const Case &c : cases) {
    const auto time = parse_time(c.text);
    ASSERT_TRUE(time) << c.text;
    EXPECT_EQ(format_time(*time), c.utc);
  }
  for (const char *bad :
       {"", "yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z",
        "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+5:00"})
    EXPECT_FALSE(parse_time(bad)) << bad;
  EXPECT_EQ(format_http_date(*parse_time("2026-08-14T14:44:41Z")), "Fri, 14 Aug 2026 14:44:41 GMT");
}

TEST(Time, AgeIsInWords) {
  const TimePoint now = *parse_time("2026-08-14T14:44:41Z");
  EXPECT_EQ(age(now - std::chrono::seconds(61), now), "1 minute ago");
  EXPECT_EQ(age(now - std::chrono::days(3), now), "3 days ago");
  EXPECT_EQ(age(now, now), "just now");
}

constexpr std::string_view hostile = "<script>&\"'`` \x1b[31m\xE2\x80\xAE\xE2\x80\x8B\xFF\n";

TEST(Text, HtmlHoldsNoMarkupAndNoInvisibleCharacters) {
  EXPECT_EQ(escape_html(hostile),
            "&lt;script&gt;&amp;&quot;&#39;`` \\u{1b}[31m\\u{202e}\\u{200b}\xEF\xBF\xBD\n");
}

TEST(Text, PlainTextIsOneSafeLineCutAtItsLimit) {
  EXPECT_EQ(plain_text(hostile), "<script>&\"'`` \\u{1b}[31m\\u{202e}\\u{200b}\xEF\xBF\xBD\\u{a}");
  EXPECT_EQ(plain_text(std::string(300, 'x'), 10), std::string(10, 'x') + "\xE2\x80\xA6");
  EXPECT_EQ(plain_text("h\xC3\xA9", 2), "h\xC3\xA9");
}

TEST(Text, MarkdownFenceIsLongerThanAnyRunInside) {
  EXPECT_EQ(markdown_fence("a```b````c", "text"), "`````text\na```b````c\n`````\n");
  EXPECT_EQ(markdown_code("a`b"), "``a`b``");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
  EXPECT_EQ(markdown_text("[x](y)"), "\\[x\\](y)");
}

TEST(Text, MarkdownEscapesWhatWouldBeMarkupAndNothingElse) {
  const std::pair<const char *, const char *> cases[] = {
      {"KV cache 1.03 -> 0.52 GB (4,096 tokens), rope_theta {x}!",
       "KV cache 1.03 -> 0.52 GB (4,096 tokens), rope_theta {x}!"},
      {"# heading", "\\# heading"},
      {"- item - more", "\\- item - more"},
      {"1. one 2. two", "1\\. one 2. two"},
      {"> quote", "\\> quote"},
      {"_emphasis_ in_a_word", "\\_emphasis\\_ in_a_word"},
      {"a*b*c `code` <b> ~x~ a|b", "a\\*b\\*c \\`code\\` \\<b> \\~x\\~ a\\|b"},
      {"R & D &lt; &#60;", "R & D \\&lt; \\&#60;"},
      {"https://evil.example www.evil.example", "https\\://evil.example www\\.evil.example"},
      {"![image](x)", "!\\[image\\](x)"}};
  for (const auto &[text, escaped] : cases)
    EXPECT_EQ(markdown_text(text), escaped);
}

TEST(Text, NumbersReadLikeThePages) {
  EXPECT_EQ(human_bytes(1.0324e9), "1.03 GB");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(999'600), "1.00 MB");
  EXPECT_EQ(human_bytes(16.81e6), "16.8 MB");
  EXPECT_EQ(with_thousands(123611012096LL), "123,611,012,096");
  EXPECT_EQ(with_thousands(-1234), "-1,234");
}

} // namespace
} // namespace headwater

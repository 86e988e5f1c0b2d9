#include "feeds/osv.hpp"
#include "feeds/osv_export.hpp"
#include "feeds/pages.hpp"
#include "feeds/syndication.hpp"
#include "tests/feeds/sample.hpp"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zip.h>

namespace headwater::feeds {
namespace {

const OsvOptions options{sample::origin, sample::site};

Json osv(const Advisory &advisory) {
  return Json::parse(render_osv(advisory, options));
}

TEST(Osv, HasOneAffectedEntryForEachSubjectWithItsOwnRange) {
  const Json json = osv(sample::advisory());
  EXPECT_EQ(json["schema_version"], "1.7.5");
  EXPECT_EQ(json["id"], sample::id);
  ASSERT_EQ(json["affected"].size(), 2U);
  const Json &stops = json["affected"][0];
  EXPECT_EQ(stops["package"]["ecosystem"], "GIT");
  EXPECT_EQ(stops["package"]["name"], "https://hub.example/acme/tiny");
  EXPECT_EQ(stops["ranges"][0]["repo"], stops["package"]["name"]);
  EXPECT_EQ(stops["ranges"][0]["events"],
            Json::parse(R"([{"introduced":")" + sample::second_sha + R"("}])"));
  EXPECT_EQ(stops["versions"].size(), 2U);
  EXPECT_EQ(stops["database_specific"]["subject"], "stop-set");
  const Json &templates = json["affected"][1];
  EXPECT_EQ(templates["ranges"][0]["events"][1]["fixed"], sample::third_sha);
  EXPECT_EQ(templates["database_specific"]["state"], "reverted");
  EXPECT_EQ(json["database_specific"]["level"], "critical");
  EXPECT_EQ(json["database_specific"]["state"], "open");
  EXPECT_FALSE(json.contains("severity"));
}

TEST(Osv, EveryRangeIsAGitRange) {
  // A range of another type under ecosystem GIT ends a scanner's whole run.
  const Json json = osv(sample::advisory());
  for (const Json &entry : json["affected"])
    for (const Json &range : entry["ranges"]) {
      EXPECT_EQ(range["type"], "GIT");
      EXPECT_TRUE(range.contains("repo"));
    }
}

TEST(Osv, RewrittenHistoryEndsWithLastAffected) {
  Advisory advisory = sample::advisory();
  advisory.affected.resize(1);
  advisory.affected[0].last_affected = sample::third_sha;
  const Json events = osv(advisory)["affected"][0]["ranges"][0]["events"];
  EXPECT_EQ(events[1]["last_affected"], sample::third_sha);
}

TEST(Osv, AWithdrawnRecordSaysWhyInItsSummary) {
  Advisory advisory = sample::advisory();
  advisory.withdrawn = "2026-09-01T00:00:00Z";
  advisory.withdrawn_reason = "the detector was wrong";
  const Json json = osv(advisory);
  EXPECT_EQ(json["withdrawn"], "2026-09-01T00:00:00Z");
  EXPECT_NE(json["summary"].get<std::string>().find("the detector was wrong"), std::string::npos);
}

TEST(Osv, TheSummaryIsOneLineOfAtMost120Characters) {
  Advisory advisory = sample::advisory();
  advisory.affected[1].changes[0].explanation = std::string(500, 'x') + "\nsecond line";
  const std::string summary = advisory_summary(advisory);
  EXPECT_LE(summary.size(), 122U) << summary; // the ellipsis is three bytes and one character
  EXPECT_EQ(summary.find('\n'), std::string::npos);
  EXPECT_TRUE(summary.starts_with("acme/tiny: "));
}

TEST(Osv, SaysWhichRevisionUndoesIt) {
  Advisory advisory = sample::advisory();
  EXPECT_EQ(advisory_details(advisory).find("undoes it"), std::string::npos)
      << "one subject is still changed";
  advisory.affected[0].state = AdvisoryState::reverted;
  advisory.affected[0].fixed = sample::third_sha;
  EXPECT_NE(advisory_details(advisory).find("Revision `" + sample::third_sha + "` undoes it"),
            std::string::npos);
}

TEST(Osv, AnotherHubIsNamedInThePackageUrl) {
  EXPECT_EQ(osv(sample::advisory())["affected"][0]["package"]["purl"],
            "pkg:huggingface/acme/tiny?repository_url=https%3A%2F%2Fhub.example");
  EXPECT_EQ(Json::parse(render_osv(sample::advisory(), {}))["affected"][0]["package"]["purl"],
            "pkg:huggingface/acme/tiny");
}

std::vector<store::AdvisoryRecord> two_records() {
  Advisory older = sample::advisory();
  older.id = "x_HEADWATER-2025-aaaaaaaaaaaa";
  older.modified = "2025-01-01T00:00:00Z";
  older.substance_at = "2025-01-01T00:00:00Z";
  return {sample::record(older), sample::record(sample::advisory())};
}

TEST(OsvExport, ListsNewestFirst) {
  const auto records = two_records();
  const Json list = Json::parse(osv_list(records));
  EXPECT_EQ(list[0]["id"], sample::id);
  EXPECT_EQ(osv_modified_csv(records, false),
            "2026-09-01T00:00:00.001Z," + sample::id +
                "\n2025-01-01T00:00:00Z,x_HEADWATER-2025-aaaaaaaaaaaa\n");
  EXPECT_NE(osv_modified_csv(records, true).find(",GIT/" + sample::id), std::string::npos);
  EXPECT_EQ(osv_modified(records), "2026-09-01T00:00:00.001Z");
}

TEST(OsvExport, TheArchiveHoldsFlatFilesAndIsTheSameForTheSameRecords) {
  auto records = two_records();
  const Result<std::string> bytes = osv_zip(records);
  ASSERT_TRUE(bytes) << bytes.error().message;
  std::ranges::reverse(records);
  EXPECT_EQ(*bytes, *osv_zip(records));

  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_create(bytes->data(), bytes->size(), 0, &error);
  zip_t *archive = zip_open_from_source(source, ZIP_RDONLY, &error);
  ASSERT_NE(archive, nullptr);
  EXPECT_EQ(zip_get_num_entries(archive, 0), 2);
  for (const store::AdvisoryRecord &record : records) {
    zip_file_t *file = zip_fopen(archive, (record.advisory.id + ".json").c_str(), 0);
    ASSERT_NE(file, nullptr);
    std::string text(record.osv_json.size(), '\0');
    EXPECT_EQ(zip_fread(file, text.data(), text.size()), static_cast<zip_int64_t>(text.size()));
    EXPECT_EQ(text, record.osv_json);
    zip_fclose(file);
  }
  zip_discard(archive);
}

TEST(OsvExport, AnArchiveOfNothingIsAnArchive) {
  const Result<std::string> bytes = osv_zip({});
  ASSERT_TRUE(bytes);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_create(bytes->data(), bytes->size(), 0, &error);
  zip_t *archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  ASSERT_NE(archive, nullptr);
  EXPECT_EQ(zip_get_num_entries(archive, 0), 0);
  zip_discard(archive);
}

AdvisoryFeed feed_of(std::vector<store::AdvisoryRecord> records) {
  SiteText site;
  site.public_url = sample::site;
  site.hub_origin = sample::origin;
  return {site, "Changes", "models/acme/tiny/", std::move(records)};
}

TEST(Feeds, AreDatedByTheLastChangeOfSubstance) {
  const std::string atom = atom_feed(feed_of(two_records()));
  EXPECT_NE(atom.find("<updated>2026-08-20T10:00:00Z</updated>"), std::string::npos) << atom;
  EXPECT_EQ(atom.find("2026-09-01"), std::string::npos) << "growth of versions is no news";
  EXPECT_NE(atom.find("<id>tag:site.example,2026:advisory:" + sample::id + "</id>"),
            std::string::npos);
  const Json json = Json::parse(json_feed(feed_of(two_records())));
  EXPECT_EQ(json["version"], "https://jsonfeed.org/version/1.1");
  EXPECT_EQ(json["items"][0]["date_modified"], "2026-08-20T10:00:00Z");
  EXPECT_EQ(json["items"][0]["_osv"]["id"], sample::id);
  EXPECT_EQ(json["feed_url"], sample::site + "/models/acme/tiny/feed.json");
}

TEST(Feeds, ShowTheNewestHundred) {
  std::vector<store::AdvisoryRecord> records;
  for (int i = 0; i < 150; ++i) {
    Advisory advisory = sample::advisory();
    advisory.id = "x_HEADWATER-2026-" + std::to_string(100'000'000'000 + i);
    records.push_back({advisory, ""});
  }
  EXPECT_EQ(Json::parse(json_feed(feed_of(records)))["items"].size(), 100U);
}

TEST(Sitemap, EscapesAddresses) {
  const SitemapEntry entries[] = {{"models/a/b/?x=1&y=2", "2026-08-14T14:44:41Z"}};
  EXPECT_NE(sitemap(sample::site, entries).find("x=1&amp;y=2</loc><lastmod>2026-08-14"),
            std::string::npos);
}

/// Everything at once that some output could take for its own syntax, controls, an escape sequence,
/// bidi and zero-width characters and broken UTF-8 included.
const std::string hostile =
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>]]>\n```````\n# heading\n"
    "[x](javascript:alert(1)) | `code` \x1b[31m \xe2\x80\xae \xe2\x80\x8b \x01 \xff {{{body}}} end";

struct Outputs {
  std::map<std::string, std::string> html;
  std::map<std::string, std::string> markdown;
  std::map<std::string, std::string> json;
  std::map<std::string, std::string> plain;
};

Outputs render_everything() {
  Advisory advisory = sample::advisory(hostile);
  advisory.withdrawn_reason = hostile;
  for (AffectedEntry &entry : advisory.affected)
    for (Change &change : entry.changes) {
      change.path = hostile;
      change.before_json =
          OrderedJson(hostile).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
      change.after_json = change.before_json;
      change.explanation = hostile;
    }
  Advisory withdrawn = advisory;
  withdrawn.id = "x_HEADWATER-2026-ffffffffffff";
  withdrawn.withdrawn = "2026-09-02T00:00:00Z";

  Delta delta;
  delta.repo = "acme/tiny";
  delta.from = sample::first_sha;
  delta.to = sample::second_sha;
  delta.date = "2026-08-14T14:44:41Z";
  delta.title = hostile;
  delta.changes = advisory.affected[0].changes;
  delta.plan_changes = {{"kv_cache_bytes", "1", "2", hostile}};
  const store::DeltaRecord record{1, delta, "2026-08-14T14:44:41Z", sample::id};

  SiteText site;
  site.public_url = sample::site;
  site.hub_origin = sample::origin;
  store::Repo repo = sample::repo();
  repo.state_note = hostile;
  repo.facts.tags = {hostile};
  store::Revision revision;
  revision.sequence = 2;
  revision.sha = sample::second_sha;
  revision.title = hostile;
  revision.date = "2026-08-14T14:44:41Z";
  revision.note = hostile;
  const FrontPage front{site, {repo}, {record}};
  const RepoPage page{site,
                      repo,
                      {sample::record(advisory), sample::record(withdrawn)},
                      {record},
                      {revision},
                      "",
                      {{hostile, std::string(40, 'f'), 12, ""}}};
  const RevisionPage of_revision{site, repo, revision, {record}};
  const AdvisoryFeed feed{site, hostile, "", page.advisories};

  Outputs outputs;
  outputs.html = {{"front", front_html(front)},
                  {"repo", repo_html(page)},
                  {"changes", changes_html(page)},
                  {"revision", revision_html(of_revision)},
                  {"atom", atom_feed(feed)}};
  outputs.markdown = {{"front", front_markdown(front)},
                      {"repo", repo_markdown(page)},
                      {"details", advisory_details(advisory)}};
  outputs.json = {{"front", front_json(front)},        {"repo", repo_json(page)},
                  {"changes", changes_json(page)},     {"revision", revision_json(of_revision)},
                  {"latest", latest_json(repo, site)}, {"osv", render_osv(advisory, options)},
                  {"feed", json_feed(feed)},           {"list", osv_list(page.advisories)}};
  outputs.plain = {{"summary", advisory_summary(advisory)},
                   {"withdrawn", advisory_summary(withdrawn)}};
  return outputs;
}

TEST(Pages, ShowWhatASentenceQuotesAsCode) {
  Delta delta;
  delta.repo = "acme/tiny";
  delta.from = sample::first_sha;
  delta.to = sample::second_sha;
  delta.changes = {make_change("config.dtype", "config.json#/dtype", "1", "2",
                               "It was `a<b>` & is `c`; an odd ` stays")};
  SiteText site;
  site.public_url = sample::site;
  const std::string html = front_html(FrontPage{site, {sample::repo()}, {{1, delta, "", ""}}});
  EXPECT_NE(html.find("It was <code>a&lt;b&gt;</code> &amp; is <code>c</code>; an odd ` stays"),
            std::string::npos)
      << html;
}

TEST(HostileText, CannotLeaveItsPlaceInHtml) {
  for (const auto &[name, text] : render_everything().html) {
    SCOPED_TRACE(name);
    EXPECT_EQ(text.find("<script>alert"), std::string::npos);
    EXPECT_EQ(text.find("<img src=x"), std::string::npos);
    EXPECT_EQ(text.find("\"'><"), std::string::npos);
    for (const char c : text)
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
          << static_cast<int>(c);
    EXPECT_NE(text.find("alert(1)"), std::string::npos) << "it is shown all the same";
  }
}

TEST(HostileText, CannotLeaveItsPlaceInMarkdown) {
  for (const auto &[name, text] : render_everything().markdown) {
    SCOPED_TRACE(name);
    EXPECT_EQ(text.find("\n# heading\n"), std::string::npos);
    for (const char c : text)
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
          << static_cast<int>(c);
    // Links and tags stand escaped or in code; a live one would read like this at the start of a
    // line's text.
    EXPECT_EQ(text.find(" [x](javascript:"), std::string::npos);
  }
}

TEST(HostileText, CannotBreakJson) {
  for (const auto &[name, text] : render_everything().json)
    EXPECT_FALSE(Json::parse(text, nullptr, false).is_discarded()) << name;
}

TEST(HostileText, ShowsInvisibleCharactersInPlainText) {
  for (const auto &[name, text] : render_everything().plain) {
    SCOPED_TRACE(name + ": " + text);
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
    for (const char c : text)
      EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

} // namespace
} // namespace headwater::feeds

#include "feeds/badge.hpp"
#include "tests/feeds/sample.hpp"
#include "tests/folders.hpp"

#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater::feeds {
namespace {

/// Attributes of one element "<rect a="1" b="2"/>".
std::map<std::string, std::string> attributes(const std::string &element) {
  std::map<std::string, std::string> found;
  for (std::size_t at = element.find(' '); at != std::string::npos && at < element.size();) {
    const auto equals = element.find("=\"", at);
    if (equals == std::string::npos)
      break;
    const auto end = element.find('"', equals + 2);
    found[element.substr(at + 1, equals - at - 1)] = element.substr(equals + 2, end - equals - 2);
    at = end + 1;
  }
  return found;
}

std::vector<std::map<std::string, std::string>> elements(const std::string &svg,
                                                         const std::string &name) {
  std::vector<std::map<std::string, std::string>> all;
  for (auto at = svg.find("<" + name + " "); at != std::string::npos;
       at = svg.find("<" + name + " ", at + 1))
    all.push_back(attributes(svg.substr(at, svg.find('>', at) - at)));
  return all;
}

double number(const std::string &text) {
  return text.empty() ? 0 : std::stod(text);
}

/// Geometry of a badge against what badge-maker wrote.
void expect_geometry(const Json &vector) {
  const std::string style = vector["style"];
  const Badge badge{vector["label"], vector["message"], vector["color"]};
  const std::string svg = badge_svg(badge, *badge_style_from(style));
  SCOPED_TRACE(style + " " + badge.label + " | " + badge.message + "\n" + svg);
  const auto head = elements(svg, "svg").at(0);
  EXPECT_EQ(number(head.at("width")), vector["width"].get<double>());
  EXPECT_EQ(number(head.at("height")), vector["height"].get<double>());

  std::vector<std::map<std::string, std::string>> texts;
  for (auto &text : elements(svg, "text"))
    if (!text.contains("fill-opacity"))
      texts.push_back(text);
  ASSERT_EQ(texts.size(), vector["texts"].size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Json &wanted = vector["texts"][i];
    EXPECT_EQ(number(texts[i].at("x")), wanted["x"].get<double>());
    EXPECT_EQ(number(texts[i].at("y")), wanted["y"].get<double>());
    EXPECT_EQ(number(texts[i].at("textLength")), wanted["textLength"].get<double>());
    EXPECT_EQ(texts[i].at("fill"), wanted["fill"].get<std::string>());
  }
  std::vector<std::map<std::string, std::string>> rects;
  for (auto &rect : elements(svg, "rect"))
    if (!rect.contains("rx") && !rect["fill"].starts_with("url"))
      rects.push_back(rect);
  ASSERT_EQ(rects.size(), vector["rects"].size());
  for (std::size_t i = 0; i < rects.size(); ++i) {
    EXPECT_EQ(number(rects[i]["x"]), vector["rects"][i]["x"].get<double>());
    EXPECT_EQ(number(rects[i]["width"]), vector["rects"][i]["width"].get<double>());
    EXPECT_EQ(rects[i]["fill"], vector["rects"][i]["fill"].get<std::string>());
  }
}

void expect_all(const std::string &path) {
  const Json document = Json::parse(sample::read_file(path), nullptr, false);
  ASSERT_TRUE(document.is_object()) << path;
  for (const Json &vector : document["vectors"])
    expect_geometry(vector);
}

TEST(BadgeSvg, HasTheGeometryOfBadgeMaker) {
  expect_all(test::source_folder() / "tests/data/feeds/badge_vectors.json");
}

TEST(BadgeSvg, HasTheGeometryOfAllSharedVectors) {
  const auto vectors = test::shared_path("badges/badge-maker-6.0.0-vectors.json");
  if (!vectors)
    GTEST_SKIP() << "no shared material";
  expect_all(*vectors);
}

TEST(BadgeSvg, SaysTheWholeMessageToAScreenReader) {
  const std::string svg = badge_svg({"up\"stream", "<b> & 'x'", "red"}, BadgeStyle::flat);
  EXPECT_NE(svg.find("<title>up&quot;stream: &lt;b&gt; &amp; &#39;x&#39;</title>"),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(BadgeJson, HasOnlyKeysThatAStrictReaderKnows) {
  const Json json = Json::parse(badge_json({"upstream", "up to date", "brightgreen"}));
  for (const auto &[key, value] : json.items())
    EXPECT_TRUE(key == "schemaVersion" || key == "label" || key == "message" || key == "color" ||
                key == "isError" || key == "cacheSeconds" || key == "labelColor")
        << key;
  EXPECT_EQ(json["schemaVersion"], 1);
  EXPECT_FALSE(json["message"].get<std::string>().empty());
}

TEST(RepoBadge, SaysInWordsWhatTheColourSays) {
  const TimePoint now = *parse_time("2026-08-23T10:00:00Z");
  struct Case {
    store::RepoState state;
    std::int64_t open;
    Level level;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {store::RepoState::ok, 0, Level::low, {"unchanged"}},
      {store::RepoState::ok, 1, Level::high, {"high", "3 d"}},
      {store::RepoState::ok, 2, Level::critical, {"2", "critical"}},
      {store::RepoState::gone, 2, Level::critical, {"gone"}},
      {store::RepoState::gated, 0, Level::low, {"gated"}},
      {store::RepoState::disabled, 0, Level::low, {"disabled"}},
  };
  for (const Case &c : cases) {
    store::Repo repo = sample::repo();
    repo.state = c.state;
    repo.open_advisories = c.open;
    repo.open_level = c.level;
    const Badge badge = repo_badge({&repo, "2026-08-20T10:00:00Z", now});
    for (const std::string &word : c.words)
      EXPECT_NE(badge.message.find(word), std::string::npos) << badge.message;
  }
  EXPECT_EQ(repo_badge({nullptr, "", now}).message, "unknown repo");
}

TEST(PinBadge, SaysHowFarBehindAndHowMuchItMatters) {
  const auto message = [](bool repo, bool pin, bool on_branch, std::int64_t behind,
                          std::optional<Level> level) {
    PinFacts facts;
    facts.known_repo = repo;
    facts.known_pin = pin;
    facts.on_branch = on_branch;
    facts.behind = behind;
    facts.level = level;
    return pin_badge(facts).message;
  };
  EXPECT_EQ(message(false, false, true, 0, {}), "unknown repo");
  EXPECT_EQ(message(true, false, true, 0, {}), "unknown pin");
  EXPECT_EQ(message(true, true, false, 2, Level::high), "history rewritten");
  EXPECT_EQ(message(true, true, true, 0, {}), "current");
  EXPECT_EQ(message(true, true, true, 3, Level::high), "3 behind, high");
  EXPECT_EQ(message(true, true, true, 3, {}), "3 behind, cosmetic");
}

} // namespace
} // namespace headwater::feeds

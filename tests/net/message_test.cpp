#include "daemon/net/events.hpp"
#include "daemon/net/message.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace headwater::net {
namespace {

using Segments = std::vector<std::string>;
using Query = std::vector<std::pair<std::string, std::string>>;

struct TargetCase {
  std::string target;
  Segments segments;
  Query query;
  bool trailing_slash;
};

TEST(Target, SplitsPathAndQuery) {
  const std::vector<TargetCase> cases = {
      {"/", {}, {}, true},
      {"/?a=1", {}, {{"a", "1"}}, true},
      {"/api/models/acme/tiny", {"api", "models", "acme", "tiny"}, {}, false},
      {"/models/acme/tiny/", {"models", "acme", "tiny"}, {}, true},
      {"/tree/refs%2Fpr%2F1/sub%2fdir", {"tree", "refs/pr/1", "sub/dir"}, {}, false},
      {"/a?expand=sha&expand%5B%5D=gated&x=&y&&z=1%262",
       {"a"},
       {{"expand", "sha"}, {"expand[]", "gated"}, {"x", ""}, {"y", ""}, {"z", "1&2"}},
       false},
      {"/a+b?q=a+b%2B", {"a+b"}, {{"q", "a b+"}}, false},
      {"/v%C3%A9.json", {"v\xC3\xA9.json"}, {}, false},
      {"/a?u=/b/../c", {"a"}, {{"u", "/b/../c"}}, false},
  };
  for (const TargetCase &c : cases) {
    const std::optional<Target> got = split_target(c.target);
    ASSERT_TRUE(got) << c.target;
    EXPECT_EQ(got->segments, c.segments) << c.target;
    EXPECT_EQ(got->query, c.query) << c.target;
    EXPECT_EQ(got->trailing_slash, c.trailing_slash) << c.target;
  }
}

TEST(Target, RefusesWhatIsNotWellFormed) {
  const std::vector<std::string> cases = {"",
                                          "a",
                                          "http://x/",
                                          "*",
                                          "/%",
                                          "/%4",
                                          "/%zz",
                                          "/%00",
                                          "/a/../b",
                                          "/a/%2e%2e/b",
                                          "/a/.",
                                          "/a//b",
                                          "//",
                                          "/a//",
                                          "/a b",
                                          "/a?b=%",
                                          "/a?b=%00",
                                          "/a#b",
                                          std::string("/a\0b", 4),
                                          "/a\tb"};
  for (const std::string &target : cases)
    EXPECT_FALSE(split_target(target)) << target;
}

TEST(Target, EncodedSegmentComesBackAsItWas) {
  std::string all;
  for (int c = 1; c < 256; ++c)
    all += static_cast<char>(c);
  const std::optional<Target> got = split_target("/" + encode_segment(all));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->segments, Segments{all});
  EXPECT_EQ(encode_segment("refs/pr/1"), "refs%2Fpr%2F1");
  EXPECT_EQ(encode_segment("a-b_c.d~e"), "a-b_c.d~e");
}

TEST(Headers, NamesCompareWithoutCase) {
  Headers headers = {{"Content-Type", "a"}, {"X", "1"}, {"content-type", "b"}};
  ASSERT_NE(find_header(headers, "CONTENT-TYPE"), nullptr);
  EXPECT_EQ(*find_header(headers, "CONTENT-TYPE"), "a");
  EXPECT_EQ(find_header(headers, "Content-Typ"), nullptr);
  set_header(headers, "content-TYPE", "c");
  EXPECT_EQ(headers, (Headers{{"X", "1"}, {"content-TYPE", "c"}}));
}

TEST(Query, FirstValueOfAKey) {
  const std::optional<Target> got = split_target("/a?k=1&k=2");
  ASSERT_TRUE(got);
  ASSERT_NE(find_query(*got, "k"), nullptr);
  EXPECT_EQ(*find_query(*got, "k"), "1");
  EXPECT_EQ(find_query(*got, "K"), nullptr);
}

TEST(EventChannel, KeepsOrderAndTellsOfChanges) {
  EventChannel channel;
  int woken = 0;
  channel.on_change([&] { ++woken; });
  EXPECT_TRUE(channel.push("a"));
  EXPECT_TRUE(channel.push("b"));
  EXPECT_EQ(channel.take(), "ab");
  EXPECT_EQ(channel.take(), "");
  channel.close();
  EXPECT_EQ(woken, 3);
  EXPECT_TRUE(channel.closed());
  EXPECT_FALSE(channel.push("c"));
}

TEST(EventChannel, CutsOffAListenerThatFallsBehind) {
  EventChannel channel(10);
  EXPECT_TRUE(channel.push("12345"));
  EXPECT_FALSE(channel.push("123456"));
  EXPECT_TRUE(channel.closed());
  EXPECT_EQ(channel.take(), "");
}

} // namespace
} // namespace headwater::net

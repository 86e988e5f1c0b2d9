#include "schemas/json.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

TEST(ParseJson, ReadsWhatPythonWrites) {
  const auto json = parse_json("{\"a\": NaN, \"b\": [-Infinity, Infinity], \"c\": "
                               "\"NaN Infinity\", \"a2\": 1e3, \"a2\": 2}");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(
      json->dump(),
      R"({"a":{"__float__":"NaN"},"a2":2,"b":[{"__float__":"-Infinity"},{"__float__":"Infinity"}],"c":"NaN Infinity"})");
}

TEST(ParseJson, ReadsWhatOnlyPythonReads) {
  const std::pair<const char *, const char *> cases[] = {
      {R"({"a": "x\ud83d"})", R"({"a":"x\\ud83d"})"},
      {R"({"a": "\udc00y"})", R"({"a":"\\udc00y"})"},
      {R"({"a": "\ud83d\ud83d\ude00"})", "{\"a\":\"\\\\ud83d\xF0\x9F\x98\x80\"}"},
      {R"({"a": "\\ud83d"})", R"({"a":"\\ud83d"})"},
      {R"({"a": 1e400, "b": [-1e400]})",
       R"({"a":{"__float__":"Infinity"},"b":[{"__float__":"-Infinity"}]})"},
      {R"({"a": 1e-400, "b": "1e400"})", R"({"a":0.0,"b":"1e400"})"},
      {R"({"a": 1, "a": 2})", R"({"a":2})"},
  };
  for (const auto &[text, read] : cases) {
    const auto json = parse_json(text);
    ASSERT_TRUE(json) << text << ": " << json.error().message;
    EXPECT_EQ(json->dump(), read) << text;
  }
  EXPECT_EQ(parse_json("{\"a\": " + std::string(400, '9') + "}")->dump(),
            R"({"a":{"__float__":"Infinity"}})");
}

TEST(ParseJson, KeepsTheOrderWhenAsked) {
  EXPECT_EQ(parse_ordered_json(R"({"z":1,"a":2})")->dump(), R"({"z":1,"a":2})");
}

TEST(ParseJson, RefusesBadTextWithItsPlace) {
  struct Case {
    std::string text;
    Errc code;
    const char *says;
  };
  const Case cases[] = {
      {"", Errc::malformed, "not JSON"},
      {"{\"a\": 1,}", Errc::malformed, "line 1, column 9"},
      {"{\n\"a\": tru}", Errc::malformed, "line 2"},
      {"{'a': 1}", Errc::malformed, "not JSON"},
      {"<html>", Errc::malformed, "not JSON"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", Errc::malformed,
       "git-lfs pointer"},
      {std::string(1000, '['), Errc::too_large, "nested deeper than 64"},
      {"{\"a\": \"\xFF\"}", Errc::malformed, "not JSON"},
      {"\xEF\xBB\xBF{}", Errc::malformed, "byte-order mark"},
      {std::string("{}\0", 3), Errc::malformed, "line 1, column 3 (a NUL byte)"},
      {std::string("{\"a\": \"\0\"}", 9), Errc::malformed, "not JSON"},
      {"{\"a\": -NaN}", Errc::malformed, "not JSON"},
      {"{\"a\": 01}", Errc::malformed, "not JSON"},
      {"{\"a\": \"\\ud83\"}", Errc::malformed, "not JSON"},
  };
  for (const Case &c : cases) {
    const auto json = parse_json(c.text);
    ASSERT_FALSE(json) << c.text;
    EXPECT_EQ(json.error().code, c.code) << c.text;
    EXPECT_NE(json.error().message.find(c.says), std::string::npos) << json.error().message;
  }
  EXPECT_EQ(parse_json("[1,2,3]", {.max_bytes = 3}).error().code, Errc::too_large);
  EXPECT_EQ(parse_json("[1,2,3]", {.max_values = 2}).error().code, Errc::too_large);
}

} // namespace
} // namespace headwater

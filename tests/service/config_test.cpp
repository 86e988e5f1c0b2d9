#include "daemon/service/config.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace headwater::service {
namespace {

Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string &name) -> std::optional<std::string> {
    const auto at = values.find(name);
    if (at == values.end())
      return std::nullopt;
    return at->second;
  };
}

TEST(Config, EmptyTextGivesTheDocumentedDefaults) {
  const auto config = parse_config("", "empty.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->hub_endpoint, "https://huggingface.co");
  EXPECT_EQ(config->history, "20");
  EXPECT_EQ(config->confirm, 3);
  EXPECT_EQ(config->confirm_span, std::chrono::seconds(1800));
  EXPECT_EQ(config->advisory_prefix, "x_HEADWATER");
}

TEST(Config, EveryKeyIsRead) {
  const auto config = parse_config(R"(
[hub]
endpoint = "http://127.0.0.1:9000/"
token_file = "/etc/headwater/token"
requests_per_second = 2.5
[state]
folder = "/srv/headwater"
[http]
listen = "[::1]:80"
admin_listen = "127.0.0.1:81"
trusted_proxies = ["10.0.0.1"]
cache_bytes = 1000
[public]
url = "https://models.example.org/"
title = "Our models"
[poll]
interval = "5m"
confirm = 2
confirm_span = "0s"
history = "all"
concurrency = 2
[advisories]
prefix = "x_ACME"
settle = "2h"
[control]
socket = "/tmp/c.sock"
[log]
level = "debug"
[[watch]]
repo = "acme/tiny"
[[watch]]
repo = "acme/tiny"
branch = "beta"
history = 3
publish = true
[[rule]]
kind = "weights.*"
ignore = true
[[rule]]
repo = "acme/*"
subject = "template"
level = "high"
)",
                                   "all.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->hub_endpoint, "http://127.0.0.1:9000");
  EXPECT_EQ(config->listen, (ListenAddress{"::1", 80}));
  EXPECT_EQ(config->trusted_proxies, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(config->public_url, "https://models.example.org");
  EXPECT_EQ(config->poll_interval, std::chrono::minutes(5));
  EXPECT_EQ(config->settle, std::chrono::hours(2));
  ASSERT_EQ(config->watches.size(), 2U);
  EXPECT_EQ(config->watches[0].history, "all") << "a watch without a history takes poll.history";
  EXPECT_EQ(config->watches[1].history, "3");
  EXPECT_TRUE(config->watches[1].publish);
  ASSERT_EQ(config->rules.size(), 2U);
  EXPECT_TRUE(config->rules[0].ignore);
  EXPECT_EQ(config->rules[1].level, Level::high);

  const auto again = parse_config(show_config(*config), "shown.toml");
  ASSERT_TRUE(again) << again.error().message << "\n" << show_config(*config);
  Config left = *config;
  Config right = *again;
  left.given = right.given = {};
  EXPECT_EQ(left, right) << "what `config show` prints reads back as the same";
}

TEST(Config, BadTextIsOneLineThatNamesThePlaceAndTheMend) {
  struct Case {
    const char *text;
    const char *says;
  };
  const Case cases[] = {
      {"[hub", "c.toml:1: not TOML"},
      {"[=]", "c.toml:1: not TOML"},
      {"\xc6\x8f", "c.toml:1: not TOML"},
      {"# a\n\xe2\x80\xa0 = 1\n", "c.toml:2: not TOML"},
      {"# a\n[hub]\nurl = \"https://hub.test\"\n[[$watch]]\nx = 1\n", "c.toml:4: not TOML"},
      {"[hub]\nendpiont = \"x\"",
       "c.toml:2: hub.endpiont: unknown key; did you mean hub.endpoint?"},
      {"[hubb]\n", "c.toml:1: hubb: unknown key; did you mean [hub]?"},
      {"[hub]\nendpoint = 5", "c.toml:2: hub.endpoint: expected a text in quotes, found a integer"},
      {"[hub]\nendpoint = \"ftp://x\"", "does not start with https://"},
      {"[http]\nlisten = \"nowhere\"", "c.toml:2: http.listen: 'nowhere' is not an address"},
      {"[http]\nlisten = \"1.2.3.4:99999\"", "is not an address"},
      {"[poll]\ninterval = \"soon\"", "'soon' is not a duration"},
      {"[poll]\ninterval = 0", "must be at least 1s"},
      {"[poll]\nconfirm = 0", "0 is outside 1 to 100"},
      {"[poll]\nhistory = \"some\"", "neither \"all\", \"none\" nor a number"},
      {"[advisories]\nprefix = \"a b\"", "letters, digits"},
      {"[log]\nlevel = \"loud\"", "none of debug, info"},
      {"[[watch]]\nbranch = \"main\"", "repo is missing"},
      {"[[watch]]\nrepo = \"nameless\"", "write it as org/name"},
      {"[[watch]]\nrepo = \"../etc\"", "starts with '.'"},
      {"[[watch]]\nrepo = \"a/b\"\nbranhc = \"x\"", "did you mean watch.branch?"},
      {"[[watch]]\nrepo = \"a/b\"\n[[watch]]\nrepo = \"a/b\"", "a/b at main is watched twice"},
      {"[watch]\nrepo = \"a/b\"", "write it as [[watch]]"},
      {"[[rule]]\nkind = \"weights.*\"", "say either ignore = true or level"},
      {"[[rule]]\nlevel = \"awful\"", "none of low, medium"},
  };
  for (const Case &c : cases) {
    const auto config = parse_config(c.text, "c.toml");
    ASSERT_FALSE(config) << c.text;
    EXPECT_EQ(config.error().code, Errc::bad_input);
    EXPECT_NE(config.error().message.find(c.says), std::string::npos) << config.error().message;
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos) << config.error().message;
  }
}

TEST(Config, TextOutsideAsciiStandsInQuotesAndComments) {
  const char *texts[] = {
      "# \xc6\x8f\n[public]\ntitle = \"\xc6\x8f\"",
      "\xef\xbb\xbf[public]\ntitle = '\xc6\x8f' # '\xc6\x8f",
      "[public]\ntitle = \"\"\"\\\n\xc6\x8f\"\"\" # \xc6\x8f",
      "[public]\ntitle = '''\n\xc6\x8f'''",
      "[\"public\"]\n'title' = \"\xc6\x8f\" # \"",
      "[public]\ntitle = \"\"\"\\\n  \n \xc6\x8f\"\"\"",
      "[public]\r\ntitle = '\xc6\x8f'\r\n",
  };
  for (const char *text : texts) {
    const auto config = parse_config(text, "c.toml");
    ASSERT_TRUE(config) << text << ": " << config.error().message;
    EXPECT_EQ(config->title, "\xc6\x8f") << text;
  }
  const auto quoted = parse_config("[public]\ntitle = '''\n\xc6\x8f\\n\"a'''''\n", "c.toml");
  ASSERT_TRUE(quoted) << quoted.error().message;
  EXPECT_EQ(quoted->title, "\xc6\x8f\\n\"a''");
  const auto escaped = parse_config("[public]\ntitle = \"\\\"\\\\\xc6\x8f\"\n", "c.toml");
  ASSERT_TRUE(escaped) << escaped.error().message;
  EXPECT_EQ(escaped->title, "\"\\\xc6\x8f");
  const char *outside[] = {
      "[public]\ntitle = \"\\\xc6\x8f\"",
      "[public]\ntitle = \"\"\"\\ \xc6\x8f\"\"\"",
      "[public]\ntitle = \"\"\"a\\\"\"\" \xef\xbb\xb7\\01c\n\xef\xbb\xbf",
      "# \xff\n[public]\ntitle = \"a\"",
      "[public]\ntitle = \"a\\\"\" \xc6\x8f",
      "[public]\ntitle = '''\na''''' \xc6\x8f'",
      "[public]\ntitle = \"a\n\xc6\x8f\"",
  };
  for (const char *text : outside) {
    const auto config = parse_config(text, "c.toml");
    ASSERT_FALSE(config) << text;
    EXPECT_NE(config.error().message.find(": not TOML"), std::string::npos)
        << config.error().message;
  }
}

TEST(Config, AFileThatIsNotThereIsNamed) {
  const auto config = load_config("/nonexistent/headwater.toml");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("/nonexistent/headwater.toml"), std::string::npos);
}

TEST(Config, EnvironmentFillsOnlyWhatTheFileDoesNotSay) {
  auto config = parse_config("[control]\nsocket = \"/tmp/mine\"", "c.toml");
  ASSERT_TRUE(config);
  apply_environment(*config, environment_of({{"HF_ENDPOINT", "http://127.0.0.1:1/"},
                                             {"HEADWATER_SOCKET", "/tmp/other"},
                                             {"STATE_DIRECTORY", "/var/lib/a:/var/lib/b"}}));
  EXPECT_EQ(config->hub_endpoint, "http://127.0.0.1:1");
  EXPECT_EQ(config->socket_path, "/tmp/mine");
  EXPECT_EQ(config->state_folder, "/var/lib/a");
}

TEST(Config, TokenComesFromCredentialThenFileThenEnvironment) {
  const std::string folder = ::testing::TempDir() + "/token-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  Config config;
  const auto environment =
      environment_of({{"HF_TOKEN", "from-environment"}, {"CREDENTIALS_DIRECTORY", folder}});
  EXPECT_EQ(find_token(config, environment).value(), "from-environment");
  std::ofstream(folder + "/file") << "from-file\n";
  config.hub_token_file = folder + "/file";
  EXPECT_EQ(find_token(config, environment).value(), "from-file");
  std::ofstream(folder + "/hub-token") << "from-credential\n";
  EXPECT_EQ(find_token(config, environment).value(), "from-credential");
  std::filesystem::remove_all(folder);
  config.hub_token_file = "/nonexistent/token";
  EXPECT_FALSE(find_token(config, environment_of({})));
}

TEST(Config, ARuleNamesWhatThereIs) {
  const auto rule = [](const std::string &line) {
    return parse_config("[[rule]]\n" + line + "\nignore = true\n", "test");
  };
  for (const std::string line : {"kind = \"weights.values\"", "kind = \"weights.*\"",
                                 "kind = \"*.removed\"", "kind = \"te*te.*prompt\"",
                                 "subject = \"weights\"", "subject = \"config.*\"", "kind = \"*\""})
    EXPECT_TRUE(rule(line)) << line << ": " << rule(line).error().message;
  const std::pair<std::string, std::string> wrong[] = {
      {"kind = \"weights.value\"", "weights.values"},
      {"kind = \"wieghts.values\"", "weights.values"},
      {"subject = \"weihgts\"", "weights"},
      {"subject = \"tokeniser\"", "tokenizer"}};
  for (const auto &[line, nearest] : wrong) {
    const auto config = rule(line);
    ASSERT_FALSE(config) << line;
    EXPECT_NE(config.error().message.find("did you mean " + nearest), std::string::npos)
        << config.error().message;
  }
  EXPECT_FALSE(parse_config("[[watch]]\nrepo = \"a/b\"\nbranch = \"../x\"\n", "test"));
}

} // namespace
} // namespace headwater::service

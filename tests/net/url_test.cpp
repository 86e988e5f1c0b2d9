#include "daemon/net/proxy.hpp"
#include "daemon/net/url.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace headwater::net {
namespace {

TEST(Url, IsSplitAndWrittenInOneForm) {
  struct Case {
    std::string text, str, host;
    std::uint16_t port;
    std::string target;
  };
  const std::vector<Case> cases = {
      {"https://Hub.Example", "https://hub.example/", "hub.example", 443, "/"},
      {"HTTP://hub.example:80/a/b?c=d#e", "http://hub.example/a/b?c=d", "hub.example", 80,
       "/a/b?c=d"},
      {"https://hub.example:8443/?x", "https://hub.example:8443/?x", "hub.example", 8443, "/?x"},
      {"http://[::1]:8080/a", "http://[::1]:8080/a", "::1", 8080, "/a"},
      {"http://127.0.0.1:1/", "http://127.0.0.1:1/", "127.0.0.1", 1, "/"},
      {"https://h/a b|c\"d?e={f}", "https://h/a%20b%7Cc%22d?e=%7Bf%7D", "h", 443,
       "/a%20b%7Cc%22d?e=%7Bf%7D"},
      {"https://h/%2F%41", "https://h/%2F%41", "h", 443, "/%2F%41"},
  };
  for (const Case &c : cases) {
    const Result<Url> url = parse_url(c.text);
    ASSERT_TRUE(url) << c.text << ": " << url.error().message;
    EXPECT_EQ(url->str(), c.str);
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->target, c.target);
  }
}

TEST(Url, RefusesWhatCannotBeAsked) {
  for (const std::string text :
       {"", "hub.example", "/a", "ftp://h/", "file:///etc/passwd", "http://", "http:///a",
        "http://h:0/", "http://h:70000/", "http://h:x/", "http://me@h/", "http://me:pw@h/",
        "http://h%00/", "http://h%2Fx/", "javascript:alert(1)", "http://[::1/"})
    EXPECT_FALSE(parse_url(text)) << text;
  EXPECT_FALSE(parse_url("http://h/" + std::string(20'000, 'a')));
}

TEST(Url, ResolvesReferences) {
  const Result<Url> base = parse_url("https://h.example/a/b?c=d");
  ASSERT_TRUE(base);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/x?y", "https://h.example/x?y"},   {"x", "https://h.example/a/x"},
      {"../x", "https://h.example/x"},     {"?z", "https://h.example/a/b?z"},
      {"//other/x", "https://other/x"},    {"http://other:8080", "http://other:8080/"},
      {"/a b", "https://h.example/a%20b"}, {"/x#frag", "https://h.example/x"},
  };
  for (const auto &[reference, expected] : cases) {
    const Result<Url> url = resolve_url(*base, reference);
    ASSERT_TRUE(url) << reference << ": " << url.error().message;
    EXPECT_EQ(url->str(), expected) << reference;
  }
  EXPECT_FALSE(resolve_url(*base, "data:text/plain,x"));
}

TEST(Link, FindsTheRelation) {
  const std::vector<std::pair<std::string, std::optional<std::string>>> cases = {
      {"<https://h/a?cursor=x>; rel=\"next\"", "https://h/a?cursor=x"},
      {"</a>;rel=next", "/a"},
      {"<a>; rel=\"prev\", <b>; title=\"x, <c>; rel=next\"; rel=\"next\"", "b"},
      {"<a>; rel=\"prev\"", std::nullopt},
      {"<a; rel=\"next\"", std::nullopt},
      {"", std::nullopt},
      {"next", std::nullopt},
      {"<a>; rel=\"ne\\", std::nullopt},
      {" , <a>; REL=\"NEXT\"", "a"},
  };
  for (const auto &[field, expected] : cases)
    EXPECT_EQ(find_link(field, "next"), expected) << field;
}

TEST(Address, PublicOrNot) {
  for (const std::string text :
       {"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1",
        "64:ff9b::808:808", "::ffff:8.8.8.8"})
    EXPECT_TRUE(is_public_address(text)) << text;
  for (const std::string text : {"127.0.0.1",
                                 "0.0.0.0",
                                 "10.1.2.3",
                                 "172.16.0.1",
                                 "192.168.1.1",
                                 "169.254.169.254",
                                 "100.64.0.1",
                                 "224.0.0.1",
                                 "255.255.255.255",
                                 "::",
                                 "::1",
                                 "fe80::1",
                                 "fe80::1%eth0",
                                 "fc00::1",
                                 "fd12::1",
                                 "ff02::1",
                                 "::ffff:127.0.0.1",
                                 "::127.0.0.1",
                                 "64:ff9b::7f00:1",
                                 "2002:7f00:1::",
                                 "hub.example",
                                 ""})
    EXPECT_FALSE(is_public_address(text)) << text;
  for (const std::string text :
       {"localhost", "LOCALHOST", "a.localhost", "127.9.9.9", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback_host(text)) << text;
  for (const std::string text : {"hub.example", "notlocalhost", "10.0.0.1", "::2"})
    EXPECT_FALSE(is_loopback_host(text)) << text;
}

TEST(Proxy, ListOfExceptions) {
  struct Case {
    std::string no_proxy, url;
    bool proxied;
  };
  const std::vector<Case> cases = {
      {"", "https://hub.example/", true},
      {"*", "https://hub.example/", false},
      {"hub.example", "https://hub.example/", false},
      {"hub.example", "https://cdn.hub.example/", false},
      {"hub.example", "https://nothub.example/", true},
      {".hub.example, other", "https://cdn.hub.example/", false},
      {"*.hub.example", "https://cdn.hub.example/", false},
      {"HUB.EXAMPLE:443", "https://hub.example/", false},
      {"hub.example:8443", "https://hub.example/", true},
      {"10.0.0.0/8", "https://10.2.3.4/", false},
      {"10.0.0.0/8", "https://11.2.3.4/", true},
      {"10.2.3.4", "https://10.2.3.4/", false},
      {"fd00::/8", "https://[fd12::1]/", false},
      {"", "https://localhost/", false},
  };
  for (const Case &c : cases) {
    ClientOptions options;
    options.https_proxy = "http://proxy.example:3128";
    options.no_proxy = c.no_proxy;
    const Result<Url> url = parse_url(c.url);
    ASSERT_TRUE(url);
    const Result<std::optional<Proxy>> proxy = choose_proxy(options, *url);
    ASSERT_TRUE(proxy);
    EXPECT_EQ(proxy->has_value(), c.proxied) << c.no_proxy << " for " << c.url;
    if (*proxy) {
      EXPECT_EQ(**proxy, (Proxy{"proxy.example", 3128, ""}));
    }
  }
}

TEST(Proxy, ASettingThatCannotBeUsedNamesTheMend) {
  const Result<Url> url = parse_url("https://hub.example/");
  ClientOptions options;
  options.https_proxy = "https://proxy.example";
  EXPECT_EQ(choose_proxy(options, *url).error().code, Errc::bad_input);
  options.https_proxy = "http://user:p%ss@proxy.example";
  const Result<std::optional<Proxy>> proxy = choose_proxy(options, *url);
  ASSERT_FALSE(proxy);
  EXPECT_EQ(proxy.error().message.find("p%ss"), std::string::npos);
}

} // namespace
} // namespace headwater::net

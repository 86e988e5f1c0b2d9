#include "tests/hub/scripted_hub.hpp"

namespace headwater::hub {
namespace {

std::string facts_json(const std::string &name = "acme/tiny") {
  return R"({"_id":"621ffdc036468d709f17434d","id":")" + name + R"(","sha":")" + sha +
         R"(","lastModified":"2026-08-14T14:44:41.000Z","gated":"manual","private":false,"disabled":false,"tags":["b","a"],
             "library_name":"transformers","safetensors":{"parameters":{"BF16":7},"total":7}})";
}

TEST(HubClient, ReadsTheFactsOfARepo) {
  ScriptedHub hub;
  hub.on_json(facts_path, facts_json());
  hub.options().token = "hf_x";
  const Result<RepoFacts> facts = hub.repo();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->name, "acme/tiny");
  EXPECT_EQ(facts->identity, "621ffdc036468d709f17434d");
  EXPECT_EQ(facts->head, sha);
  EXPECT_EQ(facts->gate, Gate::manual);
  EXPECT_EQ(facts->tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(facts->last_modified, "2026-08-14T14:44:41Z");
  EXPECT_EQ(facts->safetensors_json, R"({"parameters":{"BF16":7},"total":7})");
  EXPECT_EQ(*net::find_header(hub.seen()[0].headers, "Authorization"), "Bearer hf_x");
}

TEST(HubClient, FollowsARenameAndNamesWhereItLanded) {
  ScriptedHub hub;
  Response moved;
  moved.status = 307;
  net::set_header(moved.headers, "Location", facts_path);
  hub.on("/api/models/acme/old/revision/main", moved);
  hub.on_json(facts_path, facts_json());
  const Result<RepoFacts> facts = hub.repo("acme/old");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->name, "acme/tiny");
}

struct ErrorCase {
  std::string name;
  int status;
  std::string code;
  std::string message;
  bool token;
  Errc expected;
  std::string cause;
  std::string explained; ///< a part of what explain() says
};

TEST(HubClient, TellsApartWhatTheHubRefuses) {
  const std::vector<ErrorCase> cases = {
      {"missing, anonymous", 401, "", "Invalid username or password.", false, Errc::gone, "401",
       "does not exist, or is private"},
      {"missing, with a token", 404, "RepoNotFound", "Repository not found", true, Errc::gone,
       "RepoNotFound 404", "does not exist"},
      {"missing, with a code on 401", 401, "RepoNotFound", "", true, Errc::gone, "RepoNotFound 401",
       "does not exist"},
      {"bad token", 401, "", "Invalid credentials in Authorization header", true, Errc::bad_input,
       "401", "token"},
      {"bad revision", 404, "RevisionNotFound", "Invalid rev id: x", false, Errc::gone,
       "RevisionNotFound 404", "no such revision"},
      {"gated, anonymous", 401, "GatedRepo", "Access is restricted", false, Errc::gated,
       "GatedRepo 401", "is gated"},
      {"gated, no access", 403, "GatedRepo", "Access is restricted", true, Errc::gated,
       "GatedRepo 403", "is gated"},
      {"disabled", 403, "", "Access to this resource is disabled.", false, Errc::gated, "403",
       "disabled"},
      {"wall in between", 403, "", "", false, Errc::transient, "403", "tried again later"},
      {"outage", 503, "", "", false, Errc::transient, "503", "tried again later"},
  };
  for (const ErrorCase &c : cases) {
    ScriptedHub hub;
    hub.options().retries = 1;
    if (c.token)
      hub.options().token = "hf_x";
    hub.on(facts_path, ScriptedHub::error(c.status, c.code, c.message));
    const Result<RepoFacts> facts = hub.repo();
    ASSERT_FALSE(facts) << c.name;
    EXPECT_EQ(facts.error().code, c.expected) << c.name << ": " << facts.error().message;
    EXPECT_EQ(facts.error().cause, c.cause) << c.name;
    const std::string explained = explain(facts.error(), "acme/tiny");
    EXPECT_NE(explained.find(c.explained), std::string::npos) << c.name << ": " << explained;
    EXPECT_NE(explained.find("acme/tiny"), std::string::npos) << c.name;
  }
}

TEST(HubClient, WaitsTroubleOut) {
  ScriptedHub hub;
  hub.on(facts_path, ScriptedHub::error(503, "", ""));
  Response closed;
  closed.status = 0;
  hub.on(facts_path, closed);
  Response page;
  net::set_header(page.headers, "Content-Type", "text/html");
  page.body = "<!DOCTYPE html><title>down</title>";
  hub.on(facts_path, page);
  hub.on_json(facts_path, facts_json().substr(0, 60));
  hub.on_json(facts_path, R"({"error":"We had to rate limit your IP"})");
  hub.on_json(facts_path, facts_json());
  const Result<RepoFacts> facts = hub.repo();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(hub.count(), 6U);
}

TEST(HubClient, TroubleThatStaysIsTransient) {
  for (const std::string body : {R"({"id":)", "<html>", R"({"error":"x"})", ""}) {
    ScriptedHub hub;
    hub.options().retries = 2;
    hub.on_json(facts_path, body);
    const Result<RepoFacts> facts = hub.repo();
    ASSERT_FALSE(facts) << body;
    EXPECT_EQ(facts.error().code, Errc::transient) << body << ": " << facts.error().message;
    EXPECT_EQ(hub.count(), 3U);
  }
}

TEST(HubClient, WaitsAsLongAs429Says) {
  ScriptedHub hub;
  Response limited = ScriptedHub::error(429, "", "");
  net::set_header(limited.headers, "RateLimit", R"("api";r=0;t=0)");
  hub.on(facts_path, limited);
  hub.on_json(facts_path, facts_json());
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(hub.repo());
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(990)); // t + 1 s
}

TEST(HubClient, A429ThatStaysTellsHowLongToWait) {
  ScriptedHub hub;
  Response limited = ScriptedHub::error(429, "", "");
  net::set_header(limited.headers, "Retry-After", "0");
  hub.on(facts_path, limited);
  const Result<RepoFacts> facts = hub.repo();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, Errc::rate_limited);
}

TEST(HubClient, FallsBackToTheWholeFactsWhereExpandIsUnknown) {
  ScriptedHub hub;
  hub.on_json(facts_path, facts_json());
  const std::string expanded =
      facts_path + "?expand=sha&expand=lastModified&expand=gated&expand=private&expand=disabled&"
                   "expand=tags"
                   "&expand=library_name&expand=pipeline_tag&expand=createdAt&expand=safetensors";
  hub.on_json(expanded, R"({"error":"unknown"})", 400);
  const Result<RepoFacts> facts = hub.repo();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(hub.count(), 2U);
}

TEST(HubClient, WrongTypesAreMalformed) {
  for (const std::string body :
       {"[]", "7", R"({"id":7,"sha":"main"})", R"({"id":"a b/c","sha":""})",
        R"({"id":"acme/tiny","gated":"perhaps"})"}) {
    ScriptedHub hub;
    hub.on_json(facts_path, body);
    const Result<RepoFacts> facts = hub.repo();
    ASSERT_FALSE(facts) << body;
    EXPECT_EQ(facts.error().code, Errc::malformed) << body << ": " << facts.error().message;
  }
}

std::string commit_json(char digit) {
  return fmt::format(R"({{"id":"{}","title":"t{}","date":"2026-01-02T03:04:05.000Z"}})",
                     std::string(40, digit), digit);
}

TEST(HubClient, PagesThroughCommitsUntilTheOneThatIsKnown) {
  ScriptedHub hub;
  const std::string path = "/api/models/acme/tiny/commits/main";
  Response first = ScriptedHub::json("[" + commit_json('1') + "," + commit_json('2') + "]");
  net::set_header(first.headers, "Link",
                  fmt::format("<{}{}?p=1&limit=2>; rel=\"next\"", hub.endpoint(), path));
  hub.on(path + "?limit=1000", first);
  hub.on(path + "?limit=3", first);
  hub.on_json(path + "?p=1&limit=2", "[" + commit_json('3') + "," + commit_json('4') + "]");
  const Result<CommitList> all = hub.commits(10'000);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->commits.size(), 4U);
  EXPECT_TRUE(all->whole);
  EXPECT_EQ(all->commits[3].sha, std::string(40, '4'));
  EXPECT_EQ(all->commits[0].date, "2026-01-02T03:04:05Z");
  EXPECT_EQ(hub.commits(10'000, std::string(40, '3'))->commits.size(), 3U);
  const std::size_t before = hub.count();
  const Result<CommitList> one = hub.commits(10'000, std::string(40, '1'));
  EXPECT_EQ(one->commits.size(), 1U);
  EXPECT_TRUE(one->whole) << "it goes back to the one that is known";
  EXPECT_EQ(hub.count(), before + 1);
  EXPECT_EQ(hub.commits(3)->commits.size(), 3U);
  EXPECT_FALSE(hub.commits(3)->whole) << "it was cut";
}

TEST(HubClient, PagesStayOnTheEndpoint) {
  const std::string path = "/api/models/acme/tiny/commits/main";
  ScriptedHub mirror;
  Response first = ScriptedHub::json("[" + commit_json('1') + "]");
  net::set_header(first.headers, "Link", "<https://huggingface.co" + path + "?p=1>; rel=\"next\"");
  mirror.on(path + "?limit=9", first);
  mirror.on_json(path + "?p=1", "[" + commit_json('2') + "]");
  const Result<CommitList> both = mirror.commits(9);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->commits.size(), 2U);

  for (const std::string link : {"<http://evil.example/steal>; rel=\"next\"",
                                 "</settings>; rel=\"next\"", "<?limit=9>; rel=\"next\""}) {
    ScriptedHub hub;
    Response page = ScriptedHub::json("[" + commit_json('1') + "]");
    net::set_header(page.headers, "Link", link);
    hub.on(path, page);
    const Result<CommitList> commits = hub.commits(9);
    ASSERT_FALSE(commits) << link;
    EXPECT_EQ(commits.error().code, Errc::malformed) << link;
  }
}

TEST(HubClient, ReadsTreesAndRefs) {
  ScriptedHub hub;
  const std::string digest(64, 'c');
  hub.on_json("/api/models/acme/tiny/tree/" + sha,
              R"([{"type":"directory","oid":"d","size":0,"path":"onnx"},
                  {"type":"file","oid":")" +
                  sha + R"(","size":9,"lfs":{"oid":")" + digest +
                  R"(","size":123,"pointerSize":9},"path":"w.safetensors"},
                  {"type":"file","oid":")" +
                  older + R"(","size":5,"path":"onnx/config.json"}])");
  const Result<std::vector<FileEntry>> files = hub.tree();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(*files, (std::vector<FileEntry>{{"onnx/config.json", older, 5, ""},
                                            {"w.safetensors", sha, 123, digest}}));

  hub.on_json("/api/models/acme/tiny/refs",
              R"({"branches":[{"name":"main","ref":"refs/heads/main","targetCommit":")" + sha +
                  R"("}],
                                               "tags":[{"name":"v1","targetCommit":")" +
                  older + R"("}]})");
  const Result<Refs> refs = hub.call<Refs>([](Client &client) { return client.refs("acme/tiny"); });
  ASSERT_TRUE(refs) << refs.error().message;
  ASSERT_EQ(refs->branches.size(), 1U);
  EXPECT_EQ(refs->branches[0].target, sha);
  ASSERT_EQ(refs->tags.size(), 1U);
}

TEST(HubClient, AMirrorWithoutTreeCommitsAndRefsIsReadByItsFacts) {
  ScriptedHub hub;
  hub.on_json("/api/models/acme/tiny/revision/" + sha,
              R"({"id":"acme/tiny","sha":")" + sha +
                  R"(","siblings":[{"rfilename":"a.json","blobId":")" + older + R"(","size":5}]})");
  hub.on_json(facts_path, facts_json());
  const Result<std::vector<FileEntry>> files = hub.tree();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(*files, (std::vector<FileEntry>{{"a.json", older, 5, ""}}));
  const Result<CommitList> commits = hub.commits(20);
  ASSERT_TRUE(commits) << commits.error().message;
  EXPECT_EQ(commits->commits.at(0).sha, sha);
  EXPECT_FALSE(commits->whole) << "one commit is no list";
  const Result<Refs> refs = hub.call<Refs>([](Client &client) { return client.refs("acme/tiny"); });
  ASSERT_TRUE(refs) << refs.error().message;
  EXPECT_EQ(refs->branches.at(0).target, sha);
}

TEST(HubClient, RefusesATreeThatCannotBe) {
  const std::string file = R"("type":"file","oid":")" + sha + R"(",)";
  for (const std::string &rows :
       {"[{" + file + R"("size":1,"path":"../x"}])",
        "[{" + file + R"("size":1,"path":"/etc/passwd"}])",
        "[{" + file + R"("size":1,"path":"a\u0000b"}])", "[{" + file + R"("size":-1,"path":"a"}])",
        "[{" + file + R"("path":"a"}])", "[{" + file + R"("size":1e30,"path":"a"}])",
        "[{" + file + R"("size":1,"path":"a"},{)" + file + R"("size":2,"path":"a"}])",
        "[{" + file + R"("size":1,"path":"a","lfs":{"oid":"x"}}])",
        std::string(R"([{"type":"file","oid":"zz","size":1,"path":"a"}])"),
        std::string(R"({"a":1})")}) {
    ScriptedHub hub;
    hub.on_json("/api/models/acme/tiny/tree/" + sha, rows);
    const Result<std::vector<FileEntry>> files = hub.tree();
    ASSERT_FALSE(files) << rows;
    EXPECT_EQ(files.error().code, Errc::malformed) << rows << ": " << files.error().message;
  }
}

TEST(HubClient, ACommitListThatWasThereBeforeIsNotMissing) {
  ScriptedHub hub;
  const std::string path = "/api/models/acme/tiny/commits/main";
  hub.on_json(path, "[" + commit_json('1') + "]");
  hub.on(path, ScriptedHub::error(404, "", ""));
  hub.on_json(facts_path, facts_json());
  hub.options().retries = 0;
  const Result<CommitList> second =
      hub.call<CommitList>([](Client &client) -> boost::asio::awaitable<Result<CommitList>> {
        const Result<CommitList> first = co_await client.commits("acme/tiny", "main", 9, "");
        EXPECT_TRUE(first && first->whole);
        co_return co_await client.commits("acme/tiny", "main", 9, "");
      });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::transient) << second.error().message;
}

TEST(HubClient, TroubleIsSaidWhileItIsWaitedOut) {
  ScriptedHub hub;
  hub.on(facts_path, ScriptedHub::error(503, "", "down for a while"));
  hub.on_json(facts_path, facts_json());
  std::string during;
  std::string after;
  const Result<RepoFacts> facts =
      hub.call<RepoFacts>([&](Client &client) -> boost::asio::awaitable<Result<RepoFacts>> {
        EXPECT_EQ(client.trouble(), "");
        hub.on_answer = [&] { during = client.trouble(); };
        Result<RepoFacts> answer = co_await client.repo("acme/tiny", "main");
        after = client.trouble();
        hub.on_answer = {};
        co_return answer;
      });
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_NE(during.find("503"), std::string::npos) << during;
  EXPECT_EQ(after, "");
}

TEST(HubClient, CloseEndsAWait) {
  ScriptedHub hub;
  hub.options().first_backoff_ms = 3'600'000;
  hub.on(facts_path, ScriptedHub::error(503, "", ""));
  boost::asio::io_context io;
  const std::unique_ptr<Client> client = Client::make(io.get_executor(), hub.options());
  std::optional<Result<RepoFacts>> result;
  boost::asio::co_spawn(io, client->repo("acme/tiny", "main"),
                        [&result](const std::exception_ptr &, Result<RepoFacts> value) {
                          result = std::move(value);
                        });
  boost::asio::steady_timer soon(io, std::chrono::milliseconds(100));
  soon.async_wait([&](const boost::system::error_code &) { client->close(); });
  io.run();
  ASSERT_TRUE(result);
  EXPECT_FALSE(*result);
}

} // namespace
} // namespace headwater::hub

#include "daemon/hub/client.hpp"
#include "daemon/net/server.hpp"
#include "schemas/digest.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace headwater::hub {
namespace {

using net::Request;
using net::Response;

const std::string sha(40, 'a');
const std::string older(40, 'b');

/// A hub that answers from a script: by "METHOD target" a list of answers, the last of which
/// repeats.
class ScriptedHub {
public:
  ScriptedHub() {
    Result<std::unique_ptr<net::Server>> server =
        net::Server::start({}, [this](const Request &request) { return answer(request); });
    EXPECT_TRUE(server);
    server_ = std::move(*server);
    options_.endpoint = endpoint();
    options_.first_backoff_ms = 1;
  }

  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", server_->port()); }
  HubOptions &options() { return options_; }

  void on(const std::string &target, Response response) {
    const std::lock_guard lock(mutex_);
    script_[target].push_back(std::move(response));
  }
  void on_json(const std::string &target, std::string body, int status = 200) {
    on(target, json(std::move(body), status));
  }

  static Response json(std::string body, int status = 200) {
    Response response;
    response.status = status;
    net::set_header(response.headers, "Content-Type", "application/json");
    response.body = std::move(body);
    return response;
  }
  static Response error(int status, const std::string &code, const std::string &message) {
    Response response;
    response.status = status;
    if (!code.empty())
      net::set_header(response.headers, "X-Error-Code", code);
    if (!message.empty())
      net::set_header(response.headers, "X-Error-Message", message);
    return response;
  }

  /// Serves `bytes` under the path as the real hub does, ranges included.
  void serve_file(const std::string &target, std::string bytes, bool ranges = true) {
    const std::lock_guard lock(mutex_);
    files_[target] = {std::move(bytes), ranges};
  }

  std::vector<Request> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::size_t count() const { return seen().size(); }

  /// Runs one call of a client made with the options to its end.
  template <class T>
  Result<T> call(const std::function<boost::asio::awaitable<Result<T>>(Client &)> &what) {
    boost::asio::io_context io;
    const std::unique_ptr<Client> client = Client::make(io.get_executor(), options_);
    std::optional<Result<T>> result;
    boost::asio::co_spawn(io, what(*client),
                          [&result](const std::exception_ptr &failed, Result<T> value) {
                            if (failed)
                              std::rethrow_exception(failed);
                            result = std::move(value);
                          });
    while (!result && io.run_one() > 0) {
    }
    return std::move(*result);
  }

  Result<RepoFacts> repo(const std::string &name = "acme/tiny",
                         const std::string &revision = "main") {
    return call<RepoFacts>([&](Client &client) { return client.repo(name, revision); });
  }
  Result<std::string> content(const FileEntry &file, FilePart part) {
    return call<std::string>(
        [&](Client &client) { return client.content("acme/tiny", sha, file, part); });
  }
  Result<std::vector<FileEntry>> tree() {
    return call<std::vector<FileEntry>>(
        [&](Client &client) { return client.tree("acme/tiny", sha); });
  }
  Result<CommitList> commits(std::size_t limit, const std::string &until = {}) {
    return call<CommitList>(
        [&](Client &client) { return client.commits("acme/tiny", "main", limit, until); });
  }

  std::function<void()> on_answer; ///< before each answer

private:
  struct File {
    std::string bytes;
    bool ranges = true;
  };

  Response answer(const Request &request) {
    const std::lock_guard lock(mutex_);
    if (on_answer)
      on_answer();
    seen_.push_back(request);
    if (const auto file = files_.find(request.target); file != files_.end())
      return part_of(file->second, request);
    // Queries are long: a script may name the path alone.
    auto found = script_.find(request.target);
    if (found == script_.end())
      found = script_.find(request.target.substr(0, request.target.find('?')));
    if (found == script_.end())
      return error(404, "", "");
    Response response = found->second.front();
    if (found->second.size() > 1)
      found->second.erase(found->second.begin());
    return response;
  }

  static Response part_of(const File &file, const Request &request) {
    Response response;
    const std::string *range = net::find_header(request.headers, "Range");
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (range == nullptr || !file.ranges ||
        std::sscanf(range->c_str(), "bytes=%llu-%llu", &begin, &end) != 2) {
      response.body = file.bytes;
      return response;
    }
    if (begin >= file.bytes.size()) {
      response.status = 416;
      return response;
    }
    end = std::min<unsigned long long>(end, file.bytes.size() - 1);
    response.status = 206;
    net::set_header(response.headers, "Content-Range",
                    fmt::format("bytes {}-{}/{}", begin, end, file.bytes.size()));
    response.body = file.bytes.substr(begin, end - begin + 1);
    return response;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Response>> script_;
  std::map<std::string, File> files_;
  std::vector<Request> seen_;
  HubOptions options_;
  std::unique_ptr<net::Server> server_;
};

const std::string facts_path = "/api/models/acme/tiny/revision/main";

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

std::string resolve_path(const std::string &path) {
  return "/acme/tiny/resolve/" + sha + "/" + path;
}

TEST(HubClient, ReadsAFileWholeAndChecksItsDigest) {
  ScriptedHub hub;
  const std::string bytes = "{\"a\": 1}\n";
  hub.serve_file(resolve_path("sub/a%20b.json"), bytes);
  const FileEntry good{"sub/a b.json", git_blob_id(bytes), static_cast<std::int64_t>(bytes.size()),
                       ""};
  const Result<std::string> whole = hub.content(good, FilePart::whole);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(*whole, bytes);
  EXPECT_EQ(*net::find_header(hub.seen()[0].headers, "Accept-Encoding"), "identity");
  FileEntry lfs = good;
  lfs.oid = older;
  lfs.sha256 = sha256_hex(bytes);
  EXPECT_TRUE(hub.content(lfs, FilePart::whole));

  FileEntry other = good;
  other.oid = older;
  EXPECT_EQ(hub.content(other, FilePart::whole).error().code, Errc::malformed);
  FileEntry longer = good;
  longer.size += 1;
  EXPECT_EQ(hub.content(longer, FilePart::whole).error().code, Errc::transient);
  FileEntry huge = good;
  huge.size = 1LL << 40;
  const std::size_t before = hub.count();
  EXPECT_EQ(hub.content(huge, FilePart::whole).error().code, Errc::too_large);
  EXPECT_EQ(hub.count(), before);
}

/// A safetensors file: a header of so many bytes, and as much data.
std::string safetensors(std::size_t header, std::size_t data) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i)
    bytes += static_cast<char>(header >> (8 * i) & 0xFFU);
  bytes += "{}" + std::string(header - 2, ' ');
  return bytes + std::string(data, 'w');
}

TEST(HubClient, ASafetensorsHeaderCostsAtMostTwoSmallRequests) {
  for (const bool ranges : {true, false}) {
    for (const std::size_t header :
         {std::size_t{2}, std::size_t{99'993}, std::size_t{99'994}, std::size_t{500'000}}) {
      ScriptedHub hub;
      const std::string bytes = safetensors(header, 2'000'000);
      hub.serve_file(resolve_path("w.safetensors"), bytes, ranges);
      const FileEntry file{"w.safetensors", older, static_cast<std::int64_t>(bytes.size()),
                           std::string(64, 'c')};
      const Result<std::string> got = hub.content(file, FilePart::safetensors_header);
      ASSERT_TRUE(got) << header << ": " << got.error().message;
      EXPECT_EQ(*got, bytes.substr(0, header + 8));
      EXPECT_EQ(hub.count(), header <= 99'993 ? 1U : 2U);
      EXPECT_EQ(*net::find_header(hub.seen()[0].headers, "Range"), "bytes=0-100000");
      if (header == 500'000) {
        EXPECT_EQ(*net::find_header(hub.seen()[1].headers, "Range"), "bytes=100001-500007");
      }
    }
  }
}

TEST(HubClient, AHeaderThatCannotBeIsNotAskedFor) {
  ScriptedHub hub;
  std::string bytes = safetensors(1000, 0);
  const std::string small = bytes.substr(0, 500);
  hub.serve_file(resolve_path("w.safetensors"), small);
  FileEntry file{"w.safetensors", older, 500, sha256_hex(small)};
  const Result<std::string> whole = hub.content(file, FilePart::safetensors_header);
  ASSERT_TRUE(whole) << "a small file that is no safetensors is the reader's to name: "
                     << whole.error().message;
  EXPECT_EQ(*whole, small);
  hub.serve_file(resolve_path("w.safetensors"), bytes.substr(0, 4));
  file.size = 4;
  file.sha256 = sha256_hex(bytes.substr(0, 4));
  EXPECT_EQ(hub.content(file, FilePart::safetensors_header).error().code, Errc::malformed);
  file.sha256 = std::string(64, 'c');
  bytes[4] = 1; // 4 GiB and more
  hub.serve_file(resolve_path("w.safetensors"), bytes);
  file.size = 1LL << 40;
  hub.options().retries = 0;
  EXPECT_FALSE(hub.content(file, FilePart::safetensors_header));
  bytes.resize(200'000);
  hub.serve_file(resolve_path("w.safetensors"), bytes);
  const std::size_t before = hub.count();
  EXPECT_EQ(hub.content(file, FilePart::safetensors_header).error().code, Errc::too_large);
  EXPECT_EQ(hub.count(), before + 1);
}

TEST(HubClient, AFileShorterThanItsTreeSays) {
  ScriptedHub hub;
  hub.options().retries = 0;
  hub.serve_file(resolve_path("w.safetensors"), safetensors(200'000, 0).substr(0, 100'001));
  const FileEntry file{"w.safetensors", older, 300'000, std::string(64, 'c')};
  EXPECT_FALSE(hub.content(file, FilePart::safetensors_header));
}

/// A GGUF header with one long string, and data behind it.
std::string gguf(std::size_t text) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i)
      out += static_cast<char>(value >> (8 * i) & 0xFFU);
    return out;
  };
  const std::string key = "general.architecture";
  std::string bytes = "GGUF" + number(3, 4) + number(0, 8) + number(1, 8) + number(key.size(), 8) +
                      key + number(8, 4) + number(text, 8);
  bytes += std::string(text, 'x');
  return bytes;
}

TEST(HubClient, AGgufHeaderIsReadByGrowingRanges) {
  for (const std::size_t text : {std::size_t{5}, std::size_t{1'500'000}, std::size_t{6'000'000}}) {
    ScriptedHub hub;
    const std::string header = gguf(text);
    hub.serve_file(resolve_path("m.gguf"), header + std::string(20'000'000, 'w'));
    const FileEntry file{"m.gguf", older, static_cast<std::int64_t>(header.size() + 20'000'000),
                         std::string(64, 'c')};
    const Result<std::string> got = hub.content(file, FilePart::gguf_header);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_GE(got->size(), header.size());
    EXPECT_LT(got->size(), header.size() + 64);
    EXPECT_EQ(got->substr(0, header.size()), header);
    EXPECT_LE(hub.count(), 3U);
  }
}

TEST(HubClient, FilesMayLiveAtAnotherOriginWhichGetsNoToken) {
  ScriptedHub cdn;
  const std::string bytes = safetensors(100, 1000);
  cdn.serve_file("/blob?sig=1", bytes);
  ScriptedHub hub;
  Response found;
  found.status = 302;
  net::set_header(found.headers, "Location", cdn.endpoint() + "/blob?sig=1");
  net::set_header(found.headers, "X-Linked-ETag", "\"" + sha256_hex(bytes) + "\"");
  hub.on(resolve_path("w.safetensors"), found);
  hub.options().token = "hf_secret";
  FileEntry file{"w.safetensors", older, static_cast<std::int64_t>(bytes.size()),
                 sha256_hex(bytes)};
  const Result<std::string> got = hub.content(file, FilePart::safetensors_header);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(net::find_header(cdn.seen()[0].headers, "Authorization"), nullptr);
  EXPECT_NE(net::find_header(cdn.seen()[0].headers, "Range"), nullptr);
  file.sha256 = std::string(64, 'd'); // the tree lists other bytes than the hub now links
  hub.options().retries = 0;
  EXPECT_EQ(hub.content(file, FilePart::safetensors_header).error().code, Errc::transient);
}

TEST(HubClient, WhatCameInAFilesPlaceIsWaitedOutAndWrongBytesAreNotBelieved) {
  const std::string small = safetensors(100, 400);
  const std::string large = safetensors(200'000, 5'000'000);
  const std::string page = "<html>" + std::string(150'000, ' ') + "</html>";
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'c') +
      "\nsize 5208008\n";
  struct Case {
    const char *name;
    const std::string &file;
    std::string body;
    const char *type;
    Errc expected;
  };
  const Case cases[] = {
      {"a page for a small file", small, page, "text/html; charset=utf-8", Errc::transient},
      {"a page for a large file", large, page, "text/html", Errc::transient},
      {"a pointer for a small file", small, pointer, "text/plain", Errc::transient},
      {"a pointer for a large file", large, pointer, "binary/octet-stream", Errc::transient},
      {"zeros for a small file", small, std::string(small.size(), '\0'), "binary/octet-stream",
       Errc::malformed},
      {"more than there is", small, small + "x", "binary/octet-stream", Errc::transient},
  };
  for (const Case &c : cases) {
    ScriptedHub hub;
    hub.options().retries = 0;
    Response response;
    net::set_header(response.headers, "Content-Type", c.type);
    response.body = c.body;
    hub.on(resolve_path("w.safetensors"), response);
    const FileEntry file{"w.safetensors", older, static_cast<std::int64_t>(c.file.size()),
                         sha256_hex(c.file)};
    const Result<std::string> got = hub.content(file, FilePart::safetensors_header);
    ASSERT_FALSE(got) << c.name;
    EXPECT_EQ(got.error().code, c.expected) << c.name << ": " << got.error().message;
  }
  ScriptedHub hub;
  Response response;
  net::set_header(response.headers, "Content-Type", "text/html");
  response.body = page;
  hub.on(resolve_path("page.html"), response);
  EXPECT_TRUE(
      hub.content({"page.html", git_blob_id(page), static_cast<std::int64_t>(page.size()), ""},
                  FilePart::whole))
      << "a page is what was asked for";
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

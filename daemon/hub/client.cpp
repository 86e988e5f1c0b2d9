#include "daemon/hub/client.hpp"

#include "daemon/hub/errors.hpp"
#include "daemon/hub/http_answers.hpp"
#include "daemon/hub/http_content.hpp"
#include "daemon/hub/http_session.hpp"
#include "daemon/net/message.hpp"
#include "daemon/net/url.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::hub {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

constexpr std::size_t page_rows = 1000;
constexpr std::size_t max_pages = 1000;
constexpr std::size_t max_files = 200'000;

constexpr std::string_view all_fields =
    "?expand=sha&expand=lastModified&expand=gated&expand=private&expand=disabled&expand"
    "=tags"
    "&expand=library_name&expand=pipeline_tag&expand=createdAt&expand=safetensors";
constexpr std::string_view poll_fields = "?expand=sha&expand=lastModified&expand=gated&"
                                         "expand=private&expand=disabled&expand=tags";

/// "org/name" as a path; the slash between the parts stays.
std::string repo_path(const std::string &name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos)
    return net::encode_segment(name);
  return net::encode_segment(std::string_view(name).substr(0, slash)) + "/" +
         net::encode_segment(std::string_view(name).substr(slash + 1));
}

/// Where a rename led, read off the address that answered, for a mirror whose answers have no id.
std::string landed_name(const net::ClientResponse &answer, const std::string &asked) {
  const Result<net::Url> url = net::parse_url(answer.url);
  const std::optional<net::Target> target = url ? net::split_target(url->target) : std::nullopt;
  if (!target)
    return asked;
  for (std::size_t i = 0; i + 3 < target->segments.size(); ++i)
    if (target->segments[i] == "api" && target->segments[i + 1] == "models")
      return target->segments[i + 2] + "/" + target->segments[i + 3];
  return asked;
}

/// The calls of one hub; lives on its strand, kept alive by whoever awaits one of them.
class Calls : public std::enable_shared_from_this<Calls> {
public:
  Calls(const asio::any_io_executor &executor, HubOptions options)
      : strand_(asio::make_strand(executor)), session_(strand_, std::move(options)) {}

  const asio::strand<asio::any_io_executor> &strand() const { return strand_; }
  HttpSession &session() { return session_; }

  awaitable<Result<RepoFacts>> facts(std::shared_ptr<Calls> self, std::string name,
                                     std::string revision, bool poll) {
    static_cast<void>(self);
    const std::string path =
        "/api/models/" + repo_path(name) + "/revision/" + net::encode_segment(revision);
    if (expands_) {
      const std::string target = path + std::string(poll ? poll_fields : all_fields);
      Result<RepoFacts> facts = co_await ask_facts(target, name);
      const bool refused = !facts && facts.error().cause == "400";
      if (!refused)
        co_return facts;
    }
    Result<RepoFacts> whole = co_await ask_facts(path, name);
    // Only once the plain form has worked is it the expansion that this mirror lacks.
    if (whole)
      expands_ = false;
    co_return whole;
  }

  awaitable<Result<CommitList>> commits(std::shared_ptr<Calls> self, std::string name,
                                        std::string revision, std::size_t limit,
                                        std::string until) {
    CommitList list;
    std::vector<Commit> &commits = list.commits;
    std::string target =
        fmt::format("/api/models/{}/commits/{}?limit={}", repo_path(name),
                    net::encode_segment(revision), std::clamp<std::size_t>(limit, 1, page_rows));
    std::set<std::string> seen;
    while (!target.empty() && commits.size() < limit) {
      if (!seen.insert(target).second || seen.size() > max_pages)
        co_return fail(Errc::malformed, "the pages of the commit list do not end");
      const std::size_t before = commits.size();
      Result<Page> page = co_await ask_page(target);
      // A proxy's stray 404 looks like a call that this mirror does not have: that one says so
      // every time.
      for (int again = 0; !page && is_missing_call(page.error()) && !lists_commits_ && again < 2 &&
                          !lacks_commits_;
           ++again) {
        co_await session_.wait_a_moment(again);
        page = co_await ask_page(target);
      }
      if (!page && is_missing_call(page.error()) && lists_commits_)
        co_return fail(Errc::transient, "the commit list, which was there before, is missing: " +
                                            page.error().message);
      if (!page && seen.size() == 1 && is_missing_call(page.error())) {
        lacks_commits_ = true;
        co_return co_await only_commit(self, name, revision, page.error());
      }
      if (!page)
        co_return std::unexpected(page.error());
      const Result<void> read = read_commits(page->json, commits);
      if (!read)
        co_return std::unexpected(read.error());
      lists_commits_ = true;
      const auto last = std::find_if(
          commits.begin() + static_cast<std::ptrdiff_t>(before), commits.end(),
          [&until](const Commit &commit) { return !until.empty() && commit.sha == until; });
      if (last != commits.end()) {
        commits.erase(last + 1, commits.end());
        list.whole = true;
        break;
      }
      target = std::move(page->next);
      list.whole = target.empty();
    }
    if (commits.size() > limit) {
      commits.resize(limit);
      list.whole = false;
    }
    co_return list;
  }

  awaitable<Result<Refs>> refs(std::shared_ptr<Calls> self, std::string name) {
    const std::string target = "/api/models/" + repo_path(name) + "/refs";
    Result<Page> page = co_await ask_page(target);
    if (page)
      co_return read_refs(page->json);
    if (!is_missing_call(page.error()))
      co_return std::unexpected(page.error());
    // A mirror without refs still tells where its main branch is.
    const Result<RepoFacts> main = co_await facts(self, name, "main", true);
    if (!main)
      co_return std::unexpected(page.error());
    Refs refs;
    if (!main->head.empty())
      refs.branches.push_back({"main", main->head});
    co_return refs;
  }

  awaitable<Result<std::vector<FileEntry>>> tree(std::shared_ptr<Calls> self, std::string name,
                                                 std::string revision) {
    static_cast<void>(self);
    std::vector<FileEntry> files;
    std::string target = fmt::format("/api/models/{}/tree/{}?recursive=true&expand=false&limit={}",
                                     repo_path(name), net::encode_segment(revision), page_rows);
    std::set<std::string> seen;
    while (!target.empty()) {
      if (!seen.insert(target).second || seen.size() > max_pages)
        co_return fail(Errc::malformed, "the pages of the tree do not end");
      Result<Page> page = co_await ask_page(target);
      if (!page && seen.size() == 1 && is_missing_call(page.error())) {
        const std::string plain = "/api/models/" + repo_path(name) + "/revision/" +
                                  net::encode_segment(revision) + "?blobs=true";
        Result<Page> facts = co_await ask_page(plain);
        if (!facts)
          co_return std::unexpected(page.error());
        const Result<void> read = read_siblings(facts->json, files);
        if (!read)
          co_return std::unexpected(read.error());
        break;
      }
      if (!page)
        co_return std::unexpected(page.error());
      const Result<void> read = read_tree(page->json, files);
      if (!read)
        co_return std::unexpected(read.error());
      if (files.size() > max_files)
        co_return fail(Errc::too_large,
                       fmt::format("the tree lists more than {} files", max_files));
      target = std::move(page->next);
    }
    std::ranges::sort(files, {}, &FileEntry::path);
    const auto twice = std::ranges::adjacent_find(files, {}, &FileEntry::path);
    if (twice != files.end())
      co_return fail(Errc::malformed,
                     fmt::format("the tree lists {} twice", plain_text(twice->path)));
    co_return files;
  }

  awaitable<Result<std::vector<std::string>>> paths(std::shared_ptr<Calls> self, std::string name,
                                                    std::string revision) {
    static_cast<void>(self);
    const std::string target =
        "/api/models/" + repo_path(name) + "/revision/" + net::encode_segment(revision);
    Result<Page> page = co_await ask_page(target);
    if (!page)
      co_return std::unexpected(page.error());
    co_return read_paths(page->json);
  }

  awaitable<Result<std::string>> content(std::shared_ptr<Calls> self, std::string name,
                                         std::string revision, FileEntry file, FilePart part) {
    static_cast<void>(self);
    std::string target = "/" + repo_path(name) + "/resolve/" + net::encode_segment(revision);
    for (std::string_view path = file.path; !path.empty();) {
      const std::size_t slash = path.find('/');
      target += "/" + net::encode_segment(path.substr(0, slash));
      path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    }
    Result<std::string> bytes = co_await read_content(session_, std::move(target), file, part);
    if (!bytes)
      co_return wrap(plain_text(file.path), bytes.error());
    co_return bytes;
  }

private:
  struct Page {
    Json json;
    std::string next;
    std::string landed;
  };

  /// Asks for JSON. HTML, a cut document and an error in a 200 count as trouble that passes, and
  /// are asked again.
  awaitable<Result<Page>> ask_page(std::string target) {
    auto page = std::make_shared<Page>();
    JsonLimits limits;
    limits.max_bytes = static_cast<std::size_t>(session_.options().max_json_bytes);
    Ask question;
    question.target = std::move(target);
    question.max_bytes = session_.options().max_json_bytes;
    question.check = [page, limits](const net::ClientResponse &answer) -> Result<void> {
      Result<Json> json = parse_json(answer.body, limits);
      if (!json && json.error().code == Errc::too_large)
        return std::unexpected(json.error());
      if (!json)
        return fail(Errc::transient, "the hub's answer is " + json.error().message);
      if (json->is_object() && json->contains("error") && !json->contains("id")) {
        const Json &said = (*json)["error"];
        return fail(Errc::transient,
                    "the hub answered: " +
                        plain_text(said.is_string() ? said.get<std::string>() : "error"));
      }
      page->json = std::move(*json);
      return {};
    };
    Result<net::ClientResponse> answer = co_await session_.ask(std::move(question));
    if (!answer)
      co_return std::unexpected(answer.error());
    Result<std::string> next = session_.next_page(*answer);
    if (!next)
      co_return std::unexpected(next.error());
    page->next = std::move(*next);
    page->landed = answer->url;
    co_return std::move(*page);
  }

  awaitable<Result<RepoFacts>> ask_facts(std::string target, std::string name) {
    Result<Page> page = co_await ask_page(std::move(target));
    if (!page)
      co_return std::unexpected(page.error());
    net::ClientResponse landed;
    landed.url = page->landed;
    co_return read_facts(page->json, landed_name(landed, name));
  }

  /// What a mirror without commit lists tells: the one commit that the revision is.
  awaitable<Result<CommitList>> only_commit(std::shared_ptr<Calls> self, std::string name,
                                            std::string revision, Error error) {
    const Result<RepoFacts> facts_there = co_await facts(self, name, revision, true);
    if (!facts_there || facts_there->head.empty())
      co_return std::unexpected(std::move(error));
    Commit commit;
    commit.sha = facts_there->head;
    commit.date = facts_there->last_modified;
    CommitList list;
    list.commits.push_back(std::move(commit));
    co_return list;
  }

  asio::strand<asio::any_io_executor> strand_;
  HttpSession session_;
  bool expands_ = true;
  bool lists_commits_ = false; ///< the commit list has been there once
  bool lacks_commits_ = false; ///< this mirror has said so, again and again, that it has none
};

class HttpHubClient final : public Client {
public:
  HttpHubClient(const asio::any_io_executor &executor, HubOptions options)
      : calls_(std::make_shared<Calls>(executor, std::move(options))) {}
  ~HttpHubClient() override { close(); }

  awaitable<Result<RepoFacts>> repo(std::string name, std::string revision) override {
    return on_strand(calls_->facts(calls_, std::move(name), std::move(revision), false));
  }
  awaitable<Result<RepoFacts>> poll(std::string name, std::string branch) override {
    return on_strand(calls_->facts(calls_, std::move(name), std::move(branch), true));
  }
  awaitable<Result<CommitList>> commits(std::string name, std::string revision, std::size_t limit,
                                        std::string until) override {
    return on_strand(
        calls_->commits(calls_, std::move(name), std::move(revision), limit, std::move(until)));
  }
  awaitable<Result<Refs>> refs(std::string name) override {
    return on_strand(calls_->refs(calls_, std::move(name)));
  }
  awaitable<Result<std::vector<FileEntry>>> tree(std::string name, std::string revision) override {
    return on_strand(calls_->tree(calls_, std::move(name), std::move(revision)));
  }
  awaitable<Result<std::string>> content(std::string name, std::string revision, FileEntry file,
                                         FilePart part) override {
    return on_strand(
        calls_->content(calls_, std::move(name), std::move(revision), std::move(file), part));
  }
  awaitable<Result<std::vector<std::string>>> paths(std::string name,
                                                    std::string revision) override {
    return on_strand(calls_->paths(calls_, std::move(name), std::move(revision)));
  }
  std::string trouble() const override { return calls_->session().trouble(); }
  void close() override {
    asio::post(calls_->strand(), [calls = calls_] { calls->session().close(); });
  }

private:
  template <class T> awaitable<T> on_strand(awaitable<T> call) {
    return asio::co_spawn(calls_->strand(), std::move(call), asio::use_awaitable);
  }

  std::shared_ptr<Calls> calls_;
};

} // namespace

std::unique_ptr<Client> Client::make(asio::any_io_executor executor, HubOptions options) {
  return std::make_unique<HttpHubClient>(executor, std::move(options));
}

} // namespace headwater::hub

#pragma once

#include "daemon/hub/client.hpp"
#include "schemas/digest.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headwater::track {

/// A hub in memory, for tests of what the tracker makes of its answers.
class FakeHub final : public hub::Client {
public:
  using Files = std::map<std::string, std::string>;
  struct Revision {
    Commit commit;
    Files files;
  };
  struct FakeRepo {
    RepoFacts facts;
    std::vector<Revision> revisions; ///< oldest first; the last one is the head
  };

  std::map<std::string, FakeRepo> repos;
  std::map<std::string, std::string> renamed;               ///< old name -> new name
  std::optional<Error> all_fail;                            ///< every call
  std::map<std::string, Error> repo_fails;                  ///< poll and repo, by name
  std::map<std::string, Error> commits_fail;                ///< by name
  std::map<std::string, Error> content_fails;               ///< by path
  std::map<std::string, Error> tree_fails;                  ///< by sha
  std::map<std::string, std::vector<std::string>> left_out; ///< by sha: paths that the tree lacks
  bool no_commit_lists = false;                             ///< a mirror that gives the head alone
  std::vector<std::string> fetched;                         ///< "sha path"
  std::vector<std::string> asked;                           ///< names polled

  static std::string sha(const std::string &word) { return sha1_hex(word); }

  /// Adds a repo without revisions.
  FakeRepo &add(const std::string &name) {
    FakeRepo &repo = repos[name];
    repo.facts.name = name;
    repo.facts.identity = "id-" + name;
    return repo;
  }
  /// Pushes a commit; its id is the hash of `word`.
  std::string push(const std::string &name, const std::string &word, const Files &files) {
    FakeRepo &repo = repos.at(name);
    const auto day = static_cast<char>('1' + repo.revisions.size() % 9);
    repo.revisions.push_back(
        {{sha(word), "Commit " + word, std::string("2026-01-0") + day + "T00:00:00Z"}, files});
    repo.facts.head = sha(word);
    return sha(word);
  }

  boost::asio::awaitable<Result<RepoFacts>> repo(std::string name, std::string) override {
    co_return find(name);
  }
  boost::asio::awaitable<Result<RepoFacts>> poll(std::string name, std::string) override {
    asked.push_back(name);
    co_return find(name);
  }
  boost::asio::awaitable<Result<hub::CommitList>>
  commits(std::string name, std::string revision, std::size_t limit, std::string until) override {
    if (const auto bad = commits_fail.find(name); bad != commits_fail.end())
      co_return std::unexpected(bad->second);
    hub::CommitList answer;
    std::vector<Commit> &list = answer.commits;
    const FakeRepo &at = repos.at(landed(name));
    bool inside = false;
    for (auto one = at.revisions.rbegin(); one != at.revisions.rend() && list.size() < limit;
         ++one) {
      inside = inside || one->commit.sha == revision;
      if (inside)
        list.push_back(one->commit);
      answer.whole = one->commit.sha == until || std::next(one) == at.revisions.rend();
      if (one->commit.sha == until)
        break;
    }
    if (no_commit_lists && !list.empty()) {
      list.resize(1);
      answer.whole = false;
    }
    co_return answer;
  }
  boost::asio::awaitable<Result<hub::Refs>> refs(std::string) override { co_return hub::Refs{}; }
  boost::asio::awaitable<Result<std::vector<FileEntry>>> tree(std::string name,
                                                              std::string revision) override {
    if (const auto bad = tree_fails.find(revision); bad != tree_fails.end())
      co_return std::unexpected(bad->second);
    std::vector<FileEntry> entries;
    for (const Revision &one : repos.at(landed(name)).revisions)
      if (one.commit.sha == revision)
        for (const auto &[path, bytes] : one.files)
          entries.push_back(
              {path, git_blob_id(bytes), static_cast<std::int64_t>(bytes.size()), ""});
    if (const auto cut = left_out.find(revision); cut != left_out.end())
      std::erase_if(entries, [&](const FileEntry &entry) {
        return std::ranges::find(cut->second, entry.path) != cut->second.end();
      });
    co_return entries;
  }
  boost::asio::awaitable<Result<std::vector<std::string>>> paths(std::string name,
                                                                 std::string revision) override {
    if (all_fail)
      co_return std::unexpected(*all_fail);
    std::vector<std::string> paths;
    for (const Revision &one : repos.at(landed(name)).revisions)
      if (one.commit.sha == revision)
        for (const auto &[path, bytes] : one.files)
          paths.push_back(path);
    co_return paths;
  }
  std::string trouble() const override { return {}; }
  boost::asio::awaitable<Result<std::string>> content(std::string name, std::string revision,
                                                      FileEntry file, FilePart) override {
    if (const auto bad = content_fails.find(file.path); bad != content_fails.end())
      co_return std::unexpected(bad->second);
    fetched.push_back(revision + " " + file.path);
    for (const Revision &one : repos.at(landed(name)).revisions)
      if (one.commit.sha == revision)
        co_return one.files.at(file.path);
    co_return fail(Errc::gone, "no such revision");
  }
  void close() override {}

private:
  std::string landed(const std::string &name) const {
    const auto at = renamed.find(name);
    return at == renamed.end() ? name : at->second;
  }
  Result<RepoFacts> find(const std::string &name) const {
    if (all_fail)
      return std::unexpected(*all_fail);
    if (const auto bad = repo_fails.find(name); bad != repo_fails.end())
      return std::unexpected(bad->second);
    const auto at = repos.find(landed(name));
    if (at == repos.end())
      return fail(Errc::gone, name + " is not there", "RepoNotFound 404");
    return at->second.facts;
  }
};

} // namespace headwater::track

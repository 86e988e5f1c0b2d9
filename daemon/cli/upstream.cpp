#include "daemon/cli/upstream.hpp"

#include "daemon/hub/client.hpp"
#include "daemon/read/wanted.hpp"
#include "daemon/service/config.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

namespace headwater::cli {
namespace {

namespace asio = boost::asio;

/// Runs one call upstream to its end on a loop of its own.
template <class T, class Call> Result<T> ask(const std::string &repo, Call call) {
  service::Config config;
  service::apply_environment(config, service::process_environment());
  const Result<std::string> token = service::find_token(config, service::process_environment());
  if (!token)
    return std::unexpected(token.error());
  hub::HubOptions options;
  options.endpoint = config.hub_endpoint;
  options.token = *token;
  asio::io_context context;
  const std::unique_ptr<hub::Client> client = hub::Client::make(context.get_executor(), options);
  std::optional<Result<T>> outcome;
  asio::co_spawn(context, call(*client), [&](const std::exception_ptr &problem, Result<T> result) {
    if (problem)
      outcome = fail(Errc::internal, "a call upstream ended in an exception");
    else
      outcome = std::move(result);
    client->close();
    context.stop();
  });
  context.run();
  if (!outcome)
    return fail(Errc::internal, "a call upstream did not end");
  if (!*outcome)
    return fail((*outcome).error().code, hub::explain((*outcome).error(), repo),
                (*outcome).error().cause);
  return std::move(*outcome);
}

asio::awaitable<Result<std::string>> config_of(hub::Client &client, std::string repo,
                                               std::string revision) {
  Result<RepoFacts> facts = co_await client.repo(repo, revision);
  if (!facts)
    co_return std::unexpected(facts.error());
  Result<std::vector<FileEntry>> tree = co_await client.tree(facts->name, facts->head);
  if (!tree)
    co_return std::unexpected(tree.error());
  for (const FileEntry &file : *tree) {
    if (file.path != "config.json")
      continue;
    Result<std::string> text =
        co_await client.content(facts->name, facts->head, file, FilePart::whole);
    co_return text;
  }
  co_return fail(Errc::malformed, fmt::format("{} has no config.json at {}", repo, revision));
}

asio::awaitable<Result<Snapshot>> snapshot_of(hub::Client &client, std::string repo,
                                              std::string revision) {
  Result<RepoFacts> facts = co_await client.repo(repo, revision);
  if (!facts)
    co_return std::unexpected(facts.error());
  Result<std::vector<FileEntry>> tree = co_await client.tree(facts->name, facts->head);
  if (!tree)
    co_return std::unexpected(tree.error());
  Snapshot snapshot;
  snapshot.facts = *facts;
  snapshot.commit.sha = facts->head;
  snapshot.commit.date = facts->last_modified;
  snapshot.files = std::move(*tree);
  for (const FileEntry &file : snapshot.files) {
    FileContent content;
    content.part = read::wanted_part(file);
    if (content.part == FilePart::none)
      continue;
    Result<std::string> bytes =
        co_await client.content(facts->name, facts->head, file, content.part);
    if (bytes)
      content.bytes = std::make_shared<const std::string>(std::move(*bytes));
    else if (retryable(bytes.error().code))
      co_return std::unexpected(bytes.error());
    else
      content.problem = bytes.error().message;
    snapshot.contents.emplace(file.path, std::move(content));
  }
  co_return snapshot;
}

} // namespace

Result<std::string> fetch_config(const std::string &repo, const std::string &revision) {
  const std::string at = revision.empty() ? "main" : revision;
  return ask<std::string>(repo, [&](hub::Client &client) { return config_of(client, repo, at); });
}

Result<Snapshot> fetch_snapshot(const std::string &repo, const std::string &revision) {
  const std::string at = revision.empty() ? "main" : revision;
  return ask<Snapshot>(repo, [&](hub::Client &client) { return snapshot_of(client, repo, at); });
}

} // namespace headwater::cli

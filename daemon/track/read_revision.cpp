#include "daemon/track/read_revision.hpp"

#include "daemon/diff/known_bytes.hpp"
#include "daemon/track/on_pool.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headwater::track {
namespace {

using boost::asio::awaitable;

/// The bytes of `part` that are known already: from the revision before, else from the store; null
/// when they are not.
std::shared_ptr<const std::string> known_bytes(Context &context, const FileEntry &file,
                                               FilePart part, const Snapshot *before) {
  if (before != nullptr) {
    const FileEntry *same = find_file(*before, file.path);
    const auto content = before->contents.find(file.path);
    if (same != nullptr && same->content_id() == file.content_id() &&
        content != before->contents.end() && content->second.part == part && content->second.bytes)
      return content->second.bytes;
  }
  Result<std::optional<std::string>> stored = context.store.content(file.content_id(), part);
  // What the store cannot give is fetched again.
  if (!stored || !*stored)
    return nullptr;
  return std::make_shared<const std::string>(std::move(**stored));
}

/// A file's content where it is known; `part` none where nothing of it is wanted.
struct Wanted {
  FileEntry file;
  FilePart part = FilePart::none;
  std::shared_ptr<const std::string> bytes;
};

std::vector<Wanted> wanted_files(Context &context, const std::vector<FileEntry> &files,
                                 const Snapshot *before) {
  std::vector<Wanted> wanted;
  for (const FileEntry &file : files)
    if (const FilePart part = context.stages.wanted(file); part != FilePart::none)
      wanted.push_back({file, part, known_bytes(context, file, part, before)});
  return wanted;
}

awaitable<ReferencedRepo> read_code_repo(Context &context, std::string name,
                                         const ReferencedRepo *before) {
  ReferencedRepo repo;
  repo.name = name;
  const Result<RepoFacts> facts = co_await context.code_hub.poll(name, "main");
  if (!facts) {
    repo.problem = hub::explain(facts.error(), name);
    co_return repo;
  }
  repo.head = facts->head;
  if (before != nullptr && before->head == repo.head && before->problem.empty()) {
    repo.files = before->files;
    co_return repo;
  }
  Result<std::vector<FileEntry>> files = co_await context.code_hub.tree(facts->name, facts->head);
  if (!files) {
    repo.problem = hub::explain(files.error(), name);
    co_return repo;
  }
  for (FileEntry &file : *files)
    if (file.path.ends_with(".py"))
      repo.files.push_back(std::move(file));
  co_return repo;
}

/// True when a file of the revision before is not in the tree, or nothing is: a list that was cut
/// looks just like that.
bool lacks_files(const Snapshot &snapshot, const Snapshot *before) {
  if (snapshot.files.empty())
    return true;
  return before != nullptr && std::ranges::any_of(before->files, [&](const FileEntry &file) {
           return find_file(snapshot, file.path) == nullptr;
         });
}

/// What the revision has and the tree lacks, in a sentence; "" when that is nothing.
std::string left_out_of(const Snapshot &snapshot, const std::vector<std::string> &paths) {
  std::size_t count = 0;
  std::string first;
  for (const std::string &path : paths)
    if (find_file(snapshot, path) == nullptr && count++ == 0)
      first = plain_text(path);
  if (count == 0)
    return {};
  return fmt::format("the tree leaves out {} of the files that the revision has ({}{})", count,
                     first, count == 1 ? "" : ", ...");
}

std::string too_long_to_be_careful(const FileEntry &file, std::int64_t limit) {
  return fmt::format("{} bytes, over {}: the daemon was killed again and again while it read this "
                     "revision, so large files are left out of it for now",
                     file.size, limit);
}

} // namespace

bool is_about_content(const Error &error) {
  return error.code == Errc::malformed || error.code == Errc::too_large;
}

awaitable<Result<std::vector<ReferencedRepo>>> read_code_repos(Context &context,
                                                               std::vector<std::string> names,
                                                               std::vector<ReferencedRepo> before) {
  std::vector<ReferencedRepo> repos;
  for (const std::string &name : names) {
    const auto known = std::ranges::find(before, name, &ReferencedRepo::name);
    const ReferencedRepo *last = known == before.end() ? nullptr : &*known;
    ReferencedRepo repo = co_await read_code_repo(context, name, last);
    // Trouble that may pass leaves what was known of it: never a change.
    if (!repo.problem.empty() && last != nullptr)
      repo = *last;
    repos.push_back(std::move(repo));
  }
  co_return repos;
}

awaitable<Result<std::shared_ptr<const Snapshot>>>
read_revision(Context &context, std::int64_t repo_id, RepoFacts facts, std::string branch,
              Commit commit, std::shared_ptr<const Snapshot> before, bool careful) {
  const auto snapshot = std::make_shared<Snapshot>();
  const std::string name = facts.name;
  const std::string sha = commit.sha;
  snapshot->facts = std::move(facts);
  snapshot->branch = std::move(branch);
  snapshot->commit = std::move(commit);

  Result<std::vector<FileEntry>> files = co_await context.hub.tree(name, sha);
  if (!files)
    co_return wrap("the list of files", files.error());
  std::ranges::sort(*files, {}, &FileEntry::path);
  snapshot->files = std::move(*files);
  if (lacks_files(*snapshot, before.get())) {
    const Result<std::vector<std::string>> witness = co_await context.hub.paths(name, sha);
    if (!witness && retryable(witness.error().code))
      co_return wrap("the files of the revision", witness.error());
    const std::string left_out = witness ? left_out_of(*snapshot, *witness) : std::string();
    if (!left_out.empty())
      co_return fail(Errc::transient, left_out);
  }

  auto look_up = [&context, snapshot, before, repo_id] {
    // What cannot be looked up is not said.
    if (Result<std::map<std::string, KnownFile>> known =
            context.store.known_files(repo_id, diff::new_digests(before.get(), *snapshot)))
      snapshot->known = std::move(*known);
    return wanted_files(context, snapshot->files, before.get());
  };
  std::vector<Wanted> wanted = co_await on_pool(context.pool, std::move(look_up));
  for (Wanted &item : wanted) {
    FileContent content;
    content.part = item.part;
    content.bytes = std::move(item.bytes);
    const bool too_long = careful && item.part == FilePart::whole &&
                          item.file.size > context.options.careful_file_bytes;
    if (too_long) {
      content.bytes = nullptr;
      content.problem = too_long_to_be_careful(item.file, context.options.careful_file_bytes);
    } else if (!content.bytes) {
      Result<std::string> bytes = co_await context.hub.content(name, sha, item.file, item.part);
      if (bytes)
        content.bytes = std::make_shared<const std::string>(std::move(*bytes));
      else if (is_about_content(bytes.error()))
        content.problem = bytes.error().message;
      else
        co_return wrap(item.file.path, bytes.error());
    }
    snapshot->contents.emplace(item.file.path, std::move(content));
  }

  auto named = [&context, snapshot] {
    return named_code_repos(*snapshot, context.options.max_code_repos);
  };
  std::vector<std::string> names = co_await on_pool(context.pool, std::move(named));
  std::vector<ReferencedRepo> known;
  if (before)
    known = before->referenced;
  Result<std::vector<ReferencedRepo>> code =
      co_await read_code_repos(context, std::move(names), std::move(known));
  if (!code)
    co_return std::unexpected(code.error());
  snapshot->referenced = std::move(*code);
  co_return std::shared_ptr<const Snapshot>(snapshot);
}

} // namespace headwater::track

#include "daemon/http/export.hpp"

#include "daemon/http/public_store.hpp"
#include "daemon/http/routes.hpp"

#include <filesystem>
#include <fstream>
#include <utility>

namespace headwater::http {
namespace {

using Names = std::map<std::string, std::string>;

Names names_of(const store::Repo &repo) {
  const auto slash = repo.name.find('/');
  return {{"org", repo.name.substr(0, slash)}, {"name", repo.name.substr(slash + 1)}};
}

/// Everything that the placeholders of one scope stand for.
Result<std::vector<Names>> names_in(Scope scope, const PublicStore &store,
                                    const PublicRecords &records) {
  std::vector<Names> all;
  if (scope == Scope::site)
    return std::vector{Names()};
  if (scope == Scope::advisory) {
    for (const store::AdvisoryRecord &record : records.records)
      all.push_back({{"id", record.advisory.id}});
    return all;
  }
  const Result<std::vector<PublicRepo>> repos = store.repos();
  if (!repos)
    return std::unexpected(repos.error());
  for (const PublicRepo &repo : *repos) {
    if (scope == Scope::repo) {
      all.push_back(names_of(repo));
      continue;
    }
    const Result<std::vector<store::Revision>> revisions = store.revisions(repo);
    if (!revisions)
      return std::unexpected(revisions.error());
    for (const store::Revision &revision : *revisions) {
      all.push_back(names_of(repo));
      all.back()["sha"] = revision.sha;
    }
  }
  return all;
}

Result<void> write_file(const std::filesystem::path &path, const std::string &bytes) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    return fail(Errc::bad_input,
                path.string() + ": it cannot be written: is the folder yours, and is there room?");
  return {};
}

/// The file of a path: a page is the index.html of its folder. Repo names hold no slash and start
/// with no dot, so no path leaves the folder.
std::filesystem::path file_of(const std::filesystem::path &folder, std::string path) {
  if (path.ends_with('/'))
    path += "index.html";
  return folder / path.substr(1);
}

} // namespace

Result<ExportReport> export_site(const PublicStore &store, const SiteOptions &options,
                                 const std::string &folder) {
  RecordView records(store, options.hub_origin);
  RepoView repos(store);
  const auto view = records.current();
  if (!view)
    return std::unexpected(view.error());
  const TimePoint now =
      options.clock
          ? options.clock()
          : std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  ExportReport report;
  for (const Route &route : routes()) {
    const Result<std::vector<Names>> all = names_in(route.scope, store, **view);
    if (!all)
      return std::unexpected(all.error());
    for (const Names &names : *all) {
      RouteRequest request{store, options, records, repos, now};
      request.names = names;
      Result<std::optional<Document>> document = route.render(request);
      if (!document)
        return std::unexpected(document.error());
      if (!*document)
        continue;
      if (Result<void> written =
              write_file(file_of(folder, expand(route.path, names)), (*document)->body);
          !written)
        return std::unexpected(written.error());
      ++report.files;
      report.bytes += static_cast<std::int64_t>((*document)->body.size());
    }
  }
  return report;
}

} // namespace headwater::http

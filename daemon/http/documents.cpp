#include "daemon/http/documents.hpp"

#include "daemon/http/public_store.hpp"
#include "feeds/badge.hpp"
#include "feeds/osv_export.hpp"
#include "feeds/pages.hpp"
#include "feeds/syndication.hpp"
#include "schemas/repo.hpp"

#include <algorithm>
#include <utility>

namespace headwater::http {
namespace {

using Answer = Result<std::optional<Document>>;

constexpr std::size_t front_deltas = 20;
constexpr std::size_t front_repos = 200;
constexpr std::size_t feed_entries = 100;
constexpr std::size_t most_deltas = 1000;

feeds::SiteText site_text(const RouteRequest &request) {
  return {request.options.title, request.options.public_url, request.options.hub_origin};
}

std::string named(const RouteRequest &request, const char *key) {
  const auto at = request.names.find(key);
  return at == request.names.end() ? std::string() : at->second;
}

std::string asked(const RouteRequest &request, const char *key) {
  const auto at = request.query.find(key);
  return at == request.query.end() ? std::string() : at->second;
}

Document page(std::string body) {
  return {.type = "text/html; charset=utf-8", .body = std::move(body)};
}
Document text(std::string type, std::string body, std::string modified = {}) {
  return {.type = std::move(type), .body = std::move(body), .modified = std::move(modified)};
}
Document record(std::string type, std::string body, std::string modified) {
  return {.type = std::move(type),
          .body = std::move(body),
          .modified = std::move(modified),
          .freshness = Freshness::minute};
}

/// The repo that the path names, when anybody may see it.
Result<std::optional<PublicRepo>> public_repo(const RouteRequest &request) {
  const std::string name = named(request, "org") + "/" + named(request, "name");
  if (!parse_repo_id(name))
    return std::optional<PublicRepo>();
  return request.store.find_repo(name, asked(request, "branch"));
}

Result<feeds::FrontPage> load_front(const RouteRequest &request) {
  Result<PublicRepos> repos = request.repos.newest(front_repos);
  if (!repos)
    return std::unexpected(repos.error());
  feeds::FrontPage front{site_text(request), std::move(repos->shown), {}};
  front.counts = {repos->count, repos->with_open, repos->open};
  const auto is_public = request.repos.public_ids();
  if (!is_public)
    return std::unexpected(is_public.error());
  Result<std::vector<store::DeltaRecord>> deltas =
      request.store.newest_deltas(*is_public, front_deltas);
  if (!deltas)
    return std::unexpected(deltas.error());
  front.deltas = std::move(*deltas);
  // By date, not by the order in which this installation happened to read them: the same on every
  // one.
  std::ranges::stable_sort(front.deltas, [](const store::DeltaRecord &a,
                                            const store::DeltaRecord &b) {
    return a.delta.date != b.delta.date ? a.delta.date > b.delta.date : a.delta.repo < b.delta.repo;
  });
  return front;
}

/// All of them, for scripts.
Result<feeds::FrontPage> load_whole_front(const RouteRequest &request) {
  const Result<std::vector<PublicRepo>> repos = request.store.repos();
  if (!repos)
    return std::unexpected(repos.error());
  return feeds::FrontPage{site_text(request), {repos->begin(), repos->end()}, {}};
}

/// The same document as one that holds until one of the repos is written.
Document about(std::vector<std::int64_t> repos, Document document) {
  document.about = std::move(repos);
  return document;
}

/// A repo's page, and the ids of the repos that it is made from.
struct LoadedRepo {
  feeds::RepoPage page;
  std::vector<std::int64_t> about;
};

Result<std::optional<LoadedRepo>> load_repo(const RouteRequest &request) {
  const Result<std::optional<PublicRepo>> repo = public_repo(request);
  if (!repo)
    return std::unexpected(repo.error());
  if (!*repo)
    return std::optional<LoadedRepo>();
  const PublicRepo &found = **repo;
  feeds::RepoPage page{site_text(request), found, {}, {}, {}, {}, {}, {}};
  const PublicStore &store = request.store;
  Result<std::vector<store::AdvisoryRecord>> advisories = store.advisories_of(found);
  Result<std::vector<store::DeltaRecord>> deltas = store.deltas(found, most_deltas);
  Result<std::vector<store::Revision>> revisions = store.revisions(found);
  Result<PublicComparisons> bases = store.base_comparisons(found);
  if (!advisories)
    return std::unexpected(advisories.error());
  if (!deltas)
    return std::unexpected(deltas.error());
  if (!revisions)
    return std::unexpected(revisions.error());
  if (!bases)
    return std::unexpected(bases.error());
  page.advisories = std::move(*advisories);
  page.deltas = std::move(*deltas);
  page.revisions = std::move(*revisions);
  std::ranges::reverse(page.revisions);
  page.bases = std::move(bases->shown);
  if (!page.repo.head.empty()) {
    Result<std::optional<store::Revision>> head = store.find_revision(found, page.repo.head);
    Result<std::vector<FileEntry>> files = store.files(found, page.repo.head);
    if (!head || !files)
      return std::unexpected(!head ? head.error() : files.error());
    if (*head)
      page.plan_json = std::move((*head)->plan_json);
    page.files = std::move(*files);
  }
  std::vector<std::int64_t> about = std::move(bases->asked);
  about.push_back(found.id);
  return std::optional(LoadedRepo{std::move(page), std::move(about)});
}

Result<std::optional<feeds::RevisionPage>> load_revision(const RouteRequest &request) {
  const Result<std::optional<PublicRepo>> repo = public_repo(request);
  if (!repo)
    return std::unexpected(repo.error());
  const std::string sha = named(request, "sha");
  if (!*repo || !is_revision(sha))
    return std::optional<feeds::RevisionPage>();
  Result<std::optional<store::Revision>> revision = request.store.find_revision(**repo, sha);
  if (!revision)
    return std::unexpected(revision.error());
  if (!*revision)
    return std::optional<feeds::RevisionPage>();
  const PublicRepo &found = **repo;
  feeds::RevisionPage page{site_text(request), found, std::move(**revision), {}, {}};
  Result<std::vector<store::DeltaRecord>> deltas = request.store.deltas_at(found, sha);
  Result<std::vector<FileEntry>> files = request.store.files(found, sha);
  if (!deltas || !files)
    return std::unexpected(!deltas ? deltas.error() : files.error());
  page.deltas = std::move(*deltas);
  page.files = std::move(*files);
  return std::optional(std::move(page));
}

/// The answer of a renderer on what was loaded; nothing when there was nothing.
template <class Loaded, class Make>
Answer rendered(Result<std::optional<Loaded>> loaded, Make make) {
  if (!loaded)
    return std::unexpected(loaded.error());
  if (!*loaded)
    return std::optional<Document>();
  return std::optional<Document>(make(**loaded));
}

template <class Make> Answer on_front(const RouteRequest &request, Make make) {
  const Result<feeds::FrontPage> front = load_front(request);
  if (!front)
    return std::unexpected(front.error());
  return std::optional<Document>(make(*front));
}

template <class Make> Answer on_records(const RouteRequest &request, Make make) {
  const auto view = request.records.current();
  if (!view)
    return std::unexpected(view.error());
  return make(**view);
}

Result<feeds::AdvisoryFeed> load_site_feed(const RouteRequest &request) {
  const auto is_told = request.repos.told_ids();
  if (!is_told)
    return std::unexpected(is_told.error());
  Result<std::vector<store::AdvisoryRecord>> newest =
      request.store.newest_advisories(*is_told, feed_entries);
  if (!newest)
    return std::unexpected(newest.error());
  return feeds::AdvisoryFeed{site_text(request),
                             request.options.title + ": changes upstream that matter", "",
                             std::move(*newest)};
}

/// A repo's feed, and its id.
struct LoadedFeed {
  feeds::AdvisoryFeed feed;
  std::int64_t repo_id = 0;
};

Result<std::optional<LoadedFeed>> load_repo_feed(const RouteRequest &request) {
  const Result<std::optional<PublicRepo>> repo = public_repo(request);
  if (!repo)
    return std::unexpected(repo.error());
  if (!*repo)
    return std::optional<LoadedFeed>();
  Result<std::vector<store::AdvisoryRecord>> advisories = request.store.advisories_of(**repo);
  if (!advisories)
    return std::unexpected(advisories.error());
  return std::optional(
      LoadedFeed{{site_text(request), (*repo)->name + ": changes upstream that matter",
                  feeds::repo_path(**repo), std::move(*advisories)},
                 (*repo)->id});
}

Document atom_document(const feeds::AdvisoryFeed &feed) {
  return record("application/atom+xml; charset=utf-8", feeds::atom_feed(feed),
                feeds::feed_updated(feed.advisories));
}
Document json_feed_document(const feeds::AdvisoryFeed &feed) {
  return record("application/feed+json; charset=utf-8", feeds::json_feed(feed),
                feeds::feed_updated(feed.advisories));
}

/// Of a repo that is gone no more than that is told.
feeds::Badge gone_badge(const RouteRequest &request) {
  store::Repo repo;
  repo.state = store::RepoState::gone;
  return feeds::repo_badge({&repo, {}, request.now});
}

/// A badge, and the ids of the repos that it is about.
struct WantedBadge {
  feeds::Badge badge;
  std::vector<std::int64_t> about;
};

/// The badge that a path and its query ask for; an unknown repo has one too, because a broken image
/// tells nobody anything and caches keep it.
Result<WantedBadge> wanted_badge(const RouteRequest &request) {
  const Result<std::optional<PublicRepo>> repo = public_repo(request);
  if (!repo)
    return std::unexpected(repo.error());
  std::vector<std::int64_t> about;
  if (*repo)
    about.push_back((*repo)->id);
  const std::string pin = asked(request, "pin");
  if (!pin.empty()) {
    feeds::PinFacts facts;
    facts.known_repo = repo->has_value();
    if (!facts.known_repo)
      return WantedBadge{feeds::pin_badge(facts), about};
    const Result<PinReport> report = check_pin(request.store, **repo, pin, false);
    if (!report)
      return std::unexpected(report.error());
    facts.known_pin = !report->pin.empty();
    facts.on_branch = report->status != "history rewritten";
    facts.behind = report->behind;
    if (report->moved)
      facts.level = report->level;
    return WantedBadge{feeds::pin_badge(facts), about};
  }
  if (!*repo) {
    const Result<bool> gone =
        request.store.is_gone(named(request, "org") + "/" + named(request, "name"));
    if (!gone)
      return std::unexpected(gone.error());
    if (*gone)
      return WantedBadge{gone_badge(request), about};
  }
  feeds::BadgeFacts facts{nullptr, {}, request.now};
  if (*repo) {
    facts.repo = &**repo;
    const Result<std::string> since = request.store.open_since(**repo);
    if (!since)
      return std::unexpected(since.error());
    facts.since = *since;
  }
  return WantedBadge{feeds::repo_badge(facts), about};
}

} // namespace

Answer front_page(const RouteRequest &request) {
  return on_front(request,
                  [](const feeds::FrontPage &front) { return page(feeds::front_html(front)); });
}
Answer front_twin(const RouteRequest &request) {
  const Result<feeds::FrontPage> front = load_whole_front(request);
  if (!front)
    return std::unexpected(front.error());
  return text("application/json", feeds::front_json(*front));
}
Answer front_md(const RouteRequest &request) {
  return on_front(request, [](const feeds::FrontPage &front) {
    return text("text/markdown; charset=utf-8", feeds::front_markdown(front));
  });
}
Answer repo_page(const RouteRequest &request) {
  return rendered(load_repo(request), [](const LoadedRepo &repo) {
    return about(repo.about, page(feeds::repo_html(repo.page)));
  });
}
Answer repo_twin(const RouteRequest &request) {
  return rendered(load_repo(request), [](const LoadedRepo &repo) {
    return about(repo.about, text("application/json", feeds::repo_json(repo.page)));
  });
}
Answer repo_md(const RouteRequest &request) {
  return rendered(load_repo(request), [](const LoadedRepo &repo) {
    return about(repo.about, text("text/markdown; charset=utf-8", feeds::repo_markdown(repo.page)));
  });
}
Answer changes_page(const RouteRequest &request) {
  return rendered(load_repo(request), [](const LoadedRepo &repo) {
    return about(repo.about, page(feeds::changes_html(repo.page)));
  });
}
Answer changes_twin(const RouteRequest &request) {
  return rendered(load_repo(request), [](const LoadedRepo &repo) {
    return about(repo.about, text("application/json", feeds::changes_json(repo.page)));
  });
}
Answer revision_page(const RouteRequest &request) {
  return rendered(load_revision(request), [](const feeds::RevisionPage &revision) {
    return about({revision.repo.id}, page(feeds::revision_html(revision)));
  });
}
Answer revision_twin(const RouteRequest &request) {
  return rendered(load_revision(request), [](const feeds::RevisionPage &revision) {
    return about({revision.repo.id}, text("application/json", feeds::revision_json(revision)));
  });
}
Answer latest(const RouteRequest &request) {
  return rendered(public_repo(request), [&](const store::Repo &repo) {
    return about({repo.id}, text("application/json", feeds::latest_json(repo, site_text(request))));
  });
}

Answer site_atom(const RouteRequest &request) {
  const Result<feeds::AdvisoryFeed> feed = load_site_feed(request);
  if (!feed)
    return std::unexpected(feed.error());
  return atom_document(*feed);
}
Answer site_json_feed(const RouteRequest &request) {
  const Result<feeds::AdvisoryFeed> feed = load_site_feed(request);
  if (!feed)
    return std::unexpected(feed.error());
  return json_feed_document(*feed);
}
Answer repo_atom(const RouteRequest &request) {
  return rendered(load_repo_feed(request), [](const LoadedFeed &loaded) {
    return about({loaded.repo_id}, atom_document(loaded.feed));
  });
}
Answer repo_json_feed(const RouteRequest &request) {
  return rendered(load_repo_feed(request), [](const LoadedFeed &loaded) {
    return about({loaded.repo_id}, json_feed_document(loaded.feed));
  });
}

Answer site_map(const RouteRequest &request) {
  const Result<std::vector<PublicRepo>> repos = request.store.repos();
  if (!repos)
    return std::unexpected(repos.error());
  std::vector<feeds::SitemapEntry> entries{{"", ""}};
  for (const store::Repo &repo : *repos) {
    entries.push_back({feeds::repo_path(repo), repo.last_changed});
    entries.push_back({feeds::repo_path(repo) + "changes/", repo.last_changed});
  }
  return text("application/xml", feeds::sitemap(request.options.public_url, entries));
}
Answer api_description(const RouteRequest &request) {
  return text("application/json", openapi(request.options));
}
Answer health(const RouteRequest &) {
  return text("application/json", "{\"status\":\"ok\"}\n");
}

Answer badge_svg_image(const RouteRequest &request) {
  const Result<WantedBadge> wanted = wanted_badge(request);
  if (!wanted)
    return std::unexpected(wanted.error());
  const auto style = feeds::badge_style_from(asked(request, "style"));
  return Document{.type = "image/svg+xml; charset=utf-8",
                  .body = feeds::badge_svg(wanted->badge, style.value_or(feeds::BadgeStyle::flat)),
                  .modified = format_time(request.now),
                  .freshness = Freshness::image,
                  .about = wanted->about};
}
Answer badge_endpoint(const RouteRequest &request) {
  const Result<WantedBadge> wanted = wanted_badge(request);
  if (!wanted)
    return std::unexpected(wanted.error());
  return Document{.type = "application/json",
                  .body = feeds::badge_json(wanted->badge),
                  .modified = format_time(request.now),
                  .freshness = Freshness::image,
                  .about = wanted->about};
}

Answer osv_record(const RouteRequest &request) {
  const std::string id = named(request, "id");
  const Result<std::optional<store::OwnedAdvisory>> open = request.store.find_owned_advisory(id);
  if (!open)
    return std::unexpected(open.error());
  if (*open) {
    const store::AdvisoryRecord &stored = (*open)->record;
    return about({(*open)->repo_id},
                 record("application/json", stored.osv_json, stored.advisory.modified));
  }
  // Withdrawn, or of a repo whose name or place is another's now: what all records say of it.
  const Result<bool> known = request.store.knows_record(id);
  if (!known)
    return std::unexpected(known.error());
  if (!*known)
    return std::optional<Document>();
  return on_records(request, [&](const PublicRecords &view) -> Answer {
    const auto found = view.by_id.find(id);
    if (found == view.by_id.end())
      return std::optional<Document>();
    const store::AdvisoryRecord &stored = view.records[found->second];
    return record("application/json", stored.osv_json, stored.advisory.modified);
  });
}
Answer osv_all_json(const RouteRequest &request) {
  return on_records(request, [](const PublicRecords &view) {
    return record("application/json", feeds::osv_list(view.records),
                  feeds::osv_modified(view.records));
  });
}
Answer osv_all_zip(const RouteRequest &request) {
  return on_records(request, [](const PublicRecords &view) -> Answer {
    Result<std::string> zip = feeds::osv_zip(view.records);
    if (!zip)
      return std::unexpected(zip.error());
    return record("application/zip", std::move(*zip), feeds::osv_modified(view.records));
  });
}
Answer osv_csv(const RouteRequest &request) {
  return on_records(request, [](const PublicRecords &view) {
    return record("text/csv; charset=utf-8", feeds::osv_modified_csv(view.records, false),
                  feeds::osv_modified(view.records));
  });
}
Answer osv_bucket_csv(const RouteRequest &request) {
  return on_records(request, [](const PublicRecords &view) {
    return record("text/csv; charset=utf-8", feeds::osv_modified_csv(view.records, true),
                  feeds::osv_modified(view.records));
  });
}
Answer osv_ecosystem_names(const RouteRequest &) {
  return text("text/plain; charset=utf-8", feeds::osv_ecosystems());
}

} // namespace headwater::http

#pragma once

#include "schemas/time.hpp"
#include "store/records.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headwater::feeds {

/// What every page of a site shares.
struct SiteText {
  std::string title = "Headwater";
  std::string public_url; ///< absolute, no trailing slash
  std::string hub_origin = "https://huggingface.co";
};

/// Of all public repos, shown on a page or not.
struct FrontCounts {
  std::int64_t repos = 0;
  std::int64_t with_open = 0; ///< with open advisories
  std::int64_t open = 0;      ///< open advisories of all
};

/// Public repos, all or those that changed last, and the latest deltas, newest first.
struct FrontPage {
  SiteText site;
  std::vector<store::Repo> repos;
  std::vector<store::DeltaRecord> deltas;
  std::optional<FrontCounts> counts = {}; ///< when `repos` may be a part of them
};

/// One repo with everything that its page shows. Newest first: deltas, revisions, advisories.
struct RepoPage {
  SiteText site;
  store::Repo repo;
  std::vector<store::AdvisoryRecord> advisories;
  std::vector<store::DeltaRecord> deltas;
  std::vector<store::Revision> revisions;
  std::string plan_json;                         ///< of the head; "" when there is none
  std::vector<FileEntry> files = {};             ///< of the head, by path
  std::vector<store::BaseComparison> bases = {}; ///< with base models that are public here too
};

struct RevisionPage {
  SiteText site;
  store::Repo repo;
  store::Revision revision;
  std::vector<store::DeltaRecord>
      deltas;                        ///< the one to it, and what changed at it without a commit
  std::vector<FileEntry> files = {}; ///< by path
};

std::string front_html(const FrontPage &page);
std::string repo_html(const RepoPage &page);
std::string changes_html(const RepoPage &page);
std::string revision_html(const RevisionPage &page);

std::string front_markdown(const FrontPage &page);
std::string repo_markdown(const RepoPage &page);

/// {"repos":[...]}
std::string front_json(const FrontPage &page);
/// {"repo","branch","state","note"?,"head","open":{...},"advisories","changes","revisions","plan"}
std::string repo_json(const RepoPage &page);
/// {"repo","changes":[delta...]}
std::string changes_json(const RepoPage &page);
/// {"repo","revision","status","changes","plan"}
std::string revision_json(const RevisionPage &page);
/// {"repo","revision","date","open_advisories","level"}: for version checkers
std::string latest_json(const store::Repo &repo, const SiteText &site);

/// "unchanged", "2 open, high", "gated": a repo's state in words.
std::string state_words(const store::Repo &repo);
/// What a delta is headed with: the title of its commit, or what changed without one. Plain text.
std::string delta_title(const Delta &delta);
/// "Differs in template, tokenizer", or that it does not.
std::string base_verdict(const store::BaseComparison &comparison);
/// Site path of a repo's page: "models/org/name/".
std::string repo_path(const store::Repo &repo);

} // namespace headwater::feeds

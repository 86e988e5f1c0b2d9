#pragma once

#include "feeds/osv.hpp"
#include "store/records.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace headwater::sample {

inline const std::string first_sha(40, 'a');
inline const std::string second_sha(40, 'b');
inline const std::string third_sha(40, 'c');
inline const std::string id = "x_HEADWATER-2026-0123456789ab";
inline const std::string origin = "https://hub.example";
inline const std::string site = "https://site.example/tracker";

inline std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A stop set that grew, and a template that lost its brace; `text` stands wherever upstream may
/// write freely.
inline Advisory advisory(const std::string &text = "Update generation_config") {
  Change stop = make_change("stop-set.changed", "generation_config.json#/eos_token_id", "1",
                            "[1,2]", "stop set {1} became {1, 2}");
  Change broken = make_change("template.does-not-parse", "tokenizer_config.json#/chat_template",
                              "\"{{ a }}\"", "\"{ a }}\"", "the chat template does not parse");
  stop.before_json = "\"old\"";
  Advisory advisory;
  advisory.id = id;
  advisory.repo = "acme/tiny";
  advisory.identity = "0123456789abcdef01234567";
  advisory.published = "2026-08-14T14:44:41Z";
  advisory.modified = "2026-09-01T00:00:00.001Z";
  advisory.substance_at = "2026-08-20T10:00:00Z";
  advisory.impact = Impact::breaking;
  advisory.level = Level::critical;
  advisory.kinds = {"stop-set.changed", "template.does-not-parse"};
  advisory.from = first_sha;
  advisory.to = second_sha;
  advisory.title = text;
  AffectedEntry stops;
  stops.subject = "stop-set";
  stops.introduced = second_sha;
  stops.versions = {second_sha, third_sha};
  stops.changes = {stop};
  AffectedEntry templates;
  templates.subject = "template";
  templates.state = AdvisoryState::reverted;
  templates.introduced = second_sha;
  templates.fixed = third_sha;
  templates.versions = {second_sha};
  templates.changes = {broken};
  advisory.affected = {stops, templates};
  advisory.plan_changes = {
      {"kv_cache_bytes", "1030000000", "520000000", "KV cache at 4,096 tokens 1.03 -> 0.52 GB"}};
  return advisory;
}

inline store::AdvisoryRecord record(const Advisory &value) {
  return {value, feeds::render_osv(value, {origin, site})};
}

inline store::Repo repo() {
  store::Repo repo;
  repo.id = 1;
  repo.name = "acme/tiny";
  repo.facts.name = "acme/tiny";
  repo.facts.identity = "0123456789abcdef01234567";
  repo.facts.head = third_sha;
  repo.state = store::RepoState::ok;
  repo.head = third_sha;
  repo.head_date = "2026-08-15T00:00:00Z";
  repo.last_changed = "2026-08-14T14:44:41Z";
  repo.revision_count = 3;
  return repo;
}

} // namespace headwater::sample

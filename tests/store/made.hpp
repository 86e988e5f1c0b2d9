#pragma once

#include "schemas/digest.hpp"
#include "store/records.hpp"

#include <map>
#include <memory>
#include <string>

namespace headwater::store {

/// The revision that make_database writes into a database of each version, the same in all of them.
inline RevisionWrite made_revision(std::int64_t repo_id) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->facts.name = "acme/tiny";
  snapshot->facts.identity = "621ffdc036468d709f17434d";
  snapshot->facts.head = std::string(40, 'b');
  snapshot->commit = {std::string(40, 'b'), "Second", "2026-01-02T00:00:00Z"};
  const std::string config = R"({"model_type":"llama"})";
  snapshot->files.push_back(
      {"config.json", git_blob_id(config), static_cast<std::int64_t>(config.size()), ""});
  FileContent content;
  content.bytes = std::make_shared<const std::string>(config);
  snapshot->contents.emplace("config.json", content);

  RevisionWrite write;
  write.repo_id = repo_id;
  write.snapshot = snapshot;
  write.revision.sha = std::string(40, 'b');
  write.revision.title = "Second";
  write.revision.date = "2026-01-02T00:00:00Z";
  write.revision.plan_json = R"({"model_type":"llama"})";
  write.revision.fact_hash = "fact-hash";
  write.has_delta = true;
  write.delta.repo = "acme/tiny";
  write.delta.from = std::string(40, 'a');
  write.delta.to = std::string(40, 'b');
  write.delta.date = write.revision.date;
  write.delta.changes.push_back(
      make_change("weights.values", "model.safetensors", "1", "2", "Other values."));
  AdvisoryRecord record;
  record.advisory.id = "x_HEADWATER-2026-0123456789ab";
  record.advisory.repo = "acme/tiny";
  record.advisory.from = write.delta.from;
  record.advisory.to = write.delta.to;
  record.advisory.level = Level::high;
  record.advisory.modified = "2026-01-02T00:00:00.000Z";
  AffectedEntry entry;
  entry.subject = "weights";
  entry.introduced = write.delta.to;
  entry.versions = {write.delta.to};
  entry.changes = write.delta.changes;
  record.advisory.affected.push_back(entry);
  record.osv_json = R"({"id":"x_HEADWATER-2026-0123456789ab"})";
  write.advisories.push_back(record);
  return write;
}

} // namespace headwater::store

-- What a step, a look or an answer reads no longer grows with what else is stored, and what is stored is smaller.
-- zstd, unzstd, sha256, delta_level, delta_impact, advisory_substance: functions of the program that migrates.

-- Texts that many revisions share (plans), once each, under the SHA-256 of their bytes.
CREATE TABLE document (
  digest BLOB PRIMARY KEY,
  zstd BLOB NOT NULL
) STRICT;

-- A revision in one small row, for lists; what one page or one comparison needs lies beside it.
CREATE TABLE revision_line (
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  sha TEXT NOT NULL,
  title TEXT NOT NULL,
  date TEXT NOT NULL,
  status TEXT NOT NULL,
  note TEXT NOT NULL,
  on_branch INTEGER NOT NULL CHECK (on_branch IN (0, 1)),
  has_tree INTEGER NOT NULL CHECK (has_tree IN (0, 1)),
  fact_hash TEXT NOT NULL,
  plan BLOB REFERENCES document (digest),
  delta_level TEXT NOT NULL,
  change_count INTEGER NOT NULL,
  PRIMARY KEY (repo_id, sha),
  UNIQUE (repo_id, sequence)
) STRICT, WITHOUT ROWID;

-- facts and tree of a revision as {"facts","files","referenced"}, and what its subjects hash to; both zstd.
CREATE TABLE revision_tree (
  repo_id INTEGER NOT NULL,
  sha TEXT NOT NULL,
  tree BLOB NOT NULL,
  hashes BLOB NOT NULL,
  PRIMARY KEY (repo_id, sha),
  FOREIGN KEY (repo_id, sha) REFERENCES revision_line (repo_id, sha) ON DELETE CASCADE
) STRICT;

INSERT OR IGNORE INTO document (digest, zstd)
  SELECT sha256(plan_json), zstd(plan_json) FROM revision WHERE plan_json <> '';
INSERT INTO revision_line
  SELECT repo_id, sequence, sha, title, date, status, note, on_branch, tree_digest IS NOT NULL, fact_hash,
         CASE WHEN plan_json = '' THEN NULL ELSE sha256(plan_json) END, delta_level, change_count FROM revision;
INSERT INTO revision_tree
  SELECT v.repo_id, v.sha, zstd('{"facts":' || v.facts_json || ',' || substr(unzstd(t.zstd), 2)),
         zstd(v.subject_hashes_json) FROM revision AS v JOIN text AS t ON t.digest = v.tree_digest;
DROP TABLE revision;
ALTER TABLE revision_line RENAME TO revision;
CREATE INDEX revision_by_fact_hash ON revision (repo_id, fact_hash, sequence);

-- Texts and what they stand for, under short keys; a text that only a tree was kept in is gone with it.
CREATE TABLE new_text (
  digest BLOB PRIMARY KEY,
  size INTEGER NOT NULL,
  zstd BLOB NOT NULL
) STRICT;
CREATE TABLE new_content (
  content_id TEXT NOT NULL,
  part TEXT NOT NULL,
  digest BLOB NOT NULL REFERENCES new_text (digest),
  size INTEGER NOT NULL,
  PRIMARY KEY (content_id, part)
) STRICT, WITHOUT ROWID;
INSERT INTO new_text SELECT sha256(unzstd(zstd)), size, zstd FROM text WHERE digest IN (SELECT digest FROM content);
INSERT INTO new_content
  SELECT c.content_id, c.part, sha256(unzstd(t.zstd)), c.size FROM content AS c JOIN text AS t ON t.digest = c.digest;
DROP TABLE content;
DROP TABLE text;
ALTER TABLE new_text RENAME TO text;
ALTER TABLE new_content RENAME TO content;
CREATE INDEX content_by_digest ON content (digest);
CREATE INDEX large_by_content ON large_of_head (content_id, part);

-- A delta's whole level and impact beside it: how far a pin is behind is answered without reading deltas.
CREATE TABLE new_delta (
  serial INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  to_sha TEXT NOT NULL,
  from_sha TEXT NOT NULL,
  date TEXT NOT NULL,
  level TEXT NOT NULL,
  impact TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  advisory_id TEXT NOT NULL,
  delta BLOB NOT NULL,
  UNIQUE (repo_id, to_sha, from_sha, date)
) STRICT;
INSERT INTO new_delta
  SELECT serial, repo_id, to_sha, from_sha, date, delta_level(delta_json), delta_impact(delta_json), recorded_at,
         advisory_id, zstd(delta_json) FROM delta ORDER BY serial;
UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'delta') WHERE name = 'new_delta'
  AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'delta');
DROP TABLE delta;
ALTER TABLE new_delta RENAME TO delta;
CREATE INDEX delta_by_repo ON delta (repo_id);
CREATE INDEX delta_by_date ON delta (date DESC, to_sha);

-- record: our own form, NUL, the bytes that are published; zstd.
CREATE TABLE new_advisory (
  id TEXT PRIMARY KEY,
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  state TEXT NOT NULL,
  level TEXT NOT NULL,
  withdrawn INTEGER NOT NULL CHECK (withdrawn IN (0, 1)),
  modified TEXT NOT NULL,
  substance_at TEXT NOT NULL,
  record BLOB NOT NULL
) STRICT;
INSERT INTO new_advisory
  SELECT id, repo_id, state, level, withdrawn, modified, advisory_substance(advisory_json),
         zstd(CAST(advisory_json AS BLOB) || x'00' || CAST(osv_json AS BLOB)) FROM advisory;
DROP TABLE advisory;
ALTER TABLE new_advisory RENAME TO advisory;
CREATE INDEX advisory_by_modified ON advisory (modified DESC, id);
CREATE INDEX advisory_by_substance ON advisory (substance_at DESC, id);
CREATE INDEX advisory_by_repo ON advisory (repo_id, state, withdrawn);

CREATE INDEX tombstone_by_modified ON tombstone (modified DESC);
CREATE INDEX former_name_by_repo ON former_name (repo_id);
CREATE INDEX attempt_unfinished ON attempt (unfinished) WHERE unfinished > 0;
CREATE INDEX attempt_killed ON attempt (killed) WHERE killed > 0;
CREATE INDEX watch_declared ON watch (declared) WHERE declared = 1;

-- Revisions that somebody depends on, and the large texts that are kept for them.
CREATE TABLE pin (
  repo_id INTEGER NOT NULL,
  sha TEXT NOT NULL,
  asked INTEGER NOT NULL CHECK (asked IN (0, 1)),
  at TEXT NOT NULL,
  PRIMARY KEY (repo_id, sha),
  FOREIGN KEY (repo_id, sha) REFERENCES revision (repo_id, sha) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX pin_by_time ON pin (repo_id, asked, at);
CREATE TABLE large_of_pin (
  repo_id INTEGER NOT NULL,
  sha TEXT NOT NULL,
  content_id TEXT NOT NULL,
  part TEXT NOT NULL,
  PRIMARY KEY (repo_id, sha, content_id, part),
  FOREIGN KEY (repo_id, sha) REFERENCES pin (repo_id, sha) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX pinned_by_content ON large_of_pin (content_id, part);

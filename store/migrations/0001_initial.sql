-- What has been seen. Times are RFC 3339 UTC texts. Texts are kept once, under the SHA-256 of their bytes.

CREATE TABLE watch (
  repo TEXT NOT NULL,
  branch TEXT NOT NULL,
  declared INTEGER NOT NULL CHECK (declared IN (0, 1)),
  publish INTEGER NOT NULL CHECK (publish IN (0, 1)),
  history TEXT NOT NULL,
  PRIMARY KEY (repo, branch)
) STRICT, WITHOUT ROWID;

CREATE TABLE repo (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  branch TEXT NOT NULL,
  facts_json TEXT NOT NULL,
  state TEXT NOT NULL,
  state_note TEXT NOT NULL,
  anonymous_can_read INTEGER NOT NULL CHECK (anonymous_can_read IN (0, 1)),
  head TEXT NOT NULL,
  head_date TEXT NOT NULL,
  last_polled TEXT NOT NULL,
  last_changed TEXT NOT NULL,
  UNIQUE (name, branch)
) STRICT;

-- Names that a repo had before; a record of a renamed repo is found under each.
CREATE TABLE former_name (
  name TEXT NOT NULL,
  branch TEXT NOT NULL,
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  PRIMARY KEY (name, branch)
) STRICT, WITHOUT ROWID;

CREATE TABLE text (
  digest TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  zstd BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Which bytes an upstream object id stands for; `part` is how much of the file was read.
CREATE TABLE content (
  content_id TEXT NOT NULL,
  part TEXT NOT NULL,
  digest TEXT NOT NULL REFERENCES text (digest),
  size INTEGER NOT NULL,
  PRIMARY KEY (content_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX content_by_digest ON content (digest);

-- Large contents that a head still needs; the others are dropped when a newer revision comes.
CREATE TABLE large_of_head (
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  content_id TEXT NOT NULL,
  part TEXT NOT NULL,
  PRIMARY KEY (repo_id, content_id, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE revision (
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  sha TEXT NOT NULL,
  title TEXT NOT NULL,
  date TEXT NOT NULL,
  status TEXT NOT NULL,
  note TEXT NOT NULL,
  on_branch INTEGER NOT NULL CHECK (on_branch IN (0, 1)),
  plan_json TEXT NOT NULL,
  fact_hash TEXT NOT NULL,
  subject_hashes_json TEXT NOT NULL,
  facts_json TEXT NOT NULL,
  tree_digest TEXT REFERENCES text (digest),
  delta_level TEXT NOT NULL,
  change_count INTEGER NOT NULL,
  PRIMARY KEY (repo_id, sha),
  UNIQUE (repo_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX revision_by_tree ON revision (tree_digest);
CREATE INDEX revision_by_fact_hash ON revision (repo_id, fact_hash);

CREATE TABLE delta (
  serial INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  from_sha TEXT NOT NULL,
  to_sha TEXT NOT NULL,
  date TEXT NOT NULL,
  delta_json TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  advisory_id TEXT NOT NULL,
  UNIQUE (repo_id, from_sha, to_sha, date)
) STRICT;

CREATE TABLE advisory (
  id TEXT PRIMARY KEY,
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  state TEXT NOT NULL,
  level TEXT NOT NULL,
  withdrawn INTEGER NOT NULL CHECK (withdrawn IN (0, 1)),
  modified TEXT NOT NULL,
  advisory_json TEXT NOT NULL,
  osv_json TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX advisory_by_modified ON advisory (modified DESC, id);
CREATE INDEX advisory_by_repo ON advisory (repo_id);

CREATE TABLE attempt (
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  sha TEXT NOT NULL,
  unfinished INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  next_try_at TEXT NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (repo_id, sha)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

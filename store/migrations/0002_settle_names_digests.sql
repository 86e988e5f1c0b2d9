-- Advisories that are not public yet: they wait whether what they tell is undone.
CREATE TABLE held_advisory (
  id TEXT PRIMARY KEY,
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  held_until TEXT NOT NULL,
  advisory_json TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX held_by_repo ON held_advisory (repo_id);

-- Repos that a head names: 'code' it takes code from, 'base' it says it was made of.
CREATE TABLE named_repo (
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  role TEXT NOT NULL CHECK (role IN ('code', 'base')),
  name TEXT NOT NULL,
  PRIMARY KEY (repo_id, role, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX named_repo_by_name ON named_repo (name);

-- How a head differs from a base model that is followed too.
CREATE TABLE base_comparison (
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  base TEXT NOT NULL,
  sha TEXT NOT NULL,
  base_sha TEXT NOT NULL,
  changes_json TEXT NOT NULL,
  PRIMARY KEY (repo_id, base)
) STRICT, WITHOUT ROWID;

-- Where bytes were first seen in each repo.
CREATE TABLE file_digest (
  sha256 TEXT NOT NULL,
  repo_id INTEGER NOT NULL REFERENCES repo (id) ON DELETE CASCADE,
  sha TEXT NOT NULL,
  path TEXT NOT NULL,
  PRIMARY KEY (sha256, repo_id)
) STRICT, WITHOUT ROWID;

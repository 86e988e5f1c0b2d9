-- Whether anybody may see a repo upstream, apart from what was told of it: 'open' an anonymous client could read it,
-- 'closed' it is private, gated or disabled, 'lost' it was open and upstream has no such repo for us any more.
ALTER TABLE repo ADD COLUMN visibility TEXT NOT NULL DEFAULT 'unseen'
  CHECK (visibility IN ('unseen', 'open', 'closed', 'lost'));
UPDATE repo SET visibility = CASE WHEN anonymous_can_read = 0 THEN 'closed' WHEN head = '' THEN 'unseen' ELSE 'open' END;
-- Gone is only what was once read.
UPDATE repo SET state = 'not found' WHERE state = 'gone' AND head = '';

-- Attempts that were ended from outside, without a word.
ALTER TABLE attempt ADD COLUMN killed INTEGER NOT NULL DEFAULT 0;

-- Ids of records that were public and are so no longer; no reference to the repo, which may be forgotten.
CREATE TABLE tombstone (
  id TEXT PRIMARY KEY,
  repo_id INTEGER NOT NULL,
  published TEXT NOT NULL,
  modified TEXT NOT NULL,
  withdrawn TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_by_repo ON tombstone (repo_id);

-- Also in a file of an earlier release: made when it is opened.
CREATE TABLE IF NOT EXISTS approvals (
  id TEXT PRIMARY KEY,
  until_ms INTEGER NOT NULL,
  fixed BLOB NOT NULL,          -- all that never changes
  state INTEGER NOT NULL,
  detail BLOB NOT NULL,         -- of the state
  settled_ms INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS approvals_open ON approvals (until_ms) WHERE settled_ms IS NULL;
CREATE INDEX IF NOT EXISTS approvals_settled ON approvals (settled_ms) WHERE settled_ms IS NOT NULL;

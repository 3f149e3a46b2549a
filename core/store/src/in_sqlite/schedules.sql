CREATE TABLE IF NOT EXISTS schedules (
  id TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  owner BLOB NOT NULL,          -- hash of the person
  tenant TEXT NOT NULL,
  made_ms INTEGER NOT NULL,
  next_ms INTEGER,
  schedule BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS schedules_next ON schedules (next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX IF NOT EXISTS schedules_owner ON schedules (owner);
CREATE INDEX IF NOT EXISTS schedules_tenant ON schedules (tenant);

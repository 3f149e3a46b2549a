-- The audit trail, one row per call. Made when it is missing.
CREATE TABLE IF NOT EXISTS audit (
  turn BLOB,                    -- ids sort by time
  call INTEGER,
  at_ms INTEGER NOT NULL,
  tool TEXT NOT NULL,
  platform TEXT NOT NULL,
  tenant TEXT NOT NULL,
  code TEXT,
  event TEXT NOT NULL,          -- JSON
  PRIMARY KEY (turn, call)
) WITHOUT ROWID;

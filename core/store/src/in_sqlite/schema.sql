-- Hot fields of a turn in one small row; everything long is in parts, written once.
CREATE TABLE turns (
  id BLOB PRIMARY KEY,          -- 16 bytes, in the order of time
  key BLOB,                     -- dedup key: 8 bytes of the account, 16 of the message
  lane BLOB NOT NULL,           -- hash of the session key
  part INTEGER NOT NULL,
  state INTEGER NOT NULL,
  place INTEGER,                -- in its lane; nothing when it is in none
  merged BLOB,
  lives INTEGER NOT NULL DEFAULT 0,
  life_fence INTEGER,           -- the fence under which the last life was counted
  cancelled INTEGER NOT NULL DEFAULT 0,
  busy INTEGER NOT NULL DEFAULT 0,
  done_ms INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX turns_key ON turns (key) WHERE key IS NOT NULL;
CREATE INDEX turns_lane ON turns (lane, place) WHERE place IS NOT NULL;
CREATE INDEX turns_open ON turns (part) WHERE done_ms IS NULL;
CREATE INDEX turns_done ON turns (done_ms) WHERE done_ms IS NOT NULL;
CREATE TABLE parts (turn BLOB, field TEXT, value BLOB NOT NULL, PRIMARY KEY (turn, field)) WITHOUT ROWID;

CREATE TABLE cursors (what TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE leases (what TEXT PRIMARY KEY, owner TEXT NOT NULL, fence INTEGER NOT NULL, until_ms INTEGER NOT NULL)
  WITHOUT ROWID;
-- Of the one owner of all partitions; grows at every take-over.
CREATE TABLE fence (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER NOT NULL);
INSERT INTO fence VALUES (1, 0);

CREATE TABLE nodes (turn BLOB, call INTEGER, node BLOB NOT NULL, PRIMARY KEY (turn, call)) WITHOUT ROWID;
CREATE TABLE lines (turn BLOB PRIMARY KEY, session BLOB NOT NULL, failed INTEGER NOT NULL, line BLOB NOT NULL)
  WITHOUT ROWID;
CREATE INDEX lines_session ON lines (session, turn);
CREATE INDEX lines_failed ON lines (turn) WHERE failed = 1;
CREATE TABLE calls (tool TEXT, turn BLOB, PRIMARY KEY (tool, turn)) WITHOUT ROWID;
CREATE INDEX calls_turn ON calls (turn);
CREATE TABLE measures (
  minute INTEGER, tool TEXT, boot TEXT, measure BLOB NOT NULL, PRIMARY KEY (minute, tool, boot)
) WITHOUT ROWID;
PRAGMA user_version = 1;

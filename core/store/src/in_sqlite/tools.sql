-- Tools that were added or restricted while the gateway ran; each change in full.
CREATE TABLE IF NOT EXISTS tools (name TEXT PRIMARY KEY, version INTEGER NOT NULL, tool BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tool_changes (name TEXT, version INTEGER, change BLOB NOT NULL, PRIMARY KEY (name, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tools_refreshed (name TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;
-- Grows with every row that is written to the tables above.
CREATE TABLE IF NOT EXISTS tools_generation (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER NOT NULL);
INSERT OR IGNORE INTO tools_generation VALUES (1, 0);

-- Sessions of places, what was said in them, and what people asked to keep. Made when it is missing.
CREATE TABLE IF NOT EXISTS sessions (
  id BLOB PRIMARY KEY,          -- 16 bytes: of the turn that began it
  place BLOB NOT NULL,          -- hash of the memory's key
  platform TEXT NOT NULL,
  owner BLOB NOT NULL,          -- hash of the person
  tenant TEXT NOT NULL,
  head BLOB NOT NULL,           -- place, owner, tenant in full
  title TEXT NOT NULL DEFAULT '',
  began_ms INTEGER NOT NULL,
  used_ms INTEGER NOT NULL,
  turns INTEGER NOT NULL DEFAULT 0,
  summary TEXT,
  summarised_to BLOB,
  mounted BLOB,
  allowed BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_place ON sessions (place, used_ms);
CREATE INDEX IF NOT EXISTS sessions_owner ON sessions (owner);
CREATE INDEX IF NOT EXISTS sessions_used ON sessions (used_ms);
-- Which session is current from which turn on; the newest few of each place.
CREATE TABLE IF NOT EXISTS switches (place BLOB, since BLOB, session BLOB NOT NULL, PRIMARY KEY (place, since)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS said (session BLOB, turn BLOB, person BLOB NOT NULL, item BLOB NOT NULL, PRIMARY KEY (session, turn))
  WITHOUT ROWID;
-- Who ever said something in a session, also when it has fallen out.
CREATE TABLE IF NOT EXISTS speakers (person BLOB, session BLOB, PRIMARY KEY (person, session)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS speakers_session ON speakers (session);
CREATE TABLE IF NOT EXISTS facts (person BLOB, n INTEGER, fact BLOB NOT NULL, PRIMARY KEY (person, n)) WITHOUT ROWID;
DROP TABLE IF EXISTS items;

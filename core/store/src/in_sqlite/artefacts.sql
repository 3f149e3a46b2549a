-- Results that were too long to be told whole; the bytes are files in a folder beside the database. Made when it is missing.
CREATE TABLE IF NOT EXISTS artefacts (
  place BLOB,                   -- hash of the memory's key
  id TEXT,
  person BLOB NOT NULL,         -- hash of the person for whom it was kept
  bytes INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  PRIMARY KEY (place, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS artefacts_until ON artefacts (until_ms);
CREATE INDEX IF NOT EXISTS artefacts_person ON artefacts (person);

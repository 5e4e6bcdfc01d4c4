-- The spine: one record, its index rows, its journal. Times are microseconds since 1970 in UTC.

CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, at TEXT NOT NULL) STRICT;

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO settings VALUES ('secret', lower(hex(randomblob(32))));   -- keys fingerprints and redaction marks

CREATE TABLE shelves (
  id     INTEGER PRIMARY KEY,
  space  TEXT NOT NULL,
  scope  TEXT NOT NULL,
  layer  TEXT NOT NULL,
  chunks INTEGER NOT NULL DEFAULT 0,   -- N of BM25, kept by the triggers below
  length INTEGER NOT NULL DEFAULT 0,   -- terms in all chunks
  UNIQUE (space, scope, layer)
) STRICT;

CREATE TABLE records (
  number        INTEGER PRIMARY KEY,   -- the short [id:N]; never handed out twice, because rows are never deleted
  shelf         INTEGER NOT NULL REFERENCES shelves (id),
  id            TEXT NOT NULL UNIQUE,
  kind          TEXT NOT NULL,
  text          TEXT NOT NULL,
  title         TEXT,
  tags          TEXT,
  files         TEXT,
  data          TEXT,
  status        TEXT NOT NULL,
  pinned        INTEGER NOT NULL,
  state         TEXT NOT NULL,
  reason        TEXT,
  importance    REAL NOT NULL,
  confidence    REAL NOT NULL,
  at            INTEGER NOT NULL,
  created       INTEGER NOT NULL,
  updated       INTEGER NOT NULL,
  valid_from    INTEGER,
  valid_to      INTEGER,
  actor         TEXT NOT NULL,
  surface       TEXT NOT NULL,
  session       TEXT,
  role          TEXT,
  speaker       TEXT,
  agent         TEXT,
  task          TEXT,
  narrative     TEXT,
  source        TEXT,
  origin        TEXT NOT NULL,
  trust         TEXT NOT NULL,
  season        TEXT,
  fingerprint   TEXT NOT NULL,
  version       INTEGER NOT NULL,
  superseded_by TEXT,
  key           BLOB NOT NULL,
  checksum      BLOB NOT NULL
) STRICT;
CREATE TRIGGER records_stay BEFORE DELETE ON records BEGIN
  SELECT RAISE (ABORT, 'records are archived or erased in place, never deleted');
END;
CREATE INDEX records_by_time ON records (shelf, at);
CREATE INDEX records_by_fingerprint ON records (fingerprint);
CREATE INDEX records_by_session ON records (session) WHERE session IS NOT NULL;

-- No row until something was counted: most memories are never voted on.
CREATE TABLE counters (
  record    INTEGER PRIMARY KEY REFERENCES records (number),
  up        INTEGER NOT NULL,
  down      INTEGER NOT NULL,
  used      INTEGER NOT NULL,
  surfaced  INTEGER NOT NULL,
  rejected  INTEGER NOT NULL,
  strength  INTEGER NOT NULL,
  last_used INTEGER,
  tally     BLOB NOT NULL
) STRICT;

CREATE TABLE links (
  a        INTEGER NOT NULL REFERENCES records (number),
  b        INTEGER NOT NULL REFERENCES records (number),
  kind     TEXT NOT NULL,
  weight   REAL NOT NULL,
  evidence TEXT,
  tally    BLOB NOT NULL,
  PRIMARY KEY (a, kind, b)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_b ON links (b);

-- The index rows of a record: one per chunk of its text, numbered record × 4096 + chunk, so that neither a column nor an
-- index is needed to find them. `prepared` is the chunk's terms, each after a blank.
CREATE TABLE words (
  id       INTEGER PRIMARY KEY,
  shelf    INTEGER NOT NULL REFERENCES shelves (id),
  start    INTEGER NOT NULL,
  end      INTEGER NOT NULL,
  length   INTEGER NOT NULL,
  prepared TEXT NOT NULL
) STRICT;

-- Every indexed term carries its shelf, so that a small project never pays for its neighbours.
-- detail=none: scores are computed from `prepared`, so the index needs rows only, no positions.
CREATE VIEW shelved (id, prepared) AS
  SELECT id, replace(prepared, ' ', ' ' || shelf || '·') FROM words;
CREATE VIRTUAL TABLE word_index USING fts5 (
  prepared, content = 'shelved', content_rowid = 'id', tokenize = 'ascii', detail = 'none', columnsize = 0
);
CREATE VIRTUAL TABLE word_frequency USING fts5vocab ('word_index', 'row');
INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', 1);
-- Merging index segments less often costs a question next to nothing and a write a tenth less.
INSERT INTO word_index (word_index, rank) VALUES ('automerge', 12);
INSERT INTO word_index (word_index, rank) VALUES ('crisismerge', 32);

CREATE TRIGGER words_added AFTER INSERT ON words BEGIN
  INSERT INTO word_index (rowid, prepared) VALUES (new.id, replace(new.prepared, ' ', ' ' || new.shelf || '·'));
  UPDATE shelves SET chunks = chunks + 1, length = length + new.length WHERE id = new.shelf;
END;
CREATE TRIGGER words_removed AFTER DELETE ON words BEGIN
  INSERT INTO word_index (word_index, rowid, prepared)
    VALUES ('delete', old.id, replace(old.prepared, ' ', ' ' || old.shelf || '·'));
  UPDATE shelves SET chunks = chunks - 1, length = length - old.length WHERE id = old.shelf;
END;
CREATE TRIGGER words_stay BEFORE UPDATE ON words BEGIN
  SELECT RAISE (ABORT, 'index rows are replaced, never updated');
END;

-- What changed, in order. `before` and `because` go when a record is erased; the digests stay.
CREATE TABLE journal (
  seq     INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  surface TEXT NOT NULL,
  verb    TEXT NOT NULL,
  record  INTEGER NOT NULL REFERENCES records (number),
  batch   TEXT NOT NULL,
  because TEXT,
  before  TEXT,
  mac     BLOB NOT NULL,
  after   BLOB NOT NULL,
  digest  BLOB                  -- of the chain up to here; only the last event of a transaction has it
) STRICT;
CREATE INDEX journal_by_record ON journal (record);

CREATE TABLE key_uses (
  key     TEXT PRIMARY KEY,
  draft   TEXT NOT NULL,
  record  TEXT NOT NULL,
  outcome TEXT NOT NULL,
  at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was merely seen. Not chained, bounded in size.
CREATE TABLE recalls (
  id            TEXT PRIMARY KEY,
  at            INTEGER NOT NULL,
  space         TEXT NOT NULL,
  query         TEXT NOT NULL,
  actor         TEXT NOT NULL,
  surface       TEXT NOT NULL,
  session       TEXT,
  ms            REAL NOT NULL,
  shown         TEXT NOT NULL,
  empty_because TEXT
) STRICT;

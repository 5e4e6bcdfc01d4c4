-- Vectors of index rows. Derived, like the word index: what is missing is made again by upkeep.

-- One model's vectors are a generation; two generations are never compared. Its number is never handed out twice.
CREATE TABLE generations (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  model     TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  state     TEXT NOT NULL,      -- filling, current or retired
  at        INTEGER NOT NULL
) STRICT;

-- Counts the changes to a shelf's vectors: whoever holds them in RAM reads the blocks that are newer than what they have.
ALTER TABLE shelves ADD COLUMN vectors INTEGER NOT NULL DEFAULT 0;

-- A block holds the vectors of 15 records on one shelf (of long texts, 64 rows of each), so that a vector's place is known
-- without an index. One that was emptied stays, and tells so.
CREATE TABLE vectors (
  generation INTEGER NOT NULL REFERENCES generations (id),
  shelf      INTEGER NOT NULL REFERENCES shelves (id),
  block      INTEGER NOT NULL,
  version    INTEGER NOT NULL,  -- of the shelf, when it last changed
  count      INTEGER NOT NULL,
  rows       BLOB NOT NULL,     -- words.id of each, eight bytes
  codes      BLOB NOT NULL,     -- each vector: a byte per dimension, and its scale
  PRIMARY KEY (generation, shelf, block)
) STRICT;
CREATE INDEX vectors_by_version ON vectors (generation, shelf, version, block, count);

-- A process of the version before may still run: it changes records and knows nothing of vectors, nor of this count. Then the
-- blocks of the record are emptied, those of its neighbours with them, and upkeep fills them again.
ALTER TABLE records ADD COLUMN rewrites INTEGER NOT NULL DEFAULT 0;   -- by whoever looks after the vectors too
CREATE TRIGGER records_changed_without_vectors AFTER UPDATE OF text, title, shelf, state ON records
WHEN new.rewrites = old.rewrites
  AND (new.text <> old.text OR new.title IS NOT old.title OR new.shelf <> old.shelf OR new.state = 'erased')
BEGIN
  UPDATE shelves SET vectors = vectors + 1 WHERE id = old.shelf AND vectors > 0;
  UPDATE vectors
    SET version = (SELECT vectors FROM shelves WHERE id = old.shelf), count = 0, rows = x'', codes = x''
    WHERE generation IN (SELECT id FROM generations) AND shelf = old.shelf
      AND block >= old.number / 15 * 64 AND block < (old.number / 15 + 1) * 64;
END;

-- Who spoke on a shelf, and who spoke before and after in a session on a shelf.
CREATE INDEX records_by_speaker ON records (shelf, speaker) WHERE speaker IS NOT NULL;
CREATE INDEX records_by_talk ON records (session, shelf) WHERE session IS NOT NULL;
